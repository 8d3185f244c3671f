//! `tokbar serve`.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokbar_server::control::Site;
use tokbar_server::{DEFAULT_NAME, HostAddresses, Key, KeyScope, Keys, Models, ServerOptions, ServerState};

use crate::cli::{KeepArgs, ServeArgs};
use crate::cloud::Cloud;
use crate::launch::{self, Ending, Launch};
use crate::lifecycle::mark::{Mark, Running};
use crate::lifecycle::{Keeper, KeeperOptions, Loaded, Recipe, SafeMode, Watch, load_watched};
use crate::parts::{self, Basis};
use crate::port::{self, Bound};
use crate::{control, key_file, mcp, say, settings, wiring};

/// Longest other name of a model.
const N_NAME_MAX: usize = 128;

/// Binds first, so that a taken port costs no load, and answers from then on, with the news that the model is loading, if
/// one is named; serves until it is told to stop.
pub fn run(args: &ServeArgs) -> Result<()> {
    let keys = keys(args)?;
    check_exposure(args, keys.is_some())?;
    check_names(args)?;
    let toolbox = mcp::toolbox(&args.mcp, &settings::read().unwrap_or_default().mcp)?;
    let Bound { listener, note } = port::bind(args.host, args.port)?;
    if let Some(note) = note {
        tell(note);
    }
    let address = listener.local_addr().context("the socket has no address")?;
    let (recipe, safe) = recipe(args);
    let safe_mode = safe.as_ref().map(|safe| safe.note.clone()).unwrap_or_default();
    let (launch, watch, ending) = (Launch::new()?, Arc::new(Watch::default()), Ending::default());
    let name = short_name(&args.model.model);
    let models = if name.is_empty() { Models::default() } else { coming(&name, &watch) };
    let _mark = mark(&name, address, &launch);
    let basis = Basis {
        site: Site { address: Some(address), lan: launch::lan(address), safe_mode },
        models: models.clone(),
        token: launch.token().to_owned(),
        own_keys: keys_of_command(args)?,
        cache_dir: args.kv.dir.clone(),
        cloud: Cloud::new(&args.cloud)?,
        toolbox,
        ending: ending.clone(),
    };
    let state = ServerState::new(models.clone(), options(args, keys.clone(), &launch)).with_parts(parts::parts(basis));
    let mut keeper = None;
    let served = wiring::block_on(async {
        listener.set_nonblocking(true).context("the socket cannot be made async")?;
        let listener = tokio::net::TcpListener::from_std(listener).context("the socket cannot be made async")?;
        let (stop, stop_now) = (wiring::stop_signal(1)?, wiring::stop_signal(2)?);
        let stop = async {
            tokio::select! {
                () = stop => {}
                () = ending.asked() => {}
            }
        };
        let mut serving = pin!(tokbar_server::serve(listener, state, stop));
        let mut stop_now = pin!(stop_now);
        let (model, kv) = (recipe.model.clone(), recipe.kv.clone());
        let load = move || if model.model.is_empty() { Ok(None) } else { load_watched(&model, &kv, &watch).map(Some) };
        tokio::select! {
            loaded = wiring::in_background(load)? => {
                let loaded = loaded??;
                let news = news(address, loaded.as_ref(), keys.is_some());
                keeper = Some(Keeper::start(&models, loaded, recipe, KeeperOptions { safe, ..keeper_options(&args.keep, address) })?);
                tell(news);
                tell(format_args!("Manage: {}", launch.page(address)));
            }
            () = &mut serving => return Ok(()),
            () = &mut stop_now => return Ok(()),
        }
        tokio::select! {
            () = serving => {}
            () = stop_now => {}
        }
        Ok(())
    });
    keeper.into_iter().for_each(Keeper::stop);
    served
}

/// A model on its way.
fn coming(name: &str, watch: &Arc<Watch>) -> Models {
    let watch = Arc::clone(watch);
    Models::loading(name.to_owned(), Arc::new(move || watch.part()))
}

/// How the model is loaded: with less after an unclean end, and then why.
fn recipe(args: &ServeArgs) -> (Recipe, Option<SafeMode>) {
    let mut recipe = Recipe { model: args.model.clone(), kv: args.kv.clone(), names: args.names.clone(), id: None };
    let dir = control::marks();
    let good_for = Duration::from_secs_f64(args.keep.safe_mode_for.clamp(0.0, 1e6));
    let take = |dir: PathBuf| SafeMode::after_unclean_end(&dir, &mut recipe.model, good_for);
    let safe = dir.ok().filter(|_| !args.keep.no_safe_mode).and_then(take);
    if let Some(note) = safe.as_ref().and_then(|safe| safe.note.now()) {
        tell(format_args!("Note: {note}"));
    }
    (recipe, safe)
}

/// Tells others on this machine, and the next start, that a model is loaded.
fn mark(model: &str, address: SocketAddr, launch: &Launch) -> Option<Mark> {
    let (model, token) = (model.to_owned(), launch.token().to_owned());
    let running = Running { pid: std::process::id(), model, address: address.to_string(), token };
    Mark::set(&control::marks().ok()?, &running)
}

fn keeper_options(args: &KeepArgs, address: SocketAddr) -> KeeperOptions {
    KeeperOptions {
        address,
        idle_timeout: (args.idle_timeout > 0.0).then(|| Duration::from_secs_f64(60.0 * args.idle_timeout.min(1e6))),
        memory_budget: args.memory_budget,
        switches: !args.no_switch,
        is_pinned: args.pin,
        pressure_from: args.pressure_from.clone(),
        pressure_calm: Duration::from_secs_f64(args.pressure_calm.clamp(0.0, 1e6)),
        safe: None,
    }
}

/// The keys of this user's file and of the command line; `None` when there are none.
fn keys(args: &ServeArgs) -> Result<Option<Keys>> {
    let mut keys = key_file::keys(&key_file::read(&key_file::place()?)?);
    keys.0.extend(keys_of_command(args)?.0);
    Ok((!keys.0.is_empty()).then_some(keys))
}

fn keys_of_command(args: &ServeArgs) -> Result<Keys> {
    match args.api_key.as_deref() {
        Some("") => bail!("the API key is empty; give one with --api-key or TOKBAR_API_KEY, or leave it out"),
        Some(secret) => Ok(Keys(vec![Key::new("command line", KeyScope::Manage, secret)])),
        None => Ok(Keys::default()),
    }
}

/// What clients are told is loading: an id as it is, of a path only its end, as folders are nobody else's business.
fn short_name(model: &str) -> String {
    let path = Path::new(model);
    let is_path = path.is_absolute() || path.exists();
    let end = path.file_name().filter(|_| is_path).map(|name| name.to_string_lossy().into_owned());
    end.unwrap_or_else(|| model.to_owned())
}

/// Whoever can reach the server can use the model: beyond this machine that takes a key, or the will to do without.
fn check_exposure(args: &ServeArgs, has_key: bool) -> Result<()> {
    if args.host.is_loopback() || has_key {
        return Ok(());
    }
    if args.allow_unauthenticated_lan {
        tracing::warn!("everybody who can reach {} can use this server: it asks for no key", args.host);
        return Ok(());
    }
    bail!(
        "{} can be reached from other machines; make a key with `tokbar key add NAME`, set one with --api-key or \
         TOKBAR_API_KEY, or let everybody in with --allow-unauthenticated-lan",
        args.host
    )
}

/// Names go into addresses, answers and lists.
fn check_names(args: &ServeArgs) -> Result<()> {
    for (idx, name) in args.names.iter().enumerate() {
        let is_plain = |c: char| c.is_ascii_graphic() && !"\"\\?#%&".contains(c);
        if name.is_empty() || name.len() > N_NAME_MAX || !name.chars().all(is_plain) {
            bail!("{name:?} is no name for a model; use up to {N_NAME_MAX} letters, digits and signs such as - . : /");
        }
        if name == DEFAULT_NAME {
            bail!("the name {DEFAULT_NAME:?} reaches the model already; leave it out");
        }
        if args.names[..idx].contains(name) {
            bail!("the name {name:?} is given twice; leave one out");
        }
    }
    Ok(())
}

fn options(args: &ServeArgs, keys: Option<Keys>, launch: &Launch) -> ServerOptions {
    ServerOptions {
        allowed_hosts: args.allow_hosts.clone(),
        host_addresses: if args.host.is_loopback() { HostAddresses::Loopback } else { HostAddresses::Any },
        allowed_origins: args.allow_origins.clone(),
        keys,
        launch: Some(launch.key()),
        n_calls_per_minute: (args.rate_limit > 0).then_some(args.rate_limit),
        call_timeout: args.timeout.map(Duration::from_secs),
        ..ServerOptions::default()
    }
}

/// What is served where, and a line to try it.
fn news(address: SocketAddr, loaded: Option<&Loaded>, has_key: bool) -> String {
    let base_url = format!("http://{}/v1", launch::host(address));
    let Some(loaded) = loaded else {
        return format!("Serving no model yet: `tokbar ls` shows those that calls may name\nReady: {base_url}");
    };
    let key = if has_key { " \\\n  -H \"Authorization: Bearer $TOKBAR_API_KEY\"" } else { "" };
    let request = if loaded.text.template.is_some() {
        r#"{"model": "default", "messages": [{"role": "user", "content": "What is the capital of France?"}]}"#
    } else {
        r#"{"model": "default", "prompt": "The capital of France is", "max_tokens": 16}"#
    };
    let path = if loaded.text.template.is_some() { "chat/completions" } else { "completions" };
    format!(
        "Serving {}\nReady: {base_url}\nTry it:\ncurl {base_url}/{path} -H 'Content-Type: application/json'{key} \\\n  -d '{request}'",
        loaded.name
    )
}

/// A server whose terminal is gone still serves.
fn tell(text: impl Display) {
    if let Err(error) = say::line(text) {
        tracing::debug!(%error, "standard output is gone");
    }
}
