//! Rust source with the insides of comments, strings and characters blanked out, so that a search finds only code.

/// The same text, line for line and byte for byte, with spaces where prose and data were.
pub fn mask(source: &str) -> String {
    let mut masked = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let (kept, hidden) = match first {
            '/' => (0, comment_len(rest)),
            '"' => (0, string_len(rest)),
            '\'' => (0, char_len(rest)),
            // An identifier goes over whole: the `r` of `for` does not start a raw string.
            _ if is_word(first) => prefixed_string(rest).unwrap_or((word_len(rest), 0)),
            _ => (first.len_utf8(), 0),
        };
        let (kept, hidden) = if kept + hidden == 0 { (first.len_utf8(), 0) } else { (kept, hidden) };
        masked.push_str(&rest[..kept]);
        masked.extend(rest[kept..kept + hidden].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        rest = &rest[kept + hidden..];
    }
    masked
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word_len(rest: &str) -> usize {
    rest.find(|c| !is_word(c)).unwrap_or(rest.len())
}

/// Length of the line or (nesting) block comment at the start; 0 if there is none.
fn comment_len(rest: &str) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if !rest.starts_with("/*") {
        return 0;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        let step = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at.min(rest.len())
}

/// Length of the string literal at the start, up to its closing quote.
fn string_len(rest: &str) -> usize {
    quoted_len(rest, b'"')
}

fn quoted_len(rest: &str, quote: u8) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Length of the character literal at the start; 0 for a lifetime or label.
fn char_len(rest: &str) -> usize {
    let mut chars = rest.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => quoted_len(rest, b'\''),
        (Some(c), Some('\'')) => c.len_utf8() + 2,
        _ => 0,
    }
}

/// A word that begins a string (`b"`, `c"`, `r"`, `r#"`, `br#"`): how much to keep of it, and the length of the rest.
fn prefixed_string(rest: &str) -> Option<(usize, usize)> {
    let prefix = &rest[..word_len(rest)];
    if !["b", "c", "r", "br", "cr"].contains(&prefix) {
        return None;
    }
    let after = &rest[prefix.len()..];
    if !prefix.ends_with('r') {
        return after.starts_with('"').then(|| (prefix.len(), string_len(after)));
    }
    let n_hashes = after.len() - after.trim_start_matches('#').len();
    if !after[n_hashes..].starts_with('"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(n_hashes));
    let body = &after[n_hashes + 1..];
    let len = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some((prefix.len(), n_hashes + 1 + len))
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
