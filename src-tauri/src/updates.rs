//! Updates of the app: looked for, fetched and checked in the background, installed when a person says so.
//!
//! What may be done when is `tokbar_app::update`'s; the network, the signature and the replacing are Tauri's updater's.

mod keeper;
mod source;
mod trial;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tauri::AppHandle;
use tokbar_app::update::{Place, Trial, Work, app_of, place_of};
use tokio::sync::{mpsc, oneshot};

pub use trial::{Answer, Begun, Step, begin};

/// Orders that may wait; more than a person clicks while one is done.
const N_ORDERS_MAX: usize = 8;

/// How things stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has looked yet.
    #[default]
    Unknown,
    /// Somebody looks, or fetches what was found.
    Looking,
    /// There is nothing newer.
    UpToDate,
    /// There is something newer that is not installed yet, and why.
    Waiting {
        /// Which version.
        version: String,
        /// What stands against it, and what to do.
        why: String,
    },
    /// It is here and checked; [`Updates::install`] puts it in the app's place.
    Ready {
        /// Which version.
        version: String,
        /// What its makers say about it, as plain text.
        notes: String,
    },
    /// It did not work, and why.
    Failed(String),
}

/// Whether a person wants the app to look by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Once a day.
    Yes,
    /// Only when somebody asks.
    No,
}

/// What is to be done.
#[derive(Debug)]
enum Order {
    /// Tells when somebody has looked; what was found may still be on its way.
    Look(oneshot::Sender<()>),
    Beat(Wanted, Work),
    Install,
}

/// The thread that does it; see the module.
pub struct Updates {
    standing: Arc<Mutex<Standing>>,
    orders: mpsc::Sender<Order>,
    worker: Mutex<Option<worker::Worker>>,
}

impl Updates {
    /// Starts the thread. `folder` is the app's own, for what is fetched and kept; `changed` is called when the standing is
    /// another.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(app: &AppHandle, folder: PathBuf, begun: Begun, changed: impl Fn() + Send + 'static) -> Result<Self> {
        let standing = Arc::new(Mutex::new(Standing::default()));
        let (orders, received) = mpsc::channel(N_ORDERS_MAX);
        let kept = Arc::clone(&standing);
        let say = move |new: Standing| {
            let mut standing = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if *standing != new {
                *standing = new;
                drop(standing);
                changed();
            }
        };
        let keeper = keeper::Keeper::new(app.clone(), folder, begun, Box::new(say));
        Ok(Self { standing, orders, worker: Mutex::new(Some(worker::Worker::start(keeper, received)?)) })
    }

    /// How things stand now.
    pub fn standing(&self) -> Standing {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Somebody asks: looks now. What comes back tells when that is done.
    pub fn look(&self) -> oneshot::Receiver<()> {
        let (looked, done) = oneshot::channel();
        self.order(Order::Look(looked));
        done
    }

    /// To be called every now and then with what the app is doing: looks when it is time, goes on with what had to wait.
    pub fn beat(&self, wanted: Wanted, work: Work) {
        self.order(Order::Beat(wanted, work));
    }

    /// Somebody wants the update that is ready: it takes the app's place as soon as the app is idle, and the app starts anew.
    pub fn install(&self) {
        self.order(Order::Install);
    }

    fn order(&self, order: Order) {
        if let Err(error) = self.orders.try_send(order) {
            tracing::debug!(%error, "an order about updates is dropped: others wait");
        }
    }

    /// Ends the thread; whatever is being fetched is given up. The start went well enough to end like this.
    pub fn end(&self) {
        if let Some(worker) = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take() {
            worker.end();
        }
    }
}

/// Folder of what is fetched and kept, in the folder of this user's settings.
#[must_use]
pub fn place(config: &Path) -> PathBuf {
    config.join("update")
}

/// The app that runs, and where that is.
fn installed() -> (Option<PathBuf>, Place) {
    let image = cfg!(target_os = "linux").then(|| std::env::var_os("APPIMAGE").map(PathBuf::from)).flatten();
    let program = std::env::current_exe().unwrap_or_default();
    let app = app_of(&program, image.as_deref());
    let can_write = |path: &Path| nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok();
    let place = place_of(app.as_deref(), can_write);
    (app, place)
}

/// The version that runs.
fn version(app: &AppHandle) -> String {
    app.package_info().version.to_string()
}

/// What a new version is, for a test of its start.
fn trial_of(from: &str, to: &str) -> Trial {
    Trial { from: from.to_owned(), to: to.to_owned(), n_starts: 0 }
}
