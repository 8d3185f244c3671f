//! Real tokenizers give Hugging Face's token ids and texts.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};
use tokbar_chat::{ChatPrompt, ChatTemplate, Prompt, Specials, TemplateError, TextModel, Tokenizer, Zoned};

use crate::fixtures;

/// One family's fixture and its loaded checkpoint; loading takes seconds, so tests share it.
struct Family {
    fixture: Value,
    model: TextModel,
}

static FAMILIES: LazyLock<[Family; 2]> = LazyLock::new(|| {
    ["smollm2.json", "gemma3.json"].map(|name| {
        let fixture = fixtures::read(name);
        let model = TextModel::load(&fixtures::checkpoint(fixture["folder"].as_str().unwrap())).unwrap();
        Family { fixture, model }
    })
});

static CORPUS: LazyLock<Value> = LazyLock::new(|| fixtures::read("corpus.json"));

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

fn each_text(mut check: impl FnMut(&TextModel, &str, &Value)) {
    for family in FAMILIES.iter() {
        for (name, expected) in family.fixture["texts"].as_object().unwrap() {
            check(&family.model, CORPUS["texts"][name].as_str().unwrap(), expected);
        }
    }
}

#[test]
fn token_ids_equal_the_references() {
    each_text(|model, text, expected| {
        let encode = |special| model.tokenizer.encode(text, special).unwrap();
        assert_eq!(encode(Specials::Omit), ids(&expected["ids"]), "{text:?}");
        assert_eq!(encode(Specials::Add), ids(&expected["with_specials"]), "{text:?}");
        let tokens = model.prompt_tokens(&Prompt::Text(text.to_owned()), &Zoned::default()).unwrap();
        assert_eq!(tokens, ids(&expected["with_specials"]), "{text:?}");
    });
}

#[test]
fn decoding_equals_the_references() {
    each_text(|model, _, expected| assert_eq!(model.tokenizer.decode(&ids(&expected["ids"])), expected["text"]));
}

#[test]
fn streamed_text_is_the_decoded_text_and_comes_no_later_than_the_references() {
    each_text(|model, text, expected| {
        let mut detokenizer = model.tokenizer.detokenizer();
        let (mut shown, mut reference) = (String::new(), String::new());
        for (id, piece) in ids(&expected["ids"]).into_iter().zip(expected["pieces"].as_array().unwrap()) {
            shown.push_str(&detokenizer.push(id));
            reference.push_str(piece.as_str().unwrap());
            assert!(shown.starts_with(&reference), "{text:?}: {shown:?} lags behind {reference:?}");
        }
        shown.push_str(&detokenizer.finish());
        assert_eq!(shown, expected["text"], "{text:?}");
    });
}

#[test]
fn random_ids_stream_as_they_decode() {
    for family in FAMILIES.iter() {
        let tokenizer = &family.model.tokenizer;
        let mut state = 7_u64;
        for _ in 0..2_000 {
            let ids: Vec<u32> = (0..20)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    // A few ids beyond the vocabulary: models have more logits than the tokenizer has tokens.
                    (state >> 33) as u32 % (tokenizer.n_vocab() as u32 + 50)
                })
                .collect();
            let mut detokenizer = Arc::clone(tokenizer).detokenizer();
            let mut text: String = ids.iter().map(|id| detokenizer.push(*id)).collect();
            text.push_str(&detokenizer.finish());
            assert_eq!(text, tokenizer.decode(&ids), "{ids:?}");
        }
    }
}

#[test]
fn chat_templates_render_as_transformers_does() {
    for family in FAMILIES.iter() {
        // The Gemma checkpoint of the test kit is a base model; its tokenizer package brings the template.
        let template = family.model.template.as_ref().expect("a chat template");
        for case in family.fixture["templates"].as_array().unwrap() {
            check_render(&family.model, template, case);
        }
    }
}

fn check_render(model: &TextModel, template: &ChatTemplate, case: &Value) {
    let mut kwargs = Map::new();
    kwargs.insert("add_generation_prompt".to_owned(), case["add_generation_prompt"].clone());
    let messages = fixtures::messages(&case["messages"]);
    let prompt = ChatPrompt { messages: &messages, tools: &[], template_kwargs: &kwargs };
    match (template.render(&prompt, &Zoned::default()), case["error"].as_str()) {
        (Ok(text), None) => {
            assert_eq!(text, case["rendered"], "{}", case["name"]);
            let prompt = Prompt::Chat { messages, tools: Vec::new(), template_kwargs: kwargs };
            assert_eq!(model.prompt_tokens(&prompt, &Zoned::default()).unwrap(), ids(&case["ids"]), "{}", case["name"]);
        }
        (Err(TemplateError::Raised { message }), Some(expected)) => assert_eq!(message, expected, "{}", case["name"]),
        (result, expected) => panic!("{}: {result:?}, expected the error {expected:?}", case["name"]),
    }
}

#[test]
fn ends_of_sequence_come_from_the_checkpoint() {
    let eos = FAMILIES.each_ref().map(|family| family.model.tokenizer.eos().to_vec());
    assert_eq!(eos, [vec![0, 2], vec![1, 106]]);
}

/// Byte-level, pieces with byte fallback, and tekken.
const SPLIT: [&str; 6] = ["qwen3", "llama3_1", "gpt_oss", "deepseek_v3", "gemma3", "tekken"];

/// Places between two cuts: all are cut under `cargo xtask test --all`.
fn step() -> usize {
    if std::env::var_os("TOKBAR_TEST_ALL").is_some() { 1 } else { 5 }
}

#[test]
fn texts_cut_anywhere_stream_back_whole() {
    for name in SPLIT {
        let tokenizer = Arc::new(Tokenizer::load(&fixtures::testkit().join("tokenizers").join(name)).unwrap());
        for text in CORPUS["texts"].as_object().unwrap().values().map(|text| text.as_str().unwrap()) {
            let encode = |part: &str| tokenizer.encode(part, Specials::Omit).unwrap();
            for (at, _) in text.char_indices().step_by(step()) {
                let ids = [encode(&text[..at]), encode(&text[at..])].concat();
                let mut detokenizer = tokenizer.continuation();
                let mut shown: String = ids.iter().map(|id| detokenizer.push(*id)).collect();
                shown.push_str(&detokenizer.finish());
                assert_eq!(shown, tokenizer.decode(&ids), "{name}: {text:?} at {at}");
                // What is no special token, and not composed into other characters, comes back as it was.
                let is_plain = name != "qwen3" && !ids.iter().any(|id| tokenizer.is_special(*id));
                // The mark that pieces have for a space cannot be told from one.
                assert!(
                    shown == text.replace('▁', " ") || shown == *text || !is_plain,
                    "{name}: {text:?} at {at} gives {shown:?}"
                );
            }
        }
    }
}

#[test]
fn tekken_gives_the_ids_of_its_ranks() {
    let fixture = fixtures::read("tekken.json");
    let tokenizer = Tokenizer::load(&fixtures::testkit().join("tokenizers/tekken")).unwrap();
    for (name, expected) in fixture["texts"].as_object().unwrap() {
        let text = CORPUS["texts"][name].as_str().unwrap();
        assert_eq!(tokenizer.encode(text, Specials::Omit).unwrap(), ids(expected), "{name}: {text:?}");
    }
    assert_eq!(tokenizer.encode("a", Specials::Add).unwrap()[0], 1);
    assert_eq!(tokenizer.encode("[TOOL_CALLS]", Specials::Omit).unwrap(), [9]);
}
