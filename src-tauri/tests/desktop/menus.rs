//! The menu, read and clicked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::app::App;
use crate::calls::{Door, address, chat, get};
use crate::desk::Desk;
use crate::hub::{self, Line};
use crate::panel::{Panel, Row, wait};
use crate::tiny::tiny_model;

/// The number before ` tok/s`.
fn rate(status: &str) -> Option<f64> {
    status.strip_suffix(" tok/s")?.rsplit(' ').next()?.parse().ok()
}

fn labels(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.label.as_str()).filter(|label| !label.is_empty()).collect()
}

#[test]
fn a_model_is_started_used_pinned_unloaded_and_nothing_is_left() {
    let desk = Desk::new(&["alpha", "beta"]);
    let panel = Panel::new(&desk);
    let mut app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    assert_eq!(icon.status(), "Stopped");
    assert!(!icon.rows()[0].is_enabled);
    let picture = icon.picture();

    icon.choose("Start alpha");
    icon.wait_for_status("alpha is ready", |status| status == "alpha · Ready");
    wait("another picture", || (icon.picture() != picture).then_some(())).expect("the icon's shape tells the state");
    let (address, door) = (address(&desk), Door::of(&desk));
    assert!(get(&address, "/ready").contains("\"alpha\""));

    let ends = Arc::new(AtomicBool::new(false));
    let load = std::thread::spawn({
        let (ends, address) = (Arc::clone(&ends), address.clone());
        move || {
            while !ends.load(Ordering::Relaxed) {
                assert!(chat(&address, "alpha", 1500).take_while(|_| !ends.load(Ordering::Relaxed)).count() > 0);
            }
        }
    });
    let first = icon.wait_for_status("alpha generates", |status| rate(status).is_some_and(|rate| rate > 0.0));
    icon.wait_for_status("its rate changes", |status| status != first && rate(status).is_some());
    ends.store(true, Ordering::Relaxed);
    load.join().expect("all calls are answered");
    icon.wait_for_status("alpha is ready again", |status| status == "alpha · Ready");

    let models = icon.wait_for_row("Models");
    assert!(models.rows[0].label.starts_with("alpha · "), "{:?}", labels(&models.rows));
    assert_eq!(labels(&models.rows[0].rows), ["Unload", "Keep Loaded"]);
    assert!(labels(&models.rows).iter().any(|label| label.starts_with("beta · ")), "{:?}", labels(&models.rows));
    icon.choose("Keep Loaded");
    wait("the pin", || icon.find("Keep Loaded").filter(|row| row.is_checked)).expect("alpha is pinned");
    icon.choose("Unload");
    icon.wait_for_status("nothing is loaded", |status| status == "Stopped");
    icon.wait_for_row("Start alpha");

    icon.choose("Quit Tokbar");
    let (status, took) = app.wait();
    assert!(status.success() && took < Duration::from_secs(2), "{status} after {took:?}");
    assert!(!app.left_children() && !door.is_open());
    assert_left_clean(&desk);
}

/// Settings and locks stay; nothing that says that the app runs, and no half file.
pub fn assert_left_clean(desk: &Desk) {
    let mut left: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(desk.config()).expect("settings").flatten() {
        left.push(entry.file_name().to_string_lossy().into_owned());
    }
    let stays = [".lock", "desktop.json", "desktop.lock", "folders.json", "running", "transfers.json"];
    left.retain(|name| !stays.contains(&name.as_str()));
    assert!(left.is_empty(), "{left:?} is left");
    let marks = std::fs::read_dir(desk.config().join("running")).expect("a folder of marks").count();
    assert_eq!(marks, 0, "a mark is left");
}

#[test]
fn quitting_does_not_wait_for_calls_and_downloads() {
    let hub = hub::start(tiny_model().path(), Line::Slow);
    let desk = Desk::new(&["alpha"]).with_hub(&hub);
    let panel = Panel::new(&desk);
    let mut app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    icon.choose("Start alpha");
    icon.wait_for_status("alpha is ready", |status| status == "alpha · Ready");
    let (address, door) = (address(&desk), Door::of(&desk));
    let wish = json!({"model": "org/tiny", "revision": null});
    assert_eq!(door.ask("POST", "transfers", &wish).expect("an answer").0, 200);
    wait("a part", || begun(&door)).expect("the download runs");
    let mut calls: Vec<_> = (0..4).map(|_| chat(&address, "alpha", 1900)).collect();
    assert!(calls.iter_mut().all(|call| call.next().is_some()), "all calls run");
    icon.choose("Quit Tokbar");
    let (status, took) = app.wait();
    assert!(status.success() && took < Duration::from_secs(2), "{status} after {took:?}");
    assert!(!app.left_children() && !door.is_open());
    assert_left_clean(&desk);
    // What came waits apart from whole models, and is the beginning of the next start's.
    assert!(!desk.hub_cache().join("models--org--tiny/snapshots").exists(), "no half model can be loaded");
    drop(calls);
    let _app = App::start(&desk, &["--hidden"]);
    panel.icon().wait_for_row("tiny · ");
}

/// Whether something of the one download has come.
fn begun(door: &Door) -> Option<()> {
    let (_, answer) = door.ask("GET", "transfers", &json!({}))?;
    answer["transfers"][0]["n_bytes_done"].as_u64().filter(|&n| n > 0).map(drop)
}

#[test]
fn memory_pressure_is_shown_as_it_changes() {
    let desk = Desk::new(&[]);
    let level = desk.home().join("level");
    std::fs::write(&level, "normal").expect("a place");
    let panel = Panel::new(&desk);
    let _app = App::start(&desk, &["--hidden", "--pressure-from", level.to_str().expect("text")]);
    let icon = panel.icon();
    icon.wait_for_row("🟢 Memory pressure normal · ");
    std::fs::write(&level, "warning").expect("a place");
    icon.wait_for_row("🟡 Memory is getting short · ");
    std::fs::write(&level, "critical").expect("a place");
    icon.wait_for_row("🔴 Memory is very short · ");
    assert_eq!(icon.wait_for_row("Choose a Model…").rows.len(), 0);
}
