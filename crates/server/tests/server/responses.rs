//! Transcripts of `/v1/responses`.

use serde_json::{Value, json};
use tokbar_engine::StepError;
use tokbar_engine::fake::{Call as FakeCall, Effect, FakeOptions, Fault};
use tokbar_server::{Key, KeyScope, Keys, ServerOptions};

use crate::client::Call;
use crate::setup::{N_VOCAB, NOW, Setup, TestServer};

const PATH: &str = "/v1/responses";
const TEMPLATE: &str = "{# <tool_call> <think> </think> #}{% for tool in tools or [] %}[{{ tool.function.name }}]{% endfor %}\
{% for message in messages %}<|start|>{{ message.role }}\n{% if message.reasoning_content %}({{ message.reasoning_content }})\
{% endif %}{{ message.content }}{% for call in message.tool_calls or [] %}call {{ call.function.name }} \
{{ call.function.arguments | tojson }}{% endfor %}<|end|>\n{% endfor %}<|start|>assistant";
const CALL: &str = "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"sea\"}}\n</tool_call>";
const TAIL: &str = "<|start|>assistant";

fn replying(reply: &str) -> TestServer {
    let reply = Some(String::leak(reply.to_owned()) as &'static str);
    TestServer::start(Setup { reply, template: Some(TEMPLATE), ..Setup::default() })
}

fn body(extra: Value) -> Value {
    let mut body = json!({ "model": "tiny", "input": "hi" });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn look() -> Value {
    json!({ "type": "function", "name": "look", "parameters": { "type": "object", "properties": {} }, "strict": true })
}

#[test]
fn a_whole_answer_has_the_response_objects_shape() {
    let server = replying("né");
    let answer = server.post(PATH, &body(json!({ "metadata": { "a": "b" }, "temperature": 0 }))).ok();
    let n_prompt = server.tokens(&format!("<|start|>user\nhi<|end|>\n{TAIL}")).len();
    let part = json!({ "type": "output_text", "text": "né", "annotations": [], "logprobs": [] });
    let expected = json!({
        "id": answer["id"], "object": "response", "created_at": NOW, "status": "completed", "background": false,
        "error": null, "incomplete_details": null, "model": "org/tiny",
        "output": [{
            "id": answer["output"][0]["id"], "type": "message", "status": "completed", "role": "assistant",
            "content": [part],
        }],
        "usage": {
            "input_tokens": n_prompt, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 4,
            "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": n_prompt + 4,
        },
        "instructions": null, "max_output_tokens": null, "max_tool_calls": null, "metadata": { "a": "b" },
        "parallel_tool_calls": true, "previous_response_id": null, "prompt_cache_key": null,
        "reasoning": { "effort": null, "summary": null }, "safety_identifier": null, "service_tier": "default",
        "store": true, "text": { "format": { "type": "text" } }, "tool_choice": "auto", "tools": [],
        "truncation": "disabled", "user": null, "temperature": 0.0, "top_p": 0.9,
    });
    assert_eq!(answer, expected);
    assert!(answer["id"].as_str().unwrap().starts_with("resp_"));
}

/// Names of events with their place; runs of one delta are one step.
fn steps(events: &[(String, Value)]) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    for (idx, (name, data)) in events.iter().enumerate() {
        assert_eq!((data["type"].as_str(), data["sequence_number"].as_u64()), (Some(name.as_str()), Some(idx as u64)));
        let name = name.strip_prefix("response.").unwrap();
        let step = data["output_index"].as_u64().map_or(name.to_owned(), |index| format!("{index} {name}"));
        if steps.last() != Some(&step) {
            steps.push(step);
        }
    }
    steps
}

#[test]
fn a_stream_has_its_events_in_order() {
    let server = replying(&format!("<think>hm</think>\n\nAye.\n{CALL}"));
    let events = server.post(PATH, &body(json!({ "stream": true, "tools": [look()] }))).named_events();
    let expected = [
        "created",
        "in_progress",
        "0 output_item.added",
        "0 content_part.added",
        "0 reasoning_text.delta",
        "0 reasoning_text.done",
        "0 content_part.done",
        "0 output_item.done",
        "1 output_item.added",
        "1 content_part.added",
        "1 output_text.delta",
        "1 output_text.done",
        "1 content_part.done",
        "1 output_item.done",
        "2 output_item.added",
        "2 function_call_arguments.delta",
        "2 function_call_arguments.done",
        "2 output_item.done",
        "completed",
    ];
    assert_eq!(steps(&events), expected);
    let of = |name: &str| events.iter().filter(|(event, _)| event == name).map(|(_, data)| data).collect::<Vec<_>>();
    let joined = |name: &str| of(name).iter().map(|data| data["delta"].as_str().unwrap()).collect::<String>();
    assert_eq!(joined("response.reasoning_text.delta"), "hm");
    assert_eq!(joined("response.output_text.delta"), "Aye.");
    assert_eq!(joined("response.function_call_arguments.delta"), "{\"at\": \"sea\"}");
    let done: Vec<&Value> = of("response.output_item.done").iter().map(|data| &data["item"]).collect();
    let last = &events.last().unwrap().1["response"];
    assert_eq!(last["output"].as_array().unwrap().iter().collect::<Vec<_>>(), done);
    let call = json!({
        "id": done[2]["id"], "type": "function_call", "status": "completed", "call_id": done[2]["call_id"],
        "name": "look", "arguments": "{\"at\": \"sea\"}",
    });
    assert_eq!(done[2], &call);
    assert_eq!(last["usage"]["output_tokens_details"]["reasoning_tokens"], 2);
    let added = of("response.output_item.added");
    assert_eq!(added[2]["item"]["arguments"], "");
    let whole = server.post(PATH, &body(json!({ "tools": [look()] }))).ok();
    assert_eq!(whole["output"].as_array().unwrap().len(), 3);
    assert_eq!(whole["output"][1]["content"], done[1]["content"]);
}

#[test]
fn an_answer_cut_short_is_incomplete() {
    let server = replying("one two three");
    let extra = json!({ "max_output_tokens": 3, "stream": true });
    let events = server.post(PATH, &body(extra)).named_events();
    let (name, last) = events.last().unwrap();
    assert_eq!(name, "response.incomplete");
    assert_eq!(last["response"]["incomplete_details"], json!({ "reason": "max_output_tokens" }));
    assert_eq!(last["response"]["output"][0]["status"], "incomplete");
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], "one");
}

#[test]
fn a_failure_is_an_event() {
    let effect = Effect::Fail(StepError::Device { detail: "the device burns".to_owned() });
    let mut fake =
        FakeOptions { faults: vec![Fault { call: FakeCall::Collect, nth: 2, effect }], ..Default::default() };
    fake.info.n_vocab = N_VOCAB;
    let server = TestServer::start(Setup { fake, ..Setup::default() });
    // The likeliest tokens, so that chance does not end the answer before its second step.
    let events = server.post(PATH, &body(json!({ "stream": true, "temperature": 0 }))).named_events();
    let (name, last) = events.last().unwrap();
    assert_eq!((name.as_str(), &last["response"]["status"]), ("response.failed", &json!("failed")));
    assert!(last["response"]["error"]["message"].as_str().unwrap().contains("the device burns"));
}

/// The count of input tokens is that of the text that the template makes of the items.
fn check_prompt(server: &TestServer, extra: Value, expected: &str) -> Value {
    let answer = server.post(PATH, &body(extra.clone())).ok();
    assert_eq!(answer["usage"]["input_tokens"], server.tokens(expected).len(), "{extra}");
    answer
}

#[test]
fn items_reach_the_template() {
    let server = replying("x");
    let user = "<|start|>user\nhi<|end|>\n";
    let items = json!([
        { "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "a" }] },
        { "role": "user", "content": "b" },
        { "type": "reasoning", "id": "rs_1", "summary": [], "content": [{ "type": "reasoning_text", "text": "hm" }] },
        { "type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
          "content": [{ "type": "output_text", "text": "c", "annotations": [] }] },
        { "type": "function_call", "call_id": "c1", "name": "look", "arguments": "{\"at\": 1}" },
        { "type": "function_call", "call_id": "c2", "name": "go", "namespace": "mcp__map", "arguments": "" },
        { "type": "custom_tool_call", "call_id": "c3", "name": "patch", "input": "+x" },
        { "type": "function_call_output", "call_id": "c1", "output": "sea" },
        { "type": "function_call_output", "call_id": "c2", "output": [{ "type": "input_text", "text": "there" }] },
        { "type": "custom_tool_call_output", "call_id": "c3", "output": "ok" },
    ]);
    let prompt = format!(
        "<|start|>system\na<|end|>\n<|start|>user\nb<|end|>\n<|start|>assistant\n(hm)ccall look {{\"at\": 1}}\
         call mcp__map__go {{}}call patch {{\"input\": \"+x\"}}<|end|>\n<|start|>tool\nsea<|end|>\n\
         <|start|>tool\nthere<|end|>\n<|start|>tool\nok<|end|>\n{TAIL}"
    );
    check_prompt(&server, json!({ "input": items }), &prompt);
    let tools = json!([
        look(),
        { "type": "web_search" },
        { "type": "namespace", "name": "mcp__map", "tools": [{ "type": "function", "name": "go" }] },
        { "type": "custom", "name": "patch", "description": "Patches." },
        { "type": "a_tool_of_next_year", "x": 1 },
    ]);
    let cases = [
        (json!({ "instructions": "s" }), format!("<|start|>system\ns<|end|>\n{user}{TAIL}")),
        (json!({ "tools": tools }), format!("[look][mcp__map__go][patch]{user}{TAIL}")),
        (json!({ "tools": tools, "tool_choice": "none" }), format!("{user}{TAIL}")),
        (
            json!({ "tools": tools, "tool_choice": { "type": "allowed_tools", "mode": "auto", "tools": [{ "type": "function", "name": "look" }] } }),
            format!("[look]{user}{TAIL}"),
        ),
        (json!({ "input": "", "max_output_tokens": 1 }), format!("<|start|>user\n<|end|>\n{TAIL}")),
    ];
    for (extra, expected) in cases {
        check_prompt(&server, extra, &expected);
    }
}

#[test]
fn calls_lead_back_to_namespaces_and_text_tools() {
    let call = |name: &str, arguments: Value| {
        format!("<tool_call>\n{}\n</tool_call>", json!({ "name": name, "arguments": arguments }))
    };
    let reply = format!("{}\n{}", call("mcp__map__go", json!({ "to": 1 })), call("patch", json!({ "input": "+x\n" })));
    let server = replying(&reply);
    let tools = json!([
        { "type": "namespace", "name": "mcp__map", "tools": [{ "type": "function", "name": "go" }] },
        { "type": "custom", "name": "patch" },
    ]);
    let answer = server.post(PATH, &body(json!({ "tools": tools }))).ok();
    let output = &answer["output"];
    assert_eq!(
        (&output[0]["type"], &output[0]["name"], &output[0]["namespace"]),
        (&json!("function_call"), &json!("go"), &json!("mcp__map"))
    );
    assert_eq!((&output[1]["type"], &output[1]["input"]), (&json!("custom_tool_call"), &json!("+x\n")));
    let events = server.post(PATH, &body(json!({ "tools": tools, "stream": true }))).named_events();
    let expected = [
        "created",
        "in_progress",
        "0 output_item.added",
        "0 function_call_arguments.delta",
        "0 function_call_arguments.done",
        "0 output_item.done",
        "1 output_item.added",
        "1 custom_tool_call_input.delta",
        "1 custom_tool_call_input.done",
        "1 output_item.done",
        "completed",
    ];
    assert_eq!(steps(&events), expected);
}

#[test]
fn thoughts_can_be_sent_back_unread() {
    let server = replying("<think>hm</think>ok");
    let extra = json!({ "include": ["reasoning.encrypted_content"], "store": false });
    let answer = server.post(PATH, &body(extra)).ok();
    let sealed = answer["output"][0]["encrypted_content"].as_str().unwrap();
    let input = json!([
        { "role": "user", "content": "hi" },
        { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed },
        { "role": "assistant", "content": "ok" }, { "role": "user", "content": "on" },
    ]);
    let prompt =
        format!("<|start|>user\nhi<|end|>\n<|start|>assistant\n(hm)ok<|end|>\n<|start|>user\non<|end|>\n{TAIL}");
    check_prompt(&server, json!({ "input": input }), &prompt);
    let foreign = json!([{ "type": "reasoning", "encrypted_content": "gAAAA" }, { "role": "user", "content": "hi" }]);
    check_prompt(&server, json!({ "input": foreign }), &format!("<|start|>user\nhi<|end|>\n{TAIL}"));
}

#[test]
fn an_answer_is_gone_on_from() {
    let server = replying("<think>hm</think>ok");
    let first = server.post(PATH, &body(json!({ "instructions": "s", "stream": true }))).named_events();
    let first = first.last().unwrap().1["response"]["id"].as_str().unwrap().to_owned();
    let turn = "<|start|>user\nhi<|end|>\n<|start|>assistant\n(hm)ok<|end|>\n<|start|>user\non<|end|>\n";
    let second = json!({ "input": "on", "previous_response_id": first });
    let second = check_prompt(&server, second, &format!("{turn}{TAIL}"))["id"].as_str().unwrap().to_owned();
    let third = json!({ "input": "and", "previous_response_id": second });
    check_prompt(
        &server,
        third,
        &format!("{turn}<|start|>assistant\n(hm)ok<|end|>\n<|start|>user\nand<|end|>\n{TAIL}"),
    );

    let kept = server.get(&format!("{PATH}/{second}")).ok();
    assert_eq!((&kept["id"], &kept["previous_response_id"]), (&json!(second), &json!(first)));
    let items = server.get(&format!("{PATH}/{second}/input_items")).ok();
    assert_eq!(items["data"][0]["content"], json!([{ "type": "input_text", "text": "on" }]));
    let delete = || Call::new("DELETE", &format!("{PATH}/{first}")).send(server.address);
    assert_eq!(delete().ok(), json!({ "id": first, "object": "response", "deleted": true }));
    assert_eq!(delete().status, 404);
    let gone = server.post(PATH, &body(json!({ "previous_response_id": first })));
    assert_eq!((gone.status, &gone.json()["error"]["code"]), (404, &json!("not_found")));
    let third = json!({ "input": "and", "previous_response_id": second });
    assert_eq!(server.post(PATH, &body(third)).status, 200, "later answers do not need the earlier ones");
    let unkept = server.post(PATH, &body(json!({ "store": false }))).ok();
    assert_eq!(server.get(&format!("{PATH}/{}", unkept["id"].as_str().unwrap())).status, 404);
}

#[test]
fn answers_belong_to_their_key() {
    let keys = Keys(vec![Key::new("a", KeyScope::Inference, "one"), Key::new("b", KeyScope::Manage, "two")]);
    let options = ServerOptions { keys: Some(keys), ..Setup::default().server };
    let server = TestServer::start(Setup { server: options, reply: Some("ok"), ..Setup::default() });
    let answer = Call::post(PATH, &body(json!({}))).header("x-api-key", "one").send(server.address).ok();
    let path = format!("{PATH}/{}", answer["id"].as_str().unwrap());
    let get = |key: &str| Call::get(&path).header("x-api-key", key).send(server.address).status;
    assert_eq!((get("one"), get("two")), (200, 404));
}

#[test]
fn what_is_not_done_is_refused_by_name() {
    let server = TestServer::hashing();
    let item = |item: Value| json!({ "input": [item] });
    let cases = [
        (json!({ "input": null }), 400, "invalid_value", "input"),
        (json!({ "input": [] }), 400, "invalid_value", "input"),
        (json!({ "input": 3 }), 400, "invalid_value", "input"),
        (item(json!({ "role": "king", "content": "x" })), 400, "invalid_value", "input[0].role"),
        (item(json!({ "type": "function_call", "name": "x" })), 400, "invalid_value", "input[0].call_id"),
        (item(json!({ "type": "item_reference", "id": "x" })), 400, "unsupported_parameter", "input[0].type"),
        (item(json!({ "type": "computer_call" })), 400, "unsupported_parameter", "input[0].type"),
        (
            item(json!({ "role": "user", "content": [{ "type": "input_image" }] })),
            400,
            "unsupported_parameter",
            "input[0].content[0].type",
        ),
        (json!({ "background": true }), 400, "unsupported_parameter", "background"),
        (json!({ "conversation": "c" }), 400, "unsupported_parameter", "conversation"),
        (json!({ "top_logprobs": 2 }), 400, "unsupported_parameter", "top_logprobs"),
        (json!({ "tool_choice": "required" }), 400, "invalid_value", "tool_choice"),
        (json!({ "tool_choice": { "type": "web_search" } }), 400, "unsupported_parameter", "tool_choice.type"),
        (json!({ "tool_choice": { "type": "function", "name": "x" } }), 400, "invalid_value", "tool_choice.name"),
        (json!({ "text": { "format": { "type": "xml" } } }), 400, "invalid_value", "text.format.type"),
        (json!({ "timeout": 0 }), 400, "invalid_value", "timeout"),
        (json!({ "model": "none" }), 404, "model_not_found", "model"),
        (json!({ "input": "x".repeat(5000) }), 400, "context_length_exceeded", ""),
    ];
    for (extra, status, code, param) in cases {
        let reply = server.post(PATH, &body(extra.clone()));
        let error = reply.json()["error"].clone();
        let seen = (reply.status, error["code"].as_str().unwrap(), error["param"].as_str().unwrap_or(""));
        assert_eq!(seen, (status, code, param), "{extra}: {error}");
    }
    for path in ["/v1/embeddings", "/v1/audio/speech", "/v1/responses/compact", "/v1/files"] {
        let reply = server.post(path, &json!({}));
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (501, &json!("not_implemented")), "{path}");
    }
    assert_eq!(server.post("/v1/responses/resp_1/cancel", &json!({})).status, 400);
}
