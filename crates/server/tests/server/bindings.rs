//! The types of the control API in TypeScript: the page's are written by this test, and must not be older than ours.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tokbar_server::control::openapi;

const HEAD: &str =
    "// Written by `cargo xtask bindings` from the types of crates/server/src/control: change those.\n\n";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/lib/control.ts")
}

#[test]
fn the_types_of_the_page_are_up_to_date() {
    let text = typescript(&openapi());
    if std::env::var_os("TOKBAR_WRITE_BINDINGS").is_some() {
        fs::create_dir_all(path().parent().unwrap()).unwrap();
        fs::write(path(), &text).unwrap();
    }
    let there = fs::read_to_string(path()).unwrap_or_default();
    assert!(there == text, "ui/src/lib/control.ts is out of date: run `cargo xtask bindings`");
}

fn typescript(document: &Value) -> String {
    let mut text = HEAD.to_owned();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut names: Vec<&String> = schemas.keys().collect();
    names.sort();
    for name in names {
        declare(&mut text, name, &schemas[name]);
    }
    text.push_str("/** What a call takes and gives, by its method and path. */\nexport interface Routes {\n");
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|_| path.starts_with("/control/")) {
            route(&mut text, (method, path), operation);
        }
    }
    text.push_str("}\n");
    text
}

fn declare(text: &mut String, name: &str, schema: &Value) {
    note(text, "", schema);
    match schema["properties"].as_object() {
        Some(properties) => {
            writeln!(text, "export interface {name} {{").unwrap();
            fields(text, properties, schema);
            text.push_str("}\n\n");
        }
        None => writeln!(text, "export type {name} = {};\n", kind(schema)).unwrap(),
    }
}

fn fields(text: &mut String, properties: &Map<String, Value>, schema: &Value) {
    let is_required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    for (name, field) in properties {
        note(text, "  ", field);
        let mark = if is_required(name) { "" } else { "?" };
        writeln!(text, "  {name}{mark}: {};", kind(field)).unwrap();
    }
    if schema["additionalProperties"] == true {
        text.push_str("  [name: string]: unknown;\n");
    }
}

fn note(text: &mut String, indent: &str, schema: &Value) {
    if let Some(about) = schema["description"].as_str() {
        writeln!(text, "{indent}/** {} */", about.replace('\n', " ").replace("*/", "* /")).unwrap();
    }
}

fn route(text: &mut String, (method, path): (&str, &str), operation: &Value) {
    let answers = operation["responses"]["200"]["content"].as_object().unwrap();
    let (media, content) = answers.iter().next().unwrap();
    let answer = match media.as_str() {
        "text/event-stream" => kind(&content["schema"]["contentSchema"]),
        _ => kind(&content["schema"]),
    };
    let body = match &operation["requestBody"]["content"]["application/json"]["schema"] {
        Value::Null => "null".to_owned(),
        schema => kind(schema),
    };
    let mut query: Vec<String> = Vec::new();
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
        let mark = if parameter["required"] == true { "" } else { "?" };
        query.push(format!("{}{mark}: {}", parameter["name"].as_str().unwrap(), kind(&parameter["schema"])));
    }
    let query = if query.is_empty() { "null".to_owned() } else { format!("{{ {} }}", query.join("; ")) };
    let name = format!("{} {path}", method.to_uppercase());
    writeln!(text, "  \"{name}\": {{ query: {query}; body: {body}; answer: {answer} }};").unwrap();
}

/// A schema as a type.
fn kind(schema: &Value) -> String {
    if let Some(path) = schema["$ref"].as_str() {
        return path.rsplit('/').next().unwrap().to_owned();
    }
    for word in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[word].as_array() {
            return choices.iter().map(kind).collect::<Vec<_>>().join(" | ");
        }
    }
    if let Some(only) = schema.get("const") {
        return only.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    match &schema["type"] {
        Value::Array(kinds) => {
            kinds.iter().map(|word| one(word.as_str().unwrap(), schema)).collect::<Vec<_>>().join(" | ")
        }
        Value::String(word) => one(word, schema),
        _ => "unknown".to_owned(),
    }
}

fn one(word: &str, schema: &Value) -> String {
    match word {
        "integer" | "number" => "number".to_owned(),
        "array" => match kind(&schema["items"]) {
            item if item.contains(' ') => format!("({item})[]"),
            item => format!("{item}[]"),
        },
        "object" => match &schema["additionalProperties"] {
            Value::Object(_) => format!("Record<string, {}>", kind(&schema["additionalProperties"])),
            _ => "Record<string, unknown>".to_owned(),
        },
        other => other.to_owned(),
    }
}
