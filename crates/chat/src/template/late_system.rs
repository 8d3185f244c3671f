//! Instructions after the first message, which agents send in the middle of a turn and which many templates refuse or drop.

use crate::{Message, Role};

/// A word that no template has of its own.
const MARK: &str = "qxzvk";

/// Whether a system message follows another message.
pub(super) fn is_late(messages: &[Message]) -> bool {
    messages.iter().skip(1).any(|message| message.role == Role::System)
}

/// A conversation with instructions in its middle. Its text tells whether a template [writes](is_written) them.
pub(super) fn probe() -> [Message; 6] {
    let says = |role, word: &str| Message::new(role, word.to_owned());
    [
        says(Role::System, "a"),
        says(Role::User, "b"),
        says(Role::Assistant, "c"),
        says(Role::User, "d"),
        says(Role::System, MARK),
        says(Role::User, "e"),
    ]
}

/// Whether the text of the [`probe`] has its later instructions.
pub(super) fn is_written(text: &str) -> bool {
    text.contains(MARK)
}

/// Leading instructions become one; later ones stay where they are, within the user's message before them, or as one of
/// their own. What comes before them does not hang on them, so that an earlier turn stays a prefix of this one.
pub(super) fn fold(messages: &[Message]) -> Vec<Message> {
    let mut folded: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        let last = folded.last_mut();
        match (message.role, last) {
            (Role::System, None) => folded.push(message.clone()),
            (Role::System, Some(last)) if last.role == Role::System => join(last, &message.content),
            (Role::System, Some(last)) if last.role == Role::User => join(last, &framed(&message.content)),
            (Role::System, Some(_)) => folded.push(Message::new(Role::User, framed(&message.content))),
            // Some templates take no two messages of one speaker in a row.
            (Role::User, Some(last)) if is_framed(last) => join(last, &message.content),
            _ => folded.push(message.clone()),
        }
    }
    folded
}

fn join(message: &mut Message, text: &str) {
    message.content.push_str("\n\n");
    message.content.push_str(text);
}

fn framed(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

fn is_framed(message: &Message) -> bool {
    message.role == Role::User && message.content.ends_with("</system-reminder>")
}

#[cfg(test)]
#[path = "late_system_tests.rs"]
mod tests;
