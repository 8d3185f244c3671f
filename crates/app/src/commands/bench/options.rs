//! From the command line to the servers to measure.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use crate::cli::TargetArgs;

/// A server to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetSpec {
    /// Its column in tables.
    pub name: String,
    /// Where it is, or how it starts.
    pub source: Source,
    /// Name to send; the first that the server lists if `None`.
    pub model: Option<String>,
}

/// Where a server is, or how it starts.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// It runs already.
    Url(String),
    /// A shell command with `{port}` in it.
    Command(String),
    /// This program serves the model.
    Own(PathBuf),
}

/// The servers that the options name; at least one, with different names.
///
/// # Errors
/// What names none, and what cannot be understood, by option.
pub fn targets(args: &TargetArgs) -> Result<Vec<TargetSpec>> {
    if args.targets.is_empty() {
        return single(args).map(|target| vec![target]);
    }
    let mut targets = args.targets.iter().map(|text| target(text, args)).collect::<Result<Vec<_>>>()?;
    for text in &args.target_models {
        let (name, model) = pair(text, "--target-model needs NAME=MODEL")?;
        let found = targets.iter_mut().find(|target| target.name == name);
        found.with_context(|| format!("--target-model {text}: there is no target {name}"))?.model =
            Some(model.to_owned());
    }
    for (idx, target) in targets.iter().enumerate() {
        let is_twice = targets[..idx].iter().any(|other| other.name == target.name);
        ensure!(!is_twice, "two targets are called {}; give them different names", target.name);
    }
    Ok(targets)
}

fn single(args: &TargetArgs) -> Result<TargetSpec> {
    let model = args.model.clone();
    match (&args.url, &args.serve_command, &args.model) {
        (Some(url), _, _) => Ok(TargetSpec { name: "server".to_owned(), source: Source::Url(url.clone()), model }),
        (None, Some(command), _) => {
            Ok(TargetSpec { name: "server".to_owned(), source: started_by(command, "--serve-command")?, model })
        }
        (None, None, Some(folder)) => {
            Ok(TargetSpec { name: "tokbar".to_owned(), source: Source::Own(folder.into()), model: None })
        }
        (None, None, None) => {
            bail!(
                "what should be measured? Give --model FOLDER for a server of this program's own, or --url, --serve-command or --target"
            )
        }
    }
}

fn target(text: &str, args: &TargetArgs) -> Result<TargetSpec> {
    let (name, place) = pair(text, "--target needs NAME=URL, or NAME=COMMAND with {port} in it")?;
    let is_url = place.starts_with("http://") || place.starts_with("https://");
    let source = if is_url { Source::Url(place.to_owned()) } else { started_by(place, "--target")? };
    Ok(TargetSpec { name: name.to_owned(), source, model: args.model.clone() })
}

fn started_by(command: &str, option: &str) -> Result<Source> {
    ensure!(command.contains("{port}"), "{option}: write {{port}} where `{command}` takes its port");
    Ok(Source::Command(command.to_owned()))
}

fn pair<'a>(text: &'a str, needed: &str) -> Result<(&'a str, &'a str)> {
    let (name, value) = text.split_once('=').with_context(|| format!("{needed}, not `{text}`"))?;
    ensure!(!name.is_empty() && !value.is_empty(), "{needed}, not `{text}`");
    Ok((name, value))
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
