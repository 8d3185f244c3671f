//! Transcripts of `/v1/messages` and `/v1/messages/count_tokens`.

use serde_json::{Value, json};
use tokbar_engine::fake::{Call as FakeCall, Effect, FakeOptions, Fault};
use tokbar_engine::{EngineOptions, StepError};
use tokbar_server::{Keys, Models, ServerOptions};

use crate::client::Call;
use crate::setup::{N_VOCAB, NOW, Setup, TestServer};

const PATH: &str = "/v1/messages";
const COUNT: &str = "/v1/messages/count_tokens";
/// Shows everything that reaches the template; the markers tell the format of calls and reasoning.
const TEMPLATE: &str = "{# <tool_call> <think> </think> #}{% for tool in tools or [] %}[{{ tool.function.name }}]{% endfor %}\
{% for message in messages %}<|start|>{{ message.role }}\n{% if message.reasoning_content %}({{ message.reasoning_content }})\
{% endif %}{{ message.content }}{% for call in message.tool_calls or [] %}call {{ call.function.name }} \
{{ call.function.arguments | tojson }}{% endfor %}<|end|>\n{% endfor %}<|start|>assistant\n\
{% if enable_thinking %}<think>\n{% endif %}";

fn replying(reply: &str) -> TestServer {
    let reply = Some(String::leak(reply.to_owned()) as &'static str);
    TestServer::start(Setup { reply, template: Some(TEMPLATE), ..Setup::default() })
}

fn body(extra: Value) -> Value {
    let mut body = json!({ "model": "tiny", "max_tokens": 200, "messages": [{ "role": "user", "content": "hi" }] });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn look() -> Value {
    let schema = json!({ "type": "object", "properties": { "at": { "type": "string" } } });
    json!({ "name": "look", "description": "Looks.", "input_schema": schema, "cache_control": { "type": "ephemeral" } })
}

#[test]
fn a_whole_answer_has_anthropics_shape() {
    let server = replying("Grüße!");
    let answer = server.post(PATH, &body(json!({}))).ok();
    assert!(answer["id"].as_str().unwrap().starts_with("msg_"));
    let n_prompt = server.tokens("<|start|>user\nhi<|end|>\n<|start|>assistant\n").len();
    let expected = json!({
        "id": answer["id"], "type": "message", "role": "assistant", "model": "org/tiny",
        "content": [{ "type": "text", "text": "Grüße!" }], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {
            "input_tokens": n_prompt, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "output_tokens": server.tokens("Grüße!").len() + 1,
        },
    });
    assert_eq!(answer, expected);
    let count = server.post(COUNT, &body(json!({}))).ok();
    assert_eq!(count, json!({ "input_tokens": n_prompt }));
}

#[test]
fn a_stream_has_its_events_in_order() {
    let call = "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"sea\"}}\n</tool_call>";
    let server = replying(&format!("<think>hm</think>\n\nAye.\n{call}"));
    let reply = server.post(PATH, &body(json!({ "stream": true, "tools": [look()] })));
    let events = reply.named_events();
    assert!(events.iter().all(|(name, data)| data["type"] == *name), "{events:?}");
    // Deltas of one block are one step of the transcript.
    let mut steps: Vec<String> = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    for (name, data) in &events {
        let delta = &data["delta"];
        let step = match name.as_str() {
            "content_block_start" => format!("start {} {}", data["index"], data["content_block"]["type"]),
            "content_block_delta" => format!("delta {} {}", data["index"], delta["type"]),
            "content_block_stop" => format!("stop {}", data["index"]),
            other => other.to_owned(),
        };
        if steps.last() != Some(&step) {
            steps.push(step);
            texts.push(String::new());
        }
        let text = ["text", "thinking", "partial_json", "signature"].iter().find_map(|key| delta[*key].as_str());
        texts.last_mut().unwrap().push_str(text.unwrap_or(""));
    }
    let expected = [
        ("message_start", ""),
        ("ping", ""),
        ("start 0 \"thinking\"", ""),
        ("delta 0 \"thinking_delta\"", "hm"),
        ("delta 0 \"signature_delta\"", "dG9rYmFy"),
        ("stop 0", ""),
        ("start 1 \"text\"", ""),
        ("delta 1 \"text_delta\"", "Aye."),
        ("stop 1", ""),
        ("start 2 \"tool_use\"", ""),
        ("delta 2 \"input_json_delta\"", "{\"at\": \"sea\"}"),
        ("stop 2", ""),
        ("message_delta", ""),
        ("message_stop", ""),
    ];
    let seen: Vec<(&str, &str)> = steps.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    assert_eq!(seen, expected);
    let start = &events[0].1["message"];
    assert_eq!((&start["content"], &start["stop_reason"]), (&json!([]), &Value::Null));
    let (_, delta) = &events[events.len() - 2];
    assert_eq!(delta["delta"], json!({ "stop_reason": "tool_use", "stop_sequence": null }));
    assert_eq!(delta["usage"]["input_tokens"], start["usage"]["input_tokens"]);
    let whole = server.post(PATH, &body(json!({ "tools": [look()] }))).ok();
    let expected = json!([
        { "type": "thinking", "thinking": "hm", "signature": "dG9rYmFy" },
        { "type": "text", "text": "Aye." },
        { "type": "tool_use", "id": whole["content"][2]["id"], "name": "look", "input": { "at": "sea" } },
    ]);
    assert_eq!((&whole["content"], &whole["stop_reason"]), (&expected, &json!("tool_use")));
    let count = |usage: &Value, name: &str| usage[name].as_u64().unwrap();
    assert_eq!(count(&whole["usage"], "output_tokens"), count(&delta["usage"], "output_tokens"));
    let n_read = count(&whole["usage"], "cache_read_input_tokens");
    assert!(n_read > 0, "the second time, the prompt is kept");
    assert_eq!(count(&whole["usage"], "input_tokens") + n_read, count(&delta["usage"], "input_tokens"));
}

#[test]
fn reasons_to_stop_are_told_apart() {
    let server = replying("one two three");
    let cases = [
        (json!({ "stop_sequences": ["two", "xx"] }), "one ", "stop_sequence", json!("two")),
        (json!({ "stop_sequences": ["xx"] }), "one two three", "end_turn", Value::Null),
        (json!({ "max_tokens": 3 }), "one", "max_tokens", Value::Null),
    ];
    for (extra, text, reason, sequence) in cases {
        let whole = server.post(PATH, &body(extra.clone())).ok();
        assert_eq!(whole["content"][0]["text"], text, "{extra}");
        assert_eq!((&whole["stop_reason"], &whole["stop_sequence"]), (&json!(reason), &sequence), "{extra}");
        let mut streaming = body(extra);
        streaming["stream"] = json!(true);
        let events = server.post(PATH, &streaming).named_events();
        let delta = &events[events.len() - 2].1["delta"];
        assert_eq!(delta, &json!({ "stop_reason": reason, "stop_sequence": sequence }));
    }
}

/// The count of a conversation's tokens is that of the text that the template makes of it.
fn check_prompt(server: &TestServer, extra: Value, expected: &str) {
    let count = server.post(COUNT, &body(extra.clone())).ok();
    assert_eq!(count["input_tokens"], server.tokens(expected).len(), "{extra}");
}

#[test]
fn blocks_reach_the_template() {
    let server = replying("x");
    let tail = "<|start|>assistant\n";
    let user = "<|start|>user\nhi<|end|>\n";
    let billing = "x-anthropic-billing-header: cc_version=1; cch=ab12;";
    let text = |text: &str| json!({ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } });
    let cases = [
        (json!({ "system": "be brief" }), format!("<|start|>system\nbe brief<|end|>\n{user}{tail}")),
        (
            json!({ "system": [text(billing), text("a"), text("b")] }),
            format!("<|start|>system\na\n\nb<|end|>\n{user}{tail}"),
        ),
        (json!({ "tools": [look()] }), format!("[look]{user}{tail}")),
        (json!({ "tools": [look()], "tool_choice": { "type": "none" } }), format!("{user}{tail}")),
        (json!({ "thinking": { "type": "enabled", "budget_tokens": 1024 } }), format!("{user}{tail}<think>\n")),
        (json!({ "thinking": { "type": "adaptive" } }), format!("{user}{tail}<think>\n")),
        (json!({ "thinking": { "type": "disabled" } }), format!("{user}{tail}")),
    ];
    for (extra, expected) in cases {
        check_prompt(&server, extra, &expected);
    }
}

#[test]
fn a_tool_round_trip_reaches_the_template() {
    let server = replying("x");
    let text = |text: &str| json!({ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } });
    let messages = json!([
        { "role": "user", "content": [text("a"), text("b")] },
        { "role": "assistant", "content": [
            { "type": "thinking", "thinking": "hm", "signature": "dG9rYmFy" }, text("c"),
            { "type": "redacted_thinking", "data": "zzz" },
            { "type": "tool_use", "id": "t1", "name": "look", "input": { "at": 1 } },
            { "type": "tool_use", "id": "t2", "name": "look", "input": {} },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "content": [text("sea"), text("sky")] },
            { "type": "tool_result", "tool_use_id": "t2", "content": "fog", "is_error": true }, text("go on"),
        ] },
        { "role": "system", "content": "9 left" },
    ]);
    let expected = "<|start|>user\na\nb<|end|>\n<|start|>assistant\n(hm)ccall look {\"at\": 1}call look {}<|end|>\n\
        <|start|>tool\nsea\nsky<|end|>\n<|start|>tool\nError: fog<|end|>\n<|start|>user\ngo on<|end|>\n\
        <|start|>system\n9 left<|end|>\n<|start|>assistant\n";
    check_prompt(&server, json!({ "messages": messages }), expected);
    let answer = server.post(PATH, &body(json!({ "messages": messages, "tools": [look()] }))).ok();
    assert_eq!(answer["content"][0]["text"], "x");
}

#[test]
fn instructions_in_the_middle_survive_templates_that_refuse_them() {
    let template = "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('no') }}{% endif %}\
                    {{ m.role }}:{{ m.content }}<|end|>{% endfor %}";
    let server = TestServer::start(Setup { template: Some(template), ..Setup::default() });
    let messages = json!([
        { "role": "user", "content": "a" }, { "role": "system", "content": "b" }, { "role": "user", "content": "c" },
    ]);
    let expected = "user:a\n\n<system-reminder>\nb\n</system-reminder>\n\nc<|end|>";
    check_prompt(&server, json!({ "messages": messages }), expected);
}

/// Status, type, and a part of the message.
fn check_error(server: &TestServer, call: Call, (status, kind, part): (u16, &str, &str)) {
    let reply = call.send(server.address);
    assert_eq!(reply.status, status, "{}", reply.body);
    let error = reply.json();
    let message = error["error"]["message"].as_str().unwrap();
    assert_eq!(error, json!({ "type": "error", "error": { "type": kind, "message": message } }));
    assert!(message.contains(part), "{message:?} lacks {part:?}");
}

#[test]
fn errors_have_anthropics_shape() {
    let options = ServerOptions { keys: Some(Keys::single("k")), n_body_bytes_max: 20_000, ..Setup::default().server };
    let server = TestServer::start(Setup { server: options, ..Setup::default() });
    let call = |extra: Value| Call::post(PATH, &body(extra)).header("x-api-key", "k");
    let block = |block: Value| json!({ "messages": [{ "role": "user", "content": [block] }] });
    let bad = "invalid_request_error";
    let cases: Vec<(Call, (u16, &str, &str))> = vec![
        (Call::post(PATH, &body(json!({}))), (401, "authentication_error", "asks for an API key")),
        (call(json!({})).header("x-api-key", "l"), (401, "authentication_error", "is wrong")),
        (call(json!({})).header("Host", "evil.example"), (403, "permission_error", "evil.example")),
        (call(json!({ "model": "claude" })), (404, "not_found_error", "\"claude\" is not served here")),
        (call(json!({ "messages": [] })), (400, bad, "at least one message")),
        (call(json!({ "messages": [{ "role": "tool", "content": "x" }] })), (400, bad, "messages[0].role")),
        (call(block(json!({ "type": "image", "source": {} }))), (400, bad, "reads text only")),
        (call(block(json!({ "type": "video" }))), (400, bad, "\"video\"")),
        (call(block(json!({ "type": "document", "source": { "type": "base64" } }))), (400, bad, "send their text")),
        (call(json!({ "max_tokens": 0 })), (400, bad, "must be between 1")),
        (call(json!({ "temperature": "hot" })), (400, bad, "temperature")),
        (call(json!({ "tools": [{ "type": "web_search_20250305", "name": "w" }] })), (400, bad, "runs at its vendor")),
        (call(json!({ "tools": [{ "name": "w" }] })), (400, bad, "input_schema")),
        (call(json!({ "tool_choice": { "type": "tool", "name": "w" } })), (400, bad, "one of the tools")),
        (call(json!({ "thinking": { "type": "deep" } })), (400, bad, "thinking.type")),
        (call(json!({ "mcp_servers": [{ "url": "x" }] })), (400, bad, "mcp_servers")),
        (
            call(json!({ "messages": [{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" }] })),
            (400, bad, "let the last message be the user's"),
        ),
        (
            call(json!({ "messages": [{ "role": "user", "content": "x".repeat(5000) }] })),
            (400, bad, "prompt is too long: 5"),
        ),
        (call(json!({ "x": "y".repeat(20_001) })), (413, "request_too_large", "20000 bytes")),
        (call(json!({})).header("Content-Type", "text/plain"), (415, bad, "text/plain")),
        (Call::get(PATH).header("x-api-key", "k"), (405, bad, "does not take GET")),
        (Call::get("/v1/messages/batches").header("x-api-key", "k"), (501, "api_error", "batches are not built")),
    ];
    for (call, expected) in cases {
        check_error(&server, call, expected);
    }
}

#[test]
fn busy_loading_and_failing_servers_are_told_apart() {
    let engine = EngineOptions { n_rows_max: 1, n_waiting_max: 1, ..EngineOptions::default() };
    let server = TestServer::start(Setup { engine, ..Setup::default() });
    server.probe.hold();
    let running: Vec<_> = (0..2).map(|_| server.stream(PATH, &body(json!({ "stream": true })))).collect();
    let busy = server.post(PATH, &body(json!({})));
    assert_eq!((busy.status, busy.header("retry-after")), (429, Some("2")));
    assert_eq!(busy.json()["error"]["type"], "rate_limit_error");
    server.probe.release();
    drop(running);

    let effect = Effect::Fail(StepError::Device { detail: "the device burns".to_owned() });
    let mut fake =
        FakeOptions { faults: vec![Fault { call: FakeCall::Collect, nth: 2, effect }], ..Default::default() };
    fake.info.n_vocab = N_VOCAB;
    let server = TestServer::start(Setup { fake, ..Setup::default() });
    // The likeliest tokens, so that chance does not end the answer before its second step.
    let events = server.post(PATH, &body(json!({ "stream": true, "temperature": 0 }))).named_events();
    let (name, error) = events.last().unwrap();
    assert_eq!((name.as_str(), &error["error"]["type"]), ("error", &json!("api_error")));
    assert!(error["error"]["message"].as_str().unwrap().contains("the device burns"));
}

#[test]
fn a_loading_model_is_a_503_with_a_time_to_come_back() {
    let server = TestServer::serving(Models::loading("org/tiny".to_owned(), std::sync::Arc::new(|| 0.43)));
    let reply = server.post(PATH, &body(json!({})));
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")), "{}", reply.body);
    assert_eq!(reply.json()["error"]["type"], "overloaded_error");
    let openai = server.post("/v1/chat/completions", &body(json!({})));
    assert_eq!((openai.status, &openai.json()["error"]["code"]), (503, &json!("model_loading")));
    let ollama = server.post("/api/chat", &body(json!({})));
    assert!(ollama.json()["error"].as_str().unwrap().contains("is still loading"), "{}", ollama.body);
}

#[test]
fn models_are_listed_for_anthropics_clients() {
    let server = TestServer::hashing();
    let get = |path: &str| Call::get(path).header("anthropic-version", "2023-06-01").send(server.address);
    let list = get("/v1/models").ok();
    assert_eq!((&list["first_id"], &list["has_more"]), (&json!("org/tiny"), &json!(false)));
    let entry = &list["data"][0];
    assert_eq!((&entry["type"], &entry["display_name"]), (&json!("model"), &json!("org/tiny")));
    let created = jiff::Timestamp::from_second(NOW - 1000).unwrap().to_string();
    assert_eq!(entry["created_at"], created);
    assert_eq!(&get("/v1/models/tiny").ok(), entry);
    assert_eq!(get("/v1/models/none").json()["error"]["type"], "not_found_error");
}
