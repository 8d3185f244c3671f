//! What `cargo xtask bench` is asked to do.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};

#[derive(Debug, PartialEq)]
pub struct Options {
    /// Measured pairs per model and prompt length.
    pub pairs: usize,
    /// Prompt lengths.
    pub prompt_tokens: Vec<usize>,
    pub output_tokens: usize,
    /// Model folders with f32 weights; the real and the deep tiny one if empty.
    pub models: Vec<PathBuf>,
}

impl Options {
    /// `[--pairs N] [--prompt-tokens N,N] [--output-tokens N] [MODEL...]`
    pub fn parse(arguments: &[String]) -> anyhow::Result<Options> {
        let mut options = Options { pairs: 5, prompt_tokens: vec![318, 512], output_tokens: 64, models: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--pairs" => options.pairs = number(argument, rest.next())?,
                "--output-tokens" => options.output_tokens = number(argument, rest.next())?,
                "--prompt-tokens" => {
                    let list = rest.next().with_context(|| format!("{argument} needs a value"))?;
                    options.prompt_tokens =
                        list.split(',').map(|n| count(argument, n)).collect::<anyhow::Result<_>>()?;
                }
                flag if flag.starts_with('-') => bail!("`bench` has no option {flag}"),
                model => options.models.push(model.into()),
            }
        }
        Ok(options)
    }
}

fn number(option: &str, value: Option<&String>) -> anyhow::Result<usize> {
    count(option, value.with_context(|| format!("{option} needs a value"))?)
}

fn count(option: &str, text: &str) -> anyhow::Result<usize> {
    let number: usize = text.parse().with_context(|| format!("{option} needs a whole number, not `{text}`"))?;
    ensure!(number > 0, "{option} must be at least 1");
    Ok(number)
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
