//! A byte-level checkpoint for tests: one token for each byte, and the format's terminals as special tokens.

use std::fs;

use serde_json::{Map, Value, json};

use super::*;
use crate::token_bytes::printable;
use crate::{Detection, OutputOptions, OutputParser};

/// The token that ends answers.
pub const END: u32 = 256;

/// Draws numbers (Knuth's MMIX generator).
pub struct Draws(pub u64);

impl Draws {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// A checkpoint that writes calls and thinking in `format`.
pub fn model(format: OutputFormat, template: &str) -> TextModel {
    let mut specials: Vec<&str> = vec!["<|im_end|>"];
    specials.extend(format.terminals().filter(|terminal| terminal.starts_with("<|") && terminal.ends_with("|>")));
    specials.sort_unstable();
    specials.dedup();
    let at = specials.iter().position(|special| *special == "<|im_end|>").unwrap();
    specials.swap(0, at);
    let vocab: Map<_, _> = (0..=255u8).map(|byte| (printable(byte).to_string(), json!(byte))).collect();
    let added = |(idx, content): (usize, &&str)| {
        json!({"id": 256 + idx, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    };
    let added: Vec<Value> = specials.iter().enumerate().map(added).collect();
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let tokenizer = json!({"version": "1.0", "added_tokens": added, "truncation": null, "padding": null,
        "normalizer": null, "pre_tokenizer": byte_level, "post_processor": null, "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocab, "merges": []}});
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let config = json!({"eos_token": "<|im_end|>", "chat_template": template});
    fs::write(dir.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    TextModel::load(dir.path()).unwrap().with_detection(Detection { format, ..Detection::default() })
}

pub fn scope(model: &TextModel) -> TokenScope {
    TokenScope { n_vocab: model.tokenizer.n_vocab(), ends: vec![END] }
}

pub fn tool(name: &str, parameters: Value) -> Tool {
    Tool { name: name.to_owned(), description: None, parameters }
}

/// Whether an answer may go on with a token.
pub fn is_allowed(guide: &mut Guide, token: u32) -> bool {
    if guide.is_complete() {
        return token == END;
    }
    match guide.allowed().unwrap() {
        Allowed::All => true,
        Allowed::These(words) => words[token as usize / 32] >> (token % 32) & 1 == 1,
    }
}

/// Writes a text; tells how many of its bytes are allowed.
pub fn write(guide: &mut Guide, model: &TextModel, text: &str) -> usize {
    let mut n_written = 0;
    for token in model.tokenizer.encode(text, crate::Specials::Omit).unwrap() {
        if !is_allowed(guide, token) || token == END {
            return n_written;
        }
        guide.commit(token).unwrap();
        n_written += model.tokenizer.token_bytes(token).len();
    }
    n_written
}

/// Whether a text is allowed up to its end, and the answer may end there.
pub fn accepts(guide: &mut Guide, model: &TextModel, text: &str) -> bool {
    write(guide, model, text) == text.len() && is_allowed(guide, END)
}

/// Names and arguments of the calls in a text, and what else is in it.
pub fn parsed(model: &TextModel, tools: &[Tool], text: &str) -> (Vec<(String, Value)>, String) {
    let options = OutputOptions { tools, prompt_tail: "", id_seed: 1 };
    let mut parser = OutputParser::new(&model.call_format(), &options);
    let mut events = parser.push(text);
    events.extend(parser.finish(crate::FinishReason::Stop));
    let (mut calls, mut rest) = (Vec::<(String, String)>::new(), String::new());
    for event in events {
        match event {
            crate::Event::Text(text) => rest.push_str(&text),
            crate::Event::ToolStart { name, .. } => calls.push((name, String::new())),
            crate::Event::ToolArgs { json, .. } => calls.last_mut().unwrap().1.push_str(&json),
            _ => {}
        }
    }
    let call = |(name, json): (String, String)| {
        let arguments = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json} of {text:?}"));
        (name, arguments)
    };
    (calls.into_iter().map(call).collect(), rest)
}
