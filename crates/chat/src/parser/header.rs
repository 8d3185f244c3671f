//! Harmony's message headers.

/// Where a message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// The answer, or a remark before a call.
    Text,
    /// Thinking.
    Reasoning,
    /// A call of this tool.
    Call(String),
}

/// Reads a header such as `assistant<|channel|>commentary to=functions.zip <|constrain|>json`.
pub(super) fn parse(header: &str) -> Message {
    let recipient = header.split_once("to=").map(|(_, rest)| {
        let end = rest.find(|character: char| character.is_whitespace() || character == '<').unwrap_or(rest.len());
        &rest[..end]
    });
    // Muse thinks in messages to itself, and answers in messages to the user.
    match recipient {
        Some("self") => return Message::Reasoning,
        Some("user") => return Message::Text,
        _ => {}
    }
    if let Some(recipient) = recipient.filter(|recipient| !recipient.is_empty() && *recipient != "all") {
        let name = recipient.strip_prefix("functions.").unwrap_or(recipient);
        return Message::Call(name.to_owned());
    }
    let channel = header.split_once("<|channel|>").map_or("final", |(_, rest)| rest.trim_start());
    if channel.starts_with("analysis") { Message::Reasoning } else { Message::Text }
}
