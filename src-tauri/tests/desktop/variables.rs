//! Variables that only the login shell knows: apps that the desktop starts have none of them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::app::App;
use crate::calls::Door;
use crate::desk::Desk;
use crate::hub::{self, Line};
use crate::panel::{Panel, wait};
use crate::tiny::tiny_model;

#[test]
fn models_go_where_the_shell_says() {
    let hub = hub::start(tiny_model().path(), Line::Whole);
    let desk = Desk::new(&[]).with_hub(&hub);
    let elsewhere = desk.home().join("drive/hub");
    let desk = desk.with_shell(&format!("HF_HUB_CACHE={} exec env", elsewhere.display()));
    let panel = Panel::new(&desk);
    let _app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    let door = Door::of(&desk);
    let (status, answer) =
        door.ask("POST", "transfers", &json!({"model": "org/tiny", "revision": null})).expect("an answer");
    assert_eq!(status, 200, "{answer}");
    icon.wait_for_row("tiny · ");
    assert!(elsewhere.join("models--org--tiny/snapshots").is_dir(), "it is where the shell said");
}

#[test]
fn a_shell_that_hangs_keeps_nobody_and_is_gone_with_the_app() {
    let desk = Desk::new(&["alpha"]);
    let note = desk.home().join("sleeper");
    let desk = desk.with_shell(&format!("sleep 100 & echo $! > {}; wait", note.display()));
    let panel = Panel::new(&desk);
    let mut app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    let sleeper = wait("the shell", || fs::read_to_string(&note).ok().filter(|pid| pid.ends_with('\n')));
    let sleeper = Path::new("/proc").join(sleeper.expect("the shell is asked").trim());
    icon.choose("Quit Tokbar");
    let (status, took) = app.wait();
    assert!(status.success() && took < Duration::from_secs(2), "{status} after {took:?}");
    wait("its end", || (!is_alive(&sleeper)).then_some(())).expect("nothing of the shell is left");
}

/// A process that ended may wait for somebody to take note.
fn is_alive(process: &Path) -> bool {
    fs::read_to_string(process.join("stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
