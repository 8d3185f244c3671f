//! `/control/v1/settings`: what a person decides once.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ask::{ask, refuse};
use crate::body::read_body;
use crate::{ApiError, ServerState};

/// Keeps this user's settings. Methods read and write a file.
pub trait Preferences: Send + Sync {
    /// As they are.
    ///
    /// # Errors
    /// When the file is damaged.
    fn settings(&self) -> Result<SettingsAnswer, ApiError>;

    /// Replaces them by what `merged` makes of them, all at once or not at all; no other change comes between.
    ///
    /// # Errors
    /// `merged`'s; names the field whose value cannot be used; or the disk refuses.
    fn change(&self, merged: &dyn Fn(&Settings) -> Result<Settings, ApiError>) -> Result<SettingsAnswer, ApiError>;
}

/// Settings, and what a change of them needs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SettingsAnswer {
    /// As they are.
    pub settings: Settings,
    /// Fields that count from the next start on, such as `server.port`.
    pub needs_restart: Vec<String>,
    /// Where they are kept.
    pub path: String,
}

/// What a person decides once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    /// What is started.
    pub start: StartSettings,
    /// Who is served where.
    pub server: ServerSettings,
    /// How models are kept.
    pub models: KeepSettings,
    /// The KV cache on disk.
    pub cache: CacheSettings,
    /// The program itself.
    pub app: AppSettings,
    /// Sleep.
    pub power: PowerSettings,
    /// Where long prompts may go.
    pub cloud: CloudSettings,
    /// Tools of others.
    pub mcp: McpSettings,
}

/// What is started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StartSettings {
    /// The model that is loaded at the start.
    pub model: Option<String>,
    /// Whether it is loaded as soon as the program starts.
    pub on_launch: bool,
}

/// Who is served where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerSettings {
    /// `null` is 8000, or the next that is free.
    pub port: Option<u16>,
    /// Whether other machines may call.
    pub lan: Lan,
    /// Origins of web pages that may call.
    pub allowed_origins: Vec<String>,
    /// Most calls of one client in a minute; 0 is no limit.
    pub calls_per_minute: u32,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self { port: None, lan: Lan::Off, allowed_origins: Vec::new(), calls_per_minute: 6000 }
    }
}

/// Whether other machines may call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lan {
    /// Only this one.
    #[default]
    Off,
    /// Those that send a key.
    WithKey,
    /// All of them.
    Open,
}

/// How models are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KeepSettings {
    /// Minutes after which an unused model is unloaded; 0 is never.
    pub idle_timeout_min: f64,
    /// Bytes for all models; `null` is what the machine has free.
    pub memory_budget_bytes: Option<u64>,
    /// Most sequences of a model at once.
    pub max_rows: u16,
    /// Bits of an element of kept KV: 4 or 8; `null` as computed.
    #[schemars(extend("enum" = [4, 8, null]))]
    pub kv_bits: Option<u8>,
    /// Where drafts come from: `auto`, `off` or `ngram`.
    #[schemars(extend("enum" = ["auto", "off", "ngram"]))]
    pub speculation: String,
}

impl Default for KeepSettings {
    fn default() -> Self {
        let speculation = "auto".to_owned();
        Self { idle_timeout_min: 0.0, memory_budget_bytes: None, max_rows: 16, kv_bits: None, speculation }
    }
}

/// The KV cache on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CacheSettings {
    /// Whether there is one.
    pub on_disk: bool,
    /// Its folder; `null` is the usual one.
    pub dir: Option<String>,
    /// Most bytes; `null` is a tenth of the disk, at most 32 GiB.
    pub max_bytes: Option<u64>,
    /// Bytes of the disk that stay free; `null` is 5 GiB, or a twentieth of a smaller disk.
    pub reserve_bytes: Option<u64>,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self { on_disk: true, dir: None, max_bytes: None, reserve_bytes: None }
    }
}

/// The program itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AppSettings {
    /// `system`, `en` or `zh-Hans`.
    #[schemars(extend("enum" = ["system", "en", "zh-Hans"]))]
    pub language: String,
    /// `system`, `light` or `dark`.
    #[schemars(extend("enum" = ["system", "light", "dark"]))]
    pub appearance: String,
    /// What stands beside the icon in the menu bar: `none` or `speed`.
    #[schemars(extend("enum" = ["none", "speed"]))]
    pub icon_title: String,
    /// Whether the Dock shows it, too.
    pub shows_dock: bool,
    /// Whether it looks for updates.
    pub checks_updates: bool,
    /// Whether it starts with the session, as a person last decided.
    pub login_item: bool,
}

impl Default for AppSettings {
    fn default() -> Self {
        Self {
            language: "system".to_owned(),
            appearance: "system".to_owned(),
            icon_title: "none".to_owned(),
            shows_dock: false,
            checks_updates: true,
            login_item: false,
        }
    }
}

/// Sleep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PowerSettings {
    /// Whether the machine is kept awake while it generates or downloads.
    pub stay_awake: bool,
}

impl Default for PowerSettings {
    fn default() -> Self {
        Self { stay_awake: true }
    }
}

/// Where long prompts may go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CloudSettings {
    /// Whether any do.
    pub is_on: bool,
    /// What the other server speaks.
    pub dialect: CloudDialect,
    /// Its address, such as `https://api.openai.com/v1`.
    pub base_url: Option<String>,
    /// The model there.
    pub model: Option<String>,
    /// Tokens to compute from which on a prompt goes there.
    pub threshold_tokens: u64,
    /// Where its key is read from: `env` (`TOKBAR_CLOUD_KEY`), `file` (`cloud.key` of the settings' folder), `keychain` (this
    /// user's secret `cloud`) or `none`.
    #[schemars(extend("enum" = ["env", "file", "keychain", "none"]))]
    pub key_from: String,
}

impl Default for CloudSettings {
    fn default() -> Self {
        let dialect = CloudDialect::OpenAi;
        Self {
            is_on: false,
            dialect,
            base_url: None,
            model: None,
            threshold_tokens: 32_768,
            key_from: "env".to_owned(),
        }
    }
}

/// What a server in the cloud speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloudDialect {
    /// Chat completions.
    #[default]
    #[serde(rename = "openai")]
    OpenAi,
    /// Messages.
    Anthropic,
}

/// Tools of others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct McpSettings {
    /// The file that lists their servers.
    pub config: Option<String>,
    /// Tools that may be called without asking, such as `files__read` or `files__*`.
    pub allow: Vec<String>,
}

/// The routes.
pub fn routes() -> Router<ServerState> {
    Router::new().route("/control/v1/settings", get(settings).patch(patch))
}

async fn settings(State(state): State<ServerState>) -> Response {
    ask(&state, &state.parts.preferences, |part| part.settings()).await
}

async fn patch(State(state): State<ServerState>, request: Request) -> Response {
    let changes = match read_body(&state, request).await {
        Ok(changes) => changes,
        Err(error) => return refuse(&error),
    };
    ask(&state, &state.parts.preferences, move |part| part.change(&|known| merged(known, &changes))).await
}

/// Settings with some of them changed, as a JSON merge patch says; `null` sets a field back.
///
/// # Errors
/// Names the field that there is none of, or whose value cannot be used.
pub fn merged(known: &Settings, changes: &Value) -> Result<Settings, ApiError> {
    let plain = |settings: &Settings| serde_json::to_value(settings).unwrap_or_default();
    let (mut whole, usual) = (plain(known), plain(&Settings::default()));
    let Value::Object(sections) = changes else {
        return Err(ApiError::Json { detail: "a JSON object of settings is expected".to_owned() });
    };
    for (section, fields) in sections {
        let Value::Object(fields) = fields else {
            return Err(ApiError::invalid(section, "must be an object of settings"));
        };
        for (name, value) in fields {
            let path = format!("{section}.{name}");
            let unknown = || ApiError::invalid(&path, "is no setting; see /control/v1/openapi.json");
            let field = whole.get_mut(section).and_then(|section| section.get_mut(name)).ok_or_else(unknown)?;
            *field = if value.is_null() { usual[section][name].clone() } else { value.clone() };
            let checked: Result<Settings, _> = serde_json::from_value(whole.clone());
            checked.map_err(|error| ApiError::invalid(&path, format!("cannot be used: {error}")))?;
        }
    }
    serde_json::from_value(whole).map_err(|error| ApiError::Json { detail: error.to_string() })
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
