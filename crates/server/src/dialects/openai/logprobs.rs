//! Scores of tokens in OpenAI's two shapes.

use tokbar_chat::Tokenizer;
use tokbar_engine::{TokenId, TokenScore};

use super::wire::{ChatLogprob, TextLogprobs, TokenLogprob, TopLogprobs};
use crate::generation::ScoredToken;

/// Stands for minus infinity, which JSON lacks; OpenAI uses the same number.
const LOGPROB_MIN: f32 = -9999.0;

/// The chat shape.
pub fn chat(tokenizer: &Tokenizer, scores: &[ScoredToken]) -> Vec<ChatLogprob> {
    let entry = |(id, logprob): (TokenId, f32)| TokenLogprob {
        token: tokenizer.token_text(id),
        logprob: logprob.max(LOGPROB_MIN),
        bytes: tokenizer.token_bytes(id),
    };
    let scored = |scored: &ScoredToken| ChatLogprob {
        token: entry((scored.score.token, scored.score.logprob)),
        top_logprobs: scored.score.top.iter().map(|top| entry(*top)).collect(),
    };
    scores.iter().map(scored).collect()
}

/// Appends generated tokens; `n_chars_before` is the length of the echoed prompt.
pub fn add_output(columns: &mut TextLogprobs, tokenizer: &Tokenizer, scores: &[ScoredToken], n_chars_before: usize) {
    for scored in scores {
        add(columns, tokenizer, &scored.score, n_chars_before + scored.text_offset);
    }
}

/// The prompt's tokens; `scores` are those from the second token on. The first has none.
pub fn prompt(tokenizer: &std::sync::Arc<Tokenizer>, prompt: &[TokenId], scores: &[TokenScore]) -> TextLogprobs {
    let mut columns = TextLogprobs::default();
    let mut detokenizer = tokenizer.continuation();
    let mut n_chars = 0;
    for (idx, token) in prompt.iter().enumerate() {
        match idx.checked_sub(1).and_then(|idx| scores.get(idx)) {
            Some(score) => add(&mut columns, tokenizer, score, n_chars),
            None => {
                columns.tokens.push(name(tokenizer, *token));
                columns.token_logprobs.push(None);
                columns.top_logprobs.push(None);
                columns.text_offset.push(n_chars);
            }
        }
        n_chars += detokenizer.push(*token).chars().count();
    }
    columns
}

fn add(columns: &mut TextLogprobs, tokenizer: &Tokenizer, score: &TokenScore, text_offset: usize) {
    let own = name(tokenizer, score.token);
    let logprob = score.logprob.max(LOGPROB_MIN);
    let mut top: Vec<(String, f32)> = Vec::with_capacity(score.top.len() + 1);
    // The object's keys are texts: of several tokens with one text the likeliest stands.
    for (id, logprob) in &score.top {
        let text = name(tokenizer, *id);
        if top.iter().all(|(known, _)| *known != text) {
            top.push((text, logprob.max(LOGPROB_MIN)));
        }
    }
    if top.iter().all(|(known, _)| *known != own) {
        top.push((own.clone(), logprob));
    }
    columns.tokens.push(own);
    columns.token_logprobs.push(Some(logprob));
    columns.top_logprobs.push(Some(TopLogprobs(top)));
    columns.text_offset.push(text_offset);
}

/// A token's text, or its bytes as OpenAI spells them where they are no UTF-8 alone.
fn name(tokenizer: &Tokenizer, id: TokenId) -> String {
    match String::from_utf8(tokenizer.token_bytes(id)) {
        Ok(text) => text,
        Err(error) => error.as_bytes().iter().fold("bytes:".to_owned(), |text, byte| format!("{text}\\x{byte:02x}")),
    }
}
