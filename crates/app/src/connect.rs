//! Pointing other programs at a server of ours: their configuration is edited, shown as a difference first, and put back.
//!
//! [`list`] tells what there is, [`plan`] and [`plan_removal`] what would change, [`apply`] changes it. Knows where clients keep
//! their settings and which of them are ours; must not know how anything is shown or asked.

mod clients;
mod diff;
mod edit;
mod file;
mod json;
mod part;
mod path;
mod plan;
mod record;
mod snippets;
mod toml;
mod yaml;

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use directories::BaseDirs;
use serde::Serialize;

pub use clients::{Client, How, Launch, clients, find};
pub use part::ClientsPart;
pub use plan::{Change, Plan, apply, plan, plan_removal};

use crate::config_dir;

/// What clients are pointed at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Scheme, host and port, such as `http://localhost:8000`.
    pub address: String,
    /// The model's name in calls.
    pub model: String,
    /// Most tokens of a prompt and its answer.
    pub n_context: usize,
    /// The key that the server asks for, if it does.
    pub key: Option<String>,
}

impl Target {
    /// Where OpenAI's clients start.
    pub fn openai_url(&self) -> String {
        format!("{}/v1", self.address)
    }

    /// A key for clients that demand one.
    pub fn key_or_any(&self) -> &str {
        self.key.as_deref().unwrap_or("tokbar")
    }
}

/// Whose settings are changed, and where it is noted.
#[derive(Clone, Debug)]
pub struct Place {
    /// The user's home folder.
    pub home: PathBuf,
    /// Whether variables of the environment, such as `CODEX_HOME`, may name other folders.
    pub reads_environment: bool,
    /// Folder of notes and backups.
    pub records: PathBuf,
}

impl Place {
    /// This user's settings.
    ///
    /// # Errors
    /// When the user has no home folder.
    pub fn of_user() -> Result<Self> {
        let dirs = BaseDirs::new().ok_or_else(|| anyhow!("this user has no home folder"))?;
        let records = config_dir::place()?.join("connect");
        Ok(Self { home: dirs.home_dir().to_owned(), reads_environment: true, records })
    }

    /// Settings in a folder of their own, where nothing else is.
    pub fn under(dir: &std::path::Path) -> Self {
        Self { home: dir.to_owned(), reads_environment: false, records: dir.join(".tokbar") }
    }
}

/// A client as listings show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name in commands.
    pub name: &'static str,
    /// Its name in print.
    pub title: &'static str,
    /// `files` where its settings are edited, `steps` where a person is told what to do.
    pub kind: &'static str,
    /// Whether it was connected here and not removed since.
    pub is_connected: bool,
    /// Whether its program is on this machine, where that can be seen.
    pub is_installed: Option<bool>,
    /// Whether it can be launched.
    pub can_launch: bool,
    /// The files that are edited.
    pub files: Vec<PathBuf>,
}

/// All clients, in order of their names.
pub fn list(place: &Place) -> Vec<Listed> {
    let listed = |client: &'static Client| Listed {
        name: client.name,
        title: client.title,
        kind: match client.how {
            How::Files(_) => "files",
            How::Steps(_) => "steps",
        },
        is_connected: record::exists(place, client.name),
        is_installed: client.launch.as_ref().map(|launch| is_on_path(launch.program)),
        can_launch: client.launch.is_some(),
        files: client.files(place),
    };
    clients().iter().map(listed).collect()
}

/// What clients are told of a model that is not loaded.
pub const N_CONTEXT_UNKNOWN: usize = 32_768;

/// The language of the code that connects a client; `None` where no code does.
fn language(client: &str) -> Option<&'static str> {
    match client {
        "ai-sdk" | "anthropic-node" | "openai-node" => Some("javascript"),
        "anthropic-python" | "langchain" | "litellm" | "ollama-python" | "openai-python" => Some("python"),
        "shell" => Some("sh"),
        _ => None,
    }
}

fn is_on_path(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|dir| dir.join(program).is_file())
}

#[cfg(test)]
#[path = "connect_tests.rs"]
mod tests;
