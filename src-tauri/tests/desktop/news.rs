//! What is told while nobody looks: notifications, as a desktop gets them.

use serde_json::json;

use crate::app::App;
use crate::calls::Door;
use crate::desk::Desk;
use crate::hub::{self, Line};
use crate::panel::{Panel, wait};
use crate::tiny::tiny_model;

fn get(door: &Door, model: &str) {
    let (status, answer) =
        door.ask("POST", "transfers", &json!({"model": model, "revision": null})).expect("an answer");
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn the_end_of_a_download_is_told_and_nothing_else_is() {
    let hub = hub::start(tiny_model().path(), Line::Slow);
    let desk = Desk::new(&[]).with_hub(&hub);
    let panel = Panel::new(&desk);
    let _app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    let door = Door::of(&desk);
    get(&door, "org/tiny");
    let (title, text) = panel.notice();
    assert_eq!((title.as_str(), text.as_str()), ("org/tiny is here", "It can be started from the menu."));
    icon.choose("tiny · ");
    icon.wait_for_status("it is ready", |status| status == "tiny · Ready");
    icon.choose("Unload");
    icon.wait_for_status("nothing is loaded", |status| status == "Stopped");
    assert!(panel.is_quiet(), "what a person asked for is no news");
}

#[test]
fn a_download_that_fails_is_told_with_the_reason() {
    let hub = hub::start(tiny_model().path(), Line::Lost);
    let desk = Desk::new(&[]).with_hub(&hub);
    let panel = Panel::new(&desk);
    let _app = App::start(&desk, &["--hidden"]);
    panel.icon();
    get(&Door::of(&desk), "org/tiny");
    let (title, text) = panel.notice();
    assert_eq!(title, "org/tiny was not downloaded");
    assert!(!text.is_empty(), "the reason is told");
}

#[test]
fn a_model_that_short_memory_took_is_told() {
    let desk = Desk::new(&["alpha"]);
    let level = desk.home().join("level");
    std::fs::write(&level, "normal").expect("a place");
    let panel = Panel::new(&desk);
    let _app = App::start(&desk, &["--hidden", "--pressure-from", level.to_str().expect("text")]);
    let icon = panel.icon();
    icon.choose("Start alpha");
    icon.wait_for_status("alpha is ready", |status| status == "alpha · Ready");
    std::fs::write(&level, "critical").expect("a place");
    wait("the end", || icon.find("No model is loaded")).expect("short memory takes it");
    let (title, text) = panel.notice();
    assert_eq!(title, "alpha was unloaded");
    assert!(text.contains("Close other programs"), "{text}");
}
