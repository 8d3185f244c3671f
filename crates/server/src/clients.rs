//! Which program calls, by what it says of itself, and for what, by the path: for people to read.

use axum::http::{HeaderMap, header};

/// How programs begin to say who they are.
const CLIENTS: [(&str, &str); 24] = [
    ("claude-cli", "Claude Code"),
    ("claude-code", "Claude Code"),
    ("codex", "Codex"),
    ("opencode", "OpenCode"),
    ("qwencode", "Qwen Code"),
    ("qwen-code", "Qwen Code"),
    ("continue", "Continue"),
    ("cline", "Cline"),
    ("roo", "Roo Code"),
    ("goose", "Goose"),
    ("aider", "Aider"),
    ("litellm", "LiteLLM"),
    ("zed", "Zed"),
    ("openai/python", "OpenAI SDK for Python"),
    ("asyncopenai/python", "OpenAI SDK for Python"),
    ("openai/js", "OpenAI SDK for JavaScript"),
    ("anthropic/python", "Anthropic SDK for Python"),
    ("asyncanthropic/python", "Anthropic SDK for Python"),
    ("anthropic/js", "Anthropic SDK for JavaScript"),
    ("ollama-python", "Ollama for Python"),
    ("ollama", "Ollama"),
    ("curl", "curl"),
    ("tokbar", "Tokbar"),
    ("mozilla", "Browser"),
];
/// Longest name shown.
const N_NAME_MAX: usize = 40;

/// The program that calls, as people know it.
pub fn client(headers: &HeaderMap) -> String {
    let said = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("");
    let small = said.to_ascii_lowercase();
    if let Some((_, name)) = CLIENTS.iter().find(|(start, _)| small.starts_with(start)) {
        return (*name).to_owned();
    }
    let product = said.split(['/', ' ']).next().unwrap_or("");
    let plain: String = product.chars().filter(|c| c.is_ascii_graphic()).take(N_NAME_MAX).collect();
    if plain.is_empty() { "unknown".to_owned() } else { plain }
}

/// What a call at `path` asks for.
pub fn kind(path: &str) -> &'static str {
    match path {
        "/v1/chat/completions" => "Chat",
        "/v1/completions" => "Completion",
        "/v1/responses" => "Responses",
        "/v1/messages" => "Messages",
        "/api/chat" => "Ollama chat",
        "/api/generate" => "Ollama generate",
        _ => "Call",
    }
}

#[cfg(test)]
#[path = "clients_tests.rs"]
mod tests;
