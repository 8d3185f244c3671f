//! Finding terminals in text that is still arriving.

use crate::formats::Rule;

/// Most whitespace looked across to see what follows a terminal.
const LOOKAHEAD_MAX: usize = 64;

/// Whether more text may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    Coming,
    Ended,
}

/// What stands at the start of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The terminal of this index.
    Terminal(usize),
    /// The beginning of a terminal: more text decides.
    Partial,
    Nothing,
}

/// The longest terminal at the start of `text`. A longer one that may still come is waited for.
pub(super) fn at_start<'a>(text: &str, terminals: impl Iterator<Item = &'a Rule>, more: More) -> Found {
    let (mut best, mut partial) = (None::<(usize, usize)>, false);
    for (idx, rule) in terminals.enumerate() {
        match check(text, rule, more) {
            Found::Terminal(_) if best.is_none_or(|(_, len)| rule.on.len() > len) => best = Some((idx, rule.on.len())),
            Found::Partial => partial = true,
            _ => {}
        }
    }
    match best {
        _ if partial => Found::Partial,
        Some((idx, _)) => Found::Terminal(idx),
        None => Found::Nothing,
    }
}

/// Whether `text` is the beginning of a terminal, but not all of it.
pub(super) fn is_beginning<'a>(text: &str, mut terminals: impl Iterator<Item = &'a Rule>) -> bool {
    !text.is_empty() && terminals.any(|rule| rule.on.len() > text.len() && rule.on.starts_with(text))
}

fn check(text: &str, rule: &Rule, more: More) -> Found {
    let Some(rest) = text.strip_prefix(rule.on) else {
        let partial = more == More::Coming && text.len() < rule.on.len() && rule.on.starts_with(text);
        return if partial { Found::Partial } else { Found::Nothing };
    };
    if rule.before.is_empty() {
        return Found::Terminal(0);
    }
    let rest = rest.trim_start();
    let n_space = text.len() - rule.on.len() - rest.len();
    if n_space > LOOKAHEAD_MAX || rule.before.iter().any(|next| rest.starts_with(next)) {
        return Found::Terminal(0);
    }
    match more {
        More::Ended if rest.is_empty() => Found::Terminal(0),
        More::Coming if rule.before.iter().any(|next| next.starts_with(rest)) => Found::Partial,
        _ => Found::Nothing,
    }
}

/// Where the first terminal stands, or may stand, and what it is. Up to `n_newlines` newlines before a terminal are
/// part of it; the second number tells how many are.
pub(super) fn first<'a>(
    text: &str,
    terminals: impl Iterator<Item = &'a Rule> + Clone,
    n_newlines: usize,
    more: More,
) -> Option<Hit> {
    let starts: Vec<u8> = terminals.clone().map(|rule| rule.on.as_bytes()[0]).collect();
    let bytes = text.as_bytes();
    let is_start = |byte: &u8| starts.contains(byte) || (n_newlines > 0 && *byte == b'\n');
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(is_start).map(|step| from + step) {
        let n_skipped = bytes[at..].iter().take(n_newlines).take_while(|byte| **byte == b'\n').count();
        let after = &text[at + n_skipped..];
        match at_start(after, terminals.clone(), more) {
            Found::Nothing => from = at + 1,
            Found::Partial if after.is_empty() && more == More::Ended => from = at + 1,
            found => return Some(Hit { at, n_newlines: n_skipped, found }),
        }
    }
    None
}

/// A terminal inside a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// Where it begins, its newlines included.
    pub at: usize,
    /// How many newlines belong to it.
    pub n_newlines: usize,
    pub found: Found,
}
