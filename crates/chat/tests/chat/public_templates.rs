//! Public chat templates: what they render, which format they tell of, and whether a turn's prompt extends the last one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use tokbar_chat::{ChatPrompt, ChatTemplate, Detection, Message, Role, Tool, ToolCall, ToolFormat, Zoned};

use crate::fixtures;

/// Sources by name.
fn sources() -> BTreeMap<String, String> {
    let folder = fixtures::testkit().join("chat-templates");
    let files = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask test` once", folder.display()));
    let paths: Vec<PathBuf> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jinja"))
        .collect();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// FNV-1a.
fn digest(text: &str) -> String {
    let value = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |value, byte| (value ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{value:016x}")
}

fn render(
    template: &ChatTemplate,
    messages: &[Message],
    tools: &[Tool],
    kwargs: &Map<String, Value>,
) -> Result<String, String> {
    let now: Zoned = "2026-03-04T05:06:07[UTC]".parse().unwrap();
    let prompt = ChatPrompt { messages, tools, template_kwargs: kwargs };
    template.render(&prompt, &now).map_err(|error| error.to_string())
}

/// Where Python's text is worse on purpose of nobody: `|safe` makes it escape what is added to it as HTML.
const ESCAPED_IN_PYTHON: [&str; 1] = ["meetkai-functionary-medium-v3.1"];

#[test]
fn public_templates_render_as_in_python() {
    let fixture = fixtures::read("public_templates.json");
    let mut differences = Vec::new();
    for (name, source) in sources() {
        let Some(expected) = fixture["templates"].get(&name) else { panic!("no digests for {name}") };
        let template = ChatTemplate::from_source(&source, fixtures::object(&fixture["variables"])).unwrap();
        for (case_name, case) in fixture["cases"].as_object().unwrap() {
            let (messages, tools) = (fixtures::messages(&case["messages"]), fixtures::tools(&case["tools"]));
            let kwargs = Map::from_iter([("add_generation_prompt".to_owned(), case["add_generation_prompt"].clone())]);
            let outcomes: Vec<&str> =
                expected[case_name].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
            let ours = render(&template, &messages, &tools, &kwargs);
            let has_render = outcomes.iter().any(|one| one.len() == 16);
            let is_same = match &ours {
                Ok(text) => outcomes.contains(&digest(text).as_str()),
                Err(_) => !has_render,
            };
            // What only Python trips over, such as a loop over no tools, may render here.
            let is_lenient = ours.is_ok() && outcomes.iter().all(|one| *one == "failed");
            let is_known = ESCAPED_IN_PYTHON.contains(&name.as_str()) && !tools.is_empty();
            if !is_same && !is_lenient && !is_known {
                differences
                    .push(format!("{name} {case_name}: {:?}, expected {outcomes:?}", ours.map(|text| digest(&text))));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Template, tool calls, reasoning; `-` for none.
const FORMATS: &str = include_str!("../fixtures/template_formats.txt");

#[test]
fn formats_are_detected_by_the_template() {
    let expected: BTreeMap<&str, (&str, &str)> = FORMATS
        .lines()
        .map(|line| {
            let mut words = line.split(' ');
            (words.next().unwrap(), (words.next().unwrap(), words.next().unwrap()))
        })
        .collect();
    let sources = sources();
    assert_eq!(sources.len(), expected.len());
    for (name, source) in &sources {
        let detection = Detection::by_template(source);
        let tools = detection.format.tools.map_or("-", |format| format.name);
        let reasoning = match detection.format.reasoning {
            Some(format) => format.name,
            None if detection.format.tools.is_some_and(|format| format.has_reasoning()) => "own",
            None => "-",
        };
        assert_eq!(Some(&(tools, reasoning)), expected.get(name.as_str()), "{name}");
    }
}

/// Templates that write an earlier turn otherwise than they wrote it when it was the last one, and what they change. For
/// them a turn is computed again from the place of the change.
const REWRITES: &[(&str, &str)] = &[
    ("CohereForAI-c4ai-command-r-plus-tool_use", "repeats how to call tools after the last message"),
    ("CohereForAI-c4ai-command-r7b-12-2024-tool_use", "opens the answer even where none is asked for"),
    ("microsoft-Phi-3.5-mini-instruct", "writes the end of the text after the last message"),
    ("mistralai-Mistral-Nemo-Instruct-2407", "moves the system message to the last user message"),
];

#[test]
fn the_next_turn_extends_the_last_one() {
    let say = |role, text: &str| Message::new(role, text.to_owned());
    let first = [say(Role::System, "Be brief."), say(Role::User, "one")];
    let variables = fixtures::object(&fixtures::read("public_templates.json")["variables"]);
    let mut rewriting = Vec::new();
    for (name, source) in sources() {
        let template = ChatTemplate::from_source(&source, variables.clone()).unwrap();
        let kwargs = Map::from_iter([("add_generation_prompt".to_owned(), Value::Bool(false))]);
        let mut talk = first.to_vec();
        let Ok(mut before) = render(&template, &talk, &[], &kwargs) else { continue };
        for turn in ["two", "three"] {
            talk.push(say(Role::Assistant, "An answer."));
            talk.push(say(Role::User, turn));
            let Ok(after) = render(&template, &talk, &[], &kwargs) else { break };
            if !after.starts_with(before.trim_end()) {
                let n_same = after.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
                let from = (0..=n_same.saturating_sub(20)).rev().find(|at| before.is_char_boundary(*at)).unwrap_or(0);
                rewriting.push((name.clone(), before[from..].chars().take(60).collect::<String>()));
                break;
            }
            before = after;
        }
    }
    let known: Vec<&str> = REWRITES.iter().map(|(name, _)| *name).collect();
    let found: Vec<&str> = rewriting.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(found, known, "{rewriting:#?}");
}

/// Long conversations stay within the limits that hostile templates meet.
#[test]
fn long_conversations_render() {
    let say = |role, text: &str| Message::new(role, text.to_owned());
    let variables = fixtures::object(&fixtures::read("public_templates.json")["variables"]);
    let turns = |n: usize| -> Vec<Message> {
        let turn = |_| [say(Role::User, &"A question. ".repeat(20)), say(Role::Assistant, &"An answer. ".repeat(40))];
        (0..n).flat_map(turn).chain([say(Role::User, "And now?")]).collect()
    };
    let mut failed = Vec::new();
    for (name, source) in sources() {
        let template = ChatTemplate::from_source(&source, variables.clone()).unwrap();
        // One copies all of its text for each part that it adds.
        let n_turns = if name == "Reka-Edge" { 150 } else { 1000 };
        if render(&template, &turns(1), &[], &Map::new()).is_ok() {
            let long = render(&template, &turns(n_turns), &[], &Map::new());
            failed.extend(long.err().map(|error| format!("{name}: {error}")));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// A model is told of the tools by its template, or else by us; and of what was called and came back.
#[test]
fn every_template_tells_of_tools_calls_and_results() {
    let variables = fixtures::object(&fixtures::read("public_templates.json")["variables"]);
    let parameters = json!({"type": "object", "properties": {"town": {"type": "string", "description": "Where"}}});
    let description = Some("How it is outside".to_owned());
    let tools = [Tool { name: "weather_of".to_owned(), description, parameters }];
    let call =
        ToolCall { id: "abcdef123".to_owned(), name: "weather_of".to_owned(), arguments: json!({"town": "Zug"}) };
    let said = Message { tool_calls: vec![call], ..Message::new(Role::Assistant, String::new()) };
    let result = Message {
        tool_call_id: Some("abcdef123".to_owned()),
        name: Some("weather_of".to_owned()),
        ..Message::new(Role::Tool, "{\"sky\": \"cloudless\"}".to_owned())
    };
    let user = |text: &str| Message::new(Role::User, text.to_owned());
    let system = Message::new(Role::System, "Speak like a sailor.".to_owned());
    let talk = [system, user("And in Zug?"), said, result, user("And now?")];
    let now: Zoned = "2026-03-04T05:06:07[UTC]".parse().unwrap();
    let mut silent = Vec::new();
    for (name, source) in sources() {
        let template = ChatTemplate::from_source(&source, variables.clone()).unwrap();
        let format = template.detection().format.tools.unwrap_or(ToolFormat::plainest());
        let render = |messages: &[Message]| {
            let prompt = ChatPrompt { messages, tools: &tools, template_kwargs: &Map::new() };
            template.render_with_tools(&prompt, format, &now).unwrap_or_else(|error| error.to_string())
        };
        let (text, start) = (render(&talk), render(&talk[..2]));
        let missing: Vec<_> = ["weather_of", "outside", "town", "Zug", "cloudless", "And now?"]
            .into_iter()
            .filter(|word| !text.contains(word))
            .collect();
        if !missing.is_empty() || !start.contains("sailor") {
            silent.push(format!("{name}: {missing:?} in {}", text.chars().take(300).collect::<String>()));
        }
    }
    assert!(silent.is_empty(), "{silent:#?}");
}

/// Whoever speaks when: what is said stands in the prompt.
#[test]
fn every_template_takes_roles_in_any_order() {
    use Role::{Assistant, System, User};
    const ORDERS: [&[Role]; 4] =
        [&[User, User], &[System, User, Assistant, Assistant, User], &[Assistant, User], &[System]];
    // It tells of the system message in the last message of the user.
    let is_never_told = |name: &str, roles: &[Role]| name.contains("Mistral-Nemo") && roles == [System];
    let variables = fixtures::object(&fixtures::read("public_templates.json")["variables"]);
    let now: Zoned = "2026-03-04T05:06:07[UTC]".parse().unwrap();
    let mut silent = Vec::new();
    for (name, source) in sources() {
        let template = ChatTemplate::from_source(&source, variables.clone()).unwrap();
        for roles in ORDERS {
            let message = |(at, role): (usize, &Role)| Message::new(*role, format!("word-{at}"));
            let messages: Vec<_> = roles.iter().enumerate().map(message).collect();
            let prompt = ChatPrompt { messages: &messages, tools: &[], template_kwargs: &Map::new() };
            let text = template.render_with_tools(&prompt, ToolFormat::plainest(), &now);
            let text = text.unwrap_or_else(|error| error.to_string());
            let missing: Vec<_> = messages.iter().filter(|message| !text.contains(&message.content)).collect();
            if !missing.is_empty() && !is_never_told(&name, roles) {
                let missing: Vec<_> = missing.iter().map(|message| message.content.as_str()).collect();
                silent.push(format!("{name} {roles:?}: {missing:?} {}", text.chars().take(100).collect::<String>()));
            }
        }
    }
    assert!(silent.is_empty(), "{silent:#?}");
}
