//! Ends that nobody planned, and starts while another runs.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::app::App;
use crate::calls::{address, chat};
use crate::desk::Desk;
use crate::menus::assert_left_clean;
use crate::panel::{PATIENCE, Panel, wait};
use crate::screen::Screen;

#[test]
fn killed_while_it_generates_it_says_so_and_is_careful_once() {
    let desk = Desk::new(&["alpha"]);
    let panel = Panel::new(&desk);
    let app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    icon.choose("Start alpha");
    icon.wait_for_status("alpha is ready", |status| status == "alpha · Ready");
    let mut call = chat(&address(&desk), "alpha", 1900);
    assert!(call.next().is_some());
    app.kill();
    drop(call);

    let app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    icon.wait_for_row("Tokbar ended unexpectedly last time");
    icon.wait_for_row("Safe mode: ");
    // What was started before the kill is remembered.
    icon.choose("Start alpha");
    icon.wait_for_status("alpha is ready", |status| status == "alpha · Ready");
    assert!(chat(&address(&desk), "alpha", 20).count() > 0, "safe mode serves");
    icon.choose("Leave Safe Mode");
    icon.wait_for_status("nothing is loaded", |status| status == "Stopped");
    assert!(icon.find("Safe mode: ").is_none());
    app.kill();

    let _app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    icon.wait_for_row("Start alpha");
    assert!(icon.find("Tokbar ended").is_none(), "nothing was loaded at that end");
}

#[test]
fn a_report_of_a_panic_is_offered_with_safe_mode_until_it_was_shown() {
    let desk = Desk::new(&["alpha"]);
    std::fs::write(desk.config().join("panic.txt"), "Tokbar 0.1.0\n\nthread beat: the reason\n").expect("a place");
    let panel = Panel::new(&desk);
    let files = panel.files();
    let mut app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    icon.wait_for_row("Tokbar ended unexpectedly last time");
    assert!(icon.find("Safe mode: ").is_none(), "no model was loaded at that end");
    icon.choose("Serve in Safe Mode");
    icon.wait_for_row("Safe mode: ");
    icon.choose("Start alpha");
    icon.wait_for_status("alpha is ready", |status| status == "alpha · Ready");
    assert!(chat(&address(&desk), "alpha", 5).count() > 0, "safe mode serves");
    icon.choose("Show Report…");
    let shown = files.recv_timeout(PATIENCE).expect("the file manager is asked");
    assert!(shown.iter().any(|file| file.ends_with("/report-of-last-panic.txt")), "{shown:?}");
    wait("no report", || icon.find("Show Report…").is_none().then_some(())).expect("it is offered no more");
    icon.choose("Quit Tokbar");
    assert!(app.wait().0.success());

    let _app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    icon.wait_for_row("Start alpha");
    assert!(icon.find("Tokbar ended").is_none() && icon.find("Show Report…").is_none(), "it is told once");
}

#[test]
fn closing_the_window_ends_nothing_and_another_start_shows_it_again() {
    let desk = Desk::new(&["alpha"]);
    let (panel, screen) = (Panel::new(&desk), Screen::of(&desk));
    let mut app = App::start(&desk, &[]);
    let icon = panel.icon();
    let window = screen.wait_for_window();
    icon.choose("Start alpha");
    icon.wait_for_status("alpha is ready", |status| status == "alpha · Ready");
    screen.close(window);
    assert!(app.is_running() && chat(&address(&desk), "alpha", 5).count() > 0, "it still serves");

    let (status, _) = App::start(&desk, &[]).wait();
    assert!(status.success(), "the second one says goodbye");
    let window = screen.wait_for_window();
    screen.close(window);
    let (status, _) = App::start(&desk, &["--hidden"]).wait();
    assert!(status.success() && screen.window().is_none(), "a session that starts twice shows nothing");
    icon.choose("Settings…");
    screen.wait_for_window();
    assert!(app.is_running());
}

#[test]
fn without_a_panel_the_window_is_the_way_in() {
    let desk = Desk::new(&["alpha"]);
    let screen = Screen::of(&desk);
    let _app = App::start(&desk, &["--hidden"]);
    screen.wait_for_window();
}

#[test]
fn a_polite_signal_ends_it_as_quit_does() {
    let desk = Desk::new(&[]);
    let panel = Panel::new(&desk);
    let mut app = App::start(&desk, &["--hidden"]);
    panel.icon().wait_for_row("Quit Tokbar");
    app.signal(Signal::SIGTERM);
    let (status, took) = app.wait();
    assert!(status.success() && took < Duration::from_secs(2), "{status} after {took:?}");
    assert_left_clean(&desk);
}
