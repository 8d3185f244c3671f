//! What Hugging Face's libraries say, and what real checkpoints do.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "chat/fixtures.rs"]
mod fixtures;
#[path = "chat/function_calls.rs"]
mod function_calls;
#[path = "chat/public_templates.rs"]
mod public_templates;
#[path = "chat/real_tokenizers.rs"]
mod real_tokenizers;
#[path = "chat/templates.rs"]
mod templates;
