//! From a start with nothing to an answer: the way of everyone who is new.

use fantoccini::{Client, Locator};
use serde_json::json;

use crate::calls::{Door, chat};
use crate::desk::Desk;
use crate::hub::{self, Line};
use crate::panel::{LOOK, PATIENCE, Panel, wait};
use crate::tiny::tiny_model;
use crate::window::{Driver, drive};

/// Waits until the page shows what `css` and `text` ask for.
async fn wait_for(client: &Client, css: &str, text: &str) -> fantoccini::elements::Element {
    let (start, mut looks) = (std::time::Instant::now(), tokio::time::interval(LOOK));
    loop {
        looks.tick().await;
        for element in client.find_all(Locator::Css(css)).await.unwrap_or_default() {
            if element.text().await.is_ok_and(|shown| shown.contains(text)) {
                return element;
            }
        }
        if start.elapsed() > PATIENCE {
            let source = client.source().await.unwrap_or_default();
            panic!("the page never showed {text:?} in {css}: {source}");
        }
    }
}

async fn click(client: &Client, text: &str, css: &str) {
    wait_for(client, css, text).await.click().await.unwrap_or_else(|error| panic!("{text} takes no click: {error}"));
}

#[test]
fn a_recommendation_is_accepted_downloaded_over_a_broken_line_started_answers_and_a_client_is_connected() {
    let hub = hub::start(tiny_model().path(), Line::BreaksOnce);
    let desk = Desk::new(&[]).with_hub(&hub);
    let panel = Panel::new(&desk);
    let driver = Driver::new(&desk);
    drive(async {
        let client = driver.start().await;
        wait_for(&client, "h1", "Welcome to Tokbar").await;
        click(&client, "Continue", "button").await;
        wait_for(&client, "h1", "A model that fits").await;
        click(&client, "Download and start", "button").await;
        wait_for(&client, "h1", "Ready").await;
        let door = Door::of(&desk);
        wait_for(&client, "code", &format!("http://localhost:{}/v1", door.address.rsplit(':').next().unwrap_or("")))
            .await;
        assert!(chat(&door.address, "default", 5).count() > 0, "other clients are answered");

        click(&client, "Open the chat", "button").await;
        let editor = wait_for(&client, "textarea", "").await;
        editor.send_keys("Say something.").await.expect("it takes text");
        client
            .find(Locator::Css("button[aria-label=\"Send\"]"))
            .await
            .expect("a button")
            .click()
            .await
            .expect("a click");
        wait_for(&client, "article:not(.user)", "the of the of").await;
        connect_a_client(&client, &desk, &door).await;
    });
    // The menu knows the model that the window started.
    let icon = panel.icon();
    wait("the model", || {
        icon.status().ends_with(" tok/s").then_some(()).or_else(|| icon.status().ends_with("Ready").then_some(()))
    })
    .expect("the menu follows");
    let door = Door::of(&desk);
    let (status, shelf) = door.ask("GET", "models", &json!({})).expect("an answer");
    assert_eq!(status, 200);
    assert!(
        shelf["models"].as_array().is_some_and(|models| models.iter().any(|model| model["disk"]["state"] == "ready"))
    );
    icon.choose("Quit Tokbar");
    wait("the end", || (!door.is_open()).then_some(())).expect("it ends, whatever its window shows");
    wait("no mark", || (marks(&desk) == 0).then_some(())).expect("it ends as it should");
}

fn marks(desk: &Desk) -> usize {
    std::fs::read_dir(desk.config().join("running")).map_or(0, Iterator::count)
}

/// One that is set up by a file, which is shown before it is written; then a call as it would make it.
async fn connect_a_client(client: &Client, desk: &Desk, door: &Door) {
    let settings = desk.home().join(".config/opencode/opencode.json");
    client.find(Locator::Css("a[href=\"#/connect\"]")).await.expect("a panel").click().await.expect("a click");
    click(client, "Connect…", "button[aria-label=\"Connect… OpenCode\"]").await;
    wait_for(client, "dialog pre", "http://localhost:").await;
    assert!(!settings.exists(), "nothing is written before a person said so");
    click(client, "Apply", "dialog button").await;
    wait_for(client, "li", "connected").await;
    let written = std::fs::read_to_string(&settings).expect("its settings");
    let written: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    let port = door.address.rsplit(':').next().unwrap_or_default();
    assert_eq!(written["provider"]["tokbar"]["options"]["baseURL"], format!("http://localhost:{port}/v1"));
    click(client, "Test", "button[aria-label=\"Test OpenCode\"]").await;
    wait_for(client, "li [role=\"status\"]", " s").await;
    assert!(client.find(Locator::Css("li .bad")).await.is_err(), "the call is answered");
}
