//! Text to tokens and back: chat templates, tokenizers, detokenizing, stop strings, tool calls and reasoning.
//!
//! Knows messages, tools and token ids. Must not know tensors or HTTP.

mod answer_rules;
mod detokenizer;
mod event;
mod files;
mod fim;
mod formats;
mod grammar;
mod message;
mod parser;
mod reader;
mod stop;
mod tekken;
mod template;
mod text_model;
mod token_bytes;
mod tokenizer;
mod tokenizer_config;

pub use answer_rules::{AnswerForm, AnswerRules, CallCount, ToolChoice};
pub use detokenizer::Detokenizer;
pub use event::{Event, FinishReason};
pub use files::FileError;
pub use fim::Fim;
pub use formats::{Because, Detection, OutputFormat, ReasoningFormat, ToolFormat, UnknownFormat};
pub use grammar::{Allowed, GrammarError, Guidance, Guide, GuideError, SchemaError, TokenScope, Wish};
pub use jiff::Zoned;
pub use message::{Message, Prompt, Role, Tool, ToolCall};
pub use parser::{OutputOptions, OutputParser};
pub use reader::{OutputReader, Reading};
pub use stop::{STOP_STRING_BYTES_MAX, STOP_STRINGS_MAX, StopError, StopPush, StopStrings};
pub use template::{ChatPrompt, ChatTemplate, RESERVED_VARIABLES, TemplateError};
pub use text_model::{PromptError, TextModel, TextModelError};
pub use tokenizer::{Specials, Tokenizer, TokenizerError};
