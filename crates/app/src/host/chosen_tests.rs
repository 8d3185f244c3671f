use tokbar_server::{Key, KeyScope};

use super::*;

fn with(change: impl FnOnce(&mut Settings)) -> HostOptions {
    let mut settings = Settings::default();
    change(&mut settings);
    HostOptions { host: address(&settings), settings, ..HostOptions::default() }
}

#[test]
fn only_who_was_chosen_is_let_in() {
    let key = || Keys(vec![Key::new("a", KeyScope::Inference, "secret")]);
    for (lan, keys, is_loopback, asks) in [
        (Lan::Off, Keys::default(), true, false),
        (Lan::Off, key(), true, true),
        (Lan::WithKey, Keys::default(), false, true),
        (Lan::WithKey, key(), false, true),
        (Lan::Open, Keys::default(), false, false),
    ] {
        let options = with(|settings| settings.server.lan = lan);
        let server = server(&options, keys);
        assert_eq!(options.host.is_loopback(), is_loopback, "{lan:?}");
        assert_eq!(server.host_addresses == HostAddresses::Loopback, is_loopback, "{lan:?}");
        assert_eq!(server.keys.is_some(), asks, "{lan:?}");
    }
    let open = with(|settings| settings.server.calls_per_minute = 0);
    assert_eq!(server(&open, Keys::default()).n_calls_per_minute, None);
}

#[test]
fn models_are_kept_and_loaded_as_chosen() {
    let usual = with(|_| {});
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    assert_eq!(keeping(&usual, at).idle_timeout, None);
    let plain = recipe(&usual.settings);
    assert!(plain.model.kv_bits.is_none() && plain.model.max_rows == 16 && !plain.kv.no_disk_cache);

    let chosen = with(|settings| {
        settings.models.idle_timeout_min = 1.5;
        settings.models.memory_budget_bytes = Some(7);
        settings.models.max_rows = 3;
        settings.models.kv_bits = Some(8);
        settings.models.speculation = "off".to_owned();
        settings.cache.on_disk = false;
        settings.cache.dir = Some("/a".to_owned());
        settings.cache.max_bytes = Some(9);
        settings.cache.reserve_bytes = Some(0);
    });
    let kept = keeping(&chosen, at);
    assert_eq!((kept.idle_timeout, kept.memory_budget), (Some(Duration::from_secs(90)), Some(7)));
    let recipe = recipe(&chosen.settings);
    assert_eq!((recipe.model.max_rows, recipe.model.kv_bits), (3, Some(KvBitsArg::Eight)));
    assert_eq!(recipe.model.draft.speculation, SpeculationArg::Off);
    assert!(recipe.kv.no_disk_cache);
    let dir = recipe.kv.dir;
    assert_eq!((dir.cache_dir, dir.cache_size, dir.cache_reserve), (Some("/a".into()), Some(9), Some(0)));
}
