use serde_json::{Value, json};

use super::Update;
use crate::updates::Standing;

fn told(standing: Standing) -> Value {
    serde_json::to_value(Update::of(standing, "words".to_owned())).expect("JSON")
}

#[test]
fn the_window_is_told_of_an_update_with_what_its_makers_say() {
    let ready = Standing::Ready { version: "1.2.3".to_owned(), notes: "Faster.\nSmaller.".to_owned() };
    let release = json!({"version": "1.2.3", "notes": "Faster.\nSmaller."});
    assert_eq!(told(ready), json!({"words": "words", "is_looking": false, "ready": release}));
    assert_eq!(told(Standing::Looking), json!({"words": "words", "is_looking": true, "ready": null}));
    let waiting = Standing::Waiting { version: "1.2.3".to_owned(), why: "calls run".to_owned() };
    assert_eq!(told(waiting), json!({"words": "words", "is_looking": false, "ready": null}));
    assert_eq!(told(Standing::Unknown)["words"], "", "before anybody has looked there is nothing to say");
}
