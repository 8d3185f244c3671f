//! Text to token ids and back, by the checkpoint's `tokenizer.json`.

use std::{
    collections::BTreeSet,
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use tokenizers::AddedToken;

use crate::{
    Detokenizer, Fim, detokenizer,
    files::{FileError, read_bytes},
    tekken,
    token_bytes::{StartRule, TokenBytes},
    tokenizer_config::{TokenizerConfig, eos_ids},
};

/// Largest `tokenizer.json` accepted; Gemma's is 33 MB.
const TOKENIZER_BYTES_MAX: u64 = 256 << 20;
/// Most ids accepted; the largest vocabularies known have under 300,000.
const VOCAB_MAX: usize = 1 << 22;

/// A checkpoint's tokenizer.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    table: TokenBytes,
    bos: Edge,
    eos: Edge,
    eos_ids: Vec<u32>,
    fim: Option<Fim>,
    /// The texts last asked for, and the tokens that hold one.
    breakers: Mutex<Option<Breakers>>,
}

/// Texts, and the tokens that hold one.
type Breakers = (Vec<String>, Arc<[u32]>);

/// Whether [`Tokenizer::encode`] adds BOS and the like, as the checkpoint's configuration asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// For plain text.
    Add,
    /// For text that has its special tokens, such as a rendered chat template.
    Omit,
}

/// What the configuration changes at one end of an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// The post-processor's result stays.
    Keep,
    /// This token is missing.
    Insert(u32),
    /// The post-processor adds a token that the configuration does not want.
    Remove,
}

/// A tokenizer that cannot be used, or text that it cannot encode.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The folder has neither file.
    #[error("no tokenizer.json in {} and no tekken.json; download the whole checkpoint, or one that has either", dir.display())]
    Missing {
        /// The checkpoint's folder.
        dir: std::path::PathBuf,
    },
    /// The file is not what its name says.
    #[error("{file} in {} cannot be used: {detail}", dir.display())]
    Invalid {
        /// The file.
        file: &'static str,
        /// The checkpoint's folder.
        dir: std::path::PathBuf,
        /// What the parser said.
        detail: String,
    },
    /// Token ids are too many or too large.
    #[error("the tokenizer's largest token id is {id}, but ids must be below {max}; the checkpoint is damaged")]
    VocabTooLarge {
        /// The largest id.
        id: u32,
        /// The bound.
        max: usize,
    },
    /// The decoder is of a kind that language models do not use.
    #[error("tokenizer.json has a decoder that is not supported: {decoder}")]
    Decoder {
        /// Its type.
        decoder: String,
    },
    /// The text cannot be encoded.
    #[error("the text cannot be tokenized: {detail}")]
    Encode {
        /// What the tokenizer said.
        detail: String,
    },
}

impl Tokenizer {
    /// Loads `tokenizer.json`, or else `tekken.json`, with what `tokenizer_config.json`, `generation_config.json` and `config.json` add to it.
    ///
    /// # Errors
    /// When a file is missing, damaged or too large.
    pub fn load(dir: &Path) -> Result<Self, TokenizerError> {
        let config = TokenizerConfig::load(dir)?;
        let invalid = |file| move |detail| TokenizerError::Invalid { file, dir: dir.to_owned(), detail };
        let (bytes, file) = match read_bytes(&dir.join("tokenizer.json"), TOKENIZER_BYTES_MAX)? {
            Some(bytes) => (bytes, "tokenizer.json"),
            None => {
                let file = "tekken.json";
                let bytes = read_bytes(&dir.join(file), TOKENIZER_BYTES_MAX)?
                    .ok_or_else(|| TokenizerError::Missing { dir: dir.to_owned() })?;
                (tekken::document(&bytes).map_err(invalid(file))?.to_string().into_bytes(), file)
            }
        };
        let inner = parse(&bytes, &config).map_err(|error| invalid(file)(error.to_string()))?;
        let eos = eos_ids(dir)?;
        Self::new(inner, &config, eos)
    }

    fn new(inner: tokenizers::Tokenizer, config: &TokenizerConfig, eos: Vec<u32>) -> Result<Self, TokenizerError> {
        let table = token_table(&inner)?;
        let fim = Fim::find(|token| inner.token_to_id(token));
        let mut tokenizer =
            Self { inner, table, bos: Edge::Keep, eos: Edge::Keep, eos_ids: eos, fim, breakers: Mutex::default() };
        let bos_id = config.special_token("bos_token").and_then(|token| tokenizer.id(token));
        let eos_id = config.special_token("eos_token").and_then(|token| tokenizer.id(token));
        // What the post-processor does by itself shows on the empty text.
        let empty = tokenizer.encode("", Specials::Add)?;
        let has_bos = bos_id.is_some() && empty.first().copied() == bos_id;
        let has_eos = eos_id.is_some() && empty.last().copied() == eos_id && empty.len() > usize::from(has_bos);
        tokenizer.bos = edge(config.add_bos_token, has_bos, bos_id);
        tokenizer.eos = edge(config.add_eos_token, has_eos, eos_id);
        if let Some(id) = eos_id
            && !tokenizer.eos_ids.contains(&id)
        {
            tokenizer.eos_ids.push(id);
        }
        Ok(tokenizer)
    }

    /// Token ids of `text`. Special tokens written in the text are recognised, as Hugging Face does.
    ///
    /// # Errors
    /// When the tokenizer fails on the text, such as for a character without a token in a vocabulary without `unk`.
    pub fn encode(&self, text: &str, special: Specials) -> Result<Vec<u32>, TokenizerError> {
        let encoding = self
            .inner
            .encode_fast(text, special == Specials::Add)
            .map_err(|error| TokenizerError::Encode { detail: error.to_string() })?;
        let mut ids = encoding.get_ids().to_vec();
        if special == Specials::Add {
            match self.bos {
                Edge::Insert(id) => ids.insert(0, id),
                Edge::Remove => drop(ids.drain(..ids.len().min(1))),
                Edge::Keep => {}
            }
            match self.eos {
                Edge::Insert(id) => ids.push(id),
                Edge::Remove => drop(ids.pop()),
                Edge::Keep => {}
            }
        }
        Ok(ids)
    }

    /// Text of `ids`, special tokens skipped, broken UTF-8 as U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        detokenizer::decode(self, ids)
    }

    /// Text of one token, special ones included; broken UTF-8 as U+FFFD. Empty for an unknown id.
    pub fn token_text(&self, id: u32) -> String {
        String::from_utf8_lossy(self.table.get(id)).into_owned()
    }

    /// Bytes of one token, special ones included. Empty for an unknown id.
    pub fn token_bytes(&self, id: u32) -> Vec<u8> {
        self.table.get(id).to_vec()
    }

    /// Id of a token by its text in the vocabulary.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// Whether decoding skips the token.
    pub fn is_special(&self, id: u32) -> bool {
        self.table.is_special(id)
    }

    /// One more than the largest token id. The model's logits may be more.
    pub fn n_vocab(&self) -> usize {
        self.table.n_vocab()
    }

    /// Tokens that end a sequence: of `generation_config.json`, `config.json` and `tokenizer_config.json`, in this order.
    pub fn eos(&self) -> &[u32] {
        &self.eos_ids
    }

    /// The tokens of fill-in-the-middle prompts, if the vocabulary has them.
    pub fn fim(&self) -> Option<&Fim> {
        self.fim.as_ref()
    }

    /// For output that begins a text of its own, such as a chat answer: as [`decode`](Self::decode), it drops the dummy
    /// space that sentencepiece tokenizers put before the first word.
    pub fn detokenizer(self: &Arc<Self>) -> Detokenizer {
        Detokenizer::beginning(Arc::clone(self))
    }

    /// For output that continues a text, such as a plain completion: every space is kept.
    pub fn continuation(self: &Arc<Self>) -> Detokenizer {
        Detokenizer::continuing(Arc::clone(self))
    }

    /// The special tokens that stand in one of `terminals`.
    pub(crate) fn special_tokens_in<'a>(&self, terminals: impl Iterator<Item = &'a str>) -> BTreeSet<u32> {
        let terminals: Vec<&str> = terminals.collect();
        let is_in_terminal = |id: &u32| {
            let text = self.token_text(*id);
            !text.is_empty() && terminals.iter().any(|terminal| terminal.contains(&text))
        };
        (0..self.n_vocab() as u32).filter(|id| self.is_special(*id)).filter(is_in_terminal).collect()
    }

    /// The tokens that no repetition should be seen across, ascending: those whose text holds one of `texts`, and all special
    /// ones, as every turn has them. The latest answer is kept, as clients ask for the same again and again.
    pub fn breakers(&self, texts: &[String]) -> Arc<[u32]> {
        let mut latest = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = latest.as_ref().filter(|(asked, _)| asked == texts) {
            return Arc::clone(found);
        }
        let holds = |bytes: &[u8], text: &str| bytes.windows(text.len().max(1)).any(|part| part == text.as_bytes());
        let is_breaker = |id: &u32| {
            let bytes = self.table.get(*id);
            self.is_special(*id) || texts.iter().any(|text| holds(bytes, text))
        };
        let found: Arc<[u32]> = (0..self.n_vocab() as u32).filter(is_breaker).collect();
        *latest = Some((texts.to_vec(), Arc::clone(&found)));
        found
    }

    /// Most spaces that decoding drops at the start of a text of its own.
    pub(crate) fn dropped_spaces(&self) -> usize {
        match self.table.start {
            StartRule::Keep => 0,
            StartRule::Spaces(n) => n,
            StartRule::FirstTokenSpaces => 1,
        }
    }

    pub(crate) fn table(&self) -> &TokenBytes {
        &self.table
    }
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer")
            .field("n_vocab", &self.n_vocab())
            .field("eos", &self.eos_ids)
            .finish_non_exhaustive()
    }
}

fn parse(bytes: &[u8], config: &TokenizerConfig) -> tokenizers::Result<tokenizers::Tokenizer> {
    let mut inner = tokenizers::Tokenizer::from_bytes(bytes)?;
    // Both are meant for training batches and would cut or fill prompts.
    inner.with_truncation(None)?;
    inner.with_padding(None);
    let named = config.special_tokens.values().filter_map(Value::as_str);
    let known: Vec<_> = named.filter(|token| inner.token_to_id(token).is_some()).collect();
    inner.add_special_tokens(&known.into_iter().map(|token| AddedToken::from(token, true)).collect::<Vec<_>>());
    Ok(inner)
}

fn edge(wanted: Option<bool>, has: bool, id: Option<u32>) -> Edge {
    match (wanted, has, id) {
        (Some(true), false, Some(id)) => Edge::Insert(id),
        (Some(false), true, _) => Edge::Remove,
        _ => Edge::Keep,
    }
}

fn token_table(inner: &tokenizers::Tokenizer) -> Result<TokenBytes, TokenizerError> {
    let vocab = inner.get_vocab(true);
    let largest = vocab.values().copied().max().unwrap_or(0);
    if largest as usize >= VOCAB_MAX {
        return Err(TokenizerError::VocabTooLarge { id: largest, max: VOCAB_MAX });
    }
    let mut tokens = vec![None; largest as usize + 1];
    for (text, id) in vocab {
        tokens[id as usize] = Some((text, false));
    }
    for (id, token) in inner.get_added_tokens_decoder() {
        tokens[id as usize] = Some((token.content, token.special));
    }
    let decoder = serde_json::to_value(inner.get_decoder())
        .map_err(|error| TokenizerError::Decoder { decoder: error.to_string() })?;
    TokenBytes::new(&decoder, &tokens)
}

#[cfg(test)]
#[path = "tokenizer_tests.rs"]
mod tests;
