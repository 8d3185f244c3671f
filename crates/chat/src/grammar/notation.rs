//! Values in notations that are like JSON and not JSON: Python's and Gemma's.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::lark::{Lark, Spacing, any_of, literal};
use super::members::Members;
use super::shape::Notation;

/// Deepest nesting that is written out; deeper values are free.
const DEPTH_MAX: usize = 32;

/// A tool's arguments with their brackets.
pub(super) fn arguments(lark: &mut Lark, notation: &Notation, schema: &Value) -> String {
    let mut writer = Writer { lark, notation, root: schema, made: HashMap::new(), any: None, string: None };
    writer.object(schema, Level::Arguments, 0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Arguments,
    Nested,
}

struct Writer<'a> {
    lark: &'a mut Lark,
    notation: &'a Notation,
    root: &'a Value,
    /// Rules of definitions.
    made: HashMap<String, String>,
    any: Option<String>,
    string: Option<String>,
}

impl Writer<'_> {
    fn value(&mut self, schema: &Value, depth: usize) -> String {
        let Value::Object(map) = schema else { return self.any() };
        if depth >= DEPTH_MAX || map.is_empty() {
            return self.any();
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            return self.definition(target, depth);
        }
        if let Some(constant) = map.get("const") {
            return literal(&self.constant(constant));
        }
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            return any_of(&values.iter().map(|value| literal(&self.constant(value))).collect::<Vec<_>>());
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(branches) = map.get(key).and_then(Value::as_array) {
                return any_of(&branches.iter().map(|branch| self.value(branch, depth + 1)).collect::<Vec<_>>());
            }
        }
        match map.get("type") {
            Some(Value::String(kind)) => self.of_kind(kind, map, depth),
            Some(Value::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                any_of(&kinds.map(|kind| self.of_kind(kind, map, depth)).collect::<Vec<_>>())
            }
            _ if map.contains_key("properties") => self.of_kind("object", map, depth),
            _ => self.any(),
        }
    }

    fn of_kind(&mut self, kind: &str, map: &Map<String, Value>, depth: usize) -> String {
        let [yes, no, null] = self.notation.words;
        match kind {
            "string" => self.string(),
            "boolean" => any_of(&[literal(yes), literal(no)]),
            "null" => literal(null),
            "integer" | "number" => {
                let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
                let mut number = json!({ "type": kind });
                for key in bounds {
                    if let Some(bound) = map.get(key) {
                        number[key] = bound.clone();
                    }
                }
                self.lark.json(&number, Spacing::Line)
            }
            "array" => {
                let item = map.get("items").cloned().unwrap_or(Value::Bool(true));
                let item = self.value(&item, depth + 1);
                let item = self.lark.rule(&item);
                self.array(&item)
            }
            _ => self.object(&Value::Object(map.clone()), Level::Nested, depth + 1),
        }
    }

    fn array(&mut self, item: &str) -> String {
        let comma = spaced(self.notation.comma);
        self.lark.rule(&format!("\"[\" ({item} ({comma} {item})*)? \"]\""))
    }

    fn object(&mut self, schema: &Value, level: Level, depth: usize) -> String {
        let members = Members::of(schema);
        let (open, close) = if level == Level::Arguments { self.notation.brackets } else { ("{", "}") };
        let (open, close) = (literal(open), literal(close));
        if !members.can_have_any() {
            return format!("{open} {close}");
        }
        let (first, items, rest) = (self.lark.name("o"), self.lark.name("i"), self.lark.name("e"));
        let mut alternatives = Vec::new();
        for (idx, (name, value)) in members.declared.iter().enumerate() {
            let (key, value) = (self.key(name, level), self.value(value, depth + 1));
            let value = self.lark.rule(&value);
            alternatives.push(format!("{key} {value} {rest}::set_bit({idx}) %if bit_clear({idx})"));
        }
        if let Some(others) = &members.others {
            let value = self.value(others, depth + 1);
            let value = self.lark.rule(&value);
            let quote = if level == Level::Nested { literal(self.notation.key_quote) } else { String::new() };
            let mark = if level == Level::Nested { self.notation.colon } else { self.notation.equals };
            let key = "/[A-Za-z_][A-Za-z0-9_.-]{0,63}/";
            alternatives.push(format!("{quote} {key} {quote} {} {value} {rest}::_", spaced(mark)));
        }
        let (complete, more) = (members.if_complete(), members.if_more());
        let comma = spaced(self.notation.comma);
        self.lark.define(&format!("{items}::_"), &alternatives.join(" | "));
        self.lark.define(&format!("{rest}::_"), &format!("{close}{complete} | {comma} {items}::_{more}"));
        self.lark.define(&format!("{first}::_"), &format!("{close}{complete} | {items}::_{more}"));
        format!("{open} {first}::0")
    }

    fn key(&self, name: &str, level: Level) -> String {
        let (quote, mark) = match level {
            Level::Arguments => ("", self.notation.equals),
            Level::Nested => (self.notation.key_quote, self.notation.colon),
        };
        format!("{} {}", literal(&format!("{quote}{name}{quote}")), spaced(mark))
    }

    fn definition(&mut self, target: &str, depth: usize) -> String {
        if let Some(name) = self.made.get(target) {
            return name.clone();
        }
        let name = self.lark.name("d");
        self.made.insert(target.to_owned(), name.clone());
        let schema = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)).cloned();
        let body = self.value(&schema.unwrap_or(Value::Bool(true)), depth + 1);
        self.lark.define(&name, &body);
        name
    }

    fn string(&mut self) -> String {
        if let Some(name) = &self.string {
            return name.clone();
        }
        let name = self.lark.name("s");
        self.lark.define(&format!("{name}[lazy]"), self.notation.string);
        self.string = Some(name.clone());
        name
    }

    /// Any value.
    fn any(&mut self) -> String {
        if let Some(name) = &self.any {
            return name.clone();
        }
        let name = self.lark.name("x");
        self.any = Some(name.clone());
        let string = self.string();
        let number = self.lark.json(&json!({ "type": "number" }), Spacing::Line);
        let array = self.array(&name);
        let quote = literal(self.notation.key_quote);
        let (colon, comma) = (spaced(self.notation.colon), spaced(self.notation.comma));
        let member = format!("{quote} /[A-Za-z0-9_][A-Za-z0-9_ .-]{{0,63}}/ {quote} {colon} {name}");
        let member = self.lark.rule(&member);
        let object = self.lark.rule(&format!("\"{{\" ({member} ({comma} {member})*)? \"}}\""));
        let words = self.notation.words.map(literal).join(" | ");
        self.lark.define(&name, &format!("{string} | {number} | {array} | {object} | {words}"));
        name
    }

    /// A constant as the notation writes it.
    fn constant(&self, value: &Value) -> String {
        let Notation { quote, key_quote, colon, comma, words, .. } = self.notation;
        match value {
            Value::Null => words[2].to_owned(),
            Value::Bool(true) => words[0].to_owned(),
            Value::Bool(false) => words[1].to_owned(),
            Value::Number(number) => number.to_string(),
            Value::String(_) if *quote == "\"" => value.to_string(),
            Value::String(text) => format!("{quote}{text}{quote}"),
            Value::Array(items) => {
                format!("[{}]", items.iter().map(|item| self.constant(item)).collect::<Vec<_>>().join(comma))
            }
            Value::Object(map) => {
                let member = |(name, value): (&String, &Value)| {
                    format!("{key_quote}{name}{key_quote}{colon}{}", self.constant(value))
                };
                format!("{{{}}}", map.iter().map(member).collect::<Vec<_>>().join(comma))
            }
        }
    }
}

/// A mark after which one blank may stand, if the notation puts one there.
fn spaced(mark: &str) -> String {
    match mark.strip_suffix(' ') {
        Some(mark) => format!("/{mark} ?/"),
        None => literal(mark),
    }
}
