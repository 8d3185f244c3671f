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

async fn click(client: &Client, text: &str) {
    wait_for(client, "button", text)
        .await
        .click()
        .await
        .unwrap_or_else(|error| panic!("{text} takes no click: {error}"));
}

#[test]
fn a_recommendation_is_accepted_downloaded_over_a_broken_line_started_and_answers() {
    let hub = hub::start(tiny_model().path(), Line::BreaksOnce);
    let desk = Desk::new(&[]).with_hub(&hub);
    let panel = Panel::new(&desk);
    let driver = Driver::new(&desk);
    drive(async {
        let client = driver.start().await;
        wait_for(&client, "h1", "Welcome to Tokbar").await;
        click(&client, "Continue").await;
        wait_for(&client, "h1", "A model that fits").await;
        click(&client, "Download and start").await;
        wait_for(&client, "h1", "Ready").await;
        let door = Door::of(&desk);
        wait_for(&client, "code", &format!("http://localhost:{}/v1", door.address.rsplit(':').next().unwrap_or("")))
            .await;
        assert!(chat(&door.address, "default", 5).count() > 0, "other clients are answered");

        click(&client, "Open the chat").await;
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
    });
    // The menu knows the model that the window started.
    let icon = panel.icon();
    wait("the model", || {
        icon.status().ends_with(" tok/s").then_some(()).or_else(|| icon.status().ends_with("Ready").then_some(()))
    })
    .expect("the menu follows");
    let (status, shelf) = Door::of(&desk).ask("GET", "models", &json!({})).expect("an answer");
    assert_eq!(status, 200);
    assert!(
        shelf["models"].as_array().is_some_and(|models| models.iter().any(|model| model["disk"]["state"] == "ready"))
    );
}
