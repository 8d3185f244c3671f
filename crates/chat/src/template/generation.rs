//! Transformers' `{% generation %}` marks the assistant's text for training; rendering ignores it.

/// Turns `{% generation %}` and `{% endgeneration %}` into blocks that always hold, so that whitespace control around
/// them still acts. Strings, comments and raw blocks are left alone.
pub(super) fn neutralise(source: &str) -> String {
    each_tag(source, push_tag)
}

/// Writes a source anew, each tag as `write` has it. Text and raw blocks are left alone.
fn each_tag(source: &str, write: impl Fn(&str, &mut String)) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = find_tag(rest) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let tag = &rest[..tag_len(rest)];
        write(tag, &mut out);
        rest = &rest[tag.len()..];
        if word(tag) == "raw" {
            let n_raw = raw_len(rest);
            out.push_str(&rest[..n_raw]);
            rest = &rest[n_raw..];
        }
    }
    out.push_str(rest);
    out
}

/// Start of the next `{{`, `{%` or `{#`.
fn find_tag(text: &str) -> Option<usize> {
    text.as_bytes().windows(2).position(|pair| pair[0] == b'{' && matches!(pair[1], b'{' | b'%' | b'#'))
}

/// Length of the tag at the start of `text`, closer included; all of it when it is not closed.
fn tag_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes[1] == b'#' {
        return text.find("#}").map_or(text.len(), |end| end + 2);
    }
    let closer: &[u8; 2] = if bytes[1] == b'%' { b"%}" } else { b"}}" };
    let (mut idx, mut depth) = (2, 0_usize);
    while idx < bytes.len() {
        match bytes[idx] {
            _ if depth == 0 && bytes[idx..].starts_with(closer) => return idx + 2,
            b'\'' | b'"' => idx = string_end(bytes, idx),
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        idx += 1;
    }
    text.len()
}

/// Index of the quote that ends the string starting at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut idx = start + 1;
    while idx < bytes.len() && bytes[idx] != bytes[start] {
        idx += if bytes[idx] == b'\\' { 2 } else { 1 };
    }
    idx
}

/// The inside of a block tag without whitespace control.
fn inside(tag: &str) -> &str {
    let inner = tag.strip_prefix("{%").and_then(|tag| tag.strip_suffix("%}")).unwrap_or("");
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    inner.strip_suffix(['-', '+']).unwrap_or(inner)
}

/// The only word of a block tag, or an empty string.
fn word(tag: &str) -> &str {
    inside(tag).trim()
}

fn push_tag(tag: &str, out: &mut String) {
    let replacement = match word(tag) {
        "generation" => "if true",
        "endgeneration" => "endif",
        _ => return out.push_str(tag),
    };
    out.push_str(&tag.replacen(word(tag), replacement, 1));
}

/// Length of a raw block's text up to its `{% endraw %}`.
fn raw_len(text: &str) -> usize {
    let mut from = 0;
    while let Some(start) = text[from..].find("{%").map(|start| from + start) {
        let end = text[start..].find("%}").map_or(text.len(), |end| start + end + 2);
        if word(&text[start..end]) == "endraw" {
            return start;
        }
        from = start + 2;
    }
    text.len()
}

#[cfg(test)]
#[path = "generation_tests.rs"]
mod tests;
