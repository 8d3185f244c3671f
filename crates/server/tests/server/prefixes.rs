//! The second turns of coding agents find all but their new tail in the cache: requests of the shapes that eight agents send,
//! with text of our own.

use serde_json::{Value, json};

use crate::setup::{Setup, TestServer};

/// The markers tell the format of calls.
const TEMPLATE: &str = "{# <tool_call> <think> </think> #}{% if tools %}{{ tools | tojson }}\n{% endif %}\
{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}\
{% for call in message.tool_calls or [] %}<tool_call>\n{\"name\": \"{{ call.function.name }}\", \"arguments\": \
{{ call.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|end|>\n{% endfor %}<|start|>assistant\n";
const CALL: &str = "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>";
/// What a prompt may lose: the beginning of the answer, which the second turn writes as a message.
const N_LOST_MAX: u64 = 8;

/// What is asked, and how an answer is carried on.
struct Agent {
    name: &'static str,
    path: &'static str,
    first: Value,
    second: fn(&Value, &Value) -> Value,
}

fn system() -> String {
    "You work on a code base with tools. Read before you write, and say what you did. ".repeat(30)
}

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["path"],
        "properties": { "path": { "type": "string", "description": "Where." }, "limit": { "type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991_u64 } },
        "additionalProperties": false,
    })
}

fn functions() -> Value {
    ["read", "write", "run"]
        .map(|name| json!({ "type": "function", "function": { "name": name, "description": "Does it.", "parameters": schema() } }))
        .into_iter()
        .collect()
}

/// A chat with a system message, as most agents begin it.
fn chat(user: Value, extra: &Value) -> Value {
    let messages = json!([{ "role": "system", "content": system() }, { "role": "user", "content": user }]);
    let mut body =
        json!({ "model": "tiny", "messages": messages, "tools": functions(), "max_tokens": 200, "temperature": 0 });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

/// The first request with the answer as `dress` sends it back, and the tool's result.
fn carried_on(first: &Value, answer: &Value, dress: fn(&mut Value, &mut Value)) -> Value {
    let mut said = answer["choices"][0]["message"].clone();
    assert_eq!(said["tool_calls"][0]["function"]["name"], "read", "{answer}");
    let mut result =
        json!({ "role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "forty-two lines" });
    dress(&mut said, &mut result);
    let mut second = first.clone();
    second["messages"].as_array_mut().unwrap().extend([said, result]);
    second
}

fn opencode(first: &Value, answer: &Value) -> Value {
    carried_on(first, answer, |said, _| said["content"] = json!(""))
}

fn qwen_code(first: &Value, answer: &Value) -> Value {
    carried_on(first, answer, |said, result| {
        said["content"] = Value::Null;
        result["content"] = json!([{ "type": "text", "text": result["content"] }]);
    })
}

fn pi(first: &Value, answer: &Value) -> Value {
    carried_on(first, answer, |said, _| said["content"] = Value::Null)
}

fn cline(first: &Value, answer: &Value) -> Value {
    carried_on(first, answer, |said, _| drop(said.as_object_mut().unwrap().shift_remove("content")))
}

fn vibe(first: &Value, answer: &Value) -> Value {
    carried_on(first, answer, |said, result| {
        said.as_object_mut().unwrap().shift_remove("content");
        said["tool_calls"][0]["index"] = json!(0);
        result["name"] = json!("read");
    })
}

fn continue_dev(first: &Value, answer: &Value) -> Value {
    carried_on(first, answer, |said, _| said["content"] = json!(" "))
}

/// Marks of what to cache move, and the attribution changes, from call to call.
fn claude_code(first: &Value, answer: &Value) -> Value {
    let mut second = first.clone();
    second["system"][0]["text"] = json!("x-anthropic-billing-header: cc_version=2.1.197.1c6; cc_entrypoint=cli;");
    second["messages"][0]["content"][0].as_object_mut().unwrap().shift_remove("cache_control");
    let call = answer["content"].as_array().unwrap().iter().find(|block| block["type"] == "tool_use").unwrap();
    let result = json!([{ "type": "tool_result", "tool_use_id": call["id"], "content": "forty-two lines", "cache_control": { "type": "ephemeral" } }]);
    let messages = second["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": answer["content"] }));
    messages.push(json!({ "role": "user", "content": result }));
    messages.push(json!({ "role": "system", "content": "<total_tokens>1234 left</total_tokens>" }));
    second
}

fn claude_code_first() -> Value {
    let tools: Vec<Value> = ["read", "write"]
        .map(|name| json!({ "name": name, "description": "Does it.", "input_schema": schema() }))
        .into();
    json!({
        "model": "tiny", "max_tokens": 32_000, "temperature": 0, "tools": tools, "thinking": { "type": "adaptive" },
        "metadata": { "user_id": "{\"device\":\"x\"}" }, "output_config": { "effort": "high" },
        "context_management": { "edits": [{ "type": "clear_thinking_20251015", "keep": "all" }] },
        "system": [
            { "type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.197.699; cc_entrypoint=cli;" },
            { "type": "text", "text": "You are an agent.", "cache_control": { "type": "ephemeral" } },
            { "type": "text", "text": system(), "cache_control": { "type": "ephemeral" } },
        ],
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Read a.txt.", "cache_control": { "type": "ephemeral" } }] }],
    })
}

fn codex_first() -> Value {
    let tool = |name: &str| json!({ "type": "function", "name": name, "description": "Does it.", "strict": false, "parameters": schema() });
    json!({
        "model": "tiny", "instructions": system(), "store": false, "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "k", "reasoning": { "summary": "auto" }, "parallel_tool_calls": false, "tool_choice": "auto",
        "temperature": 0, "max_output_tokens": 200,
        "tools": [tool("read"), tool("write"), { "type": "namespace", "name": "more", "tools": [tool("run")] }, { "type": "web_search" }],
        "input": [
            { "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "Stay in the folder." }] },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Read a.txt." }] },
        ],
    })
}

fn codex(first: &Value, answer: &Value) -> Value {
    let mut second = first.clone();
    let output = answer["output"].as_array().unwrap();
    let call = output.iter().find(|item| item["type"] == "function_call").unwrap();
    let result = json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "forty-two lines" });
    let input = second["input"].as_array_mut().unwrap();
    input.extend(output.iter().cloned());
    input.push(result);
    second
}

fn agents() -> [Agent; 8] {
    const CHAT: &str = "/v1/chat/completions";
    let parts = json!([{ "type": "text", "text": "Read a.txt." }]);
    let usage = json!({ "stream_options": null, "tool_choice": "auto" });
    let agent = |name, first, second| Agent { name, path: CHAT, first, second };
    [
        Agent { name: "Claude Code", path: "/v1/messages", first: claude_code_first(), second: claude_code },
        Agent { name: "Codex", path: "/v1/responses", first: codex_first(), second: codex },
        agent("OpenCode", chat(json!("Read a.txt."), &usage), opencode),
        agent("Qwen Code", chat(parts.clone(), &json!({ "top_p": 0.95 })), qwen_code),
        agent("Pi", chat(parts.clone(), &json!({ "store": false, "max_completion_tokens": 200 })), pi),
        agent("Cline", chat(parts, &usage), cline),
        agent("Vibe", chat(json!("Read a.txt."), &usage), vibe),
        agent("Continue", chat(json!("Read a.txt."), &json!({ "parallel_tool_calls": false })), continue_dev),
    ]
}

/// Tokens of the prompt, and those of them that were in the cache.
fn counts(path: &str, usage: &Value) -> (u64, u64) {
    let n = |place: &str| usage.pointer(place).and_then(Value::as_u64).unwrap_or_else(|| panic!("{place}: {usage}"));
    match path {
        "/v1/messages" => (n("/input_tokens") + n("/cache_read_input_tokens"), n("/cache_read_input_tokens")),
        "/v1/responses" => (n("/input_tokens"), n("/input_tokens_details/cached_tokens")),
        _ => (n("/prompt_tokens"), n("/prompt_tokens_details/cached_tokens")),
    }
}

#[test]
fn second_turns_of_agents_compute_only_their_tail() {
    for Agent { name, path, first, second } in agents() {
        let mut setup = Setup { reply: Some(CALL), template: Some(TEMPLATE), ..Setup::roomy() };
        setup.fake.info.n_context = 1 << 16;
        let server = TestServer::start(setup);
        let answer = server.post(path, &first).ok();
        let (n_first, n_cached) = counts(path, &answer["usage"]);
        assert!(n_first > 2000 && n_cached == 0, "{name}: {}", answer["usage"]);
        let next = server.post(path, &second(&first, &answer)).ok();
        let (n_second, n_cached) = counts(path, &next["usage"]);
        assert!(n_cached + N_LOST_MAX >= n_first, "{name}: {n_cached} of {n_first}, then {n_second}");
        assert!(n_second - n_cached < 400, "{name}: {n_cached} of {n_second}");
    }
}

/// Another session has another attribution and another question, and the same instructions and tools.
#[test]
fn another_session_of_an_agent_shares_its_head() {
    let server = {
        let mut setup = Setup { reply: Some(CALL), template: Some(TEMPLATE), ..Setup::roomy() };
        setup.fake.info.n_context = 1 << 16;
        TestServer::start(setup)
    };
    let mut body = claude_code_first();
    let answer = server.post("/v1/messages", &body).ok();
    let (n_first, _) = counts("/v1/messages", &answer["usage"]);
    body["system"][0]["text"] = json!("x-anthropic-billing-header: cc_version=2.1.197.abc; cc_entrypoint=sdk;");
    body["messages"][0]["content"][0]["text"] = json!("Write b.txt.");
    let answer = server.post("/v1/messages", &body).ok();
    let (_, n_cached) = counts("/v1/messages", &answer["usage"]);
    assert!(n_cached + 64 >= n_first, "{n_cached} of {n_first}");
}
