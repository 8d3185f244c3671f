//! The clients, and which of their settings are ours.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::edit::{Fields, Format};
use super::{Place, Target, snippets};
use launch::{AIDER, CLAUDE_CODE, CLINE, CODEX, CONTINUE, GOOSE, LLM, OPENCLAW, OPENCODE, PI, QWEN_CODE};

mod launch;

pub use launch::Launch;

/// A program that can be pointed at a server.
#[derive(Debug)]
pub struct Client {
    /// Its name in commands.
    pub name: &'static str,
    /// Its name in print.
    pub title: &'static str,
    /// How it is connected.
    pub how: How,
    /// How it is run with settings of its own; `None` where it cannot be.
    pub launch: Option<Launch>,
    /// What a person does besides.
    note: fn(&Target) -> String,
}

/// How a client is connected.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// Its files are edited.
    Files(fn(&Target) -> Vec<FileEdit>),
    /// A person is told what to do, or gets code to paste.
    Steps(fn(&Target) -> String),
}

/// A file of a client, and what is set in it.
pub struct FileEdit {
    /// Where it is.
    pub at: Location,
    /// How it is written.
    pub format: Format,
    /// What is ours.
    pub fields: Fields,
    /// What is set only where nothing is.
    pub defaults: Fields,
}

/// A file in a folder that a variable may name.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    variable: Option<&'static str>,
    /// The folder, below the home folder, where the variable is not set.
    folder: &'static str,
    file: &'static str,
}

impl Location {
    /// Where it is for this user.
    pub fn path(&self, place: &Place) -> PathBuf {
        let named = self.variable.filter(|_| place.reads_environment).and_then(std::env::var_os);
        let folder = named.filter(|dir| !dir.is_empty()).map(PathBuf::from);
        folder.unwrap_or_else(|| place.home.join(self.folder)).join(self.file)
    }
}

impl Client {
    /// The files that are edited.
    pub fn files(&self, place: &Place) -> Vec<PathBuf> {
        let any = Target { address: String::new(), model: String::new(), n_context: 0, key: None };
        match self.how {
            How::Files(files) => files(&any).iter().map(|file| file.at.path(place)).collect(),
            How::Steps(_) => Vec::new(),
        }
    }

    /// What a person does besides.
    pub fn note(&self, target: &Target) -> String {
        (self.note)(target)
    }
}

/// The client of that name.
pub fn find(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

/// All of them, in order of their names.
pub fn clients() -> &'static [Client] {
    CLIENTS
}

#[rustfmt::skip] // A table: one row per client.
const CLIENTS: &[Client] = &[
    Client { name: "ai-sdk", title: "AI SDK", how: How::Steps(snippets::ai_sdk), launch: None, note: no_note },
    Client { name: "aider", title: "Aider", how: How::Files(aider), launch: Some(AIDER), note: no_note },
    Client { name: "anthropic-node", title: "Anthropic SDK for Node", how: How::Steps(snippets::anthropic_node), launch: None, note: no_note },
    Client { name: "anthropic-python", title: "Anthropic SDK for Python", how: How::Steps(snippets::anthropic_python), launch: None, note: no_note },
    Client { name: "claude-code", title: "Claude Code", how: How::Files(claude_code), launch: Some(CLAUDE_CODE), note: no_note },
    Client { name: "cline", title: "Cline", how: How::Files(cline), launch: Some(CLINE), note: snippets::cline },
    Client { name: "codex", title: "Codex", how: How::Files(codex), launch: Some(CODEX), note: key_note },
    Client { name: "continue", title: "Continue", how: How::Files(continue_dev), launch: Some(CONTINUE), note: no_note },
    Client { name: "cursor", title: "Cursor", how: How::Steps(snippets::cursor), launch: None, note: no_note },
    Client { name: "goose", title: "Goose", how: How::Files(goose), launch: Some(GOOSE), note: key_note },
    Client { name: "langchain", title: "LangChain", how: How::Steps(snippets::langchain), launch: None, note: no_note },
    Client { name: "litellm", title: "LiteLLM", how: How::Steps(snippets::litellm), launch: None, note: no_note },
    Client { name: "llm", title: "llm", how: How::Files(llm), launch: Some(LLM), note: llm_note },
    Client { name: "ollama-python", title: "Ollama SDK for Python", how: How::Steps(snippets::ollama_python), launch: None, note: no_note },
    Client { name: "open-webui", title: "Open WebUI", how: How::Steps(snippets::open_webui), launch: None, note: no_note },
    Client { name: "openai-node", title: "OpenAI SDK for Node", how: How::Steps(snippets::openai_node), launch: None, note: no_note },
    Client { name: "openai-python", title: "OpenAI SDK for Python", how: How::Steps(snippets::openai_python), launch: None, note: no_note },
    Client { name: "openclaw", title: "OpenClaw", how: How::Files(openclaw), launch: Some(OPENCLAW), note: no_note },
    Client { name: "opencode", title: "OpenCode", how: How::Files(opencode), launch: Some(OPENCODE), note: no_note },
    Client { name: "pi", title: "Pi", how: How::Files(pi), launch: Some(PI), note: no_note },
    Client { name: "qwen-code", title: "Qwen Code", how: How::Files(qwen_code), launch: Some(QWEN_CODE), note: no_note },
    Client { name: "shell", title: "variables for a shell", how: How::Steps(snippets::shell), launch: None, note: no_note },
    Client { name: "zed", title: "Zed", how: How::Files(zed), launch: None, note: zed_note },
];

/// A silent prefill of a long prompt must not end a call.
const PATIENCE_MS: u64 = 3_600_000;

/// Where `llm` keeps its settings, below the home folder.
#[cfg(target_os = "macos")]
const LLM_FOLDER: &str = "Library/Application Support/io.datasette.llm";
/// Where `llm` keeps its settings, below the home folder.
#[cfg(not(target_os = "macos"))]
const LLM_FOLDER: &str = ".config/io.datasette.llm";

fn no_note(_: &Target) -> String {
    String::new()
}

fn key_note(target: &Target) -> String {
    if target.key.is_some() {
        "It reads the key from TOKBAR_API_KEY: set that where it starts.".to_owned()
    } else {
        String::new()
    }
}

fn llm_note(target: &Target) -> String {
    let key = if target.key.is_some() { " Give it the key with `llm keys set tokbar`." } else { "" };
    format!("Call it as `llm -m tokbar PROMPT`.{key}")
}

fn zed_note(_: &Target) -> String {
    "Zed asks for a key: set TOKBAR_API_KEY where it starts, or enter the server's key, or any text where it has none, in its \
     settings of agents."
        .to_owned()
}

fn field(path: &str, value: impl Into<Value>) -> (String, Value) {
    (path.to_owned(), value.into())
}

fn file(at: Location, format: Format, fields: Fields) -> FileEdit {
    FileEdit { at, format, fields, defaults: Fields::new() }
}

fn claude_code(target: &Target) -> Vec<FileEdit> {
    let at = Location { variable: Some("CLAUDE_CONFIG_DIR"), folder: ".claude", file: "settings.json" };
    let model = target.model.as_str();
    let fields = vec![
        field("env.ANTHROPIC_BASE_URL", target.address.as_str()),
        field("env.ANTHROPIC_AUTH_TOKEN", target.key_or_any()),
        field("env.ANTHROPIC_MODEL", model),
        field("env.ANTHROPIC_DEFAULT_OPUS_MODEL", model),
        field("env.ANTHROPIC_DEFAULT_SONNET_MODEL", model),
        field("env.ANTHROPIC_DEFAULT_HAIKU_MODEL", model),
        field("env.API_TIMEOUT_MS", PATIENCE_MS.to_string()),
        field("env.CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ];
    vec![file(at, Format::Json, fields)]
}

/// The command line client; its store refuses an entry without a version and a time.
fn cline(target: &Target) -> Vec<FileEdit> {
    let at = Location { variable: Some("CLINE_DIR"), folder: ".cline", file: "data/settings/providers.json" };
    let settings = json!({
        "provider": "openai-compatible", "baseUrl": target.openai_url(), "apiKey": target.key_or_any(),
        "model": target.model, "contextWindow": target.n_context, "timeout": PATIENCE_MS,
    });
    let fields =
        vec![field("providers.openai-compatible.settings", settings), field("lastUsedProvider", "openai-compatible")];
    let defaults = vec![
        field("version", 1),
        field("providers.openai-compatible.updatedAt", "1970-01-01T00:00:00.000Z"),
        field("providers.openai-compatible.tokenSource", "manual"),
    ];
    vec![FileEdit { at, format: Format::Json, fields, defaults }]
}

fn codex(target: &Target) -> Vec<FileEdit> {
    let at = Location { variable: Some("CODEX_HOME"), folder: ".codex", file: "config.toml" };
    let mut provider = json!({
        "name": "Tokbar", "base_url": target.openai_url(), "wire_api": "responses", "stream_idle_timeout_ms": PATIENCE_MS,
    });
    if target.key.is_some() {
        provider["env_key"] = "TOKBAR_API_KEY".into();
    }
    let fields = vec![
        field("model", target.model.as_str()),
        field("model_provider", "tokbar"),
        field("model_context_window", target.n_context),
        field("model_providers.tokbar", provider),
    ];
    vec![file(at, Format::Toml, fields)]
}

fn opencode(target: &Target) -> Vec<FileEdit> {
    let at = Location { variable: Some("XDG_CONFIG_HOME"), folder: ".config", file: "opencode/opencode.json" };
    let n_output = (target.n_context / 4).clamp(1, 32_768);
    let model = json!({ "name": target.model, "limit": { "context": target.n_context, "output": n_output } });
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible", "name": "Tokbar",
        "options": { "baseURL": target.openai_url(), "apiKey": target.key_or_any(), "timeout": PATIENCE_MS },
        "models": { (&target.model): model },
    });
    let fields = vec![field("provider.tokbar", provider), field("model", format!("tokbar/{}", target.model))];
    vec![file(at, Format::Json, fields)]
}

fn openclaw(target: &Target) -> Vec<FileEdit> {
    let at = Location { variable: Some("OPENCLAW_STATE_DIR"), folder: ".openclaw", file: "openclaw.json" };
    let n_output = (target.n_context / 4).clamp(1, 32_768);
    let model = json!({
        "id": target.model, "name": target.model, "contextWindow": target.n_context, "maxTokens": n_output,
    });
    let provider = json!({
        "baseUrl": target.openai_url(), "apiKey": target.key_or_any(), "api": "openai-completions", "models": [model],
    });
    let fields = vec![
        field("models.providers.tokbar", provider),
        field("agents.defaults.model.primary", format!("tokbar/{}", target.model)),
    ];
    vec![file(at, Format::Json, fields)]
}

fn continue_dev(target: &Target) -> Vec<FileEdit> {
    let at = Location { variable: Some("CONTINUE_GLOBAL_DIR"), folder: ".continue", file: "config.yaml" };
    let model = json!({
        "name": "Tokbar", "provider": "openai", "model": target.model, "apiBase": target.openai_url(),
        "apiKey": target.key_or_any(), "roles": ["chat", "edit", "apply"], "capabilities": ["tool_use"],
        "defaultCompletionOptions": { "contextLength": target.n_context },
    });
    let defaults = vec![field("name", "Local"), field("version", "1.0.0"), field("schema", "v1")];
    vec![FileEdit { at, format: Format::Yaml, fields: vec![field("models[name=Tokbar]", model)], defaults }]
}

fn aider(target: &Target) -> Vec<FileEdit> {
    let at = Location { variable: None, folder: "", file: ".aider.conf.yml" };
    let fields = vec![
        field("model", format!("openai/{}", target.model)),
        field("openai-api-base", target.openai_url()),
        field("openai-api-key", target.key_or_any()),
        field("timeout", PATIENCE_MS / 1000),
        field("show-model-warnings", false),
    ];
    vec![file(at, Format::Yaml, fields)]
}

fn qwen_code(target: &Target) -> Vec<FileEdit> {
    let at = Location { variable: None, folder: ".qwen", file: "settings.json" };
    let fields = vec![
        field("env.OPENAI_BASE_URL", target.openai_url()),
        field("env.OPENAI_API_KEY", target.key_or_any()),
        field("model.name", target.model.as_str()),
        field("security.auth.selectedType", "openai"),
    ];
    vec![file(at, Format::Json, fields)]
}

fn pi(target: &Target) -> Vec<FileEdit> {
    let at = |file| Location { variable: Some("PI_CODING_AGENT_DIR"), folder: ".pi/agent", file };
    let n_output = (target.n_context / 4).clamp(1, 32_768);
    let model = json!({ "id": target.model, "contextWindow": target.n_context, "maxTokens": n_output });
    let provider = json!({
        "baseUrl": target.openai_url(), "api": "openai-completions", "apiKey": target.key_or_any(), "models": [model],
    });
    let chosen = vec![field("defaultProvider", "tokbar"), field("defaultModel", target.model.as_str())];
    vec![
        file(at("models.json"), Format::Json, vec![field("providers.tokbar", provider)]),
        file(at("settings.json"), Format::Json, chosen),
    ]
}

fn goose(target: &Target) -> Vec<FileEdit> {
    let at = |file| Location { variable: Some("XDG_CONFIG_HOME"), folder: ".config", file };
    let model = json!({ "name": target.model, "context_limit": target.n_context });
    let provider = vec![
        field("name", "tokbar"),
        field("engine", "openai"),
        field("display_name", "Tokbar"),
        field("api_key_env", "TOKBAR_API_KEY"),
        field("base_url", format!("{}/chat/completions", target.openai_url())),
        field("models", json!([model])),
        field("timeout_seconds", PATIENCE_MS / 1000),
        field("supports_streaming", true),
        field("requires_auth", target.key.is_some()),
    ];
    let chosen = vec![field("GOOSE_PROVIDER", "tokbar"), field("GOOSE_MODEL", target.model.as_str())];
    vec![
        file(at("goose/custom_providers/tokbar.json"), Format::Json, provider),
        file(at("goose/config.yaml"), Format::Yaml, chosen),
    ]
}

fn zed(target: &Target) -> Vec<FileEdit> {
    let at = Location { variable: Some("XDG_CONFIG_HOME"), folder: ".config", file: "zed/settings.json" };
    let model = json!({ "name": target.model, "display_name": target.model, "max_tokens": target.n_context });
    let fields = vec![
        field(
            "language_models.openai_compatible.Tokbar",
            json!({ "api_url": target.openai_url(), "available_models": [model] }),
        ),
        field("agent.default_model", json!({ "provider": "Tokbar", "model": target.model })),
    ];
    vec![file(at, Format::Json, fields)]
}

fn llm(target: &Target) -> Vec<FileEdit> {
    let at = Location { variable: Some("LLM_USER_PATH"), folder: LLM_FOLDER, file: "extra-openai-models.yaml" };
    let mut model = json!({
        "model_id": "tokbar", "model_name": target.model, "api_base": target.openai_url(), "supports_tools": true,
    });
    if target.key.is_some() {
        model["api_key_name"] = "tokbar".into();
    }
    vec![file(at, Format::Yaml, vec![field("[model_id=tokbar]", model)])]
}
