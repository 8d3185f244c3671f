//! Keeps templates from making lists that are larger than any real one.
//!
//! The engine charges for what it makes, but adds lists lazily, and what is in them is shared: a few dozen doublings make a
//! value that takes more than all memory once it is written out. So every operand of `+` goes through a filter that looks
//! at its length, and every list or object that is written out through one that counts what is in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::{Environment, Error, ErrorKind, Value, value::ValueKind};

use super::generation::{each_tag, string_end};

/// The filters that operands and written values go through.
const SUMMAND: &str = "__bounded";
const WRITTEN: &str = "__weighed";
/// Most items of a list that is added to another.
const N_ITEMS_MAX: usize = 50_000;
/// Most values in a list or object that is written out, and the deepest nesting.
const N_VALUES_MAX: usize = 1_000_000;
const LEVELS_MAX: usize = 256;
/// Most values that are counted in one render.
const N_COUNTED_MAX: usize = 30_000_000;
/// Deepest nesting of brackets that is rewritten; deeper ones are refused by the engine.
const DEPTH_MAX: usize = 150;

/// Adds the filters, with what one render may count.
pub(super) fn add_filters(environment: &mut Environment<'_>) {
    let counted = Arc::new(AtomicUsize::new(0));
    environment.add_filter(SUMMAND, summand);
    environment.add_filter(WRITTEN, move |value: Value| written(value, &counted));
}

fn summand(operand: Value) -> Result<Value, Error> {
    let is_list = matches!(operand.kind(), ValueKind::Seq | ValueKind::Iterable);
    if is_list && operand.len().is_none_or(|n| n > N_ITEMS_MAX) {
        return Err(too_large(format!("a list of more than {N_ITEMS_MAX} items is added to another")));
    }
    Ok(operand)
}

fn written(value: Value, counted: &AtomicUsize) -> Result<Value, Error> {
    let mut waiting = vec![(value.clone(), 0)];
    let mut n = 0;
    while let Some((part, level)) = waiting.pop() {
        let is_map = part.kind() == ValueKind::Map;
        if !is_map && !matches!(part.kind(), ValueKind::Seq | ValueKind::Iterable) {
            continue;
        }
        for item in part.try_iter()? {
            n += 1;
            if n > N_VALUES_MAX || level > LEVELS_MAX {
                return Err(too_large(format!(
                    "more than {N_VALUES_MAX} values or {LEVELS_MAX} levels are in one value"
                )));
            }
            let item = if is_map { part.get_item(&item)? } else { item };
            waiting.push((item, level + 1));
        }
    }
    if counted.fetch_add(n, Ordering::Relaxed) > N_COUNTED_MAX {
        return Err(too_large("too many large values are made".to_owned()));
    }
    Ok(value)
}

fn too_large(detail: String) -> Error {
    Error::new(ErrorKind::OutOfFuel, detail)
}

/// Puts the filters behind operands of `+`, but for additions to text or numbers that are written out, and behind lists and
/// objects with anything else than those in them.
pub(super) fn guard(source: &str) -> String {
    each_tag(source, |tag, out| match tag.as_bytes().get(1) {
        Some(b'{' | b'%') if tag.contains(['+', '[', '{', '(']) && tag.len() > 4 => guard_tag(tag, out),
        _ => out.push_str(tag),
    })
}

fn guard_tag(tag: &str, out: &mut String) {
    let end = tag.len() - 2;
    let Some(inside) = tag.get(2..end) else { return out.push_str(tag) };
    let mut reader = Reader { text: inside, at: 0 };
    // Marks of whitespace control stand at the ends, and are no operators.
    let head = if inside.starts_with(['-', '+']) { 1 } else { 0 };
    let tail = if inside.len() > head && inside.ends_with(['-', '+']) { inside.len() - 1 } else { inside.len() };
    reader.at = head;
    reader.text = &inside[..tail];
    out.push_str(&tag[..2 + head]);
    match reader.level(None, 0) {
        Some(level) if tag.starts_with("{%") => level.write_statement(out),
        Some(level) => level.write(out),
        None => out.push_str(&inside[head..tail]),
    }
    out.push_str(&tag[2 + tail..]);
}

/// A part of an expression.
enum Part<'a> {
    /// Belongs to an operand.
    Word(&'a str),
    /// A string literal.
    Text(&'a str),
    Space(&'a str),
    Plus,
    /// Binds tighter than `+`, or as tight.
    Operator(&'a str),
    /// Ends all operands.
    Break(&'a str),
    Group(char, Level<'a>, char),
}

/// The parts between two brackets.
struct Level<'a>(Vec<Part<'a>>);

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The parts up to `close`; `None` where brackets do not match.
    fn level(&mut self, close: Option<char>, depth: usize) -> Option<Level<'a>> {
        let mut parts: Vec<Part<'a>> = Vec::new();
        while let Some(character) = self.text[self.at..].chars().next() {
            if Some(character) == close {
                self.at += 1;
                return Some(Level(parts));
            }
            let part = match character {
                ')' | ']' | '}' => return None,
                '(' | '[' | '{' if depth >= DEPTH_MAX => return None,
                '(' | '[' | '{' => {
                    self.at += 1;
                    let close = match character {
                        '(' => ')',
                        '[' => ']',
                        _ => '}',
                    };
                    Part::Group(character, self.level(Some(close), depth + 1)?, close)
                }
                '\'' | '"' => {
                    let end = (string_end(self.text.as_bytes(), self.at) + 1).min(self.text.len());
                    Part::Text(self.take(end - self.at)?)
                }
                _ if character.is_whitespace() => Part::Space(self.take_while(char::is_whitespace)),
                _ if is_word(character) => self.word(&parts),
                _ => self.operator(&parts, character)?,
            };
            parts.push(part);
        }
        close.is_none().then_some(Level(parts))
    }

    fn take(&mut self, n: usize) -> Option<&'a str> {
        let part = self.text.get(self.at..self.at + n)?;
        self.at += n;
        Some(part)
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let n = rest.find(|character| !fits(character)).unwrap_or(rest.len());
        self.at += n;
        &rest[..n]
    }

    fn word(&mut self, before: &[Part<'_>]) -> Part<'a> {
        let word = self.take_while(is_word);
        let last = before.iter().rev().find(|part| !matches!(part, Part::Space(_)));
        // Names of members, and what belongs to a test.
        let belongs = matches!(last, Some(Part::Word("." | "is" | "not" | "|")));
        match word {
            "and" | "or" | "not" | "in" | "if" | "else" | "recursive" if !belongs => Part::Break(word),
            _ => Part::Word(word),
        }
    }

    fn operator(&mut self, before: &[Part<'_>], character: char) -> Option<Part<'a>> {
        let last = before.iter().rev().find(|part| !matches!(part, Part::Space(_)));
        let is_unary = matches!(last, None | Some(Part::Plus | Part::Operator(_) | Part::Break(_)));
        let double =
            ["**", "//", "==", "!=", "<=", ">="].into_iter().find(|double| self.text[self.at..].starts_with(double));
        let text = self.take(double.map_or(character.len_utf8(), str::len))?;
        Some(match text {
            "+" if !is_unary => Part::Plus,
            "-" if is_unary => Part::Word(text),
            "+" | "-" | "*" | "/" | "//" | "%" | "**" | "~" => Part::Operator(text),
            "," | ":" | "=" | "==" | "!=" | "<" | ">" | "<=" | ">=" => Part::Break(text),
            _ => Part::Word(text),
        })
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

impl Level<'_> {
    /// A statement: its first word is no operand, and what it assigns to is left alone.
    fn write_statement(mut self, out: &mut String) {
        let first = self.0.iter_mut().find(|part| !matches!(part, Part::Space(_)));
        let Some(first) = first else { return self.write(out) };
        let Part::Word(word) = *first else { return self.write(out) };
        *first = Part::Break(word);
        let end = match word {
            "macro" | "call" => self.0.len(),
            "set" | "for" | "with" => {
                let end = self.0.iter().position(|part| matches!(part, Part::Break("=" | "in")));
                end.unwrap_or(self.0.len())
            }
            _ => 0,
        };
        let rest = self.0.split_off(end);
        self.0.iter().for_each(|part| write_plain(part, out));
        Self(rest).write(out);
    }

    fn write(&self, out: &mut String) {
        for segment in self.0.split_inclusive(|part| matches!(part, Part::Break(_))) {
            let (parts, end) = match segment.split_last() {
                Some((Part::Break(text), parts)) => (parts, *text),
                _ => (segment, ""),
            };
            write_segment(parts, out);
            out.push_str(end);
        }
    }

    /// Whether anything is named in it, so that its size cannot be seen.
    fn has_names(&self) -> bool {
        self.0.iter().any(|part| match part {
            Part::Word(word) => word.starts_with(|character: char| character.is_alphabetic() || character == '_'),
            Part::Group(_, level, _) => level.has_names(),
            _ => false,
        })
    }
}

/// Operands of additions from left to right: `a + b - c` as `((a)|f + (b)|f) - c`.
fn write_segment(parts: &[Part<'_>], out: &mut String) {
    let has_plus = parts.iter().any(|part| matches!(part, Part::Plus));
    let is_sum = |part: &Part<'_>| matches!(part, Part::Plus | Part::Operator("-"));
    if !has_plus {
        return write_operand(parts, out);
    }
    let mut sum = String::new();
    // Text and numbers are never added to lists, nor is what comes of adding them.
    let mut has_kind = true;
    for (idx, operand) in parts.split(is_sum).enumerate() {
        let mut text = String::new();
        write_operand(operand, &mut text);
        let says_kind = is_literal(operand);
        if idx == 0 {
            (sum, has_kind) = (text, says_kind);
            continue;
        }
        let operator = parts.iter().filter(|part| is_sum(part)).nth(idx - 1);
        if !matches!(operator, Some(Part::Plus)) {
            sum = format!("{sum}-{text}");
        } else if has_kind || says_kind {
            (sum, has_kind) = (format!("{sum}+{text}"), true);
        } else {
            let blank = if sum.starts_with(char::is_whitespace) { " " } else { "" };
            sum = format!("{blank}(({})|{SUMMAND} + ({})|{SUMMAND}) ", sum.trim(), text.trim());
        }
    }
    out.push_str(&sum);
}

/// Whether an operand is one text or one number.
fn is_literal(operand: &[Part<'_>]) -> bool {
    operand.iter().all(|part| match part {
        Part::Text(_) | Part::Space(_) => true,
        Part::Word(word) => word.chars().all(|character| character.is_ascii_digit() || character == '.'),
        _ => false,
    })
}

fn write_operand(parts: &[Part<'_>], out: &mut String) {
    let mut is_postfix = false;
    for part in parts {
        match part {
            Part::Group(open, level, close) => {
                let is_tuple = *open == '(' && level.0.iter().any(|part| matches!(part, Part::Break(",")));
                let is_value = (*open == '{' || *open == '[' || is_tuple) && !is_postfix && level.has_names();
                out.push_str(if is_value { "(" } else { "" });
                out.push(*open);
                level.write(out);
                out.push(*close);
                if is_value {
                    out.push('|');
                    out.push_str(WRITTEN);
                    out.push(')');
                }
            }
            other => write_plain(other, out),
        }
        is_postfix = match part {
            Part::Word(word) => !matches!(*word, "is" | "not" | "in"),
            Part::Text(_) | Part::Group(..) => true,
            Part::Space(_) => is_postfix,
            Part::Plus | Part::Operator(_) | Part::Break(_) => false,
        };
    }
}

/// A part as it was.
fn write_plain(part: &Part<'_>, out: &mut String) {
    match part {
        Part::Word(text) | Part::Text(text) | Part::Space(text) | Part::Operator(text) | Part::Break(text) => {
            out.push_str(text);
        }
        Part::Plus => out.push('+'),
        Part::Group(open, level, close) => {
            out.push(*open);
            level.0.iter().for_each(|part| write_plain(part, out));
            out.push(*close);
        }
    }
}

#[cfg(test)]
#[path = "growth_tests.rs"]
mod tests;
