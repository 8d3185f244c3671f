//! What `tokenizer_config.json` and its neighbours add to `tokenizer.json`.

use std::path::Path;

use serde_json::{Map, Value};

use crate::files::{FileError, read_json};

/// Largest `tokenizer_config.json` accepted; Gemma's is over 1 MB.
const CONFIG_BYTES_MAX: u64 = 32 << 20;
/// Largest `config.json` accepted.
const MODEL_CONFIG_BYTES_MAX: u64 = 8 << 20;
/// Names under which transformers hands special tokens to chat templates.
const SPECIAL_TOKEN_NAMES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// The fields of `tokenizer_config.json` that matter here.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenizerConfig {
    /// Template variables: `bos_token`, `eos_token` and the like, by name.
    pub special_tokens: Map<String, Value>,
    /// Whether encoding must begin with BOS; `None` leaves it to the post-processor.
    pub add_bos_token: Option<bool>,
    /// Whether encoding must end with EOS; `None` leaves it to the post-processor.
    pub add_eos_token: Option<bool>,
    /// A template, or a list of named ones.
    pub chat_template: Option<Value>,
}

impl TokenizerConfig {
    /// Reads `tokenizer_config.json`, then `special_tokens_map.json` for names that it lacks.
    pub fn load(dir: &Path) -> Result<Self, FileError> {
        let mut config = Self::default();
        if let Some(Value::Object(fields)) = read_json(&dir.join("tokenizer_config.json"), CONFIG_BYTES_MAX)? {
            config.add_bos_token = fields.get("add_bos_token").and_then(Value::as_bool);
            config.add_eos_token = fields.get("add_eos_token").and_then(Value::as_bool);
            config.chat_template = fields.get("chat_template").filter(|template| !template.is_null()).cloned();
            config.add_special_tokens(&fields);
        }
        if let Some(Value::Object(fields)) = read_json(&dir.join("special_tokens_map.json"), CONFIG_BYTES_MAX)? {
            config.add_special_tokens(&fields);
        }
        Ok(config)
    }

    /// Text of a special token by its name in the configuration.
    pub fn special_token(&self, name: &str) -> Option<&str> {
        self.special_tokens.get(name).and_then(Value::as_str)
    }

    /// Keeps what is there already: the first file wins.
    fn add_special_tokens(&mut self, fields: &Map<String, Value>) {
        let extra = fields.get("extra_special_tokens").and_then(Value::as_object);
        let named = SPECIAL_TOKEN_NAMES.iter().filter_map(|name| Some((*name, fields.get(*name)?)));
        let extra = extra.into_iter().flatten().map(|(name, token)| (name.as_str(), token));
        for (name, token) in named.chain(extra) {
            if let Some(text) = token_text(token)
                && !self.special_tokens.contains_key(name)
            {
                self.special_tokens.insert(name.to_owned(), Value::from(text));
            }
        }
    }
}

/// A token is written as a string or as an object with its `content`.
fn token_text(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token.get("content")?.as_str())
}

/// EOS ids of `generation_config.json`, then `config.json`, merged in that order.
pub(crate) fn eos_ids(dir: &Path) -> Result<Vec<u32>, FileError> {
    let mut ids = Vec::new();
    for name in ["generation_config.json", "config.json"] {
        let Some(config) = read_json(&dir.join(name), MODEL_CONFIG_BYTES_MAX)? else { continue };
        // Multimodal checkpoints keep the language model's fields one level down.
        for fields in [Some(&config), config.get("text_config")].into_iter().flatten() {
            match fields.get("eos_token_id") {
                Some(Value::Array(several)) => several.iter().for_each(|id| push_id(&mut ids, id)),
                Some(one) => push_id(&mut ids, one),
                None => {}
            }
        }
    }
    Ok(ids)
}

fn push_id(ids: &mut Vec<u32>, id: &Value) {
    if let Some(id) = id.as_u64().and_then(|id| u32::try_from(id).ok())
        && !ids.contains(&id)
    {
        ids.push(id);
    }
}
