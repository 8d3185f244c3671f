//! Models that come when a call names them, over HTTP in every dialect, with a keeper that only writes down what it is asked.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokbar_server::{ApiError, Census, Later, Lifecycle, PinChange, Resident};

use crate::setup::{Setup, TestServer};

/// Has no models; answers by their names.
#[derive(Default)]
struct Scripted {
    asked: Mutex<Vec<String>>,
    refuses: Mutex<bool>,
}

impl Scripted {
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Lifecycle for Scripted {
    fn want(&self, name: Option<String>) -> Later<()> {
        self.asked.lock().unwrap().push(format!("want {name:?}"));
        let answer = match name.as_deref() {
            Some("large") => Err(ApiError::NoRoom { name: "large".to_owned(), detail: "it needs 99 GB".to_owned() }),
            Some("torn") => {
                Err(ApiError::LoadFailed { name: "torn".to_owned(), detail: "a shard is missing".to_owned() })
            }
            _ => Ok(()),
        };
        Box::pin(async move { answer })
    }

    fn unload(&self, name: String) -> Later<()> {
        self.asked.lock().unwrap().push(format!("unload {name}"));
        Box::pin(async { Ok(()) })
    }

    fn pin(&self, name: String, pin: PinChange) -> Later<()> {
        self.asked.lock().unwrap().push(format!("{pin:?} {name}"));
        Box::pin(async { Ok(()) })
    }

    fn refusal(&self) -> Option<ApiError> {
        self.refuses.lock().unwrap().then_some(ApiError::ShortOfMemory { retry_after_s: 7 })
    }

    fn census(&self) -> Census {
        let resident = Resident { id: "org/tiny".to_owned(), ..Resident::default() };
        Census { models: vec![resident], ..Census::default() }
    }
}

fn kept(setup: Setup) -> (TestServer, Arc<Scripted>) {
    let (server, keeper) = (TestServer::start(setup), Arc::new(Scripted::default()));
    server.models.keep_by(keeper.clone());
    (server, keeper)
}

/// A call to `model` in each dialect.
fn calls(model: &str) -> [(&'static str, Value); 6] {
    let messages = json!([{"role": "user", "content": "a"}]);
    [
        ("/v1/chat/completions", json!({"model": model, "messages": messages, "max_tokens": 1})),
        ("/v1/completions", json!({"model": model, "prompt": "a", "max_tokens": 1})),
        ("/v1/responses", json!({"model": model, "input": "a", "max_output_tokens": 1})),
        ("/v1/messages", json!({"model": model, "messages": messages, "max_tokens": 1})),
        ("/api/chat", json!({"model": model, "messages": messages, "stream": false})),
        ("/api/generate", json!({"model": model, "prompt": "a", "stream": false})),
    ]
}

#[test]
fn only_models_that_are_not_served_are_asked_for() {
    let (server, keeper) = kept(Setup { reply: Some("b"), ..Setup::default() });
    for (path, body) in calls("tiny") {
        assert_eq!(server.post(path, &body).status, 200, "{path}");
        assert!(keeper.asked().is_empty(), "{path}");
    }
    for (path, body) in calls("other") {
        assert_eq!(server.post(path, &body).status, 404, "{path}");
        assert_eq!(keeper.asked(), ["want Some(\"other\")"], "{path}");
    }
}

#[test]
fn a_model_that_cannot_come_is_told_with_the_reason() {
    let (server, _) = kept(Setup::default());
    for (model, status, part) in [("large", 507, "it needs 99 GB"), ("torn", 500, "a shard is missing")] {
        for (path, body) in calls(model) {
            let reply = server.post(path, &body);
            assert_eq!(reply.status, status, "{path}: {}", reply.body);
            assert!(reply.body.contains(part), "{path}: {}", reply.body);
        }
    }
}

#[test]
fn short_of_memory_every_call_is_refused_politely() {
    let (server, keeper) = kept(Setup { reply: Some("b"), ..Setup::default() });
    *keeper.refuses.lock().unwrap() = true;
    for (path, body) in calls("tiny") {
        let reply = server.post(path, &body);
        assert_eq!(reply.status, 503, "{path}: {}", reply.body);
        assert!(reply.body.contains("short of memory"), "{path}: {}", reply.body);
    }
    *keeper.refuses.lock().unwrap() = false;
    let (path, body) = &calls("tiny")[0];
    assert_eq!(server.post(path, body).status, 200);
}

#[test]
fn the_keeper_is_reached_under_control() {
    let (server, keeper) = kept(Setup::default());
    assert_eq!(server.manage_get("/live/now").json()["models"][0]["id"], "org/tiny");
    assert_eq!(server.manage_post("/models/unload", &json!({"model": "tiny"})).status, 200);
    assert_eq!(server.manage_post("/models/pin", &json!({"model": "tiny"})).status, 200);
    assert_eq!(server.manage_post("/models/pin", &json!({"model": "tiny", "pinned": false})).status, 200);
    assert_eq!(server.manage_post("/models/load", &json!({"model": "tiny"})).status, 200);
    assert_eq!(server.manage_post("/models/load", &json!({"model": "large"})).status, 507);
    assert_eq!(server.manage_post("/models/load", &json!({"model": 5})).status, 400);
    assert_eq!(keeper.asked(), ["unload tiny", "Set tiny", "Lifted tiny", "want Some(\"large\")"]);
}

#[test]
fn without_a_keeper_the_models_are_still_listed() {
    let server = TestServer::start(Setup::default());
    assert_eq!(server.manage_get("/live/now").json()["models"][0]["id"], "org/tiny");
    assert_eq!(server.manage_post("/models/unload", &json!({"model": "tiny"})).status, 503);
}
