//! Kills at bad moments lose nothing that was confirmed.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::app::App;
use crate::calls::{Door, chat};
use crate::desk::Desk;
use crate::hub::{self, Line};
use crate::loopback::Asked;
use crate::panel::{Panel, wait};
use crate::repository::WEIGHTS;
use crate::tiny::tiny_model;

/// Kills that hit while settings are being written.
const N_KILLS: u64 = 4;

#[test]
fn settings_that_were_confirmed_outlive_kills() {
    let desk = Desk::new(&[]);
    let panel = Panel::new(&desk);
    for round in 0..N_KILLS {
        let app = App::start(&desk, &["--hidden"]);
        panel.icon();
        let door = Door::of(&desk);
        let of = |answer: &Value| answer["settings"]["server"]["calls_per_minute"].as_u64().expect("a number");
        let writer = std::thread::spawn(move || {
            let (mut confirmed, mut tried) = (None, 0);
            for n in 1.. {
                tried = 1000 * (round + 1) + n;
                let wish = json!({"server": {"calls_per_minute": tried}});
                match door.ask("PATCH", "settings", &wish) {
                    Some((200, answer)) => confirmed = Some(of(&answer)),
                    Some((status, answer)) => panic!("{status}: {answer}"),
                    None => break,
                }
            }
            (confirmed, tried)
        });
        std::thread::park_timeout(Duration::from_millis(30 + 23 * round));
        app.kill();
        let (confirmed, tried) = writer.join().expect("a writer");

        let app = App::start(&desk, &["--hidden"]);
        panel.icon();
        let (status, answer) = Door::of(&desk).ask("GET", "settings", &json!({})).expect("an answer");
        assert_eq!(status, 200, "{answer}");
        let kept = of(&answer);
        // The last wish may have been done without anybody hearing so.
        assert!(confirmed.is_none_or(|confirmed| kept == confirmed || kept == tried), "{confirmed:?}, then {kept}");
        app.kill();
    }
    let left = fs::read_dir(desk.config()).expect("settings").flatten();
    let names: Vec<String> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.len() < 12, "half files do not pile up: {names:?}");
}

#[test]
fn a_download_goes_on_where_a_kill_cut_it() {
    let hub = hub::start(tiny_model().path(), Line::Slow);
    let desk = Desk::new(&[]).with_hub(&hub);
    let panel = Panel::new(&desk);
    let transfer = |door: &Door| {
        let (_, answer) = door.ask("GET", "transfers", &json!({}))?;
        answer["transfers"].as_array()?.first().cloned()
    };
    let get = |door: &Door| door.ask("POST", "transfers", &json!({"model": "org/tiny", "revision": null}));

    let app = App::start(&desk, &["--hidden"]);
    panel.icon();
    let door = Door::of(&desk);
    let (status, answer) = get(&door).expect("an answer");
    assert_eq!(status, 200, "{answer}");
    let is_half = |transfer: &Value| transfer["n_bytes_done"].as_u64() > Some(8_000_000);
    wait("half of it", || transfer(&door).filter(is_half)).expect("it comes");
    app.kill();
    drop(hub.asked());

    let app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    let door = Door::of(&desk);
    // Whether it was taken up again by itself, or is now.
    let (status, answer) = get(&door).expect("an answer");
    assert!([200, 409].contains(&status), "{answer}");
    wait("its end", || transfer(&door).filter(|now| now["state"] == "done")).expect("it is done");
    icon.choose("tiny · ");
    icon.wait_for_status("it is ready", |status| status == "tiny · Ready");
    assert!(chat(&door.address, "org/tiny", 5).count() > 0, "what came is whole");
    let n_bytes = fs::metadata(tiny_model().path().join(WEIGHTS)).expect("a model").len() as usize;
    let n_again: usize = hub.asked().iter().map(|asked| n_wanted(asked, n_bytes)).sum();
    assert!(n_again + 4_000_000 < n_bytes, "what had come is not fetched again: {n_again} of {n_bytes}");
    app.kill();
}

/// Bytes of the weights that a call wants.
fn n_wanted(asked: &Asked, n_bytes: usize) -> usize {
    let is_weights = asked.method == "GET" && asked.path.contains(&format!("/{WEIGHTS}"));
    let end = asked.last.map_or(n_bytes, |last| last + 1);
    if is_weights { end - asked.start.unwrap_or(0) } else { 0 }
}
