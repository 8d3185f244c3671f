//! Families end to end: the network of a golden with random weights and a real vocabulary, its chat template and, where one
//! can be had, its tokenizer; asked as clients ask.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokbar_hub::gguf::reader;
use tokbar_hub::gguf::tokenizer::{Documents, documents};

use crate::http::post;
use crate::testbed::{Server, testkit, tokbar};

/// What the goldens call a vocabulary; no other size is this one.
const N_GOLDEN_VOCAB: u64 = 67;

pub struct Case {
    /// Whose network.
    pub golden: &'static str,
    /// Whose tokenizer; Qwen's splits any text, so it stands in where the family's own is not to be had.
    pub tokenizer: Tokenizer,
    /// Its size, as the network's.
    pub n_vocab: u64,
    /// A public template; `None` = the tokenizer's.
    pub template: Option<&'static str>,
}

/// Where a tokenizer comes from.
#[derive(Clone, Copy)]
pub enum Tokenizer {
    /// A folder of the kit, as models have it.
    Kit(&'static str),
    /// A GGUF file with a vocabulary only, through our importer.
    Gguf(&'static str),
}

pub const QWEN: Case = Case { golden: "qwen3", tokenizer: Tokenizer::Kit("qwen3"), n_vocab: 151_936, template: None };
const GEMMA: Case =
    Case { golden: "gemma3_text", tokenizer: Tokenizer::Kit("gemma3"), n_vocab: 262_208, template: None };
const DEEPSEEK: Case =
    Case { golden: "deepseek_v3", tokenizer: Tokenizer::Kit("deepseek_v3"), n_vocab: 129_280, template: None };
const TEKKEN: Case = Case { golden: "mistral", tokenizer: Tokenizer::Kit("tekken"), n_vocab: 131_072, template: None };

#[test]
fn qwen3_answers() {
    check(&QWEN);
}

#[test]
fn qwen3_coder_answers() {
    check(&Case { golden: "qwen3_moe", template: Some("Qwen3-Coder"), ..QWEN });
}

#[test]
fn qwen3_5_answers() {
    let template = Some("Qwen3.5-4B");
    check(&Case { golden: "qwen3_5", tokenizer: Tokenizer::Gguf("qwen35"), n_vocab: 248_320, template });
}

#[test]
fn llama_3_1_answers() {
    let template = Some("meta-llama-Llama-3.1-8B-Instruct");
    check(&Case { golden: "llama_llama3", tokenizer: Tokenizer::Kit("llama3_1"), n_vocab: 128_256, template });
}

#[test]
fn gemma3_answers() {
    check(&GEMMA);
}

#[test]
fn gemma4_answers() {
    let template = Some("google-gemma-4-31B-it");
    check(&Case { golden: "gemma4_text", tokenizer: Tokenizer::Gguf("gemma-4"), n_vocab: 262_144, template });
}

#[test]
fn gpt_oss_answers() {
    let template = Some("openai-gpt-oss-120b");
    check(&Case { golden: "gpt_oss", tokenizer: Tokenizer::Kit("gpt_oss"), n_vocab: 201_088, template });
}

#[test]
fn deepseek_r1_answers() {
    check(&Case { template: Some("llama-cpp-deepseek-r1"), ..DEEPSEEK });
}

#[test]
fn deepseek_v3_1_answers() {
    check(&Case { template: Some("deepseek-ai-DeepSeek-V3.1"), ..DEEPSEEK });
}

#[test]
fn deepseek_v3_2_answers() {
    check(&Case { golden: "deepseek_v32", template: Some("deepseek-ai-DeepSeek-V3.2"), ..DEEPSEEK });
}

#[test]
fn deepseek_v4_answers() {
    check(&Case { golden: "deepseek_v4", template: Some("deepseek-ai-DeepSeek-V4-Flash-0731"), ..DEEPSEEK });
}

#[test]
fn mistral_answers() {
    check(&Case { golden: "mistral", template: Some("Mistral-Small-3.2-24B-Instruct-2506"), ..TEKKEN });
}

#[test]
fn ministral_answers() {
    check(&Case { golden: "ministral3", template: Some("mistralai-Ministral-3-14B-Reasoning-2512"), ..TEKKEN });
}

#[test]
fn glm_answers() {
    check(&Case { golden: "glm4_moe", template: Some("GLM-4.6"), ..QWEN });
}

#[test]
fn kimi_answers() {
    check(&Case { golden: "kimi_k2", template: Some("Kimi-K2-Instruct"), ..QWEN });
}

#[test]
fn minimax_answers() {
    check(&Case { golden: "minimax_m2", template: Some("MiniMax-M2"), ..QWEN });
}

#[test]
fn phi_answers() {
    let template = Some("microsoft-Phi-3.5-mini-instruct");
    check(&Case { golden: "phi3", tokenizer: Tokenizer::Gguf("phi-3"), n_vocab: 32_064, template });
}

/// A chat and a request with tools are answered, and what the network is given is what the template says.
fn check(case: &Case) {
    let folder = checkpoint(case);
    let server = Server::start(folder.path());
    let tool = json!({
        "type": "function",
        "function": {
            "name": "weather_of",
            "description": "Tells the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    });
    let messages = json!([
        {"role": "system", "content": "Answer in one sentence."},
        {"role": "user", "content": "How is the weather in Oslo?"},
    ]);
    for (tools, said) in [(json!([]), "weather in Oslo"), (json!([tool]), "weather_of")] {
        let call = json!({"model": "default", "messages": messages, "tools": tools, "temperature": 0, "max_tokens": 6});
        let (prompt, tokens) = rendered(folder.path(), &call);
        assert!(prompt.contains(said), "{}: {prompt}", case.golden);
        let (status, answer) = post(&server, "/chat/completions", &call);
        assert_eq!(status, 200, "{}: {answer}", case.golden);
        assert_eq!(answer["usage"]["prompt_tokens"], tokens.len(), "{}: {answer}", case.golden);
        assert!(answer["usage"]["completion_tokens"].as_u64().is_some_and(|n| (1..=6).contains(&n)), "{answer}");
        assert!(answer["choices"][0]["finish_reason"].is_string(), "{answer}");
        // With their scores tokens come back by name, markers too.
        let echo = json!({"model": "default", "prompt": tokens, "echo": true, "logprobs": 1, "max_tokens": 1});
        let (status, echoed) = post(&server, "/completions", &echo);
        assert_eq!(status, 200, "{}: {echoed}", case.golden);
        let names = echoed["choices"][0]["logprobs"]["tokens"].as_array().expect("the tokens' names");
        let text: String = names.iter().filter_map(Value::as_str).collect();
        let is_told = match case.tokenizer {
            // Its pieces begin the text after each marker with a space.
            Tokenizer::Gguf("phi-3") => text.replace("|> ", "|>").starts_with(&prompt),
            _ => text.starts_with(&prompt),
        };
        assert!(is_told, "{}: {text:?} does not start with {prompt:?}", case.golden);
    }
}

/// What `tokbar render` makes of a request.
fn rendered(model: &Path, call: &Value) -> (String, Vec<u64>) {
    let file = model.join("request.json");
    fs::write(&file, call.to_string()).expect("a place for the request");
    let output = tokbar(&["render", "--json", "--model", &model.to_string_lossy(), &file.to_string_lossy()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let tokens = said["tokens"].as_array().expect("tokens").iter().map(|token| token.as_u64().expect("a token"));
    (said["prompt"].as_str().expect("a prompt").to_owned(), tokens.collect())
}

/// A folder with the checkpoint, gone when the value is.
pub fn checkpoint(case: &Case) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the model");
    write_tokenizer(case.tokenizer, folder.path());
    if let Some(template) = case.template {
        let from = testkit().join("chat-templates").join(format!("{template}.jinja"));
        fs::copy(&from, folder.path().join("chat_template.jinja")).expect("the template is in the kit");
    }
    let goldens = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../models/tests/golden");
    let golden = fs::read(goldens.join(format!("{}.json", case.golden))).expect("a golden of that name");
    let golden: Value = serde_json::from_slice(&golden).expect("JSON");
    let mut config = golden["config"].clone();
    let text = if config["text_config"].is_object() { &mut config["text_config"] } else { &mut config };
    for (name, value) in [("vocab_size", case.n_vocab), ("max_position_embeddings", 8192)] {
        text[name] = json!(value);
    }
    if !text["vocab_size_per_layer_input"].is_null() {
        text["vocab_size_per_layer_input"] = json!(case.n_vocab);
    }
    fs::write(folder.path().join("config.json"), config.to_string()).expect("a place for the configuration");
    write_weights(&folder.path().join("model.safetensors"), &golden["tensors"], case.n_vocab);
    folder
}

fn write_tokenizer(tokenizer: Tokenizer, folder: &Path) {
    match tokenizer {
        Tokenizer::Kit(name) => {
            let tokenizer = testkit().join("tokenizers").join(name);
            let is_tekken = tokenizer.join("tekken.json").exists();
            let names: &[&str] =
                if is_tekken { &["tekken.json"] } else { &["tokenizer.json", "tokenizer_config.json"] };
            for name in names {
                let from = tokenizer.join(name);
                let copied = fs::copy(&from, folder.join(name));
                copied.unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask kit`", from.display()));
            }
        }
        Tokenizer::Gguf(name) => {
            let from = testkit().join(format!("vocabularies/ggml-vocab-{name}.gguf"));
            let file = reader::Gguf::open(&from)
                .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask kit`", from.display()));
            let Documents { tokenizer, tokenizer_config, generation_config } =
                documents(&file.metadata, usize::MAX, &json!(8192)).expect("the vocabulary is one of ours");
            let named = [
                ("tokenizer", tokenizer),
                ("tokenizer_config", tokenizer_config),
                ("generation_config", generation_config),
            ];
            for (name, document) in named {
                fs::write(folder.join(format!("{name}.json")), document.to_string())
                    .expect("a place for the tokenizer");
            }
        }
    }
}

fn write_weights(path: &Path, tensors: &Value, n_vocab: u64) {
    let drawn = drawn();
    let (mut header, mut data) = (Map::new(), Vec::<u8>::new());
    for tensor in tensors.as_array().expect("tensors") {
        let sizes = tensor["shape"].as_array().expect("a shape").iter().filter_map(Value::as_u64);
        let shape: Vec<u64> = sizes.map(|n| if n == N_GOLDEN_VOCAB { n_vocab } else { n }).collect();
        let n_bytes = shape.iter().product::<u64>() as usize * 4;
        let start = data.len();
        let kind = tensor["kind"].as_str().expect("a kind");
        let is_ids = kind.starts_with("below ");
        while data.len() < start + n_bytes {
            match kind {
                "norm" => data.extend(1.0_f32.to_le_bytes()),
                _ if is_ids => data.extend(1_i32.to_le_bytes()),
                _ => data.extend(&drawn[..drawn.len().min(start + n_bytes - data.len())]),
            }
        }
        let offsets = [start, data.len()];
        let name = tensor["name"].as_str().expect("a name").to_owned();
        header.insert(
            name,
            json!({"dtype": if is_ids { "I32" } else { "F32" }, "shape": shape, "data_offsets": offsets}),
        );
    }
    let header = Value::Object(header).to_string();
    let padded = format!("{header:<width$}", width = header.len().next_multiple_of(8));
    let file = [&(padded.len() as u64).to_le_bytes()[..], padded.as_bytes(), &data].concat();
    fs::write(path, file).expect("a place for the weights");
}

/// Numbers from -0.2 to 0.2, so many that no row of a matrix repeats another for long.
fn drawn() -> Vec<u8> {
    let mut state = 1_u32;
    let numbers = std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / (1 << 23) as f32 - 1.0) * 0.2
    });
    numbers.take(100_003).flat_map(f32::to_le_bytes).collect()
}
