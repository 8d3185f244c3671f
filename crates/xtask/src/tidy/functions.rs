//! How long functions are, found by braces in masked source.

use super::mask::is_word;

/// A function with a body.
#[derive(Debug, PartialEq)]
pub struct Function<'a> {
    pub name: &'a str,
    /// Line of the `fn`, counted from 1.
    pub line: usize,
    /// Lines from there to the closing brace.
    pub n_lines: usize,
}

/// Functions of masked source, in order of their `fn`; declarations without a body are left out.
pub fn functions(masked: &str) -> Vec<Function<'_>> {
    let starts = words(masked).filter(|(_, word)| *word == "fn");
    starts.filter_map(|(at, _)| function(masked, at)).collect()
}

fn function(masked: &str, at: usize) -> Option<Function<'_>> {
    let after = masked[at + 2..].trim_start();
    let name = &after[..after.find(|c| !is_word(c)).unwrap_or(after.len())];
    // `fn(u32) -> u32` is a type.
    if name.is_empty() {
        return None;
    }
    let n_lines = masked[at..at + body_end(&masked[at..])?].matches('\n').count() + 1;
    Some(Function { name, line: masked[..at].matches('\n').count() + 1, n_lines })
}

/// Where the body's closing brace is; nothing if `;` ends the declaration first.
fn body_end(source: &str) -> Option<usize> {
    let (mut n_brackets, mut n_braces) = (0_usize, 0_usize);
    for (at, c) in source.char_indices() {
        match c {
            // A `;` or brace inside `[u8; 4]` or `[u8; { N }]` belongs to the signature.
            '(' | '[' => n_brackets += 1,
            ')' | ']' => n_brackets = n_brackets.saturating_sub(1),
            ';' if n_brackets == 0 && n_braces == 0 => return None,
            '{' if n_braces > 0 || n_brackets == 0 => n_braces += 1,
            '}' if n_braces == 1 => return Some(at),
            '}' => n_braces = n_braces.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Words of masked source with their positions.
pub fn words(masked: &str) -> impl Iterator<Item = (usize, &str)> {
    let starts = masked.char_indices().scan(' ', |before, (at, c)| {
        let starts = is_word(c) && !is_word(*before);
        *before = c;
        Some(starts.then_some(at))
    });
    starts.flatten().map(|at| {
        let rest = &masked[at..];
        (at, &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())])
    })
}

#[cfg(test)]
#[path = "functions_tests.rs"]
mod tests;
