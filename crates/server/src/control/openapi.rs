//! `/control/v1/openapi.json`: what the server can be asked, made of the same types that the handlers read and write.

mod own;
mod vendors;

use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::ServerState;

/// Asks a generator for the schema of a type.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Where a call can be made, and what goes in and out.
pub struct Endpoint {
    /// `get`, `post`, `put`, `patch` or `delete`.
    pub method: &'static str,
    /// The path.
    pub path: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Parameters of the address.
    pub query: Option<SchemaOf>,
    /// The body.
    pub body: Option<SchemaOf>,
    /// What comes back.
    pub answer: Answer,
}

/// What comes back.
pub enum Answer {
    /// JSON of this type.
    Json(SchemaOf),
    /// Server-sent events of this name with JSON of this type.
    Events(&'static str, SchemaOf),
    /// Text.
    Text,
}

/// The schema of a type.
pub fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The route.
pub fn routes() -> Router<ServerState> {
    Router::new().route("/control/v1/openapi.json", get(document_now))
}

async fn document_now() -> Response {
    Json(document()).into_response()
}

/// The paths of the dialects; some stand for each of their methods.
pub fn vendor_paths() -> impl Iterator<Item = &'static str> {
    vendors::CALLS.iter().map(|call| call.path)
}

/// The whole document.
pub fn document() -> Value {
    let settings =
        || SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = "/components/schemas".into());
    let (mut read, mut written) =
        (settings().for_deserialize().into_generator(), settings().for_serialize().into_generator());
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in own::ENDPOINTS {
        let operation = operation(endpoint, &mut read, &mut written);
        put(&mut paths, endpoint.path, endpoint.method, operation);
    }
    for call in vendors::CALLS {
        put(&mut paths, call.path, call.method, call.operation());
    }
    let mut schemas = read.take_definitions(true);
    schemas.extend(written.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tokbar",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Paths under /control manage the server: they take the key of the launch, or one with the scope \
                            \"manage\", and only from the same machine. The others speak as OpenAI, Anthropic and Ollama do.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } },
        },
        "security": [{ "key": [] }],
    })
}

fn put(paths: &mut Map<String, Value>, path: &str, method: &str, operation: Value) {
    let item = paths.entry(path).or_insert_with(|| json!({}));
    item[method] = operation;
}

fn operation(endpoint: &Endpoint, read: &mut SchemaGenerator, written: &mut SchemaGenerator) -> Value {
    let (kind, schema) = match endpoint.answer {
        Answer::Json(schema) => ("application/json", schema(written).to_value()),
        Answer::Events(name, schema) => {
            let data = schema(written).to_value();
            let about = format!("Events named `{name}`, whose data is this as JSON.");
            ("text/event-stream", json!({ "type": "string", "description": about, "contentSchema": data }))
        }
        Answer::Text => ("text/plain", json!({ "type": "string" })),
    };
    let mut operation = json!({
        "operationId": id(endpoint.method, endpoint.path),
        "summary": endpoint.about,
        "tags": ["control"],
        "responses": {
            "200": { "description": "Done.", "content": { kind: { "schema": schema } } },
            "default": vendors::refusal(),
        },
    });
    if let Some(query) = endpoint.query {
        operation["parameters"] = parameters(query, read);
    }
    if endpoint.path.contains("{id}") {
        operation["parameters"] = vendors::of_id();
    }
    if let Some(body) = endpoint.body {
        let schema = body(read).to_value();
        operation["requestBody"] = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    }
    operation
}

/// Such as `get_models_one`.
pub fn id(method: &str, path: &str) -> String {
    let words: Vec<&str> = path.split(['/', '.', '{', '}']).filter(|word| !word.is_empty()).collect();
    let words = words.strip_prefix(&["control", "v1"]).unwrap_or(&words);
    format!("{method}_{}", words.join("_").replace('-', "_"))
}

/// The fields of a type as parameters of an address.
fn parameters(query: SchemaOf, read: &mut SchemaGenerator) -> Value {
    let schema = query(read).to_value();
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let own = read.definitions().get(name).cloned().unwrap_or(schema);
    let required: Vec<&str> = own["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = own["properties"].as_object().into_iter().flatten();
    fields
        .map(|(name, schema)| {
            let is_required = required.contains(&name.as_str());
            json!({ "name": name, "in": "query", "required": is_required, "schema": without_null(schema) })
        })
        .collect()
}

/// An address says nothing by leaving a parameter out, and cannot say `null`.
fn without_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(kinds) = schema["type"].as_array() {
        let kinds: Vec<Value> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
        schema["type"] = if kinds.len() == 1 { kinds[0].clone() } else { Value::Array(kinds) };
    }
    schema
}
