//! `tokbar key`: the API keys that servers of this user ask for.

use anyhow::Result;
use tokbar_server::KeyScope;

use crate::cli::{KeyCommand, ScopeArg};
use crate::{key_file, say};

/// Changes or lists the file of keys.
pub fn run(command: &KeyCommand) -> Result<()> {
    let path = key_file::place()?;
    match command {
        KeyCommand::Add { name, scope } => {
            let secret = key_file::add(&path, name, scope_of(*scope))?;
            tracing::info!(
                "{name} is the name of this key; it is shown only now. Servers that run already do not know it"
            );
            Ok(say::line(secret)?)
        }
        KeyCommand::List => key_file::read(&path)?.iter().try_for_each(|entry| {
            let day = entry.created.get(..10).unwrap_or(&entry.created);
            Ok(say::line(format_args!("{:<24} {:<10} {day}", entry.name, entry.scope))?)
        }),
        KeyCommand::Remove { name } => {
            key_file::remove(&path, name)?;
            Ok(say::line(format_args!("Removed {name}; servers that run take it until they are restarted"))?)
        }
    }
}

fn scope_of(arg: ScopeArg) -> KeyScope {
    match arg {
        ScopeArg::Inference => KeyScope::Inference,
        ScopeArg::Manage => KeyScope::Manage,
    }
}
