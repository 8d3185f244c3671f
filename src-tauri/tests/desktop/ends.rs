//! Ends that nobody planned, and starts while another runs.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::app::App;
use crate::calls::{address, chat};
use crate::desk::Desk;
use crate::menus::assert_left_clean;
use crate::panel::Panel;

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
