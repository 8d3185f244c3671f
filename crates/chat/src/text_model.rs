//! What turns a neutral prompt into token ids: the tokenizer and the chat template of one checkpoint.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use jiff::Zoned;

use crate::{
    Because, ChatPrompt, ChatTemplate, Detection, Detokenizer, OutputFormat, OutputOptions, OutputParser, Prompt,
    Specials, TemplateError, Tokenizer, TokenizerError, ToolFormat, grammar::Grammars,
};

/// Tokens of a prompt's tail; longer than any tag that opens reasoning.
const TAIL_TOKENS: usize = 32;

/// The text side of a checkpoint.
#[derive(Debug)]
pub struct TextModel {
    /// Text to token ids and back.
    pub tokenizer: Arc<Tokenizer>,
    /// Conversations to text; base models have none.
    pub template: Option<ChatTemplate>,
    detection: Detection,
    /// Special tokens that the format reads.
    shown: Arc<BTreeSet<u32>>,
    grammars: Grammars,
}

/// A checkpoint whose text side cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum TextModelError {
    /// The tokenizer.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The chat template.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// A prompt that cannot become token ids.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// Base models have no chat template.
    #[error(
        "this checkpoint has no chat template, so it cannot chat; use an instruction-tuned checkpoint, put a \
         chat_template.jinja into its folder, or ask for a plain completion"
    )]
    NoTemplate,
    /// The vocabulary has no fill-in-the-middle tokens.
    #[error("this checkpoint's vocabulary has no fill-in-the-middle tokens; leave out the suffix, or use a code model")]
    NoFim,
    /// A token id outside the vocabulary.
    #[error("token {token} does not exist; the vocabulary has ids 0 to {}", n_vocab.saturating_sub(1))]
    BadToken {
        /// The id.
        token: u32,
        /// Vocabulary size.
        n_vocab: usize,
    },
    /// The chat template failed.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The tokenizer failed.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

impl TextModel {
    /// Loads tokenizer and chat template from a checkpoint's folder.
    ///
    /// # Errors
    /// When a file is missing, damaged or too large.
    pub fn load(dir: &Path) -> Result<Self, TextModelError> {
        let (tokenizer, template) = (Tokenizer::load(dir)?, ChatTemplate::load(dir)?);
        let detection = template.as_ref().map(ChatTemplate::detection).unwrap_or_default();
        let model = Self {
            tokenizer: Arc::new(tokenizer),
            template,
            detection: Detection::default(),
            shown: Arc::default(),
            grammars: Grammars::default(),
        };
        Ok(model.with_detection(detection))
    }

    /// Reads output in this format instead of the one that the chat template tells.
    pub fn with_detection(self, detection: Detection) -> Self {
        let model = Self { detection, grammars: Grammars::default(), ..self };
        let shown = Arc::new(model.tokenizer.special_tokens_in(model.call_format().terminals()));
        Self { shown, ..model }
    }

    /// How the model writes tool calls and reasoning.
    pub fn format(&self) -> OutputFormat {
        self.detection.format
    }

    /// The format that calls are read and held to: Hermes' where nothing tells of one, as most models know it.
    pub(crate) fn call_format(&self) -> OutputFormat {
        let format = self.format();
        let fallback =
            (self.detection.tools_because == Because::Nothing).then(|| OutputFormat::tool_format("hermes").ok());
        OutputFormat { tools: format.tools.or(fallback.flatten()), ..format }
    }

    /// The format, and how it is known.
    pub fn detection(&self) -> &Detection {
        &self.detection
    }

    pub(crate) fn shown(&self) -> &BTreeSet<u32> {
        &self.shown
    }

    pub(crate) fn grammars(&self) -> &Grammars {
        &self.grammars
    }

    /// For a chat answer: its text, with the special tokens that mark tool calls and reasoning. It goes into a parser.
    pub fn chat_detokenizer(&self) -> Detokenizer {
        self.tokenizer.detokenizer().showing(Arc::clone(&self.shown))
    }

    /// The end of a prompt's text, special tokens included, as [`OutputOptions::prompt_tail`] wants it.
    pub fn prompt_tail(&self, prompt: &[u32]) -> String {
        let tail = &prompt[prompt.len().saturating_sub(TAIL_TOKENS)..];
        let bytes: Vec<u8> = tail.iter().flat_map(|id| self.tokenizer.token_bytes(*id)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads a chat answer's text.
    pub fn output_parser(&self, options: &OutputOptions<'_>) -> OutputParser {
        OutputParser::new(&self.call_format(), options)
    }

    /// Token ids of a prompt. `now` is what the template's `strftime_now` tells.
    ///
    /// # Errors
    /// When the prompt does not fit the checkpoint, or its template refuses it.
    pub fn prompt_tokens(&self, prompt: &Prompt, now: &Zoned) -> Result<Vec<u32>, PromptError> {
        match prompt {
            Prompt::Chat { messages, tools, template_kwargs } => {
                let template = self.template.as_ref().ok_or(PromptError::NoTemplate)?;
                let text = self.render(template, &ChatPrompt { messages, tools, template_kwargs }, now)?;
                Ok(self.tokenizer.encode(&text, Specials::Omit)?)
            }
            Prompt::Text(text) => Ok(self.tokenizer.encode(text, Specials::Add)?),
            Prompt::Infill { prefix, suffix } => self.infill_tokens(prefix, suffix),
            Prompt::Tokens(ids) => self.checked_tokens(ids),
        }
    }

    /// A prompt's text, as its template or, where that knows no tools, the model's format of calls has it.
    ///
    /// # Errors
    /// When the template refuses the conversation, fails, or exceeds a limit.
    pub fn render(
        &self,
        template: &ChatTemplate,
        prompt: &ChatPrompt<'_>,
        now: &Zoned,
    ) -> Result<String, TemplateError> {
        template.render_with_tools(prompt, self.format().tools.unwrap_or(ToolFormat::plainest()), now)
    }

    fn infill_tokens(&self, prefix: &str, suffix: &str) -> Result<Vec<u32>, PromptError> {
        let fim = self.tokenizer.fim().ok_or(PromptError::NoFim)?;
        let prefix = self.tokenizer.encode(prefix, Specials::Omit)?;
        let suffix = self.tokenizer.encode(suffix, Specials::Omit)?;
        // BOS, where the tokenizer adds one, stands before everything else; an EOS that it adds would end the gap.
        let mut tokens = self.tokenizer.encode("", Specials::Add)?;
        tokens.truncate(1);
        tokens.retain(|id| !self.tokenizer.eos().contains(id));
        tokens.extend(fim.prompt(&prefix, &suffix));
        Ok(tokens)
    }

    fn checked_tokens(&self, ids: &[u32]) -> Result<Vec<u32>, PromptError> {
        let n_vocab = self.tokenizer.n_vocab();
        match ids.iter().find(|id| **id as usize >= n_vocab) {
            Some(token) => Err(PromptError::BadToken { token: *token, n_vocab }),
            None => Ok(ids.to_vec()),
        }
    }
}

#[cfg(test)]
#[path = "text_model_tests.rs"]
mod tests;
