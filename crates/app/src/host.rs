//! The server inside another program, such as the desktop app: it starts without a model, loads and unloads as it is told, and
//! ends as a whole.

mod chosen;
mod worker;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokbar_engine::Stats;
use tokbar_server::control::{Live, Parts, Settings, Site, Status};
use tokbar_server::{ApiError, Keys, Lifecycle, Models, PinChange, ServerOptions, ServerState};

use crate::cli::CloudArgs;
use crate::cloud::Cloud;
use crate::launch::{self, Ending, Launch};
use crate::lifecycle::mark::{Mark, Running};
use crate::lifecycle::{GOOD_FOR, Keeper, KeeperOptions, Recipe, SafeMode};
use crate::parts::{self, Basis};
use crate::port::{self, Bound};
use crate::{control, key_file, mcp, settings};
use worker::Server;

/// How long calls may still run once the host is to end.
const GRACE: Duration = Duration::from_millis(700);

/// How the host starts.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// Where it listens.
    pub host: IpAddr,
    /// `None` takes the first free one from the usual one on.
    pub port: Option<u16>,
    /// Whether an unclean end before bounds what is loaded.
    pub caution: Caution,
    /// Where the memory pressure is read from, instead of the machine.
    pub pressure_from: Option<std::path::PathBuf>,
    /// What else a person chose.
    pub settings: Settings,
}

impl HostOptions {
    /// As this user's settings say.
    ///
    /// # Errors
    /// When they are damaged.
    pub fn of_user() -> Result<Self> {
        let settings = settings::read()?;
        Ok(Self { host: chosen::address(&settings), port: settings.server.port, settings, ..Self::default() })
    }
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: None,
            caution: Caution::AfterUncleanEnd,
            pressure_from: None,
            settings: Settings::default(),
        }
    }
}

/// Whether models are loaded with less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// In any case.
    Always,
    /// After an unclean end while a model was loaded.
    AfterUncleanEnd,
    /// Not even then.
    Never,
}

/// What the host can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Load the model of that name, which is on this machine.
    Load(String),
    /// Let its calls end, and unload it.
    Unload(String),
    /// The same for all.
    UnloadAll,
    /// Set or lift its pin.
    Pin(String, PinChange),
}

/// See the module.
pub struct Host {
    address: SocketAddr,
    note: Option<String>,
    unclean: Option<String>,
    models: Models,
    mark: Mutex<Marked>,
    lifecycle: Arc<dyn Lifecycle>,
    keeper: Keeper,
    server: Server,
    launch: Launch,
    ending: Ending,
    state: ServerState,
}

/// The mark on disk, and the model that it names.
struct Marked {
    mark: Option<Mark>,
    model: String,
}

impl Host {
    /// Listens, and serves no model yet.
    ///
    /// # Errors
    /// When the port is taken, the user's keys are damaged, the app lacks a part, or the system gives no threads.
    pub fn start(options: &HostOptions) -> Result<Self> {
        tokbar_models::use_those_of_the_app()?;
        let keys = key_file::keys(&key_file::read(&key_file::place()?)?);
        let Bound { listener, note } = port::bind(options.host, options.port)?;
        let address = listener.local_addr().context("the socket has no address")?;
        let (recipe, safe) = recipe(options)?;
        let safe_mode = safe.as_ref().map(|safe| safe.note.clone()).unwrap_or_default();
        let unclean = safe_mode.now();
        let (models, launch, ending) = (Models::default(), Launch::new()?, Ending::default());
        let keeper = Keeper::start(&models, None, recipe, KeeperOptions { safe, ..chosen::keeping(options, address) })?;
        let server_options =
            ServerOptions { launch: Some(launch.key()), shutdown_grace: GRACE, ..chosen::server(options, keys) };
        let basis = Basis {
            site: Site { address: Some(address), lan: launch::lan(address), safe_mode },
            models: models.clone(),
            token: launch.token().to_owned(),
            own_keys: Keys::default(),
            cache_dir: chosen::cache_dir(&options.settings),
            cloud: Cloud::new(&CloudArgs::default())?,
            toolbox: mcp::of_settings(&options.settings.mcp),
            ending: ending.clone(),
        };
        let state = ServerState::new(models.clone(), server_options).with_parts(parts::parts(basis));
        let server = Server::start(listener, state.clone())?;
        let mark = Mark::set(&control::marks()?, &running("", address, &launch));
        let mark = Mutex::new(Marked { mark, model: String::new() });
        let lifecycle = keeper.lifecycle();
        Ok(Self { address, note, unclean, models, mark, lifecycle, keeper, server, launch, ending, state })
    }

    /// The key with which this launch is managed.
    pub fn token(&self) -> &str {
        self.launch.token()
    }

    /// The page that manages it, which keeps the key in its fragment.
    pub fn page_url(&self) -> String {
        self.launch.page(self.address)
    }

    /// What it is and does: for a menu.
    pub fn status(&self) -> Status {
        self.state.status()
    }

    /// What goes on: for a window without HTTP.
    pub fn live(&self) -> Live {
        Live::now(&self.state)
    }

    /// What the control API reaches.
    pub fn parts(&self) -> &Parts {
        self.state.parts()
    }

    /// Whether somebody asked over the control API that it end.
    pub fn is_asked_to_end(&self) -> bool {
        self.ending.is_asked()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where OpenAI's clients find it.
    pub fn endpoint(&self) -> String {
        format!("http://localhost:{}/v1", self.address.port())
    }

    /// Why it listens on another port than the usual one.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// What to say of the unclean end after which models are loaded with less.
    pub fn unclean(&self) -> Option<&str> {
        self.unclean.as_deref()
    }

    /// What each loaded model does and has done.
    pub fn stats(&self) -> Vec<(String, Stats)> {
        self.models.all().iter().map(|model| (model.id.clone(), model.engine.stats())).collect()
    }

    /// Does what is wished, later; `done` hears how it went.
    pub fn ask(&self, wish: Wish, done: impl FnOnce(Result<(), ApiError>) + Send + 'static) {
        if let Wish::Load(name) = &wish {
            self.remember(name);
        }
        let (models, lifecycle) = (self.models.clone(), Arc::clone(&self.lifecycle));
        self.server.later(async move { done(fulfil(&models, &lifecycle, wish).await) });
    }

    /// Keeps what the next start reads after an unclean end: the model in memory, empty for none. To be called now and then.
    pub fn remember(&self, model: &str) {
        let mut marked = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        if marked.model == model {
            return;
        }
        model.clone_into(&mut marked.model);
        if let Some(mark) = &mut marked.mark {
            mark.update(&running(model, self.address, &self.launch));
        }
    }

    /// From now on the end is a clean one, however long it takes.
    pub fn forget_mark(&self) {
        self.mark.lock().unwrap_or_else(PoisonError::into_inner).mark = None;
    }

    /// Stops listening, lets calls end for a moment, unloads everything, and waits for all of that.
    pub fn stop(mut self) {
        self.forget_mark();
        self.server.stop();
        self.keeper.stop();
    }
}

async fn fulfil(models: &Models, lifecycle: &Arc<dyn Lifecycle>, wish: Wish) -> Result<(), ApiError> {
    match wish {
        Wish::Load(name) => {
            models.want(Some(&name)).await?;
            models.find(Some(&name)).map(drop)
        }
        Wish::Unload(name) => lifecycle.unload(name).await,
        Wish::UnloadAll => {
            for model in models.all().iter().map(|model| model.id.clone()).collect::<Vec<_>>() {
                lifecycle.unload(model).await?;
            }
            Ok(())
        }
        Wish::Pin(name, change) => lifecycle.pin(name, change).await,
    }
}

fn running(model: &str, address: SocketAddr, launch: &Launch) -> Running {
    let (model, token) = (model.to_owned(), launch.token().to_owned());
    Running { pid: std::process::id(), model, address: address.to_string(), token }
}

/// How models are loaded, and with what bounds after an unclean end.
fn recipe(options: &HostOptions) -> Result<(Recipe, Option<SafeMode>)> {
    let usual = chosen::recipe(&options.settings);
    let mut bounded = usual.clone();
    let safe = SafeMode::after_unclean_end(&control::marks()?, &mut bounded.model, GOOD_FOR);
    Ok(match (safe, options.caution) {
        (None, Caution::Always) => {
            let safe = SafeMode::as_asked(&mut bounded.model, GOOD_FOR);
            (bounded, Some(safe))
        }
        (Some(safe), Caution::Always | Caution::AfterUncleanEnd) => (bounded, Some(safe)),
        _ => (usual, None),
    })
}
