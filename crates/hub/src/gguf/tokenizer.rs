//! GGUF vocabulary -> tokenizer.json, tokenizer_config.json and generation_config.json.
//!
//! Knows the file formats on both sides; must not tokenize anything itself.

mod byte_level;
mod pieces;
mod pre_tokenizer;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::error::ImportError;
use super::metadata::Metadata;

/// What a vocabulary entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenType {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte,
}

/// The vocabulary of a file. All three lists run over token ids.
struct Vocabulary<'a> {
    tokens: Vec<Cow<'a, str>>,
    types: Vec<TokenType>,
    /// First id of each text.
    ids: HashMap<Cow<'a, str>, usize>,
}

/// The JSON documents that a tokenizer needs.
#[derive(Debug, PartialEq)]
pub struct Documents {
    /// tokenizer.json
    pub tokenizer: Value,
    /// tokenizer_config.json
    pub tokenizer_config: Value,
    /// generation_config.json
    pub generation_config: Value,
}

/// Builds the documents for a model of `n_vocab` embedding rows and a context of `n_context` tokens.
pub fn documents(metadata: &Metadata, n_vocab: usize, n_context: &Value) -> Result<Documents, ImportError> {
    let mut vocabulary = Vocabulary::read(metadata)?;
    if vocabulary.tokens.len() > n_vocab {
        let n_tokens = vocabulary.tokens.len();
        return Err(refused(format!("it has {n_tokens} tokens but the model only {n_vocab} embeddings")));
    }
    let ends = Ends::read(metadata, &vocabulary)?;
    let mut tokenizer = match metadata.text("tokenizer.ggml.model")? {
        Some("gpt2") => byte_level::tokenizer(metadata, &vocabulary)?,
        Some("llama") => pieces::tokenizer(metadata, &mut vocabulary)?,
        Some("gemma4") => pieces::merged_tokenizer(metadata, &mut vocabulary)?,
        Some(other @ ("bert" | "t5")) => {
            return Err(refused(format!(
                "its kind `{other}` is that of encoders, and the import is for models that write"
            )));
        }
        Some(other) => return Err(refused(format!("its kind `{other}` is not supported"))),
        None => return Err(refused("the file holds none".to_owned())),
    };
    tokenizer["added_tokens"] = vocabulary.added_tokens();
    tokenizer["post_processor"] = ends.post_processor(&vocabulary);
    Ok(Documents {
        tokenizer,
        tokenizer_config: tokenizer_config(metadata, &vocabulary, &ends, n_context)?,
        generation_config: generation_config(metadata, &vocabulary)?,
    })
}

fn refused(problem: String) -> ImportError {
    ImportError::Tokenizer { problem }
}

impl<'a> Vocabulary<'a> {
    fn read(metadata: &'a Metadata) -> Result<Self, ImportError> {
        let key = "tokenizer.ggml.tokens";
        let tokens = metadata.need(key, metadata.texts(key)?)?;
        let types = match metadata.numbers("tokenizer.ggml.token_type")? {
            Some(numbers) if numbers.len() != tokens.len() => {
                return Err(refused(format!("{} types for {} tokens", numbers.len(), tokens.len())));
            }
            Some(numbers) => numbers.into_iter().map(token_type).collect(),
            None => vec![TokenType::Normal; tokens.len()],
        };
        let mut vocabulary =
            Self { tokens: tokens.into_iter().map(Cow::Borrowed).collect(), types, ids: HashMap::new() };
        vocabulary.index();
        Ok(vocabulary)
    }

    fn index(&mut self) {
        self.ids.clear();
        for (id, token) in self.tokens.iter().enumerate() {
            self.ids.entry(token.clone()).or_insert(id);
        }
    }

    /// The `vocab` object of a BPE model: text to id. Of equal texts the first id stands.
    fn map(&self) -> Value {
        let first = self.tokens.iter().enumerate().filter(|(id, token)| self.ids[*token] == *id);
        Value::Object(first.map(|(id, token)| (token.to_string(), json!(id))).collect())
    }

    /// Tokens that are matched in the text before anything else happens to it.
    fn added_tokens(&self) -> Value {
        let added = self.tokens.iter().zip(&self.types).enumerate().filter_map(|(id, (token, kind))| {
            let special = match kind {
                TokenType::Control | TokenType::Unknown => true,
                TokenType::UserDefined => false,
                TokenType::Normal | TokenType::Unused | TokenType::Byte => return None,
            };
            (!token.is_empty() && self.ids[token] == id).then(|| {
                json!({
                    "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                    "normalized": false, "special": special,
                })
            })
        });
        Value::Array(added.collect())
    }

    /// The token whose id the metadata names under `tokenizer.ggml.<name>_token_id`, if it is a token.
    fn named(&self, metadata: &Metadata, name: &str) -> Result<Option<usize>, ImportError> {
        let id = metadata.count(&format!("tokenizer.ggml.{name}_token_id"))?;
        Ok(id.and_then(|id| usize::try_from(id).ok()).filter(|&id| id < self.tokens.len()))
    }
}

/// The two sides of each merge in the file, as far as they are in the vocabulary: others can never apply, and loaders
/// refuse them.
fn stored_merges<'a>(metadata: &'a Metadata, vocabulary: &Vocabulary<'_>) -> Result<Vec<[&'a str; 2]>, ImportError> {
    let key = "tokenizer.ggml.merges";
    let merges = metadata.need(key, metadata.texts(key)?)?;
    let known = |pair: &[&str; 2]| {
        let whole = || vocabulary.ids.contains_key(pair.concat().as_str());
        pair.iter().all(|part| vocabulary.ids.contains_key(*part)) && whole()
    };
    Ok(merges.into_iter().filter_map(split).filter(known).collect())
}

/// The two sides of `left right`. A text may begin with the space that it stands for.
fn split(merge: &str) -> Option<[&str; 2]> {
    let second = merge.char_indices().nth(1)?.0;
    let at = second + merge[second..].find(' ')?;
    Some([&merge[..at], &merge[at + 1..]])
}

fn token_type(number: f64) -> TokenType {
    match number as i64 {
        2 => TokenType::Unknown,
        3 => TokenType::Control,
        4 => TokenType::UserDefined,
        5 => TokenType::Unused,
        6 => TokenType::Byte,
        _ => TokenType::Normal,
    }
}

/// Tokens put around every prompt.
struct Ends {
    bos: Option<usize>,
    eos: Option<usize>,
}

impl Ends {
    fn read(metadata: &Metadata, vocabulary: &Vocabulary<'_>) -> Result<Self, ImportError> {
        let pieces = matches!(metadata.text("tokenizer.ggml.model")?, Some("llama" | "gemma4"));
        let pre = metadata.text("tokenizer.ggml.pre")?.unwrap_or_default();
        let adds_bos = pieces || pre_tokenizer::find(pre).is_some_and(|pre| pre.adds_bos);
        let wanted = |key: &str, default| Ok(metadata.flag(key)?.unwrap_or(default));
        let bos = wanted("tokenizer.ggml.add_bos_token", adds_bos)?;
        let eos = wanted("tokenizer.ggml.add_eos_token", false)?;
        Ok(Self {
            bos: vocabulary.named(metadata, "bos")?.filter(|_| bos),
            eos: vocabulary.named(metadata, "eos")?.filter(|_| eos),
        })
    }

    fn post_processor(&self, vocabulary: &Vocabulary<'_>) -> Value {
        if self.bos.is_none() && self.eos.is_none() {
            return Value::Null;
        }
        let special = |id: &Option<usize>, part: usize| {
            id.map(|id| json!({"SpecialToken": {"id": vocabulary.tokens[id], "type_id": part}}))
        };
        let around = |name: &str, part: usize| -> Vec<Value> {
            let text = json!({"Sequence": {"id": name, "type_id": part}});
            [special(&self.bos, part), Some(text), special(&self.eos, part)].into_iter().flatten().collect()
        };
        let tokens = [self.bos, self.eos].into_iter().flatten().map(|id| {
            let token = &vocabulary.tokens[id];
            (token.to_string(), json!({"id": token, "ids": [id], "tokens": [token]}))
        });
        let pair = [around("A", 0), around("B", 1)].concat();
        json!({
            "type": "TemplateProcessing",
            "single": around("A", 0),
            "pair": pair,
            "special_tokens": Value::Object(tokens.collect()),
        })
    }
}

fn tokenizer_config(
    metadata: &Metadata,
    vocabulary: &Vocabulary<'_>,
    ends: &Ends,
    n_context: &Value,
) -> Result<Value, ImportError> {
    let mut config = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": false,
        "model_max_length": n_context,
        "add_bos_token": ends.bos.is_some(),
        "add_eos_token": ends.eos.is_some(),
    });
    for (gguf, name) in [("bos", "bos"), ("eos", "eos"), ("padding", "pad"), ("unknown", "unk"), ("seperator", "sep")] {
        if let Some(id) = vocabulary.named(metadata, gguf)? {
            config[format!("{name}_token")] = json!(vocabulary.tokens[id]);
        }
    }
    if let Some(template) = metadata.text("tokenizer.chat_template")? {
        config["chat_template"] = json!(template);
    }
    Ok(config)
}

/// Texts of control tokens that end a turn or a document in the published families.
const END_TEXTS: [&str; 10] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<|end|>",
    "</s>",
    "<eos>",
    "<｜end▁of▁sentence｜>",
];

/// Metadata of sampling advice and its name in generation_config.json.
const ADVICE: [(&str, &str); 5] = [
    ("general.sampling.temp", "temperature"),
    ("general.sampling.top_k", "top_k"),
    ("general.sampling.top_p", "top_p"),
    ("general.sampling.min_p", "min_p"),
    ("general.sampling.penalty_repeat", "repetition_penalty"),
];

fn generation_config(metadata: &Metadata, vocabulary: &Vocabulary<'_>) -> Result<Value, ImportError> {
    let mut ends = BTreeSet::new();
    for name in ["eos", "eot", "eom"] {
        ends.extend(vocabulary.named(metadata, name)?);
    }
    let is_control = |id: &usize| matches!(vocabulary.types[*id], TokenType::Control);
    ends.extend(END_TEXTS.iter().filter_map(|text| vocabulary.ids.get(*text).copied()).filter(is_control));
    let mut config = Map::new();
    for (gguf, name) in [("bos", "bos_token_id"), ("padding", "pad_token_id")] {
        if let Some(id) = vocabulary.named(metadata, gguf)? {
            config.insert(name.into(), json!(id));
        }
    }
    if !ends.is_empty() {
        config.insert("eos_token_id".into(), json!(ends));
    }
    for (key, name) in ADVICE {
        if let Some(number) = metadata.number(key)? {
            let number = (number as f32).to_string().parse().unwrap_or(number);
            config.insert(name.into(), if name == "top_k" { json!(number as u64) } else { json!(number) });
        }
    }
    Ok(Value::Object(config))
}

#[cfg(test)]
#[path = "tokenizer_tests.rs"]
mod tests;
