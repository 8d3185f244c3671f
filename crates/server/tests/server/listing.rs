//! Model listings, health, and the root.

use serde_json::json;

use crate::client::Call;
use crate::setup::{NOW, TestServer};

#[test]
fn models_are_listed_with_their_context() {
    let server = TestServer::hashing();
    let entry = json!({
        "id": "org/tiny", "object": "model", "created": NOW - 1000, "owned_by": "tokbar", "state": "loaded",
        "max_model_len": 4096, "context_window": 4096, "aliases": ["tiny"],
        "capabilities": ["completion", "chat", "insert"], "family": "tiny", "format": "safetensors",
        "quantization": "4-bit", "n_parameters": 1_234_567, "size_bytes": 617_283, "memory_bytes": 1 << 20,
    });
    assert_eq!(server.get("/v1/models").ok(), json!({ "object": "list", "data": [entry] }));
    for name in ["org/tiny", "org%2Ftiny", "tiny", "default"] {
        assert_eq!(server.get(&format!("/v1/models/{name}")).ok(), entry, "{name}");
    }
}

#[test]
fn an_unreadable_name_is_refused_in_the_dialects_shape() {
    let reply = TestServer::hashing().get("/v1/models/%ff");
    assert_eq!((reply.status, &reply.json()["error"]["param"]), (400, &json!("model")));
}

#[test]
fn health_and_root_answer_every_probe() {
    let server = TestServer::hashing();
    let health = server.get("/health").ok();
    assert_eq!((&health["status"], &health["n_models"]), (&json!("ok"), &json!(1)));
    let root = server.get("/");
    assert_eq!(root.status, 200);
    assert!(root.body.contains("is running"), "{}", root.body);
    let head = Call::new("HEAD", "/").send(server.address);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn nothing_loaded_is_said() {
    let server = TestServer::hashing();
    let before = server.models.replace(Vec::new());
    assert_eq!(before.len(), 1);
    assert_eq!(server.get("/v1/models").ok(), json!({ "object": "list", "data": [] }));
    let reply = server.post("/v1/chat/completions", &json!({ "messages": [{ "role": "user", "content": "hi" }] }));
    assert_eq!(reply.status, 503);
    assert_eq!(reply.json()["error"]["code"], "model_not_loaded");
    assert_eq!(reply.header("retry-after"), Some("5"));
}
