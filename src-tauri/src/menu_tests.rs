use super::*;
use crate::offered::Offer;
use crate::words::Language;

fn offer(name: &str) -> Offer {
    Offer { name: name.to_owned(), n_bytes: 5_100_000_000 }
}

fn loaded(name: &str, phase: Phase) -> Loaded {
    Loaded { name: name.to_owned(), n_bytes: 5_100_000_000, is_pinned: false, phase }
}

fn serving(models: Vec<Loaded>) -> Live {
    Live { models, endpoint: Some("http://localhost:8000/v1".to_owned()), ..Live::default() }
}

fn english(live: &Live) -> Vec<Item> {
    menu(live, Language::English.words())
}

/// A menu as people see it: one row a line, those of submenus indented.
fn seen(items: &[Item]) -> Vec<String> {
    let rows = items.iter().flat_map(|item| match item {
        Item::Text { label, dot, .. } => {
            vec![format!("{}{label}", dot.map_or(String::new(), |dot| format!("{dot:?} ")))]
        }
        Item::Act { label, .. } => vec![format!("[{label}]")],
        Item::Check { label, is_checked, .. } => vec![format!("[{}{label}]", if *is_checked { "x " } else { "" })],
        Item::Menu { label, items, .. } => {
            [vec![format!("{label} >")], seen(items).iter().map(|row| format!("  {row}")).collect()].concat()
        }
        Item::Line => vec!["-".to_owned()],
    });
    rows.collect()
}

#[test]
fn a_menu_of_nothing_leads_to_a_model() {
    let expected = [
        "Grey Stopped",
        "-",
        "[Choose a Model…]",
        "Models >",
        "  Grey No model is loaded",
        "  -",
        "  [Get More Models…]",
        "Connect >",
        "  [All Clients…]",
        "[Copy Endpoint URL]",
        "-",
        "[Open Tokbar]",
        "[Settings…]",
        "[Check for Updates…]",
        "-",
        "[Quit Tokbar]",
    ];
    assert_eq!(seen(&english(&serving(Vec::new()))), expected);
}

#[test]
fn the_first_line_says_what_goes_on() {
    let qwen = |phase| serving(vec![loaded("mlx-community/Qwen3.5-9B", phase)]);
    let failed = |models| Live {
        trouble: Some(Trouble::LoadFailed("a/B".to_owned(), "no weights".to_owned())),
        ..serving(models)
    };
    for (live, expected) in [
        (qwen(Phase::Loading { percent: 43 }), "Amber Qwen3.5-9B · Loading 43 %"),
        (qwen(Phase::Ready), "Green Qwen3.5-9B · Ready"),
        (qwen(Phase::Prefill { percent: Some(60) }), "Amber Qwen3.5-9B · Prefill 60 %"),
        (qwen(Phase::Prefill { percent: None }), "Amber Qwen3.5-9B · Reading the prompt"),
        (qwen(Phase::Decode { tokens_per_s: 108.4 }), "Green Qwen3.5-9B · 108 tok/s"),
        (qwen(Phase::Decode { tokens_per_s: 9.94 }), "Green Qwen3.5-9B · 9.9 tok/s"),
        (qwen(Phase::Leaving), "Grey Qwen3.5-9B · Unloading"),
        (serving(Vec::new()), "Grey Stopped"),
        (failed(Vec::new()), "Red B could not be loaded: no weights"),
        (failed(vec![loaded("a", Phase::Ready)]), "Green a · Ready"),
        (
            Live { trouble: Some(Trouble::NotServing("port 1 is taken".to_owned())), ..Live::default() },
            "Red Not serving: port 1 is taken",
        ),
        (
            serving(vec![loaded("idle", Phase::Ready), loaded("busy", Phase::Decode { tokens_per_s: 20.0 })]),
            "Green busy · 20 tok/s",
        ),
    ] {
        assert_eq!(seen(&english(&live))[0], expected);
    }
}

#[test]
fn memory_is_told_in_plain_words() {
    let memory = |level| Live { memory: Some(Memory { level, n_free_bytes: 7_000_000_000 }), ..serving(Vec::new()) };
    for (level, expected) in [
        (Level::Normal, "Green Memory pressure normal · 7.0 GB free"),
        (Level::Warning, "Amber Memory is getting short · 7.0 GB free"),
        (Level::Critical, "Red Memory is very short · 7.0 GB free"),
    ] {
        assert_eq!(seen(&english(&memory(level)))[1], expected);
    }
}

#[test]
fn models_are_loaded_recent_here_or_to_be_had() {
    let offered = Offered {
        here: vec![offer("a/one"), offer("b/two"), offer("c/three"), offer("d/four")],
        fitting: vec![offer("five")],
        recommended: None,
        recents: ["gone", "c/three", "b/two", "a/one"].map(str::to_owned).to_vec(),
    };
    let mut pinned = loaded("a/one", Phase::Decode { tokens_per_s: 12.0 });
    pinned.is_pinned = true;
    let moving = Loaded { n_bytes: 0, ..loaded("e/six", Phase::Loading { percent: 5 }) };
    let live = Live { offered, ..serving(vec![pinned, moving]) };
    let expected = [
        "one · 5.1 GB · 12 tok/s >",
        "  [Unload]",
        "  [x Keep Loaded]",
        "Amber six · Loading 5 %",
        "-",
        "Recent",
        "[three · 5.1 GB]",
        "[two · 5.1 GB]",
        "-",
        "On This Machine",
        "[four · 5.1 GB]",
        "-",
        "Fits This Machine",
        "[five · 5.1 GB…]",
        "-",
        "[Get More Models…]",
    ];
    assert_eq!(seen(&models::items(&live, Language::English.words())), expected);
}

#[test]
fn long_lists_are_cut() {
    let here = (0..100).map(|idx| offer(&format!("model-{idx}"))).collect();
    let live = Live { offered: Offered { here, ..Offered::default() }, ..serving(Vec::new()) };
    assert!(models::items(&live, Language::English.words()).len() < 20);
}

#[test]
fn the_main_action_is_the_next_one() {
    let with = |recents: &[&str], recommended: Option<&str>, here: &[&str]| Live {
        offered: Offered {
            here: here.iter().map(|name| offer(name)).collect(),
            recents: recents.iter().map(|&name| name.to_owned()).collect(),
            recommended: recommended.map(str::to_owned),
            ..Offered::default()
        },
        ..serving(Vec::new())
    };
    for (live, expected) in [
        (with(&[], None, &[]), Action::Open(Page::Models(None))),
        (with(&["gone"], Some("far"), &[]), Action::Open(Page::Models(None))),
        (with(&[], None, &["a"]), Action::Load("a".to_owned())),
        (with(&[], Some("b"), &["a", "b"]), Action::Load("b".to_owned())),
        (with(&["gone", "c"], Some("b"), &["a", "b", "c"]), Action::Load("c".to_owned())),
        (serving(vec![loaded("a", Phase::Ready)]), Action::Stop),
        (Live { trouble: Some(Trouble::NotServing(String::new())), ..Live::default() }, Action::Restart),
    ] {
        let items = english(&live);
        let first = items.iter().find_map(|item| match item {
            Item::Act { action, .. } => Some(action.clone()),
            _ => None,
        });
        assert_eq!(first, Some(expected));
    }
}

#[test]
fn an_unexpected_end_is_told_with_ways_out() {
    let live = Live { ended_badly: true, has_report: true, is_safe: true, ..serving(Vec::new()) };
    let rows = seen(&english(&live));
    let expected = [
        "Amber Tokbar ended unexpectedly last time",
        "[Show Report…]",
        "Safe mode: one request at a time, smaller cache",
        "[Leave Safe Mode]",
        "-",
    ];
    assert_eq!(rows[2..7], expected);
}

#[test]
fn safe_mode_is_offered_where_the_end_did_not_lead_to_it() {
    let live = Live { ended_badly: true, has_report: true, ..serving(Vec::new()) };
    let rows = seen(&english(&live));
    assert_eq!(rows[2..5], ["Amber Tokbar ended unexpectedly last time", "[Show Report…]", "[Serve in Safe Mode]"]);
}

#[test]
fn an_update_takes_the_place_of_looking_for_one() {
    let live = Live { update: Some("1.2.3".to_owned()), ..serving(Vec::new()) };
    let rows = seen(&english(&live));
    assert!(rows.contains(&"[Restart to Update to 1.2.3]".to_owned()), "{rows:?}");
    assert!(!rows.contains(&"[Check for Updates…]".to_owned()), "{rows:?}");
}

#[test]
fn a_server_that_does_not_serve_has_no_address() {
    assert!(!seen(&english(&Live::default())).contains(&"[Copy Endpoint URL]".to_owned()));
}

#[test]
fn clients_lead_to_their_page() {
    let live = Live { clients: vec![("claude-code".to_owned(), "Claude Code".to_owned())], ..serving(Vec::new()) };
    let items = english(&live);
    assert_eq!(
        action(&items, "open /connect/claude-code"),
        Some(Action::Open(Page::Connect(Some("claude-code".to_owned()))))
    );
}

#[test]
fn the_title_is_short_and_only_there_when_wanted() {
    let busy = serving(vec![
        loaded("a", Phase::Decode { tokens_per_s: 20.4 }),
        loaded("b", Phase::Decode { tokens_per_s: 10.0 }),
    ]);
    assert_eq!(title(&busy), None);
    assert_eq!(title(&Live { shows_rate: true, ..busy }).as_deref(), Some("30"));
    assert_eq!(title(&Live { shows_rate: true, ..serving(vec![loaded("a", Phase::Ready)]) }), None);
}

#[test]
fn every_row_that_acts_is_found_by_its_own_id() {
    fn walk<'a>(items: &'a [Item], out: &mut Vec<&'a Action>) {
        for item in items {
            match item {
                Item::Act { action, .. } | Item::Check { action, .. } => out.push(action),
                Item::Menu { items, .. } => walk(items, out),
                Item::Text { .. } | Item::Line => {}
            }
        }
    }
    let live = Live {
        ended_badly: true,
        has_report: true,
        is_safe: true,
        clients: vec![("codex".to_owned(), "Codex".to_owned())],
        offered: Offered { here: vec![offer("x"), offer("y z/q")], fitting: vec![offer("w")], ..Offered::default() },
        ..serving(vec![loaded("m", Phase::Ready)])
    };
    let items = english(&live);
    let mut actions = Vec::new();
    walk(&items, &mut actions);
    assert!(actions.len() > 14);
    for one in &actions {
        let same = actions.iter().filter(|other| other.id() == one.id());
        // Two rows may lead to the same page.
        assert!(same.clone().all(|other| other == one), "{one:?}");
        assert_eq!(action(&items, &one.id()).as_ref(), Some(*one));
    }
    assert_eq!(action(&items, "load nothing"), None);
}

#[test]
fn names_in_addresses_are_encoded() {
    for (page, expected) in [
        (Page::Any, ""),
        (Page::Models(None), "/models"),
        (Page::Models(Some("a/b c#1".to_owned())), "/models/a%2Fb%20c%231"),
        (Page::Connect(None), "/connect"),
        (Page::Connect(Some("codex".to_owned())), "/connect/codex"),
        (Page::Settings, "/settings"),
        (Page::About, "/about"),
    ] {
        assert_eq!(page.route(), expected);
    }
}
