//! How a byte-level tokenizer cuts text into words, by the name that GGUF gives it.
//!
//! The patterns are the published tokenizers' own (each model's tokenizer.json); several models share one.

use serde_json::{Value, json};

/// One step of the cutting.
enum Step {
    /// Every match of the pattern stands alone.
    Split(&'static str),
    /// Every run of punctuation stands alone.
    Punctuation,
    /// Digits stand alone, one by one.
    Digits,
    /// Digits stand apart from the rest, in runs.
    DigitRuns,
    /// GPT-2's pattern, then bytes to characters.
    Gpt2,
    /// Bytes to characters.
    Bytes,
}

/// One way of cutting, and what else goes with it.
pub struct PreTokenizer {
    names: &'static [&'static str],
    steps: &'static [Step],
    /// Whether text is brought to Unicode form C first.
    composes: bool,
    /// Whether a word that is a token is taken whole, without merging.
    pub ignores_merges: bool,
    /// Whether prompts begin with BOS unless the file says otherwise.
    pub adds_bos: bool,
}

use Step::{Bytes, DigitRuns, Digits, Gpt2, Punctuation, Split};

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const SEED_CODER: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+";
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const GPT4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const DEEPSEEK3: &str = r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##;
/// Chinese ideographs and Korean syllables.
const CJK: &str = "[一-龥ࠀ-一가-퟿]+";

const fn row(names: &'static [&'static str], steps: &'static [Step]) -> PreTokenizer {
    PreTokenizer { names, steps, composes: false, ignores_merges: false, adds_bos: false }
}

const PRE_TOKENIZERS: &[PreTokenizer] = &[
    PreTokenizer {
        ignores_merges: true,
        adds_bos: true,
        ..row(&["llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "midm-2.0"], &[Split(LLAMA3), Bytes])
    },
    PreTokenizer { ignores_merges: true, ..row(&["glm4"], &[Split(LLAMA3), Bytes]) },
    PreTokenizer { ignores_merges: true, adds_bos: true, ..row(&["tekken"], &[Split(TEKKEN), Bytes]) },
    PreTokenizer { composes: true, ..row(&["qwen2"], &[Split(QWEN2), Bytes]) },
    row(&["qwen35"], &[Split(QWEN35), Bytes]),
    row(&["deepseek-r1-qwen", "megrez", "stablelm2", "hunyuan", "kormo"], &[Split(QWEN2), Bytes]),
    row(&["smaug-bpe", "dbrx", "chatglm-bpe"], &[Split(LLAMA3), Bytes]),
    row(&["gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "exaone4", "a.x-4.0", "mellum"], &[Gpt2]),
    row(&["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"], &[Digits, Gpt2]),
    row(&["gpt-4o", "llama4", "kanana2"], &[Split(GPT4O), Bytes]),
    row(&["seed-coder"], &[Split(SEED_CODER), Bytes]),
    row(&["falcon"], &[Punctuation, Gpt2, DigitRuns, Split("[0-9][0-9][0-9]")]),
    row(
        &["deepseek-llm"],
        &[
            Split(r"[\r\n]"),
            Split(r"\s?[\p{Lu}\p{Ll}\p{Lt}]+"),
            Split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"),
            Split(r"\s+$"),
            Split(CJK),
            Digits,
            Bytes,
        ],
    ),
    row(&["deepseek-coder"], &[Split(r"[\r\n]"), Split(r"\s?\p{L}+"), Split(r"\s?\p{P}+"), Split(CJK), Digits, Bytes]),
    row(
        &["deepseek-v3", "hunyuan-dense"],
        &[Split(r"\p{N}{1,3}"), Split("[一-龥぀-ゟ゠-ヿ]+"), Split(DEEPSEEK3), Bytes],
    ),
];

/// The pre-tokenizer that GGUF names `name`.
pub fn find(name: &str) -> Option<&'static PreTokenizer> {
    PRE_TOKENIZERS.iter().find(|pre| pre.names.contains(&name))
}

impl PreTokenizer {
    /// `normalizer` of tokenizer.json.
    pub fn normalizer(&self) -> Value {
        if self.composes { json!({"type": "NFC"}) } else { Value::Null }
    }

    /// `pre_tokenizer` of tokenizer.json.
    pub fn pre_tokenizer(&self) -> Value {
        let steps: Vec<Value> = self.steps.iter().map(step).collect();
        json!({"type": "Sequence", "pretokenizers": steps})
    }
}

fn step(step: &Step) -> Value {
    let bytes =
        |pattern| json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": pattern});
    match step {
        Split(pattern) => {
            json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
        }
        Punctuation => json!({"type": "Punctuation", "behavior": "Contiguous"}),
        Digits => json!({"type": "Digits", "individual_digits": true}),
        DigitRuns => json!({"type": "Digits", "individual_digits": false}),
        Gpt2 => bytes(true),
        Bytes => bytes(false),
    }
}
