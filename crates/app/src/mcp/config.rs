//! The file of MCP servers, in the shape that other programs use: `{"mcpServers": {"NAME": {"command": ..., "args": [...]}}}`
//! for programs, `{"url": ..., "headers": {...}}` for servers elsewhere.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

const N_BYTES_MAX: u64 = 1 << 20;
const N_SOURCES_MAX: usize = 32;
const N_NAME_MAX: usize = 24;

/// A source of tools.
pub struct Entry {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub recipe: Recipe,
}

/// How a source is reached.
#[derive(Clone)]
pub enum Recipe {
    /// A program that talks over its standard input and output.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that it gets besides ours.
        env: BTreeMap<String, String>,
        /// Where it runs.
        cwd: Option<PathBuf>,
    },
    /// A server over HTTP.
    Http {
        /// Its address.
        url: String,
        /// What each call carries.
        headers: BTreeMap<String, String>,
    },
}

#[derive(Deserialize)]
struct Document {
    #[serde(alias = "servers", rename = "mcpServers")]
    servers: BTreeMap<String, Wire>,
}

/// Other programs have more fields, which mean nothing here.
#[derive(Deserialize)]
struct Wire {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// All sources of a file that are not switched off.
///
/// # Errors
/// When the file cannot be read, is broken, or names a source that cannot be.
pub fn read(path: &Path) -> Result<Vec<Entry>> {
    let mut text = Vec::new();
    let file = File::open(path).context("it cannot be read")?;
    file.take(N_BYTES_MAX + 1).read_to_end(&mut text).context("it cannot be read")?;
    if text.len() as u64 > N_BYTES_MAX {
        bail!("it is longer than any list of MCP servers");
    }
    parse(&text)
}

/// As [`read`], of the file's text.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &[u8]) -> Result<Vec<Entry>> {
    let document: Document = serde_json::from_slice(text).context("it is no list of MCP servers")?;
    let wires = document.servers.into_iter().filter(|(_, wire)| !wire.disabled);
    let entries: Vec<Entry> = wires.map(|(name, wire)| entry(name, wire)).collect::<Result<_>>()?;
    if entries.is_empty() || entries.len() > N_SOURCES_MAX {
        bail!("it names {} servers; one to {N_SOURCES_MAX} can be used", entries.len());
    }
    Ok(entries)
}

fn entry(name: String, wire: Wire) -> Result<Entry> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || name.len() > N_NAME_MAX || !name.chars().all(is_plain) {
        bail!("{name:?} is no name for a server here; use up to {N_NAME_MAX} letters, digits and '-'");
    }
    let recipe = match (wire.command, wire.url) {
        (Some(command), None) if !command.is_empty() => {
            Recipe::Program { command, args: wire.args, env: wire.env, cwd: wire.cwd }
        }
        (None, Some(url)) if url.starts_with("http://") || url.starts_with("https://") => {
            Recipe::Http { url, headers: wire.headers }
        }
        _ => bail!("{name} needs either a `command`, or a `url` that begins with http:// or https://"),
    };
    Ok(Entry { name, recipe })
}
