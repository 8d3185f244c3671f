//! Compiles grammars for one vocabulary, within bounds, and keeps the latest.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use llguidance::api::{ParserLimits, TopLevelGrammar};
use llguidance::earley::SlicedBiasComputer;
use llguidance::toktrie::{InferenceCapabilities, TokEnv};
use llguidance::{Matcher, ParserFactory};

use super::closing::{self, Characters};

/// Compiled grammars kept.
const N_KEPT_MAX: usize = 64;
/// Most bytes of the kept grammars' texts.
const KEPT_BYTES_MAX: usize = 4 << 20;
/// Longest text of a grammar.
pub(super) const GRAMMAR_BYTES_MAX: usize = 2 << 20;

/// Bounds of compiling (about a second at worst) and of each mask (some tens of milliseconds at worst).
const LIMITS: ParserLimits = ParserLimits {
    max_items_in_row: 2_000,
    initial_lexer_fuel: 2_000_000,
    step_lexer_fuel: 500_000,
    step_max_items: 100_000,
    max_lexer_states: 250_000,
    max_grammar_size: 500_000,
    precompute_large_lexemes: true,
    verbose_errors: false,
};

/// Compiles grammars for one vocabulary.
pub(super) struct Compiler {
    factory: ParserFactory,
    env: TokEnv,
    characters: Arc<Characters>,
    kept: Mutex<VecDeque<(String, Matcher)>>,
}

impl Compiler {
    /// # Errors
    /// When the grammar engine cannot use the vocabulary.
    pub fn new(env: TokEnv) -> Result<Self, String> {
        let abilities = InferenceCapabilities { ff_tokens: true, ..InferenceCapabilities::default() };
        let factory = ParserFactory::new(&env, abilities, &SlicedBiasComputer::general_slices());
        let mut factory = factory.map_err(|error| error.to_string())?;
        factory.quiet();
        *factory.limits_mut() = LIMITS;
        let characters = Arc::new(closing::characters(env.tok_trie()));
        Ok(Self { factory, env, characters, kept: Mutex::new(VecDeque::new()) })
    }

    pub fn env(&self) -> &TokEnv {
        &self.env
    }

    /// The vocabulary's tokens of one character.
    pub fn characters(&self) -> Arc<Characters> {
        Arc::clone(&self.characters)
    }

    /// A matcher at the start of a grammar, with a state of its own.
    ///
    /// # Errors
    /// When the grammar is none, matches nothing or goes beyond the bounds; the text is the engine's.
    pub fn compile(&self, grammar: &str) -> Result<Matcher, String> {
        if grammar.len() > GRAMMAR_BYTES_MAX {
            return Err(format!("it is longer than {GRAMMAR_BYTES_MAX} bytes"));
        }
        if let Some(matcher) = self.kept(grammar) {
            return Ok(matcher);
        }
        let parser = self.factory.create_parser(TopLevelGrammar::from_lark(grammar.to_owned()));
        let mut matcher = Matcher::new(parser);
        // A grammar that matches no text at all shows in its first mask.
        let first = matcher.compute_mask_or_eos().map(|_| ()).map_err(|error| error.to_string());
        if let Some(error) = first.err().or_else(|| matcher.get_error()) {
            return Err(first_line(&error));
        }
        let fresh = matcher.deep_clone();
        self.keep(grammar, matcher);
        Ok(fresh)
    }

    fn kept(&self, grammar: &str) -> Option<Matcher> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(text, _)| text == grammar)?;
        let entry = kept.remove(at)?;
        let matcher = entry.1.deep_clone();
        kept.push_back(entry);
        Some(matcher)
    }

    fn keep(&self, grammar: &str, matcher: Matcher) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((grammar.to_owned(), matcher));
        let n_bytes = |kept: &VecDeque<(String, Matcher)>| kept.iter().map(|(text, _)| text.len()).sum::<usize>();
        while kept.len() > N_KEPT_MAX || (kept.len() > 1 && n_bytes(&kept) > KEPT_BYTES_MAX) {
            kept.pop_front();
        }
    }
}

/// What the engine says first, without its dump of states.
fn first_line(error: &str) -> String {
    let text = error.split("<state>").next().unwrap_or(error).replace("<non-verbose/>", "");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    lines.join("; ")
}
