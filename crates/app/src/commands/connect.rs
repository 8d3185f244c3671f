//! `tokbar connect`: points other programs at a running server, and back.

use std::io::{IsTerminal, stdin};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use crate::cli::{ConnectArgs, TargetModelArgs};
use crate::connect::{self, Client, Place, Plan, Target};
use crate::{control, say};

/// Lists the clients, or shows what connecting one changes and does it.
pub fn run(args: &ConnectArgs) -> Result<()> {
    let place = Place::of_user()?;
    let Some(name) = &args.client else { return list(&place, args.json) };
    let client = client(name)?;
    if args.remove {
        let plan = connect::plan_removal(client, &place)?;
        return carry_out(&plan, &place, args, &format!("{} is as it was.", client.title));
    }
    let plan = connect::plan(client, &target(&args.target)?, &place)?;
    if plan.changes.is_empty() {
        return Ok(say::piece(&plan.notes)?);
    }
    carry_out(&plan, &place, args, &format!("{} is connected. Undo: tokbar connect {name} --remove", client.title))?;
    if !plan.notes.is_empty() {
        say::line(&plan.notes)?;
    }
    Ok(())
}

/// The client of that name.
///
/// # Errors
/// When there is none.
pub fn client(name: &str) -> Result<&'static Client> {
    connect::find(name).ok_or_else(|| {
        let names: Vec<&str> = connect::clients().iter().map(|client| client.name).collect();
        anyhow!("no client is named {name:?}; there are {}", names.join(", "))
    })
}

/// What the server that runs serves.
///
/// # Errors
/// When none runs, several do, or it has no such model.
pub fn target(args: &TargetModelArgs) -> Result<Target> {
    let doors = control::doors(&args.ask)?;
    let [door] = &doors[..] else {
        let addresses: Vec<&str> = doors.iter().map(|door| door.address.as_str()).collect();
        bail!("several servers run: {}; choose one with --server", addresses.join(", "));
    };
    let (address, listed) = (&door.address, control::fetch(door, "/v1/models")?);
    let models = listed["data"].as_array().cloned().unwrap_or_default();
    let model = match &args.model {
        None => models
            .iter()
            .find(|model| model["state"] != "available")
            .cloned()
            .context("the server has no model yet; wait until it is loaded")?,
        // A model that is on this machine and not loaded is loaded when it is called.
        Some(name) => models.iter().find(|model| is_named(model, name)).cloned().unwrap_or_else(|| unloaded(name)),
    };
    let id = args.model.clone().or_else(|| model["id"].as_str().map(str::to_owned));
    let n_context = model["context_window"].as_u64().and_then(|n| usize::try_from(n).ok());
    Ok(Target {
        address: format!("http://{}", address.replace("127.0.0.1:", "localhost:")),
        model: id.context("the server tells no name of its model")?,
        n_context: n_context.unwrap_or(connect::N_CONTEXT_UNKNOWN),
        key: args.ask.api_key.clone(),
    })
}

fn is_named(model: &Value, name: &str) -> bool {
    model["id"] == name || model["aliases"].as_array().is_some_and(|names| names.iter().any(|alias| alias == name))
}

fn unloaded(name: &str) -> Value {
    tracing::info!("the server has not loaded {name}; its context is not known yet");
    serde_json::json!({ "id": name })
}

fn carry_out(plan: &Plan, place: &Place, args: &ConnectArgs, news: &str) -> Result<()> {
    let mut changes = plan.changes.iter().filter(|change| !change.is_none()).peekable();
    if changes.peek().is_none() && !args.remove {
        return Ok(say::line("Nothing changes.")?);
    }
    for change in changes {
        say::piece(&format!("{}\n{}\n", change.path.display(), change.diff()))?;
    }
    if args.dry_run {
        return Ok(());
    }
    if !args.yes {
        if !stdin().is_terminal() {
            bail!("nothing was changed: there is nobody to ask; say --yes to change it, or --dry-run to only look");
        }
        if !say::is_agreed("Change it?")? {
            return Ok(());
        }
    }
    connect::apply(plan, place)?;
    Ok(say::line(news)?)
}

fn list(place: &Place, as_json: bool) -> Result<()> {
    let clients = connect::list(place);
    if as_json {
        return Ok(say::line(serde_json::to_string_pretty(&clients)?)?);
    }
    for client in clients {
        let state = match (client.kind, client.is_connected) {
            ("steps", _) => "prints what to do".to_owned(),
            (_, true) => "connected".to_owned(),
            (_, false) => client.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", "),
        };
        say::line(format_args!("{:<18} {:<26} {state}", client.name, client.title))?;
    }
    Ok(())
}
