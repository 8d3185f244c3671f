//! Outputs cut into the tokens of real tokenizers, at random places: what the parser sees then is what it sees of a model.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use super::{FinishReason, cases, parse, pieces};
use crate::{Specials, Tokenizer};

/// Random cuts of each output, for each tokenizer.
fn n_cuts() -> usize {
    if std::env::var_os("TOKBAR_TEST_ALL").is_some() { 50 } else { 3 }
}

/// Byte-level ones, pieces with byte fallback, and tekken. Loading takes seconds, so tests share them.
static TOKENIZERS: LazyLock<Vec<(&str, Arc<Tokenizer>)>> = LazyLock::new(|| {
    let kit = std::env::var_os("TOKBAR_TESTKIT").map(std::path::PathBuf::from);
    let kit = kit.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.testkit"));
    let load = |name| {
        let tokenizer = Tokenizer::load(&kit.join("tokenizers").join(name));
        (name, Arc::new(tokenizer.unwrap_or_else(|error| panic!("{error}: run `cargo xtask kit` once"))))
    };
    ["qwen3", "gemma3", "tekken"].map(load).to_vec()
});

/// What a stream shows for each token of a text that is cut into parts before it is tokenized.
fn shown(tokenizer: &Arc<Tokenizer>, parts: &[&str]) -> Vec<String> {
    let specials = (0..tokenizer.n_vocab() as u32).filter(|id| tokenizer.is_special(*id));
    let mut detokenizer = tokenizer.continuation().showing(Arc::new(specials.collect()));
    let ids = parts.iter().flat_map(|part| tokenizer.encode(part, Specials::Omit).unwrap());
    let mut shown: Vec<String> = ids.map(|id| detokenizer.push(id)).collect();
    shown.push(detokenizer.finish());
    shown
}

struct Chance(u64);

impl Chance {
    fn one_in(&mut self, n: u64) -> bool {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33).is_multiple_of(n)
    }
}

#[test]
fn every_wire_gives_its_events_in_the_tokens_of_real_tokenizers() {
    let mut chance = Chance(1);
    for (name, tokenizer) in TOKENIZERS.iter() {
        for case in cases::all() {
            for n in 0..=n_cuts() {
                // The tokenizer's own way first, then cut in words of few characters.
                let parts = pieces(case.wire, |_| n > 0 && chance.one_in(4));
                let tokens = shown(tokenizer, &parts);
                // Some tokenizers compose characters: then it is another text.
                if tokens.concat() != case.wire {
                    continue;
                }
                let events = parse(case, tokens.iter().map(String::as_str), FinishReason::Stop);
                assert_eq!(events, case.events, "{name}, {}: {:?} as {tokens:?}", case.format, case.wire);
            }
        }
    }
}
