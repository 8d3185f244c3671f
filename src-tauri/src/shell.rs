//! The app's state while it runs: the session, what the tray shows of it, and what clicks do.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tauri::{AppHandle, Manager};
use tokbar_app::host::{Caution, Host, Wish};
use tokbar_app::say;
use tokbar_app::update::Work;
use tokbar_server::control::{AppSettings, Live as Seen, Transfer};
use tokbar_server::{PinChange, Resident, ResidentState};

use crate::glue::dock::Dock;
use crate::glue::login_item::LoginItem;
use crate::glue::{self, Clipboard, notify};
use crate::icon::Shape;
use crate::menu::{self, Action, Item, Page};
use crate::report;
use crate::session::{Session, Sight};
use crate::tell;
use crate::tray::{self, Shown, Tray};
use crate::updates::{Standing, Updates, Wanted};
use crate::window;
use crate::words::{Language, Words};

/// How often the disk is searched for models that came or went.
const LOOK_AROUND: Duration = Duration::from_secs(60);
/// When the icon must be there, after the start.
const SIGHT: Duration = Duration::from_secs(3);
/// How long a hidden window is kept, for whoever comes back at once.
const WINDOW_KEPT: Duration = Duration::from_secs(300);

/// What makes the app look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// Look now.
    Now,
    /// Look at the disk, too.
    LookAround,
    /// The app ends.
    End,
}

/// See the module.
pub struct Shell {
    session: Arc<Session>,
    language: Language,
    tray: Mutex<Option<Tray>>,
    shown: Mutex<Option<Shown>>,
    clipboard: Mutex<Clipboard>,
    hidden_since: Mutex<Option<Instant>>,
    beats: Sender<Beat>,
}

/// What one thread keeps between beats.
pub struct Pulse {
    start: Instant,
    looked_around: Option<Instant>,
    is_sight_checked: bool,
    seen: Option<Seen>,
    transfers: Option<Vec<Transfer>>,
    app: Option<AppSettings>,
    told_update: Option<String>,
}

impl Shell {
    /// With what has to be passed to the thread of beats.
    pub fn new(session: Arc<Session>, language: Language) -> (Self, Receiver<Beat>) {
        let (beats, receiver) = channel();
        let shell = Self {
            session,
            language,
            tray: Mutex::new(None),
            shown: Mutex::new(None),
            clipboard: Mutex::default(),
            hidden_since: Mutex::new(None),
            beats,
        };
        (shell, receiver)
    }

    /// Shows the icon. On the main thread.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn show_tray(&self, app: &AppHandle) -> tauri::Result<()> {
        let sight = self.session.live();
        app.state::<Dock>().change(app, |facts| facts.is_wanted = sight.app.shows_dock);
        let shown = self.shown_of(&sight);
        *lock(&self.tray) = Some(Tray::new(app, &shown)?);
        *lock(&self.shown) = Some(shown);
        Ok(())
    }

    /// In the language that a person chose, else the system's.
    fn words(&self, app: &AppSettings) -> &'static Words {
        if app.language == "system" { self.language.words() } else { Language::of(&app.language).words() }
    }

    fn shown_of(&self, sight: &Sight) -> Shown {
        Shown {
            items: menu::menu(&sight.live, self.words(&sight.app)),
            shape: Shape::of(&sight.live),
            title: menu::title(&sight.live),
        }
    }

    /// Looks, and shows what changed.
    pub fn beat(&self, app: &AppHandle, pulse: &mut Pulse, beat: Beat) {
        let now = Instant::now();
        let is_due = pulse.looked_around.is_none_or(|at| now.duration_since(at) >= LOOK_AROUND);
        if is_due || beat == Beat::LookAround {
            self.session.look_around();
            pulse.looked_around = Some(now);
        }
        let mut sight = self.session.live();
        self.follow_updates(app, pulse, &mut sight);
        if let (Some(before), Some(after)) = (&pulse.seen, &sight.seen) {
            self.compare(before, after, self.words(&sight.app));
        }
        self.follow_transfers(pulse, self.words(&sight.app));
        self.show(app, self.shown_of(&sight));
        if let Some(before) = &pulse.app {
            follow(app, before, &sight.app);
        }
        (pulse.seen, pulse.app) = (sight.seen, Some(sight.app));
        if self.session.is_asked_to_end() {
            app.exit(0);
        }
        if !pulse.is_sight_checked && now.duration_since(pulse.start) >= SIGHT {
            pulse.is_sight_checked = true;
            self.check_sight(app);
        }
        self.drop_hidden_window(app, now);
    }

    /// Tells of downloads that ended, and has what came looked for.
    fn follow_transfers(&self, pulse: &mut Pulse, words: &Words) {
        let now = self.session.transfers();
        let news = pulse.transfers.as_ref().map_or_else(Vec::new, |before| notify::ended(before, &now));
        if !news.is_empty() {
            pulse.looked_around = None;
        }
        news.iter().for_each(|news| show_news(news, words));
        pulse.transfers = Some(now);
    }

    /// Looks for updates when it is time, and has one that is ready shown.
    fn follow_updates(&self, app: &AppHandle, pulse: &mut Pulse, sight: &mut Sight) {
        let updates = app.state::<Updates>();
        let work = sight.seen.as_ref().map_or_else(Work::default, |seen| Work {
            n_generating: seen.requests.len(),
            n_downloading: seen.transfers.len(),
        });
        updates.beat(if sight.app.checks_updates { Wanted::Yes } else { Wanted::No }, work);
        let standing = updates.standing();
        if let Some(news) = notify::update(&standing, &mut pulse.told_update) {
            show_news(&news, self.words(&sight.app));
        }
        if let Standing::Ready { version, .. } = standing {
            sight.live.update = Some(version);
        }
    }

    /// What is known of updates, in a person's words.
    pub fn about_updates(&self, standing: &Standing) -> String {
        tell::standing(standing, env!("CARGO_PKG_VERSION"), self.words(&self.session.live().app))
    }

    /// Remembers and tells what happened between two looks.
    fn compare(&self, before: &Seen, after: &Seen, words: &Words) {
        let is_ready = |model: &&Resident| model.state == ResidentState::Ready;
        let is_new = |model: &&Resident| !before.models.iter().filter(is_ready).any(|old| old.id == model.id);
        for model in after.models.iter().filter(is_ready).filter(is_new) {
            self.session.started(&model.id);
        }
        let news = notify::news(&before.models, &after.models, after.memory.pressure);
        news.iter().for_each(|news| show_news(news, words));
    }

    fn show(&self, app: &AppHandle, shown: Shown) {
        {
            let mut last = lock(&self.shown);
            if last.as_ref() == Some(&shown) {
                return;
            }
            *last = Some(shown.clone());
        }
        report::note_state(first_lines(&shown.items));
        let handle = app.clone();
        let change = move || {
            let shell = handle.state::<Self>();
            let outcome = lock(&shell.tray).as_mut().map_or(Ok(()), |tray| tray.show(&handle, &shown));
            if let Err(error) = outcome {
                tracing::warn!(%error, "the menu shows what was");
            }
        };
        if let Err(error) = app.run_on_main_thread(change) {
            tracing::debug!(%error, "the app is about to end");
        }
    }

    /// An icon that cannot be seen must not be the only way in.
    fn check_sight(&self, app: &AppHandle) {
        if tray::is_seen(app, lock(&self.tray).as_ref()) {
            return;
        }
        app.state::<Dock>().change(app, |facts| facts.is_icon_missed = true);
        let words = self.language.words();
        tracing::warn!("{}. {}", words.hidden_icon, words.hidden_icon_fix);
        if let Err(error) = notify::show(words.hidden_icon, words.hidden_icon_fix) {
            tracing::debug!(%error, "nobody shows notifications");
        }
        self.open(app, "");
    }

    /// Shows the window at a route; on whatever thread.
    pub fn open(&self, app: &AppHandle, route: &str) {
        *lock(&self.hidden_since) = None;
        let (handle, route) = (app.clone(), route.to_owned());
        if let Err(error) = app.run_on_main_thread(move || window::open(&handle, &route)) {
            tracing::debug!(%error, "the app is about to end");
        }
    }

    /// The window was hidden.
    pub fn hidden(&self, app: &AppHandle) {
        *lock(&self.hidden_since) = Some(Instant::now());
        window::closed(app);
    }

    fn drop_hidden_window(&self, app: &AppHandle, now: Instant) {
        let mut since = lock(&self.hidden_since);
        if since.is_some_and(|since| now.duration_since(since) >= WINDOW_KEPT) {
            *since = None;
            let window = app.get_webview_window(window::LABEL);
            if let Some(Err(error)) = window.map(|window| window.destroy()) {
                tracing::debug!(%error, "the hidden window stays");
            }
        }
    }

    /// Does what the row with that id says.
    pub fn clicked(&self, app: &AppHandle, id: &str) {
        let action = lock(&self.shown).as_ref().and_then(|shown| menu::action(&shown.items, id));
        match action {
            Some(action) => self.act(app, action),
            None => tracing::debug!("the row {id} is no longer there"),
        }
    }

    fn act(&self, app: &AppHandle, action: Action) {
        match action {
            Action::Load(name) => self.wish(Wish::Load(name)),
            Action::Unload(name) => self.wish(Wish::Unload(name)),
            Action::Pin(name, true) => self.wish(Wish::Pin(name, PinChange::Set)),
            Action::Pin(name, false) => self.wish(Wish::Pin(name, PinChange::Lifted)),
            Action::Stop => self.wish(Wish::UnloadAll),
            Action::Restart => self.serve_again(Caution::AfterUncleanEnd),
            Action::EnterSafeMode => self.serve_again(Caution::Always),
            Action::LeaveSafeMode => self.serve_again(Caution::Never),
            Action::ShowReport => self.show_report(),
            Action::CopyEndpoint => self.copy_endpoint(),
            Action::CheckForUpdates => {
                drop(app.state::<Updates>().look());
                self.open(app, &Page::About.route());
            }
            Action::InstallUpdate => app.state::<Updates>().install(),
            Action::Open(page) => self.open(app, &page.route()),
            Action::Quit => app.exit(0),
        }
    }

    fn wish(&self, wish: Wish) {
        let beats = self.beats.clone();
        self.session.wish(wish, move || send(&beats, Beat::LookAround));
        self.look();
    }

    fn serve_again(&self, caution: Caution) {
        self.session.serve(caution);
        self.look();
    }

    fn show_report(&self) {
        let shown = self.session.report().map_or(Ok(()), |path| glue::reveal(&path));
        match shown {
            Ok(()) => self.session.forget_report(),
            Err(error) => tracing::warn!("the report cannot be shown: {}", say::cause(&error)),
        }
        self.look();
    }

    fn copy_endpoint(&self) {
        let endpoint = self.session.live().live.endpoint;
        let copied = endpoint.map_or(Ok(()), |endpoint| lock(&self.clipboard).put(&endpoint));
        if let Err(error) = copied {
            tracing::warn!(%error, "the address was not copied");
        }
    }

    /// Loads what a person chose to start with.
    pub fn start_usual_model(&self) {
        let beats = self.beats.clone();
        self.session.start_usual_model(move || send(&beats, Beat::LookAround));
    }

    /// Looks soon.
    pub fn look(&self) {
        send(&self.beats, Beat::Now);
    }

    /// Ends the thread of beats, and gives up the host, which the caller stops.
    pub fn end(&self) -> Option<Host> {
        send(&self.beats, Beat::End);
        self.session.take_host()
    }
}

impl Pulse {
    /// Just started.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            looked_around: None,
            is_sight_checked: false,
            seen: None,
            transfers: None,
            app: None,
            told_update: None,
        }
    }
}

/// Does what a person decided in the settings since the last look. At the start nothing is done: they may have decided otherwise
/// in the system's own settings.
fn follow(app: &AppHandle, before: &AppSettings, after: &AppSettings) {
    app.state::<Dock>().change(app, |facts| facts.is_wanted = after.shows_dock);
    if before.login_item == after.login_item {
        return;
    }
    let item = app.state::<Box<dyn LoginItem>>();
    let outcome = if after.login_item { item.enable() } else { item.disable() };
    if let Err(error) = outcome {
        tracing::warn!("the login item stays as it was: {}", say::cause(&error));
    }
}

/// The texts before the first line across: the state, for a report.
fn first_lines(items: &[Item]) -> String {
    let texts = items.iter().map_while(|item| match item {
        Item::Text { label, .. } => Some(label.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("; ")
}

fn show_news(news: &notify::News, words: &Words) {
    let (title, text) = tell::notification(news, words);
    if let Err(error) = notify::show(&title, &text) {
        tracing::debug!(%error, "nobody shows notifications");
    }
}

fn send(beats: &Sender<Beat>, beat: Beat) {
    if beats.send(beat).is_err() {
        tracing::debug!("the app is about to end");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
