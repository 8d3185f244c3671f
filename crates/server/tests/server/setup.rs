//! A running server with a fake backend, for one test.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokbar_chat::{Specials, TextModel};
use tokbar_engine::fake::{FakeBackend, FakeOptions, Probe};
use tokbar_engine::{Engine, EngineOptions};
use tokbar_server::control::{Parts, Toolbox};
use tokbar_server::{
    Key, KeyScope, ModelAbout, Models, SamplingDefaults, ServedModel, ServerOptions, ServerState, serve,
};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{Call, Reply, Stream};

/// Special tokens, from id 0 on; the bytes follow.
const SPECIALS: [&str; 5] = ["<|end|>", "<|start|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"];
/// All tokens.
pub const N_VOCAB: usize = SPECIALS.len() + 256;
/// Looks at the engine before a test gives up: many seconds.
const N_LOOKS_MAX: usize = 50_000_000;
/// The key of a test's launch.
pub const LAUNCH: &str = "launch-of-a-test";
/// What the fixed clock says.
pub const NOW: i64 = 1_700_000_000;

const TEMPLATE: &str = "{% if tools %}tools: {{ tools | tojson }}\n{% endif %}\
{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}\
{% for call in message.tool_calls or [] %}call {{ call.function.name }} {{ call.function.arguments | tojson }}{% endfor %}\
<|end|>\n{% endfor %}<|start|>assistant\n{% if enable_thinking is defined %}thinking {{ enable_thinking }}\n{% endif %}";

/// What differs between tests.
pub struct Setup {
    /// Names of the first tokens.
    pub specials: [&'static str; 5],
    pub fake: FakeOptions,
    pub engine: EngineOptions,
    pub server: ServerOptions,
    pub defaults: SamplingDefaults,
    /// The model answers every prompt with this text.
    pub reply: Option<&'static str>,
    pub template: Option<&'static str>,
    /// Served instead of the one model.
    pub models: Option<Models>,
    /// Tools that the server calls.
    pub toolbox: Option<Arc<dyn Toolbox>>,
}

impl Default for Setup {
    fn default() -> Self {
        let mut fake = FakeOptions::default();
        fake.info.n_vocab = N_VOCAB;
        let now = || jiff::Timestamp::from_second(NOW).unwrap().to_zoned(jiff::tz::TimeZone::UTC);
        Self {
            specials: SPECIALS,
            fake,
            engine: EngineOptions::default(),
            server: ServerOptions {
                now,
                launch: Some(Key::new("this launch", KeyScope::Manage, LAUNCH)),
                ..ServerOptions::default()
            },
            defaults: SamplingDefaults::default(),
            reply: None,
            template: Some(TEMPLATE),
            models: None,
            toolbox: None,
        }
    }
}

impl Setup {
    /// With a context that takes outputs longer than all buffers between server and client hold.
    pub fn roomy() -> Self {
        let mut setup = Self::default();
        setup.fake.info.n_context = 1 << 21;
        setup
    }
}

/// A server on a port of its own; stops when dropped.
pub struct TestServer {
    pub address: SocketAddr,
    pub engine: Engine,
    pub probe: Arc<Probe>,
    pub text: Arc<TextModel>,
    pub fake: FakeOptions,
    pub models: Models,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
    runtime: Runtime,
}

impl TestServer {
    /// The model answers with hashes of what it reads.
    pub fn hashing() -> Self {
        Self::start(Setup::default())
    }

    /// The model answers with `reply`, one byte a token.
    pub fn replying(reply: &'static str) -> Self {
        Self::start(Setup { reply: Some(reply), ..Setup::default() })
    }

    /// Other models than the one that the engine runs.
    pub fn serving(models: Models) -> Self {
        Self::start(Setup { models: Some(models), ..Setup::default() })
    }

    pub fn start(setup: Setup) -> Self {
        let text = Arc::new(text_model(setup.template, &setup.specials));
        let mut fake = setup.fake;
        if let Some(reply) = setup.reply {
            fake.reply = Some(text.tokenizer.encode(reply, Specials::Omit).unwrap());
        }
        let backend = FakeBackend::new(fake.clone());
        let probe = backend.probe();
        let engine = Engine::start(move || Ok(Box::new(backend)), setup.engine).unwrap();
        let model = ServedModel {
            id: "org/tiny".to_owned(),
            aliases: vec!["tiny".to_owned()],
            created: jiff::Timestamp::from_second(NOW - 1000).unwrap(),
            text: text.clone(),
            engine: engine.clone(),
            defaults: setup.defaults,
            about: ModelAbout {
                family: "tiny".to_owned(),
                format: "safetensors".to_owned(),
                quantization: Some("4-bit".to_owned()),
                n_parameters: Some(1_234_567),
                n_bytes: 617_283,
            },
        };
        let models = setup.models.unwrap_or_else(|| Models::new(vec![model]));
        let parts = Parts { toolbox: setup.toolbox, ..Parts::default() };
        let state = ServerState::new(models.clone(), setup.server).with_parts(parts);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = runtime.spawn(serve(listener, state, async { drop(stopped.await) }));
        let (stop, serving) = (Some(stop), Some(serving));
        Self { address, engine, probe, text, fake, models, stop, serving, runtime }
    }

    /// Asks the server to stop, without waiting.
    pub fn ask_to_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until the server has stopped.
    pub fn wait_stopped(&mut self) {
        self.ask_to_stop();
        if let Some(serving) = self.serving.take() {
            self.runtime.block_on(serving).unwrap();
        }
    }

    pub fn get(&self, path: &str) -> Reply {
        Call::get(path).send(self.address)
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        Call::post(path, body).send(self.address)
    }

    /// A call of the control API with the key of the launch.
    pub fn manage(&self, method: &str, path: &str) -> Call {
        let path = format!("/control/v1{path}");
        Call::new(method, &path).header("Authorization", &format!("Bearer {LAUNCH}"))
    }

    pub fn manage_get(&self, path: &str) -> Reply {
        self.manage("GET", path).send(self.address)
    }

    pub fn manage_post(&self, path: &str, body: &Value) -> Reply {
        let call = self.manage("POST", path).header("Content-Type", "application/json");
        call.body(body.to_string()).send(self.address)
    }

    pub fn stream(&self, path: &str, body: &Value) -> Stream {
        Call::post(path, body).open(self.address)
    }

    /// Token ids of a text, special tokens recognised.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        self.text.tokenizer.encode(text, Specials::Omit).unwrap()
    }

    /// Waits until so many sequences have ended in all, and asserts that they left nothing behind.
    pub fn wait_ended(&self, n_sequences: u64) {
        let ended = || {
            let stats = self.engine.stats();
            stats.n_finished + stats.n_cancelled + stats.n_failed
        };
        let mut n_looks = 0;
        while ended() < n_sequences {
            n_looks += 1;
            assert!(n_looks < N_LOOKS_MAX, "{} of {n_sequences} sequences have ended", ended());
            std::thread::yield_now();
        }
        self.probe.wait_until(|seen| seen.n_open == 0 && seen.n_tokens == 0);
        let stats = self.engine.stats();
        assert_eq!((stats.n_running, stats.n_waiting), (0, 0), "{stats:?}");
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.probe.release();
        self.wait_stopped();
        self.engine.shutdown();
    }
}

fn text_model(template: Option<&str>, specials: &[&str]) -> TextModel {
    let dir = tempfile::tempdir().unwrap();
    let config = json!({ "eos_token": "<|end|>", "chat_template": template });
    fs::write(dir.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    fs::write(dir.path().join("tokenizer.json"), tokenizer(specials).to_string()).unwrap();
    TextModel::load(dir.path()).unwrap()
}

/// One token per byte, under the printable names of byte-level BPE.
fn tokenizer(specials: &[&str]) -> Value {
    let mut vocab = Map::new();
    for name in specials {
        vocab.insert((*name).to_owned(), vocab.len().into());
    }
    let is_printable = |byte: u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let mut n_renamed = 0;
    for byte in 0..256 {
        let code = if is_printable(byte) { byte } else { 255 + n_renamed + 1 };
        n_renamed += u32::from(!is_printable(byte));
        vocab.insert(char::from_u32(code).unwrap().to_string(), vocab.len().into());
    }
    let added: Vec<Value> = specials.iter().enumerate().map(|(id, name)| special(id, name)).collect();
    let level = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false });
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": null,
        "pre_tokenizer": level, "post_processor": null, "decoder": level,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocab, "merges": [],
        },
    })
}

fn special(id: usize, name: &str) -> Value {
    json!({
        "id": id, "content": name, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        "special": true,
    })
}
