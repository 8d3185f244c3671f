//! Conversations with tools for templates that know of none: the tools are described in the system message, in the way that
//! the family writes calls, and earlier calls and results are told as text.

use serde_json::{Value, json};

use crate::{Message, Role, Tool, ToolFormat};

/// Rewrites a conversation so that no message calls a tool or is a tool's.
pub(super) fn rewrite(messages: &[Message], tools: &[Tool], format: &ToolFormat) -> Vec<Message> {
    let mut plain: Vec<Message> = Vec::with_capacity(messages.len() + 1);
    if !tools.is_empty() {
        plain.push(Message::new(Role::System, instructions(tools, format)));
    }
    for message in messages {
        let mut message = told(message, format);
        let is_first = plain.len() == 1;
        match plain.last_mut() {
            // Instructions of the caller stand before those of the tools, and results of one turn are one message.
            Some(last) if last.role == Role::System && message.role == Role::System && is_first => {
                last.content = format!("{}\n\n{}", message.content, last.content);
            }
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
    plain
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

fn described(tool: &Tool) -> Value {
    json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
}
