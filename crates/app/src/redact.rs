//! Text that may be shown to others: without this user's name and home, and without keys.

use std::path::Path;

/// How secrets begin, of this and other programs.
const SECRETS: [&str; 6] = ["tk-", "hf_", "sk-", "Bearer ", "ghp_", "xoxb-"];

/// `text` with `home` as `~`, the name of its owner as `USER`, and secrets left out.
pub fn redact(text: &str, home: Option<&Path>) -> String {
    let mut text = text.to_owned();
    if let Some(home) = home {
        let path = home.to_string_lossy();
        if path.len() > 1 {
            text = text.replace(&*path, "~");
        }
        let name = home.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.len() > 2 {
            text = text.replace(&name, "USER");
        }
    }
    SECRETS.iter().fold(text, |text, start| without_secret(&text, start))
}

/// Leaves out what follows `start` up to the next sign that no secret holds.
fn without_secret(text: &str, start: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(start) {
        let after = &rest[at + start.len()..];
        let is_secret = |c: char| c.is_ascii_alphanumeric() || "-_.~+/=".contains(c);
        let n_secret = after.find(|c: char| !is_secret(c)).unwrap_or(after.len());
        kept.push_str(&rest[..at + start.len()]);
        // Words such as `sk-` in a sentence are no secret.
        kept.push_str(if n_secret >= 8 { "[left out]" } else { &after[..n_secret] });
        rest = &after[n_secret..];
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
