//! The tray menu as a value, made of what is the case now. Pure; `tray` puts it on the screen.

mod live;
mod models;

pub use live::{Live, Loaded, Memory, Offered, Phase, Trouble};

use tokbar_app::pressure::Level;
use tokbar_app::size;

use crate::words::{Words, fill};

/// What a click asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Load this model.
    Load(String),
    /// Unload this model.
    Unload(String),
    /// Keep this model loaded, or no longer.
    Pin(String, bool),
    /// Unload everything.
    Stop,
    /// Start the server again.
    Restart,
    /// Start the server again, with caution.
    EnterSafeMode,
    /// Start the server again, without caution.
    LeaveSafeMode,
    /// Show the report of the unexpected end.
    ShowReport,
    /// Put the endpoint's address on the clipboard.
    CopyEndpoint,
    /// Look for an update.
    CheckForUpdates,
    /// Install the update that is there.
    InstallUpdate,
    /// Open the window at a page.
    Open(Page),
    /// End the app.
    Quit,
}

/// A page of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page {
    /// Where it was, or the first.
    Any,
    /// The models, at this one if it is named.
    Models(Option<String>),
    /// The clients, at this one if it is named.
    Connect(Option<String>),
    /// The settings.
    Settings,
    /// Version and updates.
    About,
}

/// A dot before a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dot {
    /// All is well.
    Green,
    /// Something goes on, or needs care.
    Amber,
    /// Something is wrong.
    Red,
    /// Nothing goes on.
    Grey,
}

/// One row of a menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Says something.
    Text { key: &'static str, label: String, dot: Option<Dot> },
    /// Does something.
    Act { action: Action, label: String, keys: Option<&'static str> },
    /// Is the case or not.
    Check { action: Action, label: String, is_checked: bool },
    /// More rows.
    Menu { key: String, label: String, items: Vec<Item> },
    /// Between rows.
    Line,
}

/// The whole menu.
pub fn menu(live: &Live, words: &Words) -> Vec<Item> {
    let mut items = vec![status(live, words)];
    items.extend(pressure(live, words));
    items.push(Item::Line);
    items.extend(caution(live, words));
    items.push(main_action(live, words));
    items.push(Item::Menu {
        key: "models".to_owned(),
        label: words.models.to_owned(),
        items: models::items(live, words),
    });
    items.push(Item::Menu { key: "connect".to_owned(), label: words.connect.to_owned(), items: connect(live, words) });
    if live.endpoint.is_some() {
        items.push(act(Action::CopyEndpoint, words.copy_endpoint, Some("CmdOrCtrl+C")));
    }
    items.push(Item::Line);
    items.push(act(Action::Open(Page::Any), words.open, Some("CmdOrCtrl+O")));
    items.push(act(Action::Open(Page::Settings), words.settings, Some("CmdOrCtrl+,")));
    items.push(match &live.update {
        Some(version) => act(Action::InstallUpdate, &fill(words.install_update, &[version]), None),
        None => act(Action::CheckForUpdates, words.check_updates, None),
    });
    items.push(Item::Line);
    items.push(act(Action::Quit, words.quit, Some("CmdOrCtrl+Q")));
    items
}

/// The action of the row with that id.
pub fn action(items: &[Item], id: &str) -> Option<Action> {
    items.iter().find_map(|item| match item {
        Item::Act { action, .. } | Item::Check { action, .. } => (action.id() == id).then(|| action.clone()),
        Item::Menu { items, .. } => self::action(items, id),
        Item::Text { .. } | Item::Line => None,
    })
}

/// What stands beside the icon, where that is wanted: the rate, and only while there is one.
pub fn title(live: &Live) -> Option<String> {
    let rate = live.models.iter().filter_map(|model| match model.phase {
        Phase::Decode { tokens_per_s } => Some(tokens_per_s),
        _ => None,
    });
    let sum: f64 = rate.sum();
    (live.shows_rate && sum > 0.0).then(|| format!("{sum:.0}"))
}

fn act(action: Action, label: &str, keys: Option<&'static str>) -> Item {
    Item::Act { action, label: label.to_owned(), keys }
}

fn status(live: &Live, words: &Words) -> Item {
    let (label, dot) = match (&live.trouble, live.main()) {
        (Some(Trouble::NotServing(why)), _) => (fill(words.not_serving, &[why]), Dot::Red),
        (_, Some(model)) => (format!("{} · {}", short(&model.name), phase(model, words)), model.phase.dot()),
        (Some(Trouble::LoadFailed(name, why)), None) => (fill(words.load_failed, &[short(name), why]), Dot::Red),
        (None, None) => (words.stopped.to_owned(), Dot::Grey),
    };
    Item::Text { key: "status", label, dot: Some(dot) }
}

/// What a model does, in a word or two.
fn phase(model: &Loaded, words: &Words) -> String {
    match model.phase {
        Phase::Loading { percent } => fill(words.loading, &[&percent.to_string()]),
        Phase::Ready => words.ready.to_owned(),
        Phase::Prefill { percent: Some(percent) } => fill(words.prefill, &[&percent.to_string()]),
        Phase::Prefill { percent: None } => words.reading_prompt.to_owned(),
        Phase::Decode { tokens_per_s } if tokens_per_s < 9.95 => fill(words.rate, &[&format!("{tokens_per_s:.1}")]),
        Phase::Decode { tokens_per_s } => fill(words.rate, &[&format!("{tokens_per_s:.0}")]),
        Phase::Leaving => words.leaving.to_owned(),
    }
}

fn pressure(live: &Live, words: &Words) -> Option<Item> {
    let memory = live.memory.as_ref()?;
    let (template, dot) = match memory.level {
        Level::Normal => (words.pressure_normal, Dot::Green),
        Level::Warning => (words.pressure_warning, Dot::Amber),
        Level::Critical => (words.pressure_critical, Dot::Red),
    };
    Some(Item::Text { key: "pressure", label: fill(template, &[&size::show(memory.n_free_bytes)]), dot: Some(dot) })
}

/// After an unexpected end.
fn caution(live: &Live, words: &Words) -> Vec<Item> {
    let mut items = Vec::new();
    if live.ended_badly {
        items.push(Item::Text { key: "ended_badly", label: words.ended_badly.to_owned(), dot: Some(Dot::Amber) });
    }
    if live.has_report {
        items.push(act(Action::ShowReport, words.show_report, None));
    }
    if live.is_safe {
        items.push(Item::Text { key: "safe_mode", label: words.safe_mode.to_owned(), dot: None });
        items.push(act(Action::LeaveSafeMode, words.leave_safe_mode, None));
    } else if live.ended_badly {
        items.push(act(Action::EnterSafeMode, words.enter_safe_mode, None));
    }
    if !items.is_empty() {
        items.push(Item::Line);
    }
    items
}

fn main_action(live: &Live, words: &Words) -> Item {
    const KEYS: Option<&str> = Some("CmdOrCtrl+S");
    if matches!(live.trouble, Some(Trouble::NotServing(_))) {
        return act(Action::Restart, words.try_again, KEYS);
    }
    if !live.models.is_empty() {
        return act(Action::Stop, words.stop, KEYS);
    }
    match live.offered.to_start() {
        Some(name) => act(Action::Load(name.to_owned()), &fill(words.start, &[short(name)]), KEYS),
        None => act(Action::Open(Page::Models(None)), words.choose_model, KEYS),
    }
}

/// The end of a repository's name, which is what people call a model.
fn short(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn connect(live: &Live, words: &Words) -> Vec<Item> {
    let client = |(id, name): &(String, String)| act(Action::Open(Page::Connect(Some(id.clone()))), name, None);
    let mut items: Vec<Item> = live.clients.iter().map(client).collect();
    if !items.is_empty() {
        items.push(Item::Line);
    }
    items.push(act(Action::Open(Page::Connect(None)), words.all_clients, None));
    items
}

impl Action {
    /// Names it among the rows of one menu.
    pub fn id(&self) -> String {
        match self {
            Self::Load(name) => format!("load {name}"),
            Self::Unload(name) => format!("unload {name}"),
            Self::Pin(name, _) => format!("pin {name}"),
            Self::Stop => "stop".to_owned(),
            Self::Restart => "restart".to_owned(),
            Self::EnterSafeMode => "enter_safe_mode".to_owned(),
            Self::LeaveSafeMode => "leave_safe_mode".to_owned(),
            Self::CheckForUpdates => "check_for_updates".to_owned(),
            Self::InstallUpdate => "install_update".to_owned(),
            Self::ShowReport => "show_report".to_owned(),
            Self::CopyEndpoint => "copy_endpoint".to_owned(),
            Self::Open(page) => format!("open {}", page.route()),
            Self::Quit => "quit".to_owned(),
        }
    }
}

impl Page {
    /// Where it is in the window, after the `#`; empty for wherever the window is.
    pub fn route(&self) -> String {
        match self {
            Self::Any => String::new(),
            Self::Models(None) => "/models".to_owned(),
            Self::Models(Some(name)) => format!("/models/{}", encoded(name)),
            Self::Connect(None) => "/connect".to_owned(),
            Self::Connect(Some(client)) => format!("/connect/{}", encoded(client)),
            Self::Settings => "/settings".to_owned(),
            Self::About => "/about".to_owned(),
        }
    }
}

/// As `encodeURIComponent` writes it.
pub fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
#[path = "menu_tests.rs"]
mod tests;
