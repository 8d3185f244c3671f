//! Conversations that templates cannot write as they are: instructions after the first message, which agents send in the
//! middle of a turn and which many templates refuse or drop.

use std::mem;

use jiff::Zoned;
use serde_json::Map;
use tokbar_chat::{Message, Prompt, Role, TextModel};

/// A word that no template has of its own.
const MARK: &str = "qxzvk";

/// The prompt as the model's template can write it. Later instructions stay where they are: as system messages if the
/// template writes those, else within the user's messages. What comes before them is the same either way, so that an
/// earlier turn stays a prefix of this one.
pub fn settle(prompt: Prompt, text: &TextModel, now: &Zoned) -> Prompt {
    match prompt {
        Prompt::Chat { messages, tools, template_kwargs } if is_late(&messages) && !writes_late(text, now) => {
            Prompt::Chat { messages: fold(messages), tools, template_kwargs }
        }
        other => other,
    }
}

/// Whether a system message follows another message.
fn is_late(messages: &[Message]) -> bool {
    messages.iter().skip(1).any(|message| message.role == Role::System)
}

/// Whether the template writes a system message that follows others.
fn writes_late(text: &TextModel, now: &Zoned) -> bool {
    let says = |role, word: &str| Message::new(role, word.to_owned());
    let messages = vec![
        says(Role::System, "a"),
        says(Role::User, "b"),
        says(Role::Assistant, "c"),
        says(Role::User, "d"),
        says(Role::System, MARK),
        says(Role::User, "e"),
    ];
    let probe = Prompt::Chat { messages, tools: Vec::new(), template_kwargs: Map::new() };
    text.prompt_tokens(&probe, now).is_ok_and(|tokens| text.tokenizer.decode(&tokens).contains(MARK))
}

/// Leading instructions become one; later ones join the user's message before them, or become one.
fn fold(messages: Vec<Message>) -> Vec<Message> {
    let mut folded: Vec<Message> = Vec::with_capacity(messages.len());
    for mut message in messages {
        let last = folded.last_mut();
        match (message.role, last) {
            (Role::System, None) => folded.push(message),
            (Role::System, Some(last)) if last.role == Role::System => join(last, &message.content),
            (Role::System, Some(last)) if last.role == Role::User => join(last, &framed(&message.content)),
            (Role::System, Some(_)) => folded.push(Message::new(Role::User, framed(&message.content))),
            // Some templates take no two messages of one speaker in a row.
            (Role::User, Some(last)) if is_framed(last) => join(last, &mem::take(&mut message.content)),
            _ => folded.push(message),
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
#[path = "conversation_tests.rs"]
mod tests;
