//! Servers with a scripted model, for trying clients: real tokenizer, template and HTTP, no weights.
//!
//!     scripted FOLDER        with the tokenizer.json and tokenizer_config.json of a Qwen3 model
//!
//! A message that holds `[[{"name": ..., "arguments": ...}]]` is answered with that call, if tools are offered; the result of a
//! call with what it says; anything else with a greeting. It prints where it listens, one server a line, and serves until it is
//! killed: `Ready` answers; `Strict` wants the key `right` and short bodies; `Busy` has no room; `Loading` has no model yet.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokbar_chat::{Specials, TextModel, Tokenizer};
use tokbar_engine::fake::{FakeBackend, FakeOptions, Script};
use tokbar_engine::{Engine, EngineOptions, ModelInfo, Request, TokenId};
use tokbar_server::{Keys, ModelAbout, Models, SamplingDefaults, ServedModel, ServerOptions, ServerState, serve};
use tokio::net::TcpListener;

type Anything = Box<dyn std::error::Error>;

/// Longest part of a call's result that is said back.
const N_SAID_MAX: usize = 200;
const GREETING: &str = "Hello from the script.";

fn main() -> Result<(), Anything> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("the folder of a tokenizer is missing")?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let open = ServerOptions { n_calls_per_minute: None, ..ServerOptions::default() };
    let strict = ServerOptions { keys: Some(Keys::single("right")), n_body_bytes_max: 20_000, ..open.clone() };
    let full = EngineOptions { n_rows_max: 1, n_waiting_max: 0, ..EngineOptions::default() };
    let busy = served(&folder, full)?;
    // One that never ends, so that there is no room for another.
    let endless = Request { prompt: vec![1], max_tokens: usize::MAX, ignore_eos: true, ..Request::default() };
    let _running = busy.engine.submit(endless)?;
    let servers = [
        ("Ready", Models::new(vec![served(&folder, EngineOptions::default())?]), open.clone()),
        ("Strict", Models::new(vec![served(&folder, EngineOptions::default())?]), strict),
        ("Busy", Models::new(vec![busy]), open.clone()),
        ("Loading", Models::loading("scripted".to_owned(), Arc::new(|| 0.0)), open),
    ];
    let mut serving = Vec::new();
    for (name, models, options) in servers {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        writeln!(stdout(), "{name}: http://localhost:{}", listener.local_addr()?.port())?;
        serving.push(serve(listener, ServerState::new(models, options), std::future::pending()));
    }
    stdout().flush()?;
    runtime.block_on(futures::future::join_all(serving));
    Ok(())
}

fn served(folder: &Path, options: EngineOptions) -> Result<ServedModel, Anything> {
    let text = Arc::new(TextModel::load(folder)?);
    let eos = text.tokenizer.eos().to_vec();
    let tokenizer = text.tokenizer.clone();
    let info = ModelInfo { n_vocab: 200_000, n_context: 1 << 18, eos, ..FakeOptions::default().info };
    let script = Script::new(move |prompt| answer(&tokenizer, prompt));
    let fake = FakeOptions { info, script: Some(script), ..FakeOptions::default() };
    let engine = Engine::start(move || Ok(Box::new(FakeBackend::new(fake))), options)?;
    Ok(ServedModel {
        id: "scripted".to_owned(),
        aliases: Vec::new(),
        created: jiff::Timestamp::now(),
        text,
        engine,
        defaults: SamplingDefaults::default(),
        about: ModelAbout { family: "scripted".to_owned(), ..ModelAbout::default() },
    })
}

/// What the script says to a prompt; `None`, which makes it go on for ever, to the one of the busy server.
fn answer(tokenizer: &Tokenizer, prompt: &[TokenId]) -> Option<Vec<TokenId>> {
    if prompt.len() < 2 {
        return None;
    }
    let bytes: Vec<u8> = prompt.iter().flat_map(|id| tokenizer.token_bytes(*id)).collect();
    let text = String::from_utf8_lossy(&bytes);
    tokenizer.encode(&reply(&text), Specials::Omit).ok()
}

/// The reply to a rendered conversation.
fn reply(text: &str) -> String {
    let text = text.rsplit_once("<|im_start|>assistant").map_or(text, |(before, _)| before);
    let (before, turn) = text.rsplit_once("<|im_start|>assistant").unwrap_or(("", text));
    if let Some((_, result)) = turn.rsplit_once("<tool_response>") {
        let result = result.split("</tool_response>").next().unwrap_or(result).trim();
        let said: String = result.chars().take(N_SAID_MAX).collect();
        return format!("The tool said: {said}");
    }
    let offers_tools = before.contains("<tools>") || text.contains("<tools>");
    let wanted = turn.rsplit_once("[[{").and_then(|(_, rest)| rest.split_once("]]")).map(|(call, _)| call);
    match wanted.filter(|_| offers_tools) {
        // Some clients quote what they are given.
        Some(call) => format!("<tool_call>\n{{{}\n</tool_call>", call.trim_end().replace("\\\"", "\"")),
        None => GREETING.to_owned(),
    }
}
