//! The vendors' paths: what each takes in outline. Their own documents have every field.

use serde_json::{Value, json};

use super::id;

/// A path of a dialect.
pub struct Call {
    pub method: &'static str,
    pub path: &'static str,
    pub about: &'static str,
    pub dialect: &'static str,
    /// The body's schema, in outline; empty where there is none.
    pub body: &'static str,
}

const MESSAGES: &str = r#""messages": {"type": "array", "items": {"type": "object", "required": ["role"],
    "properties": {"role": {"type": "string"}, "content": {}}}}"#;
const fn call(method: &'static str, path: &'static str, about: &'static str, body: &'static str) -> Call {
    Call { method, path, about, dialect: "openai", body }
}

#[rustfmt::skip] // A table: one row per line.
pub const CALLS: &[Call] = &[
    call("get", "/v1/models", "The models served, and the known ones.", ""),
    call("get", "/v1/models/{id}", "One model.", ""),
    call("post", "/v1/chat/completions", "Answers a conversation.", "chat"),
    call("post", "/v1/completions", "Continues text.", r#"{"type": "object", "required": ["prompt"], "properties": {"prompt": {}, "model": {"type": "string"}, "max_tokens": {"type": "integer", "minimum": 0, "maximum": 64}, "stream": {"type": "boolean"}}}"#),
    call("post", "/v1/responses", "Answers items.", r#"{"type": "object", "required": ["input"], "properties": {"input": {}, "model": {"type": "string"}, "max_output_tokens": {"type": "integer", "minimum": 16, "maximum": 64}, "stream": {"type": "boolean"}, "store": {"type": "boolean"}}}"#),
    call("get", "/v1/responses/{id}", "A response that is kept.", ""),
    call("delete", "/v1/responses/{id}", "Forgets a response.", ""),
    call("get", "/v1/responses/{id}/input_items", "What a response answered.", ""),
    Call { dialect: "anthropic", ..call("post", "/v1/messages", "Answers a conversation.", "chat") },
    Call { dialect: "anthropic", ..call("post", "/v1/messages/count_tokens", "Counts the tokens of a conversation.", "count") },
    Call { dialect: "ollama", ..call("post", "/api/chat", "Answers a conversation.", "chat") },
    Call { dialect: "ollama", ..call("post", "/api/generate", "Answers or continues text.", r#"{"type": "object", "properties": {"prompt": {"type": "string"}, "model": {"type": "string"}, "stream": {"type": "boolean"}, "options": {"type": "object"}}}"#) },
    Call { dialect: "ollama", ..call("get", "/api/tags", "The models served.", "") },
    Call { dialect: "ollama", ..call("get", "/api/ps", "The models in memory.", "") },
    Call { dialect: "ollama", ..call("get", "/api/version", "The version.", "") },
    Call { dialect: "ollama", ..call("post", "/api/show", "One model.", r#"{"type": "object", "required": ["model"], "properties": {"model": {"type": "string"}}}"#) },
    Call { dialect: "health", ..call("get", "/health", "Whether the server is up.", "") },
    Call { dialect: "health", ..call("get", "/metrics", "Figures for Prometheus.", "") },
];

impl Call {
    /// The operation's description.
    pub fn operation(&self) -> Value {
        let mut operation = json!({
            "operationId": id(self.method, self.path),
            "summary": self.about,
            "tags": [self.dialect],
            "responses": { "200": { "description": "Done." }, "default": refusal() },
        });
        if self.path.contains("{id}") {
            operation["parameters"] = of_id();
        }
        if !self.body.is_empty() {
            operation["requestBody"] =
                json!({ "required": true, "content": { "application/json": { "schema": self.schema() } } });
        }
        operation
    }

    fn schema(&self) -> Value {
        let rest = r#""model": {"type": "string"}, "stream": {"type": "boolean"}"#;
        let text = match self.body {
            "chat" => format!(
                r#"{{"type": "object", "required": ["messages"], "properties": {{{MESSAGES}, {rest},
                "max_tokens": {{"type": "integer", "minimum": 1, "maximum": 64}}, "tools": {{"type": "array"}}}}}}"#
            ),
            "count" => {
                format!(r#"{{"type": "object", "required": ["messages"], "properties": {{{MESSAGES}, {rest}}}}}"#)
            }
            own => own.to_owned(),
        };
        // The table's own text, which a test reads.
        serde_json::from_str(&text).expect("the table holds JSON")
    }
}

/// The parameter of a path with an id in it.
pub fn of_id() -> Value {
    json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } }])
}

/// How every call is refused; a dialect may write it in its vendor's shape.
pub fn refusal() -> Value {
    json!({
        "description": "Refused: the message names the cause and the next action.",
        "content": { "application/json": { "schema": { "type": "object" } } },
    })
}
