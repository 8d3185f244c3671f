//! Options of the commands that show what the text side does.

use std::path::PathBuf;

use clap::Args;

/// Options of `parse`.
#[derive(Debug, Args)]
pub struct ParseArgs {
    /// Format of tool calls; `auto` goes by the model's chat template, or by the text itself.
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub format: String,

    /// Format of reasoning, instead of the one that the template or the text shows; `none` for none.
    #[arg(long, value_name = "NAME")]
    pub reasoning: Option<String>,

    /// The model whose chat template tells the format.
    #[arg(long)]
    pub model: Option<String>,

    /// Declared tools: a JSON array as in OpenAI's `tools`.
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,

    /// What the prompt ended with; it tells whether thinking is open already.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub prompt_tail: String,

    /// Characters given to the parser at a time; 0 gives all at once.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub chunk: usize,

    /// Thinking was off, whatever the prompt ended with.
    #[arg(long)]
    pub no_thinking: bool,
}

/// Options of `render`.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// A JSON array of messages, or an object as for OpenAI's chat completions.
    pub messages: PathBuf,

    /// The model whose template and tokenizer to use.
    #[arg(long, conflicts_with = "template")]
    pub model: Option<String>,

    /// A file with a chat template.
    #[arg(long, value_name = "FILE")]
    pub template: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
