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

/// Line breaks before a terminal that are part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breaks {
    None,
    /// Up to so many `\n`.
    Lf(usize),
    /// Up to so many `\n` or `\r\n`.
    Any(usize),
}

impl Breaks {
    /// Bytes of the breaks at the start of `bytes`, and whether they may go on.
    fn len(self, bytes: &[u8], more: More) -> (usize, bool) {
        let (n_max, has_returns) = match self {
            Self::None => (0, false),
            Self::Lf(n) => (n, false),
            Self::Any(n) => (n, true),
        };
        let mut len = 0;
        for _ in 0..n_max {
            match &bytes[len..] {
                [b'\n', ..] => len += 1,
                [b'\r', b'\n', ..] if has_returns => len += 2,
                [b'\r'] if has_returns => return (len, more == More::Coming),
                _ => break,
            }
        }
        (len, false)
    }

    fn begin_with(self, byte: u8) -> bool {
        match self {
            Self::None => false,
            Self::Lf(_) => byte == b'\n',
            Self::Any(_) => matches!(byte, b'\n' | b'\r'),
        }
    }
}

/// Where the first terminal stands, or may stand, the line breaks before it included, and what it is.
pub(super) fn first<'a>(
    text: &str,
    terminals: impl Iterator<Item = &'a Rule> + Clone,
    breaks: Breaks,
    more: More,
) -> Option<Hit> {
    let starts: Vec<u8> = terminals.clone().map(|rule| rule.on.as_bytes()[0]).collect();
    let bytes = text.as_bytes();
    let is_start = |byte: &u8| starts.contains(byte) || breaks.begin_with(*byte);
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(is_start).map(|step| from + step) {
        let (n_breaks, may_go_on) = breaks.len(&bytes[at..], more);
        if may_go_on {
            return Some(Hit { at, n_breaks, found: Found::Partial });
        }
        let after = &text[at + n_breaks..];
        match at_start(after, terminals.clone(), more) {
            Found::Nothing => from = at + 1,
            Found::Partial if after.is_empty() && more == More::Ended => from = at + 1,
            found => return Some(Hit { at, n_breaks, found }),
        }
    }
    None
}

/// A terminal inside a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// Where it begins, its line breaks included.
    pub at: usize,
    /// Bytes of the line breaks that belong to it.
    pub n_breaks: usize,
    pub found: Found,
}
