//! Transcripts of Ollama's paths.

use serde_json::{Value, json};
use tokbar_engine::fake::{Call as FakeCall, Effect, FakeOptions, Fault};
use tokbar_engine::{EngineOptions, StepError};

use crate::client::Call;
use crate::setup::{N_VOCAB, Setup, TestServer};

const CHAT: &str = "/api/chat";
const GENERATE: &str = "/api/generate";
const TEMPLATE: &str = "{# <tool_call> <think> </think> #}{% for message in messages %}<|start|>{{ message.role }}\n\
{{ message.content }}{% for call in message.tool_calls or [] %}call {{ call.function.arguments | tojson }}{% endfor %}\
<|end|>{% endfor %}<|start|>{% if enable_thinking is defined and enable_thinking %}<think>\n{% endif %}";

fn replying(reply: &str) -> TestServer {
    let reply = Some(String::leak(reply.to_owned()) as &'static str);
    TestServer::start(Setup { reply, template: Some(TEMPLATE), ..Setup::default() })
}

fn chat(extra: Value) -> Value {
    let mut body = json!({ "model": "tiny", "messages": [{ "role": "user", "content": "hi" }] });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

/// Takes the times out of an object and checks that they add up.
fn timeless(mut object: Value) -> Value {
    assert!(object["created_at"].as_str().unwrap().starts_with("2023-11-14T22:13:20"), "{object}");
    let fields = object.as_object_mut().unwrap();
    fields.remove("created_at");
    let mut take = |name: &str| fields.remove(name).and_then(|value| value.as_u64());
    if let (Some(total), Some(prompt), Some(eval)) =
        (take("total_duration"), take("prompt_eval_duration"), take("eval_duration"))
    {
        assert_eq!((take("load_duration"), prompt + eval), (Some(0), total));
    }
    object
}

#[test]
fn a_chat_streams_one_line_per_piece() {
    let server = replying("né");
    let lines: Vec<Value> = server.post(CHAT, &chat(json!({}))).lines().into_iter().map(timeless).collect();
    let n_prompt = server.tokens("<|start|>user\nhi<|end|><|start|>").len();
    let line =
        |text: &str| json!({ "model": "org/tiny", "message": { "role": "assistant", "content": text }, "done": false });
    let last = json!({
        "model": "org/tiny", "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop",
        "prompt_eval_count": n_prompt, "eval_count": 4,
    });
    assert_eq!(lines, [line("n"), line("é"), last.clone()]);
    let whole = timeless(server.post(CHAT, &chat(json!({ "stream": false }))).ok());
    let mut expected = last;
    expected["message"]["content"] = json!("né");
    assert_eq!(whole, expected);
}

#[test]
fn calls_and_thoughts_have_their_places() {
    let call = "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"sea\"}}\n</tool_call>";
    let server = replying(&format!("<think>hm</think>\n\nAye.\n{call}\n{call}"));
    let tool = json!({ "type": "function", "function": { "name": "look", "parameters": {} } });
    let whole = server.post(CHAT, &chat(json!({ "stream": false, "think": true, "tools": [tool] })));
    let message = whole.ok()["message"].clone();
    let calls = message["tool_calls"].as_array().unwrap();
    let expected = |index: usize| {
        let function = json!({ "index": index, "name": "look", "arguments": { "at": "sea" } });
        json!({ "id": calls[index]["id"], "function": function })
    };
    let expected = json!({
        "role": "assistant", "content": "Aye.", "thinking": message["thinking"],
        "tool_calls": [expected(0), expected(1)],
    });
    assert_eq!(message, expected);
    let lines = server.post(CHAT, &chat(json!({ "tools": [tool] }))).lines();
    let join = |key: &str| lines.iter().map(|line| line["message"][key].as_str().unwrap_or("")).collect::<String>();
    assert_eq!((join("content").as_str(), join("thinking").as_str()), ("Aye.", "hm"));
    let n_calls: usize = lines.iter().filter_map(|line| line["message"]["tool_calls"].as_array()).map(Vec::len).sum();
    assert_eq!(n_calls, 2);
    assert_eq!(lines.last().unwrap()["done_reason"], "stop");
}

#[test]
fn a_tool_round_trip_goes_on() {
    let server = replying("done");
    let messages = json!([
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": "", "thinking": "hm",
          "tool_calls": [{ "function": { "name": "look", "arguments": { "at": 1 } } }] },
        { "role": "tool", "tool_name": "look", "content": "sea" },
    ]);
    let answer = server.post(CHAT, &chat(json!({ "stream": false, "messages": messages }))).ok();
    let prompt =
        "<|start|>user\nhi<|end|><|start|>assistant\ncall {\"at\": 1}<|end|><|start|>tool\nsea<|end|><|start|>";
    assert_eq!(answer["prompt_eval_count"], server.tokens(prompt).len());
}

#[test]
fn generate_answers_continues_and_fills_in() {
    let server = replying("ok");
    let count = |extra: Value| {
        let mut body = json!({ "model": "tiny:latest", "stream": false });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let answer = server.post(GENERATE, &body).ok();
        assert_eq!(answer["response"], "ok", "{answer}");
        usize::try_from(answer["prompt_eval_count"].as_u64().unwrap()).unwrap()
    };
    let cases = [
        (json!({ "prompt": "hi" }), "<|start|>user\nhi<|end|><|start|>"),
        (json!({ "prompt": "hi", "system": "s" }), "<|start|>system\ns<|end|><|start|>user\nhi<|end|><|start|>"),
        (json!({ "prompt": "hi", "raw": true }), "hi"),
        (json!({ "prompt": "a", "suffix": "b" }), "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>"),
    ];
    for (extra, prompt) in cases {
        assert_eq!(count(extra.clone()), server.tokens(prompt).len(), "{extra}");
    }
    let lines = server.post(GENERATE, &json!({ "model": "tiny", "prompt": "hi" })).lines();
    let text: String = lines.iter().map(|line| line["response"].as_str().unwrap()).collect();
    assert_eq!((text.as_str(), lines.last().unwrap()["done"].as_bool()), ("ok", Some(true)));
}

#[test]
fn an_empty_call_finds_the_model_loaded() {
    let server = replying("ok");
    for (path, body) in [
        (CHAT, json!({ "model": "tiny", "messages": [], "keep_alive": "5m" })),
        (GENERATE, json!({ "model": "tiny", "keep_alive": -1 })),
    ] {
        let answer = server.post(path, &body).ok();
        assert_eq!((&answer["done"], &answer["done_reason"]), (&json!(true), &json!("load")), "{path}");
    }
}

#[test]
fn options_reach_the_engine() {
    let server = replying("one two three");
    let cases = [
        (json!({ "num_predict": 3 }), "one", "length"),
        (json!({ "num_predict": -1, "stop": ["two"] }), "one ", "stop"),
        (json!({ "num_ctx": 4096, "num_gpu": 1, "mirostat": 0, "typical_p": 1.0, "seed": 7 }), "one two three", "stop"),
    ];
    for (options, text, reason) in cases {
        let answer = server.post(CHAT, &chat(json!({ "options": options, "stream": false }))).ok();
        assert_eq!(
            (&answer["message"]["content"], &answer["done_reason"]),
            (&json!(text), &json!(reason)),
            "{options}"
        );
    }
}

#[test]
fn what_is_served_is_listed() {
    let server = replying("x");
    let tags = server.get("/api/tags").ok();
    let entry = &tags["models"][0];
    assert_eq!((&entry["name"], &entry["size"]), (&json!("org/tiny"), &json!(617_283)));
    let details = json!({
        "parent_model": "", "format": "safetensors", "family": "tiny", "families": ["tiny"], "parameter_size": "1M",
        "quantization_level": "4-bit",
    });
    assert_eq!(entry["details"], details);
    assert_eq!(entry["digest"].as_str().unwrap().len(), 64);
    let running = server.get("/api/ps").ok();
    assert_eq!(running["models"][0]["context_length"], 4096);
    let shown = server.post("/api/show", &json!({ "model": "tiny:latest" })).ok();
    assert_eq!(shown["capabilities"], json!(["completion", "chat", "tools", "thinking", "insert"]));
    assert_eq!(shown["model_info"]["tiny.context_length"], 4096);
    assert!(server.get("/api/version").ok()["version"].as_str().unwrap().starts_with("0."));
}

#[test]
fn errors_have_ollamas_shape() {
    let server = replying("x");
    let call = |extra: Value| Call::post(CHAT, &chat(extra));
    let generate = |extra: Value| Call::post(GENERATE, &extra);
    let cases: Vec<(Call, u16, &str)> = vec![
        (call(json!({ "model": "none" })), 404, "\"none\" is not served here"),
        (Call::post(CHAT, &json!({})), 400, "`model` is required"),
        (call(json!({ "messages": [{ "role": "king" }] })), 400, "messages[0].role"),
        (call(json!({ "messages": [{ "role": "user", "content": "a", "images": ["aa"] }] })), 400, "cannot see images"),
        (call(json!({ "options": { "temperature": "hot" } })), 400, "options.temperature"),
        (call(json!({ "options": { "mirostat": 2 } })), 400, "options.mirostat"),
        (call(json!({ "keep_alive": "soon" })), 400, "\"soon\""),
        (call(json!({ "format": "xml" })), 400, "`format`"),
        (call(json!({ "logprobs": true })), 400, "`logprobs`"),
        (call(json!({ "messages": [{ "role": "user", "content": "x".repeat(5000) }] })), 400, "holds 4096 tokens"),
        (Call::post(CHAT, &json!({ "model": "tiny", "keep_alive": 0 })), 400, "stop the server"),
        (generate(json!({ "model": "tiny", "prompt": "x", "template": "y" })), 400, "`template`"),
        (generate(json!({ "model": "tiny", "prompt": "x", "context": [1] })), 400, "use /api/chat"),
        (Call::post("/api/embed", &json!({})), 501, "embeddings are not built"),
        (Call::post("/api/pull", &json!({})), 501, "`tokbar`"),
        (Call::get("/api/nothing"), 404, "/api/nothing"),
        (Call::get(CHAT), 405, "does not take GET"),
        (call(json!({})).header("Content-Type", "application/x-www-form-urlencoded"), 415, "application/json"),
        (call(json!({})).header("Origin", "https://evil.example"), 403, "evil.example"),
    ];
    for (call, status, part) in cases {
        let reply = call.send(server.address);
        let error = reply.json();
        assert_eq!((reply.status, error.as_object().unwrap().len()), (status, 1), "{error}");
        assert!(error["error"].as_str().unwrap().contains(part), "{error} lacks {part:?}");
    }
}

#[test]
fn busy_and_failing_servers_say_so() {
    let engine = EngineOptions { n_rows_max: 1, n_waiting_max: 0, ..EngineOptions::default() };
    let server = TestServer::start(Setup { engine, ..Setup::default() });
    server.probe.hold();
    let running = server.stream(CHAT, &chat(json!({})));
    let busy = server.post(CHAT, &chat(json!({})));
    assert_eq!((busy.status, busy.header("retry-after")), (429, Some("2")));
    server.probe.release();
    drop(running);

    let effect = Effect::Fail(StepError::Device { detail: "the device burns".to_owned() });
    let mut fake =
        FakeOptions { faults: vec![Fault { call: FakeCall::Collect, nth: 2, effect }], ..Default::default() };
    fake.info.n_vocab = N_VOCAB;
    let server = TestServer::start(Setup { fake, ..Setup::default() });
    // The likeliest tokens, so that chance does not end the answer before its second step.
    let lines = server.post(CHAT, &chat(json!({ "options": { "temperature": 0 } }))).lines();
    assert!(lines.last().unwrap()["error"].as_str().unwrap().contains("the device burns"), "{lines:?}");
}
