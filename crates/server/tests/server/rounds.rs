//! Tools that the server calls itself: rounds of calls and results end in one answer, in every dialect, within limits.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokbar_chat::{Tool, ToolCall};
use tokbar_engine::fake::Script;
use tokbar_server::control::{ToolCensus, ToolSource, Toolbox, WaitingCall, Word};
use tokbar_server::{ApiError, Later};

use crate::client::{Call, Reply};
use crate::setup::{N_VOCAB, Setup, TestServer};

const TEMPLATE: &str = "{# <tool_call> #}{% for tool in tools or [] %}[{{ tool.function.name }}]{% endfor %}\
{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}\
{% for call in message.tool_calls or [] %}call {{ call.function.name }} {{ call.function.arguments | tojson }}{% endfor %}\
<|end|>\n{% endfor %}<|start|>assistant\n";
/// Names of the special tokens, which come before the bytes.
const N_SPECIALS: u32 = (N_VOCAB - 256) as u32;

/// One tool that says `blue`, and a long one; writes down what it is asked.
#[derive(Default)]
struct Sea {
    calls: Mutex<Vec<String>>,
}

impl Toolbox for Sea {
    fn tools(&self, wish: &str) -> Later<Vec<Tool>> {
        let tool =
            |name: &str| Tool { name: name.to_owned(), description: None, parameters: json!({ "type": "object" }) };
        let tools = match wish {
            "*" | "sea" => Ok(vec![tool("sea__look"), tool("sea__long")]),
            _ => Err(ApiError::invalid("x-tokbar-tools", "names no source")),
        };
        Box::pin(async move { tools })
    }

    fn call(&self, call: ToolCall) -> Later<String> {
        self.calls.lock().unwrap().push(format!("{} {}", call.name, call.arguments));
        Box::pin(async move { Ok(if call.name == "sea__long" { "é".repeat(100_000) } else { "blue".to_owned() }) })
    }

    fn census(&self) -> ToolCensus {
        let source = ToolSource { name: "sea".to_owned(), tools: None, trouble: None };
        let call = WaitingCall { id: 7, tool: "sea__look".to_owned(), arguments: json!({}) };
        ToolCensus { sources: vec![source], waiting: vec![call] }
    }

    fn decide(&self, id: u64, word: Word) -> Result<(), ApiError> {
        self.calls.lock().unwrap().push(format!("{id} {word:?}"));
        Ok(())
    }
}

/// The text of a prompt whose tokens are bytes.
fn text(prompt: &[u32]) -> String {
    let bytes: Vec<u8> = prompt.iter().filter_map(|token| byte(*token)).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Printable ASCII and a few more are what prompts of these tests are made of.
fn byte(token: u32) -> Option<u8> {
    u8::try_from(token.checked_sub(N_SPECIALS)?).ok()
}

fn tokens(text: &str) -> Vec<u32> {
    text.bytes().map(|byte| u32::from(byte) + N_SPECIALS).collect()
}

/// A model that does what `answer` says to the text of a prompt.
fn server(answer: fn(&str) -> String) -> (TestServer, Arc<Sea>) {
    let sea = Arc::new(Sea::default());
    let mut setup = Setup { template: Some(TEMPLATE), toolbox: Some(sea.clone()), ..Setup::roomy() };
    setup.fake.script = Some(Script::new(move |prompt| Some(tokens(&answer(&text(prompt))))));
    (TestServer::start(setup), sea)
}

fn look(text: &str) -> String {
    if text.contains("blue") {
        "It is blue.".to_owned()
    } else if text.contains("[sea__look]") {
        "Aye.\n<tool_call>\n{\"name\": \"sea__look\", \"arguments\": {\"at\": \"sea\"}}\n</tool_call>".to_owned()
    } else {
        "I see nothing.".to_owned()
    }
}

fn post(server: &TestServer, path: &str, body: &Value) -> Reply {
    Call::post(path, body).header("x-tokbar-tools", "*").send(server.address)
}

#[test]
fn calls_are_made_and_the_answer_is_one() {
    let (server, sea) = server(look);
    let messages = json!([{ "role": "user", "content": "How is the sea?" }]);
    let chat = json!({ "model": "tiny", "messages": messages, "max_tokens": 200, "temperature": 0 });
    let plain = server.post("/v1/chat/completions", &chat).ok();
    assert_eq!(plain["choices"][0]["message"]["content"], "I see nothing.", "without the header nothing is offered");
    let answer = post(&server, "/v1/chat/completions", &chat).ok();
    let choice = &answer["choices"][0];
    assert_eq!(
        (&choice["message"]["content"], &choice["finish_reason"]),
        (&json!("Aye.It is blue."), &json!("stop")),
        "{answer}"
    );
    assert_eq!(choice["message"].get("tool_calls"), None, "{answer}");
    assert_eq!(*sea.calls.lock().unwrap(), ["sea__look {\"at\":\"sea\"}"]);

    let anthropic = post(&server, "/v1/messages", &chat).ok();
    let said: String =
        anthropic["content"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect();
    assert_eq!((said.as_str(), &anthropic["stop_reason"]), ("Aye.It is blue.", &json!("end_turn")), "{anthropic}");
    let body = json!({ "model": "tiny", "input": "How is the sea?", "max_output_tokens": 200, "temperature": 0 });
    let responses = post(&server, "/v1/responses", &body).ok();
    assert_eq!(responses["output"][0]["content"][0]["text"], "Aye.It is blue.", "{responses}");
    let ollama = json!({ "model": "tiny", "messages": messages, "stream": false, "options": { "temperature": 0 } });
    let ollama = post(&server, "/api/chat", &ollama).ok();
    assert_eq!(ollama["message"]["content"], "Aye.It is blue.", "{ollama}");
    assert_eq!(sea.calls.lock().unwrap().len(), 4);
}

#[test]
fn a_stream_goes_on_through_the_rounds() {
    let (server, _sea) = server(look);
    let messages = json!([{ "role": "user", "content": "How is the sea?" }]);
    let options = json!({ "include_usage": true });
    let body =
        json!({ "model": "tiny", "messages": messages, "stream": true, "stream_options": options, "temperature": 0 });
    let chunks = post(&server, "/v1/chat/completions", &body).chunks();
    let said: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(said, "Aye.It is blue.");
    assert!(chunks.iter().all(|chunk| chunk["choices"][0]["delta"].get("tool_calls").is_none()), "{chunks:?}");
    let n_output = chunks.last().unwrap()["usage"]["completion_tokens"].as_u64().unwrap();
    assert!(n_output > 70, "the tokens of both rounds count: {n_output}");
}

#[test]
fn a_model_that_never_stops_calling_is_stopped() {
    let (server, sea) = server(|text| {
        if !text.contains("[sea__look]") {
            return "Enough.".to_owned();
        }
        "<tool_call>\n{\"name\": \"sea__look\", \"arguments\": {}}\n</tool_call>".to_owned()
    });
    let body = json!({ "model": "tiny", "messages": [{ "role": "user", "content": "look" }], "temperature": 0 });
    let answer = post(&server, "/v1/chat/completions", &body).ok();
    assert_eq!(answer["choices"][0]["message"]["content"], "Enough.");
    assert_eq!(sea.calls.lock().unwrap().len(), 8);
}

#[test]
fn results_are_cut_to_what_may_be_read() {
    let (server, _sea) = server(|text| {
        if text.contains("cut off: 200000 bytes") {
            return format!("{} bytes", text.len() / 1024);
        }
        "<tool_call>\n{\"name\": \"sea__long\", \"arguments\": {}}\n</tool_call>".to_owned()
    });
    let body = json!({ "model": "tiny", "messages": [{ "role": "user", "content": "look" }], "temperature": 0 });
    let answer = post(&server, "/v1/chat/completions", &body).ok();
    assert!(answer["choices"][0]["message"]["content"].as_str().unwrap().ends_with("bytes"), "{answer}");
}

#[test]
fn calls_of_the_clients_tools_are_the_clients() {
    let (server, sea) =
        server(|_| "<tool_call>\n{\"name\": \"mine\", \"arguments\": {\"x\": 1}}\n</tool_call>".to_owned());
    let tools = json!([{ "type": "function", "function": { "name": "mine", "parameters": { "type": "object" } } }]);
    let messages = json!([{ "role": "user", "content": "do it" }]);
    let body = json!({ "model": "tiny", "messages": messages, "tools": tools, "temperature": 0 });
    let answer = post(&server, "/v1/chat/completions", &body).ok();
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "mine");
    assert!(sea.calls.lock().unwrap().is_empty());
}

#[test]
fn wishes_that_cannot_be_met_are_refused() {
    let (server, _sea) = server(look);
    let body = json!({ "model": "tiny", "messages": [{ "role": "user", "content": "hi" }] });
    let ask = |body: &Value, wish: &str| {
        Call::post("/v1/chat/completions", body).header("x-tokbar-tools", wish).send(server.address)
    };
    assert_eq!(ask(&body, "land").status, 400);
    let mut two = body.clone();
    two["n"] = json!(2);
    assert_eq!(ask(&two, "*").status, 400);
    let mut clash = body.clone();
    clash["tools"] = json!([{ "type": "function", "function": { "name": "sea__look" } }]);
    assert_eq!(ask(&clash, "*").status, 400);
    let without = TestServer::hashing();
    let refused = Call::post("/v1/chat/completions", &body).header("x-tokbar-tools", "*").send(without.address);
    assert!(refused.status == 400 && refused.body.contains("--mcp-config"), "{}", refused.body);
}

#[test]
fn waiting_calls_are_seen_and_decided() {
    let (server, sea) = server(look);
    let census = server.manage_get("/tools").ok();
    assert_eq!((&census["sources"][0]["name"], &census["waiting"][0]["id"]), (&json!("sea"), &json!(7)), "{census}");
    assert_eq!(server.manage_post("/tools/decide", &json!({ "id": 7, "word": "always" })).status, 200);
    assert_eq!(server.manage_post("/tools/decide", &json!({ "id": 7, "word": "perhaps" })).status, 400);
    assert_eq!(*sea.calls.lock().unwrap(), ["7 Always"]);
}
