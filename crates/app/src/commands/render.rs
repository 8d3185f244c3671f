//! `tokbar render`: the prompt that a conversation becomes.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use tokbar_chat::{ChatPrompt, ChatTemplate, Prompt, Specials, TextModel, ToolFormat, Zoned};

use super::parse::read_json;
use crate::cli::RenderArgs;
use crate::{say, sources};

/// Longest template read.
const TEMPLATE_BYTES_MAX: u64 = 4 << 20;

/// Prints the prompt's text, and for a model its token ids on the last line.
pub fn run(args: &RenderArgs) -> Result<()> {
    let wire = match read_json(&args.messages)? {
        messages @ Value::Array(_) => json!({ "messages": messages }),
        call => call,
    };
    let prompt = tokbar_server::read_openai_prompt(wire).with_context(|| format!("{}", args.messages.display()))?;
    let Prompt::Chat { messages, tools, template_kwargs } = &prompt else { bail!("the file holds no conversation") };
    let (chat, now) = (ChatPrompt { messages, tools, template_kwargs }, Zoned::now());
    let (text, tokens) = match (&args.model, &args.template) {
        (Some(model), _) => {
            let text = TextModel::load(&sources::folder(model)?.dir)?;
            let template =
                text.template.as_ref().context("this checkpoint has no chat template; name one with --template")?;
            let rendered = text.render(template, &chat, &now)?;
            let tokens = text.tokenizer.encode(&rendered, Specials::Omit)?;
            (rendered, Some(tokens))
        }
        (None, Some(path)) => {
            let mut source = String::new();
            let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
            file.take(TEMPLATE_BYTES_MAX + 1)
                .read_to_string(&mut source)
                .with_context(|| format!("cannot read {}", path.display()))?;
            ensure!(source.len() as u64 <= TEMPLATE_BYTES_MAX, "{} is longer than any template", path.display());
            let template = ChatTemplate::from_source(&source, Map::new())?;
            let format = template.detection().format.tools.unwrap_or(ToolFormat::plainest());
            (template.render_with_tools(&chat, format, &now)?, None)
        }
        (None, None) => bail!("say which template: --model with a model, or --template with a file"),
    };
    if args.json {
        say::line(json!({ "prompt": text, "tokens": tokens }))?;
        return Ok(());
    }
    say::line(text)?;
    if let Some(tokens) = tokens {
        say::line(json!(tokens))?;
    }
    Ok(())
}
