use serde_json::json;

use super::*;

/// Sets fields, checks the text, undoes them after `later` was done to the text, and checks that too.
fn check(format: Format, before: &str, fields: &[(&str, Value)], expected: &str) -> String {
    let fields: Fields = fields.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
    let after = set(format, before, &fields).unwrap();
    assert_eq!(after, expected, "{format:?}");
    assert_eq!(set(format, &after, &fields).unwrap(), after, "setting twice changes nothing");
    let undone = undo(format, &after, before, &fields).unwrap();
    let (left, right) = (format.read(&plain(&undone)).unwrap(), format.read(&plain(before)).unwrap());
    assert!(left == right || (path::is_empty(&left) && path::is_empty(&right)), "{undone}");
    undone
}

const JSONC: &str = r#"// my settings
{
    "theme": "dark", // not too bright
    /* keep */ "env": {
        "EDITOR": "vim",
    },
    "list": [1, 2, 3],
}
"#;

#[test]
fn comments_commas_and_foreign_fields_of_json_stay() {
    let fields = [("env.URL", json!("http://localhost:8000")), ("agent.model", json!({ "name": "m" }))];
    let expected = r#"// my settings
{
    "theme": "dark", // not too bright
    /* keep */ "env": {
        "EDITOR": "vim",
        "URL": "http://localhost:8000",
    },
    "list": [1, 2, 3],
    "agent": {
        "model": {
            "name": "m"
        }
    },
}
"#;
    let undone = check(Format::Json, JSONC, &fields, expected);
    assert_eq!(undone, JSONC);
}

#[test]
fn an_empty_or_missing_file_becomes_a_small_one() {
    let undone = check(Format::Json, "", &[("a.b", json!(1))], "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n");
    assert!(is_empty(Format::Json, &undone), "{undone}");
    let undone =
        check(Format::Toml, "", &[("a", json!(1)), ("t.x", json!({ "b": true }))], "a = 1\n\n[t.x]\nb = true\n");
    assert!(is_empty(Format::Toml, &undone), "{undone}");
    let undone = check(Format::Yaml, "", &[("a", json!("b")), ("l[n=x]", json!({ "n": "x" }))], "a: b\nl:\n  - n: x\n");
    assert!(is_empty(Format::Yaml, &undone), "{undone}");
}

const TOML: &str = r#"# Codex
model = "gpt-5"   # the default
approval_policy = "on-request"

[model_providers.other] # mine
base_url = "https://example.com/v1"

[projects."/code/x"]
trust_level = "trusted"
"#;

#[test]
fn comments_order_and_foreign_tables_of_toml_stay() {
    let fields = [
        ("model", json!("m")),
        ("model_provider", json!("tokbar")),
        ("model_providers.tokbar", json!({ "base_url": "http://localhost:8000/v1", "n": 5 })),
    ];
    let expected = r#"# Codex
model = "m"   # the default
approval_policy = "on-request"
model_provider = "tokbar"

[model_providers.other] # mine
base_url = "https://example.com/v1"

[model_providers.tokbar]
base_url = "http://localhost:8000/v1"
n = 5

[projects."/code/x"]
trust_level = "trusted"
"#;
    assert_eq!(check(Format::Toml, TOML, &fields, expected), TOML);
}

const YAML: &str = r#"# Continue
name: My assistant
version: 1.0.0
schema: v1
models:
  # the big one
  - name: Other
    provider: openai
    roles:
      - chat
  - name: Last
    provider: x # why not
context:
  - provider: code
"#;

#[test]
fn comments_and_foreign_items_of_yaml_stay() {
    let model = json!({ "name": "Tokbar", "apiBase": "http://localhost:8000/v1", "roles": ["chat"], "o": { "n": 1 } });
    let expected = YAML.replace(
        "context:",
        "  - name: Tokbar\n    apiBase: http://localhost:8000/v1\n    roles:\n      - chat\n    o:\n      n: 1\ncontext:",
    );
    assert_eq!(check(Format::Yaml, YAML, &[("models[name=Tokbar]", model)], &expected), YAML);
}

#[test]
fn fields_of_yaml_are_replaced_in_their_line() {
    let before = "# aider\nmodel: gpt-4o # mine\nauto-commits: false";
    let fields = [("model", json!("openai/org/m")), ("openai-api-key", json!("tk: #1")), ("n", json!(3600))];
    let expected = "# aider\nmodel: openai/org/m # mine\nauto-commits: false\nopenai-api-key: \"tk: #1\"\nn: 3600\n";
    let undone = check(Format::Yaml, before, &fields, expected);
    assert_eq!(undone.trim_end(), before);
}

#[test]
fn lists_of_yaml_may_be_the_whole_file_flat_or_empty() {
    let model = json!({ "id": "t", "n": 1 });
    let items = "- id: a\n  n: 2\n# the last\n- id: b\n";
    assert_eq!(check(Format::Yaml, items, &[("[id=t]", model.clone())], &format!("{items}- id: t\n  n: 1\n")), items);
    let flat = "models:\n- id: a\nnext: 1\n";
    check(Format::Yaml, flat, &[("models[id=t]", model.clone())], "models:\n- id: a\n- id: t\n  n: 1\nnext: 1\n");
    let empty = "models: []\nnext: 1\n";
    assert_eq!(
        check(Format::Yaml, empty, &[("models[id=t]", model.clone())], "models:\n  - id: t\n    n: 1\nnext: 1\n"),
        empty
    );
    let null = "models:\nnext: 1\n";
    let fields = vec![("models[id=t]".to_owned(), model)];
    assert_eq!(set(Format::Yaml, null, &fields).unwrap(), "models:\n  - id: t\n    n: 1\nnext: 1\n");
}

#[test]
fn an_item_that_is_there_is_replaced() {
    let before = "models:\n  - name: Tokbar\n    model: old\n  - name: Other\n";
    let fields = vec![("models[name=Tokbar]".to_owned(), json!({ "name": "Tokbar", "model": "new" }))];
    let after = set(Format::Yaml, before, &fields);
    // Its place in the list changes: a file in which that matters is refused, not changed otherwise than it is said.
    assert!(after.is_err() || after.unwrap().contains("model: new"));
}

#[test]
fn line_ends_and_byte_order_marks_stay() {
    let before = "\u{feff}{\r\n  \"a\": 1\r\n}\r\n";
    let after = set(Format::Json, before, &[("b".to_owned(), json!(2))]).unwrap();
    assert_eq!(after, "\u{feff}{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n");
}

#[test]
fn what_somebody_changed_since_stays() {
    let fields = vec![("env.URL".to_owned(), json!("ours")), ("env.KEY".to_owned(), json!("k"))];
    let before = r#"{"env": {"URL": "theirs"}}"#;
    let after = set(Format::Json, before, &fields).unwrap();
    let changed = after.replace("\"ours\"", "\"new\"").replace("{\"env\"", "{\"more\": 1, \"env\"");
    let undone: Value = serde_json::from_str(&undo(Format::Json, &changed, before, &fields).unwrap()).unwrap();
    assert_eq!(undone["env"]["URL"], "new");
    assert_eq!(undone["env"].get("KEY"), None);
}

#[test]
fn broken_and_hostile_texts_are_refused() {
    let deep = "[".repeat(100_000);
    let many = format!("a: {}1{}\n", "[".repeat(500), "]".repeat(500));
    let dashes = "- ".repeat(50_000);
    let cases = [
        (Format::Json, "{\"a\": "),
        (Format::Json, "[1, 2]"),
        (Format::Json, "{\"a\": 1, \"a\": 2}"),
        (Format::Json, "{\"a\": 3}"),
        (Format::Json, deep.as_str()),
        (Format::Toml, "a = "),
        (Format::Toml, "a = 1\na = 2\n"),
        (Format::Toml, "a = 5\n"),
        (Format::Toml, deep.as_str()),
        (Format::Yaml, "a: [1"),
        (Format::Yaml, "a: 1\na: 2\n"),
        (Format::Yaml, "x: &x 1\ny: *x\n"),
        (Format::Yaml, "---\na: 1\n---\nb: 2\n"),
        (Format::Yaml, "{a: 1}"),
        (Format::Yaml, "x: !tag 1\n"),
        (Format::Yaml, many.as_str()),
        (Format::Yaml, dashes.as_str()),
    ];
    let path = |format| if format == Format::Yaml { "b" } else { "a.b" };
    for (format, text) in cases {
        let outcome = set(format, text, &[(path(format).to_owned(), json!(1))]);
        assert!(outcome.is_err(), "{format:?} {}: {outcome:?}", &text[..text.len().min(40)]);
    }
}
