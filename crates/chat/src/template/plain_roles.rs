//! Conversations for templates that take only users and models in turn.

use crate::{Message, Role};

/// Neighbours that the user said, or the model, are one message, as long as no call hangs on them; what the user says right
/// after a tool's result, as agents do, goes with it.
pub(super) fn merge_neighbours(messages: &[Message]) -> Vec<Message> {
    let mut merged: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match merged.last_mut() {
            Some(last) if is_mergeable(last, message) => append(&mut last.content, &message.content),
            _ => merged.push(message.clone()),
        }
    }
    merged
}

fn is_mergeable(first: &Message, second: &Message) -> bool {
    let is_plain = |message: &Message| message.tool_calls.is_empty() && message.reasoning.is_none();
    let is_of_one = first.role == second.role && first.role != Role::Tool && first.name == second.name;
    let is_word_on_result = first.role == Role::Tool && second.role == Role::User;
    (is_of_one || is_word_on_result) && is_plain(first) && is_plain(second)
}

/// What system messages say opens the next message of the user, or one of its own if none comes; a user who has said nothing
/// comes before a model that begins.
pub(super) fn fold_system(messages: &[Message]) -> Vec<Message> {
    let mut folded: Vec<Message> = Vec::with_capacity(messages.len());
    let mut instructions = String::new();
    for message in messages {
        if message.role == Role::System {
            append(&mut instructions, &message.content);
            continue;
        }
        let mut message = message.clone();
        if !instructions.is_empty() {
            let said = std::mem::take(&mut instructions);
            if message.role == Role::User {
                message.content = format!("{said}\n\n{}", message.content);
            } else {
                folded.push(Message::new(Role::User, said));
            }
        }
        folded.push(message);
    }
    if !instructions.is_empty() {
        folded.push(Message::new(Role::User, instructions));
    }
    if folded.first().is_some_and(|first| first.role == Role::Assistant) {
        folded.insert(0, Message::new(Role::User, String::new()));
    }
    merge_neighbours(&folded)
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}
