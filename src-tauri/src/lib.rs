//! The desktop app: an icon in the menu bar over the server that it hosts, and one window.
//!
//! Knows windows, trays and what only an operating system can do. Must not know HTTP, models or settings: those are
//! `tokbar-app`'s, and the window's page speaks to the server over HTTP.

pub mod commands;
pub mod glue;
mod icon;
mod instance;
mod memo;
mod menu;
mod offered;
mod phases;
mod report;
mod session;
mod shell;
mod tell;
mod tray;
mod updates;
mod window;
mod wiring;
mod words;

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use tauri::{App, AppHandle, DragDropEvent, Manager, RunEvent, WindowEvent};
use tokbar_app::update::Trial;
use tokbar_app::wiring::Adopting;
use tokbar_app::{config_dir, say};

use crate::glue::login_item;
use crate::instance::{First, Start};
use crate::session::Session;
use crate::shell::Shell;
use crate::updates::{Answer, Begun, Step, Updates};
use crate::wiring::{Background, Signals};
use crate::words::{Language, fill};

/// How the app was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What is shown at first.
    pub show: Show,
    /// Where the memory pressure is read from, instead of the machine.
    pub pressure_from: Option<PathBuf>,
}

/// What is shown at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// The window where there is no model yet, else just the icon.
    #[default]
    AsNeeded,
    /// The window.
    Window,
    /// Just the icon: the session has started, and nobody asked for anything.
    Icon,
}

impl Options {
    /// Reads the command line. What is not known is left: systems add words of their own.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Self {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--window" => options.show = Show::Window,
                "--hidden" => options.show = Show::Icon,
                "--pressure-from" => options.pressure_from = words.next().map(PathBuf::from),
                _ => {}
            }
        }
        options
    }
}

/// Runs the app to its end.
pub fn run(options: &Options) -> ExitCode {
    tokbar_app::wiring::start_logging(0);
    match try_run(options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", say::cause(&error));
            ExitCode::FAILURE
        }
    }
}

/// A new version did not start: whether the one before is to come back.
fn ask_for_previous(trial: &Trial) -> Answer {
    let words = Language::of_system().words();
    let title = fill(words.new_fails_title, &[&trial.to]);
    let text = fill(words.new_fails_text, &[&trial.from]);
    let go_back = fill(words.go_back, &[&trial.from]);
    if glue::ask::ask(&title, &text, (&go_back, words.try_again)) { Answer::Previous } else { Answer::Again }
}

/// What runs besides the main thread; taken at the end.
struct Running(Mutex<Option<Background>>);

fn try_run(options: &Options) -> Result<ExitCode> {
    let config = config_dir::place()?;
    let wish = if options.show == Show::Icon { wiring::NOTHING } else { "" };
    let first = match instance::start(&config, wish).context("cannot take the app's place")? {
        Start::First(first) => first,
        Start::Second => return Ok(ExitCode::SUCCESS),
    };
    let version = env!("CARGO_PKG_VERSION");
    let begun = match updates::begin(&updates::place(&config), version, ask_for_previous)? {
        Step::Go(begun) => begun,
        Step::Run(program) => {
            drop(first);
            let error = Command::new(&program).args(std::env::args_os().skip(1)).exec();
            return Err(error).with_context(|| format!("cannot start {}", program.display()));
        }
    };
    // What the desktop starts has no variables of the shell's.
    let adopting = tokbar_app::wiring::adopt_environment()?;
    let report = report::take(&config);
    report::watch(&config);
    let seat = Seat { first, show: options.show, adopting, begun, updates: updates::place(&config) };
    let session = Arc::new(Session::start(config, options.pressure_from.clone(), report));
    let app = tauri::Builder::default()
        .manage(Arc::clone(&session))
        .manage(login_item::login_item())
        .manage(glue::dock::Dock::default())
        .invoke_handler(tauri::generate_handler![
            commands::about,
            commands::login_item,
            commands::set_login_item,
            commands::reveal,
            commands::open_menu_bar_settings,
            commands::update,
            commands::check_for_updates,
            commands::install_update,
            commands::quit,
        ])
        .on_menu_event(|app, event| app.state::<Shell>().clicked(app, event.id().as_ref()))
        .plugin(tauri_plugin_updater::Builder::new().build())
        .setup(move |app| Ok(set_up(app, session, seat)?))
        .build(tauri::generate_context!())
        .context("cannot reach the desktop")?;
    app.run(|app, event| handle(app, &event));
    Ok(ExitCode::SUCCESS)
}

/// What this start is.
struct Seat {
    first: First,
    show: Show,
    adopting: Adopting,
    begun: Begun,
    updates: PathBuf,
}

fn set_up(app: &mut App, session: Arc<Session>, seat: Seat) -> Result<()> {
    #[cfg(target_os = "macos")]
    app.set_activation_policy(tauri::ActivationPolicy::Accessory);
    let opens = seat.show == Show::Window || (seat.show == Show::AsNeeded && session.is_first_run());
    let (shell, beats) = Shell::new(session, Language::of_system());
    app.manage(shell);
    let handle = app.handle().clone();
    let changed = {
        let app = handle.clone();
        move || app.state::<Shell>().look()
    };
    app.manage(Updates::start(&handle, seat.updates, seat.begun, changed)?);
    let shell = app.state::<Shell>();
    // Before anything is seen: whoever sees the icon may end the app politely.
    let signals = Signals::listen()?;
    shell.show_tray(&handle)?;
    let background = Background::start(&handle, beats, signals, (seat.first, seat.adopting))?;
    app.manage(Running(Mutex::new(Some(background))));
    shell.start_usual_model();
    if opens {
        window::open(&handle, "");
    }
    Ok(())
}

fn handle(app: &AppHandle, event: &RunEvent) {
    match event {
        // The last window is gone, and the icon stays.
        RunEvent::ExitRequested { code: None, api, .. } => api.prevent_exit(),
        RunEvent::WindowEvent { label, event: WindowEvent::CloseRequested { api, .. }, .. }
            if label == window::LABEL =>
        {
            api.prevent_close();
            let hidden = app.get_webview_window(label).map(|window| window.hide());
            if let Some(Err(error)) = hidden {
                tracing::warn!(%error, "the window stays");
            }
            app.state::<Shell>().hidden(app);
        }
        RunEvent::WindowEvent { label, event: WindowEvent::DragDrop(DragDropEvent::Drop { paths, .. }), .. }
            if label == window::LABEL =>
        {
            window::dropped(app, paths);
        }
        #[cfg(target_os = "macos")]
        RunEvent::Reopen { .. } => app.state::<Shell>().open(app, ""),
        RunEvent::Exit => end(app),
        _ => {}
    }
}

fn end(app: &AppHandle) {
    app.state::<Updates>().end();
    let host = app.state::<Shell>().end();
    let background = app.state::<Running>().0.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(background) = background {
        background.end(host);
    }
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
