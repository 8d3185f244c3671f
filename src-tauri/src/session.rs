//! The server that the app hosts, with what is to be said about it. Knows no window and no tray.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokbar_app::host::{Caution, Host, HostOptions, Wish};
use tokbar_app::offers::{self, Offers};
use tokbar_app::pressure::Level;
use tokbar_app::say;
use tokbar_server::{ApiError, Census};

use crate::memo::{self, Memo};
use crate::menu::{Live, Memory, Offered, Trouble};
use crate::meter::Meter;

/// See the module.
pub struct Session {
    config: PathBuf,
    options: HostOptions,
    host: Mutex<Option<Host>>,
    notes: Mutex<Notes>,
}

/// What is known besides what the host says.
#[derive(Default)]
struct Notes {
    trouble: Option<Trouble>,
    offers: Offers,
    memo: Memo,
    meter: Meter,
    report: Option<PathBuf>,
    ended_badly: bool,
    is_safe: bool,
}

/// What [`Session::live`] saw: for the menu, and for what is told once.
pub struct Sight {
    /// For the menu.
    pub live: Live,
    /// As the host has it; `None` while it does not serve.
    pub census: Option<Census>,
}

impl Session {
    /// Starts the host. What hinders it is part of what is shown.
    pub fn start(config: PathBuf, options: HostOptions, report: Option<PathBuf>) -> Self {
        let memo = Memo::read(&memo::place(&config)).unwrap_or_default();
        let notes = Notes { memo, ended_badly: report.is_some(), report, ..Notes::default() };
        let session = Self { config, options, host: Mutex::new(None), notes: Mutex::new(notes) };
        session.serve(session.options.caution);
        session
    }

    /// Starts the host again: after its port was freed, or with other caution.
    pub fn serve(&self, caution: Caution) {
        let mut host = self.host();
        host.take().into_iter().for_each(Host::stop);
        let started = Host::start(&HostOptions { caution, ..self.options.clone() });
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
            (Wish::Load(name), Ok(())) => {
                notes.trouble = None;
                notes.memo.started(name);
                if let Err(error) = notes.memo.write(&memo::place(&self.config)) {
                    tracing::warn!("what was started is not remembered: {}", say::cause(&error));
                }
            }
            (Wish::Load(name), Err(error)) => {
                notes.trouble = Some(Trouble::LoadFailed(name.clone(), error.to_string()));
            }
            (_, Ok(())) => {}
            (wish, Err(error)) => tracing::warn!(%error, "{wish:?} was not done"),
        }
    }

    /// Looks for models on the disk and in the catalogue; takes a moment.
    pub fn look_around(&self) {
        match offers::offers() {
            Ok(offers) => self.notes().offers = offers,
            Err(error) => tracing::warn!("models cannot be listed: {}", say::cause(&error)),
        }
    }

    /// What is the case at `now`.
    pub fn live(&self, now: Instant) -> Sight {
        let host = self.host();
        let census = host.as_ref().map(Host::census);
        let stats = host.as_ref().map(Host::stats).unwrap_or_default();
        if let (Some(host), Some(census)) = (host.as_ref(), &census) {
            host.keep_mark(census);
        }
        let mut notes = self.notes();
        let live = Live {
            models: census.as_ref().map(|census| notes.meter.observe(now, &census.models, &stats)).unwrap_or_default(),
            trouble: notes.trouble.clone(),
            memory: census.as_ref().and_then(memory),
            endpoint: host.as_ref().map(Host::endpoint),
            offered: notes.offered(),
            clients: Vec::new(),
            ended_badly: notes.ended_badly,
            has_report: notes.report.is_some(),
            is_safe: notes.is_safe,
            shows_rate: false,
        };
        Sight { live, census }
    }

    /// The report of the run before; from then on it is no longer offered.
    pub fn take_report(&self) -> Option<PathBuf> {
        let mut notes = self.notes();
        notes.ended_badly = notes.is_safe;
        notes.report.take()
    }

    /// The page of the window; `None` while nothing is served.
    pub fn page(&self) -> Option<String> {
        let host = self.host();
        host.as_ref().map(|host| format!("http://127.0.0.1:{}/", host.address().port()))
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

fn memory(census: &Census) -> Option<Memory> {
    let level = match census.pressure.as_str() {
        "normal" => Some(Level::Normal),
        "warning" => Some(Level::Warning),
        "critical" => Some(Level::Critical),
        _ => None,
    };
    (census.total_bytes > 0).then_some(Memory { level, n_free_bytes: census.free_bytes })
}
