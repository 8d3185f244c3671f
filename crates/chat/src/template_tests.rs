use jiff::{civil::date, tz::TimeZone};
use serde_json::json;

use super::*;
use crate::{Role, ToolCall};

fn now() -> Zoned {
    date(2026, 3, 7).at(9, 5, 4, 0).to_zoned(TimeZone::UTC).unwrap()
}

fn message(role: Role, content: &str) -> Message {
    Message {
        role,
        content: content.to_owned(),
        name: None,
        reasoning: None,
        tool_calls: Vec::new(),
        tool_call_id: None,
    }
}

fn weather_call(arguments: serde_json::Value) -> Message {
    let call = ToolCall { id: "call_1".to_owned(), name: "weather".to_owned(), arguments };
    Message { tool_calls: vec![call], ..message(Role::Assistant, "") }
}

fn weather_tool() -> Tool {
    Tool {
        name: "weather".to_owned(),
        description: Some("It's <sunny>?".to_owned()),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    }
}

fn render(source: &str, messages: &[Message], tools: &[Tool]) -> Result<String, TemplateError> {
    let special_tokens = json!({"bos_token": "<s>", "eos_token": "</s>"});
    let template = ChatTemplate::from_source(source, special_tokens.as_object().unwrap().clone())?;
    template.render(&ChatPrompt { messages, tools, template_kwargs: &Map::new() }, &now())
}

#[test]
fn templates_see_what_hugging_face_gives_them() {
    let chat = [message(Role::System, "Be brief."), message(Role::User, "Hi"), weather_call(json!({"city": "Köln"}))];
    let cases = [
        ("{{ bos_token }}{{ messages[0].role }}{{ eos_token }}", "<s>system</s>"),
        ("{% for m in messages %}{{ m['role'] }}:{{ m.content }};{% endfor %}", "system:Be brief.;user:Hi;assistant:;"),
        ("{% if add_generation_prompt %}go{% endif %}", "go"),
        ("{{ strftime_now('%d %b %Y, %B %-d %H:%M') }}", "07 Mar 2026, March 7 09:05"),
        (
            "{{ tools[0] | tojson }}",
            "{\"type\": \"function\", \"function\": {\"name\": \"weather\", \"description\": \"It's <sunny>?\", \
             \"parameters\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}}}}",
        ),
        ("{{ messages[-1].tool_calls[0].function.arguments | tojson }}", "{\"city\": \"Köln\"}"),
        ("{{ messages[-1].tool_calls[0].function.arguments }}", "{'city': 'Köln'}"),
        ("{{ messages[-1].tool_calls[0].id }}{{ messages[-1].tool_calls[0].type }}", "call_1function"),
        ("{{ messages[-1].tool_calls[0]['function']['arguments'] + '!' }}", "{\"city\":\"Köln\"}!"),
        ("{{ messages[2].content is none }}", "True"),
        ("{{ documents is none }}{{ nothing is defined }}{{ nothing }}", "TrueFalse"),
        ("{{ 'name' in messages[0] }}{{ 'tool_calls' in messages[2] }}", "FalseTrue"),
        ("{% generation %}{{ messages[1].content }}{% endgeneration %}", "Hi"),
        ("a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"),
        ("{% for m in messages %}{% if loop.index0 == 1 %}{% break %}{% endif %}{{ m.role }}{% endfor %}", "system"),
        ("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "3"),
        ("{% for m in messages[::-1] %}{{ loop.index0 }}{{ m.role }}{% endfor %}", "0assistant1user2system"),
        ("{{ messages[1:] | length }}{{ messages[1:][0].content }}", "2Hi"),
        ("{{ '<think>a</think>b'.split('</think>')[-1].lstrip('\\n') }}", "b"),
        ("{{ ' x '.strip() ~ 'abc'[1:] ~ 'abc'[-1] ~ 'ab'.upper() }}", "xbccAB"),
        (
            "{{ 'a.b.c'.rsplit('.', 1) }}{{ ' a  b '.rsplit() }}{{ 'k=v'.partition('=') }}",
            "['a.b', 'c']['a', 'b']['k', '=', 'v']",
        ),
        ("{{ 'prefix-x'.removeprefix('prefix-') }}{{ 'Ab'.swapcase() }}{{ 'abc'.index('c') }}", "xaB2"),
        ("{{ {'a': 1}.items() | list }}{{ {'a': 1}.get('b', 2) }}{{ {'a': none} }}", "[('a', 1)]2{'a': None}"),
        ("{% macro f(x, y=2) %}{{ x }}{{ y }}{% endmacro %}{{ f(1) }}{{ f(1, y=3) }}", "1213"),
    ];
    for (source, expected) in cases {
        assert_eq!(render(source, &chat, &[weather_tool()]).unwrap(), expected, "{source}");
    }
}

#[test]
fn content_of_a_bare_tool_call_is_none_only_where_the_template_asks() {
    let chat = [weather_call(json!({}))];
    for (source, expected) in [
        ("{% for m in messages %}{{ m['content'] is none }}{% endfor %}", "True"),
        ("{% for m in messages %}{{ m.content is not none }}{% endfor %}", "False"),
        ("{% for m in messages %}[{{ m.content + 'x' }}]{% endfor %}", "[x]"),
        ("{% if messages[0].content is none %}{{ messages[0].content + 'x' }}{% endif %}ok", "ok"),
    ] {
        assert_eq!(render(source, &chat, &[]).unwrap(), expected, "{source}");
    }
}

#[test]
fn template_kwargs_replace_variables() {
    let kwargs = json!({"enable_thinking": false, "add_generation_prompt": false});
    let source = "{{ enable_thinking }}{{ add_generation_prompt }}";
    let template = ChatTemplate::from_source(source, Map::new()).unwrap();
    let prompt = ChatPrompt { messages: &[], tools: &[], template_kwargs: kwargs.as_object().unwrap() };
    assert_eq!(template.render(&prompt, &now()).unwrap(), "FalseFalse");
}

/// A list that is made by `sum` of itself, again and again.
fn doubling(sum: &str) -> String {
    format!("{{% set ns = namespace(x=[1]) %}}{{% for i in range(60) %}}{{%- set ns.x = {sum} -%}}{{% endfor %}}")
}

#[test]
fn hostile_templates_end_in_an_error_that_names_the_limit() {
    let share = "{% set ns = namespace(x=1) %}{% for i in range(64) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
    let loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    let deep = "{% set ns = namespace(x=1) %}{% for i in range(90000) %}{% set ns.x = [ns.x] %}{% endfor %}done";
    let cases = [
        (loops.to_owned(), "work limit"),
        (format!("{{% macro f() %}}{loops}{{% endmacro %}}{{{{ f() }}}}"), "work limit"),
        ("{% for i in range(10**12) %}{% endfor %}".to_owned(), "too many elements"),
        ("{{ 'x' * 10**12 }}".to_owned(), "limit"),
        ("{{ 'x' * 10**9 }}".to_owned(), "limit"),
        ("{{ ('x' * 10**7) | replace('x', 'x' * 1000) }}".to_owned(), "work limit"),
        ("{{ ('x' * 10**7).replace('x', 'x' * 1000) }}".to_owned(), "work limit"),
        ("{{ '%999999999999d' | format(1) }}".to_owned(), ""),
        (format!("{share}{{{{ ns.x | tojson }}}}"), "work limit"),
        (format!("{share}{{{{ ns.x }}}}"), "limit"),
        (format!("{share}{{{{ (ns.x ~ '') | length }}}}"), "limit"),
        (format!("{share}{{% set other = ns.x %}}{share}{{{{ ns.x == other }}}}"), "limit"),
        (format!("{share}{{{{ ns.x | string | length }}}}"), "limit"),
        (doubling("ns.x + ns.x"), "work limit"),
        (doubling("(ns.x) + (ns.x + [])"), "work limit"),
        (doubling("ns['x'] + (ns.x if true else [])"), "work limit"),
        (doubling("[] + ns.x + ns.x"), "work limit"),
        (doubling("ns.x * 2 + []"), "work limit"),
        (doubling("(ns.x | list) + (ns.x | list)"), "work limit"),
        (
            "{% macro f(x, n) %}{% if n %}{{ f(x + x, n - 1) }}{% endif %}{% endmacro %}{{ f([1], 60) }}".to_owned(),
            "work limit",
        ),
        (
            "{% set ns = namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x = [1] * 10**8 + ns.x %}{% endfor %}"
                .to_owned(),
            "work limit",
        ),
        (format!("{deep}{{{{ ns.x | tojson }}}}"), "work limit"),
        (format!("{deep}{deep}{deep}{deep}{loops}"), "work limit"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}".to_owned(), "recursion limit"),
        ("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}".to_owned(), "recursion limit"),
        ("{{ ".repeat(10) + &"(".repeat(100_000), "cannot be parsed"),
        (format!("{{{{ {}1{} }}}}", "[".repeat(100_000), "]".repeat(100_000)), "cannot be parsed"),
        ("{% if true %}".repeat(100_000), "cannot be parsed"),
        ("{{ {}.append(1) }}".to_owned(), "append"),
        ("{% include 'other' %}".to_owned(), "unknown statement include"),
        ("{% for %}".to_owned(), "cannot be parsed"),
    ];
    for (source, limit) in cases {
        let error = render(&source, &[], &[]).unwrap_err().to_string();
        assert!(error.contains(limit), "{}: {error}", &source[..source.len().min(80)]);
    }
}

#[test]
fn the_templates_own_refusal_is_told_apart() {
    let source = "{% macro check(x) %}{{ raise_exception('Roles must alternate: ' ~ x) }}{% endmacro %}{{ check(1) }}";
    let error = render(source, &[], &[]).unwrap_err();
    assert!(matches!(&error, TemplateError::Raised { message } if message == "Roles must alternate: 1"), "{error}");
}

#[test]
fn templates_are_found_in_every_place_of_a_checkpoint() {
    let named = json!([{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]);
    type Case<'a> = (&'a [(&'a str, String)], Option<(&'a str, &'a str)>);
    let cases: [Case<'_>; 6] = [
        (&[], None),
        (&[("tokenizer_config.json", json!({"chat_template": "C"}).to_string())], Some(("C", "C"))),
        (&[("tokenizer_config.json", json!({"chat_template": named}).to_string())], Some(("D", "T"))),
        (&[("tokenizer_config.json", json!({"chat_template": null}).to_string())], None),
        (
            &[
                ("tokenizer_config.json", json!({"chat_template": "C"}).to_string()),
                ("chat_template.jinja", "J".to_owned()),
            ],
            Some(("J", "J")),
        ),
        (&[("chat_template.json", json!({"chat_template": "P"}).to_string())], Some(("P", "P"))),
    ];
    for (files, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let template = ChatTemplate::load(dir.path()).unwrap();
        let sources = template.as_ref().map(|template| (template.source(&[]), template.source(&[weather_tool()])));
        assert_eq!(sources, expected, "{files:?}");
    }
}

#[test]
fn broken_template_files_are_named() {
    for (file, text, reason) in [
        ("tokenizer_config.json", "{", "not valid JSON"),
        ("tokenizer_config.json", r#"{"chat_template": 7}"#, "neither a string nor a list"),
        ("tokenizer_config.json", r#"{"chat_template": [{"name": "a"}, {"name": "b"}]}"#, "named default"),
        ("chat_template.json", "[]", "not an object"),
        ("chat_template.jinja", "{% if %}", "cannot be parsed"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(file), text).unwrap();
        let error = ChatTemplate::load(dir.path()).unwrap_err().to_string();
        assert!(error.contains(reason), "{file} {text}: {error}");
    }
}

#[test]
fn switches_cannot_replace_what_was_checked() {
    for name in RESERVED_VARIABLES {
        let kwargs = Map::from_iter([(name.to_owned(), json!([]))]);
        let template = ChatTemplate::from_source("x", Map::new()).unwrap();
        let prompt = ChatPrompt { messages: &[], tools: &[], template_kwargs: &kwargs };
        let error = template.render(&prompt, &Zoned::default()).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("cannot be set as a switch"), "{error}");
    }
}

#[test]
fn templates_without_tools_get_them_as_text() {
    let source = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}";
    let template = ChatTemplate::from_source(source, Map::new()).unwrap();
    let call = ToolCall { id: "1".to_owned(), name: "weather".to_owned(), arguments: json!({"city": "Zug"}) };
    let result = Message { tool_call_id: Some("1".to_owned()), ..Message::new(Role::Tool, "sunny".to_owned()) };
    let messages = [
        Message::new(Role::System, "Be brief.".to_owned()),
        Message::new(Role::User, "How is it?".to_owned()),
        Message { tool_calls: vec![call], ..Message::new(Role::Assistant, String::new()) },
        result.clone(),
        result,
    ];
    let (tools, kwargs) = ([weather_tool()], Map::new());
    let prompt = ChatPrompt { messages: &messages, tools: &tools, template_kwargs: &kwargs };
    let text = template.render_with_tools(&prompt, ToolFormat::plainest(), &Zoned::default()).unwrap();
    let (system, rest) = text.split_once("[user] ").unwrap();
    assert!(system.starts_with("[system] Be brief.\n\nYou can call tools."), "{system}");
    assert!(system.contains("\"name\":\"weather\"") && system.contains("<tool_call>\n{\"name\": \"NAME\""), "{system}");
    let answer = "<tool_response>\nsunny\n</tool_response>\n<tool_response>\nsunny\n</tool_response>";
    let call = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Zug\"}}\n</tool_call>";
    assert_eq!(rest, format!("How is it?\n[assistant] {call}\n[user] {answer}\n"));
    // A template that writes tools itself, and a conversation without any, are left alone.
    let own = ChatTemplate::from_source("{{ tools | length }}", Map::new()).unwrap();
    assert_eq!(own.render_with_tools(&prompt, ToolFormat::plainest(), &Zoned::default()).unwrap(), "1");
    let plain = ChatPrompt { messages: &messages[..2], tools: &[], template_kwargs: &kwargs };
    let text = template.render_with_tools(&plain, ToolFormat::plainest(), &Zoned::default()).unwrap();
    assert_eq!(text, "[system] Be brief.\n[user] How is it?\n");
}

#[test]
fn templates_that_only_write_calls_are_told_of_the_tools() {
    let source = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% for c in m.tool_calls or [] %}\
         <call>{{ c.function.name }}</call>{% endfor %}\n{% endfor %}";
    let template = ChatTemplate::from_source(source, Map::new()).unwrap();
    let call = ToolCall { id: "1".to_owned(), name: "weather".to_owned(), arguments: json!({"city": "Zug"}) };
    let result = Message { tool_call_id: Some("1".to_owned()), ..Message::new(Role::Tool, "sunny".to_owned()) };
    let messages = [
        Message::new(Role::User, "How is it?".to_owned()),
        Message { tool_calls: vec![call], ..Message::new(Role::Assistant, String::new()) },
        result,
    ];
    let (tools, kwargs) = ([weather_tool()], Map::new());
    let prompt = ChatPrompt { messages: &messages, tools: &tools, template_kwargs: &kwargs };
    let text = template.render_with_tools(&prompt, ToolFormat::plainest(), &Zoned::default()).unwrap();
    let (system, rest) = text.split_once("[user] ").unwrap();
    assert!(system.starts_with("[system] You can call tools.") && system.contains("\"name\":\"weather\""), "{system}");
    assert_eq!(rest, "How is it?[assistant] <call>weather</call>[tool] sunny");
}

#[test]
fn templates_that_take_only_turns_get_turns() {
    let source = "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns') }}\
         {% endif %}[{{ m.role }}] {{ m.content }}\n{% endfor %}";
    let template = ChatTemplate::from_source(source, Map::new()).unwrap();
    let say = |role, text: &str| Message::new(role, text.to_owned());
    let kwargs = Map::new();
    let render = |messages: &[Message], tools: &[Tool]| {
        let prompt = ChatPrompt { messages, tools, template_kwargs: &kwargs };
        template.render_with_tools(&prompt, ToolFormat::plainest(), &Zoned::default())
    };
    let (system, first, second) = (say(Role::System, "Be brief."), say(Role::User, "Hi."), say(Role::User, "Well?"));
    let text = render(&[system.clone(), first.clone(), second.clone()], &[]).unwrap();
    assert_eq!(text, "[user] Be brief.\n\nHi.\n\nWell?\n");
    assert_eq!(render(&[system], &[]).unwrap(), "[user] Be brief.\n");
    let text = render(std::slice::from_ref(&first), &[weather_tool()]).unwrap();
    assert!(text.starts_with("[user] You can call tools.") && text.ends_with("Hi.\n"), "{text}");
    assert_eq!(render(&[say(Role::Assistant, "I begin.")], &[]).unwrap(), "[user] \n[assistant] I begin.\n");
    // What nothing mends is refused in the template's words.
    let error = render(&[say(Role::Tool, "sunny"), first], &[]).unwrap_err();
    assert!(matches!(&error, TemplateError::Raised { message } if message == "turns"), "{error}");
}

#[test]
fn templates_that_fail_on_calls_get_them_as_text() {
    let source = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% if m.tool_calls %}{{ tools.append(1) }}{% endif %}\n\
         {% endfor %}";
    let template = ChatTemplate::from_source(source, Map::new()).unwrap();
    let call = ToolCall { id: "1".to_owned(), name: "weather".to_owned(), arguments: json!({"city": "Zug"}) };
    let messages = [
        Message::new(Role::User, "How is it?".to_owned()),
        Message { tool_calls: vec![call], ..Message::new(Role::Assistant, String::new()) },
        Message { tool_call_id: Some("1".to_owned()), ..Message::new(Role::Tool, "sunny".to_owned()) },
    ];
    let (tools, kwargs) = ([weather_tool()], Map::new());
    let prompt = ChatPrompt { messages: &messages, tools: &tools, template_kwargs: &kwargs };
    let text = template.render_with_tools(&prompt, ToolFormat::plainest(), &Zoned::default()).unwrap();
    assert!(text.starts_with("[system] You can call tools."), "{text}");
    assert!(text.contains("{\"name\": \"weather\", \"arguments\": {\"city\": \"Zug\"}}"), "{text}");
    assert!(text.trim_end().ends_with("[user] <tool_response>\nsunny\n</tool_response>"), "{text}");
}
