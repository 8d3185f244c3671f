//! The server that the app hosts, with what is to be said about it. Knows no window and no tray.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokbar_app::host::{Caution, Host, HostOptions, Wish};
use tokbar_app::say;
use tokbar_server::ApiError;
use tokbar_server::control::{AppSettings, Live as Seen, Settings, Transfer};

use crate::memo::{self, Memo};
use crate::menu::{Live, Memory, Offered, Trouble};
use crate::offered::Offers;
use crate::phases::phases;

/// Tokens that a model which is offered has room for.
const N_CONTEXT: u64 = 8192;

/// See the module.
pub struct Session {
    config: PathBuf,
    pressure_from: Option<PathBuf>,
    host: Mutex<Option<Host>>,
    notes: Mutex<Notes>,
}

/// What is known besides what the host says.
#[derive(Default)]
struct Notes {
    trouble: Option<Trouble>,
    offers: Offers,
    clients: Vec<(String, String)>,
    memo: Memo,
    report: Option<PathBuf>,
    ended_badly: bool,
    is_safe: bool,
}

/// What [`Session::live`] saw: for the menu, and for what is told once.
pub struct Sight {
    /// For the menu.
    pub live: Live,
    /// As the host has it; `None` while it does not serve.
    pub seen: Option<Seen>,
    /// What a person decided about the app.
    pub app: AppSettings,
}

impl Session {
    /// Starts the host. What hinders it is part of what is shown.
    pub fn start(config: PathBuf, pressure_from: Option<PathBuf>, report: Option<PathBuf>) -> Self {
        let memo = Memo::read(&memo::place(&config)).unwrap_or_default();
        let notes = Notes { memo, ended_badly: report.is_some(), report, ..Notes::default() };
        let session = Self { config, pressure_from, host: Mutex::new(None), notes: Mutex::new(notes) };
        session.serve(Caution::AfterUncleanEnd);
        session
    }

    /// Starts the host again: after its port was freed, or with other caution.
    pub fn serve(&self, caution: Caution) {
        let mut host = self.host();
        host.take().into_iter().for_each(Host::stop);
        let pressure_from = self.pressure_from.clone();
        let options = HostOptions::of_user().map(|options| HostOptions { caution, pressure_from, ..options });
        let started = options.and_then(|options| Host::start(&options));
        let mut notes = self.notes();
        match started {
            Ok(started) => {
                started.note().into_iter().for_each(|note| tracing::warn!("{note}"));
                started.unclean().into_iter().for_each(|note| tracing::warn!("{note}"));
                notes.is_safe = started.unclean().is_some();
                notes.ended_badly |= notes.is_safe;
                notes.trouble = None;
                *host = Some(started);
            }
            Err(error) => notes.trouble = Some(Trouble::NotServing(say::cause(&error))),
        }
    }

    /// Has a wish fulfilled; `done` is called when it was, or could not be.
    pub fn wish(self: &Arc<Self>, wish: Wish, done: impl FnOnce() + Send + 'static) {
        let (session, asked) = (Arc::clone(self), wish.clone());
        if let Some(host) = self.host().as_ref() {
            host.ask(wish, move |outcome| {
                session.settle(&asked, outcome);
                done();
            });
        }
    }

    fn settle(&self, wish: &Wish, outcome: Result<(), ApiError>) {
        let mut notes = self.notes();
        match (wish, outcome) {
            (Wish::Load(_), Ok(())) => notes.trouble = None,
            (Wish::Load(name), Err(error)) => {
                notes.trouble = Some(Trouble::LoadFailed(name.clone(), error.to_string()));
            }
            (_, Ok(())) => {}
            (wish, Err(error)) => tracing::warn!(%error, "{wish:?} was not done"),
        }
    }

    /// A model was started, by whomever: it comes first from now on.
    pub fn started(&self, model: &str) {
        let mut notes = self.notes();
        notes.memo.started(model);
        if let Err(error) = notes.memo.write(&memo::place(&self.config)) {
            tracing::warn!("what was started is not remembered: {}", say::cause(&error));
        }
    }

    /// Downloads and imports, those that are over included.
    pub fn transfers(&self) -> Vec<Transfer> {
        let part = self.host().as_ref().and_then(|host| host.parts().transfers.clone());
        part.and_then(|part| part.list().ok()).unwrap_or_default()
    }

    /// Looks for models on the disk and in the catalogue; takes a moment.
    pub fn look_around(&self) {
        let shelves = self.host().as_ref().and_then(|host| host.parts().shelves.clone());
        match shelves.map(|shelves| shelves.shelf(N_CONTEXT)) {
            Some(Ok(shelf)) => self.notes().offers = shelf.into(),
            Some(Err(error)) => tracing::warn!("models cannot be listed: {error}"),
            None => {}
        }
        let clients = self.host().as_ref().and_then(|host| host.parts().clients.clone());
        if let Some(Ok(clients)) = clients.map(|clients| clients.list()) {
            self.notes().clients = clients.into_iter().map(|client| (client.id, client.name)).collect();
        }
    }

    /// What is the case now.
    pub fn live(&self) -> Sight {
        let host = self.host();
        let seen = host.as_ref().map(Host::live);
        let stats = host.as_ref().map(Host::stats).unwrap_or_default();
        if let (Some(host), Some(seen)) = (host.as_ref(), &seen) {
            host.remember(seen.models.last().map_or("", |model| &model.id));
        }
        let is_bounded = host.as_ref().is_some_and(|host| host.status().is_safe_mode);
        let app = settings(host.as_ref()).app;
        let notes = self.notes();
        let live = Live {
            models: seen.as_ref().map(|seen| phases(&seen.models, &seen.requests, &stats)).unwrap_or_default(),
            trouble: notes.trouble.clone(),
            memory: seen.as_ref().and_then(memory),
            endpoint: host.as_ref().map(Host::endpoint),
            offered: notes.offered(),
            clients: notes.clients.clone(),
            ended_badly: notes.ended_badly,
            has_report: notes.report.is_some(),
            is_safe: notes.is_safe && is_bounded,
            update: None,
            shows_rate: app.icon_title == "speed",
        };
        Sight { live, seen, app }
    }

    /// Loads the model that a person chose to start with, if they chose so.
    pub fn start_usual_model(self: &Arc<Self>, done: impl FnOnce() + Send + 'static) {
        let start = settings(self.host().as_ref()).start;
        let is_careful = self.notes().ended_badly;
        if let (true, false, Some(model)) = (start.on_launch, is_careful, start.model) {
            self.wish(Wish::Load(model), done);
        }
    }

    /// Whether somebody asked over HTTP that the app end.
    pub fn is_asked_to_end(&self) -> bool {
        self.host().as_ref().is_some_and(Host::is_asked_to_end)
    }

    /// The report of the run before.
    pub fn report(&self) -> Option<PathBuf> {
        self.notes().report.clone()
    }

    /// The report was shown: from now on it is no longer offered.
    pub fn forget_report(&self) {
        let mut notes = self.notes();
        notes.ended_badly = notes.is_safe;
        notes.report = None;
    }

    /// The page of the window; `None` while nothing is served.
    pub fn page(&self) -> Option<String> {
        let host = self.host();
        host.as_ref().map(Host::page_url)
    }

    /// Why nothing is served.
    pub fn trouble(&self) -> Option<String> {
        match &self.notes().trouble {
            Some(Trouble::NotServing(why)) => Some(why.clone()),
            _ => None,
        }
    }

    /// Whether the app was never used before.
    pub fn is_first_run(&self) -> bool {
        !memo::place(&self.config).exists()
    }

    /// The host, which serves no longer from now on: to be stopped by the caller.
    pub fn take_host(&self) -> Option<Host> {
        self.host().take()
    }

    fn host(&self) -> MutexGuard<'_, Option<Host>> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Never held while [`host`](Self::host) is asked for: `live` takes them in that order.
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    fn offered(&self) -> Offered {
        Offered {
            here: self.offers.here.clone(),
            fitting: self.offers.fitting.clone(),
            recommended: self.offers.recommended.clone(),
            recents: self.memo.recents.clone(),
        }
    }
}

fn memory(seen: &Seen) -> Option<Memory> {
    let memory = &seen.memory;
    (memory.total_bytes > 0).then_some(Memory { level: memory.pressure, n_free_bytes: memory.free_bytes })
}

/// This user's; the usual ones while they cannot be read, which the window tells.
fn settings(host: Option<&Host>) -> Settings {
    let part = host.and_then(|host| host.parts().preferences.as_ref());
    part.and_then(|part| part.settings().ok()).map(|answer| answer.settings).unwrap_or_default()
}
