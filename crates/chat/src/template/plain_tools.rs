//! Conversations with tools for templates that know less of them: the tools are described in the system message, in the way
//! that the family writes calls, and earlier calls and results are told as text where the template has no place for them.

use serde_json::{Value, json};

use crate::{Message, Role, Tool, ToolFormat};

/// How much a template knows of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// It tells the model of them.
    Tools,
    /// It writes calls and results, and does not tell of the tools.
    Calls,
    /// Nothing.
    Nothing,
}

impl Knowledge {
    /// Read off a template's source.
    pub fn of(source: &str) -> Self {
        let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '\u{2581}');
        let is_word = |(at, word): (usize, &str)| {
            !source[..at].ends_with(is_part) && !source[at + word.len()..].starts_with(is_part)
        };
        match source {
            _ if ["tools", "xml_tools", "functions"].iter().any(|name| source.match_indices(name).any(is_word)) => {
                Self::Tools
            }
            _ if source.contains("tool_calls") => Self::Calls,
            _ => Self::Nothing,
        }
    }
}

/// Rewrites a conversation so that no message calls a tool or is a tool's.
pub(super) fn rewrite(messages: &[Message], tools: &[Tool], format: &ToolFormat) -> Vec<Message> {
    let mut plain: Vec<Message> = Vec::with_capacity(messages.len() + 1);
    for message in messages {
        let mut message = told(message, format);
        match plain.last_mut() {
            // Results of one turn are one message.
            Some(last) if last.role == Role::User && is_result(&message) && is_result(last) => {
                last.content.push('\n');
                last.content.push_str(&message.content);
            }
            _ => {
                message.tool_calls.clear();
                plain.push(message);
            }
        }
    }
    announce(&mut plain, tools, format);
    plain
}

/// Tells of the tools in the system message, after what the caller says there.
pub(super) fn announce(messages: &mut Vec<Message>, tools: &[Tool], format: &ToolFormat) {
    if tools.is_empty() {
        return;
    }
    let instructions = instructions(tools, format);
    match messages.first_mut() {
        Some(first) if first.role == Role::System => first.content = format!("{}\n\n{instructions}", first.content),
        _ => messages.insert(0, Message::new(Role::System, instructions)),
    }
}

fn is_result(message: &Message) -> bool {
    message.role == Role::User && message.content.starts_with("<tool_response>")
}

fn told(message: &Message, format: &ToolFormat) -> Message {
    match message.role {
        Role::Tool => Message::new(Role::User, format!("<tool_response>\n{}\n</tool_response>", message.content)),
        Role::Assistant if !message.tool_calls.is_empty() => {
            let calls = format.write_calls(message.tool_calls.iter().map(|call| (call.name.as_str(), &call.arguments)));
            let gap = if message.content.is_empty() { "" } else { "\n" };
            let mut told = message.clone();
            told.content = format!("{}{gap}{calls}", message.content);
            told
        }
        _ => message.clone(),
    }
}

fn instructions(tools: &[Tool], format: &ToolFormat) -> String {
    let described: Vec<String> = tools.iter().map(|tool| described(tool).to_string()).collect();
    let example = format.write_calls([("NAME", &json!({"ARGUMENT": "VALUE"}))]);
    format!(
        "You can call tools. These are they, with the JSON schemas of their arguments:\n{}\n\nTo call a tool, write this and \
         nothing else, with its name and its arguments:\n{example}\nIts result comes in the next message between \
         <tool_response> and </tool_response>. Without a need for tools, answer in plain text.",
        described.join("\n")
    )
}

pub(super) fn described(tool: &Tool) -> Value {
    json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
}
