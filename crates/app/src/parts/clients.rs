//! Setting clients up over the control API.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tokbar_server::control::{ClientFile, ClientHow, ClientInfo, ClientPlan, ClientTest, Clients, Snippet};
use tokbar_server::{ApiError, Models, Problem};

use super::refusal;
use crate::connect::{self, Client, How, Listed, Place, Plan, Target};
use crate::control::{self, Door};
use crate::{key_file, say};

/// What clients are told of a model that is not loaded.
const N_CONTEXT_UNKNOWN: usize = 32_768;

/// See the module.
pub struct Connections {
    /// What is served.
    pub models: Models,
    /// Where the server is, as clients reach it, and what opens it.
    pub door: Door,
}

impl Connections {
    fn target(&self, model: Option<&str>, key: Option<&str>) -> Result<Target, ApiError> {
        let loaded = self.models.find(model).ok();
        let named = loaded.as_ref().map(|loaded| loaded.id.clone()).or_else(|| model.map(str::to_owned));
        let detail = "no model is loaded: load one first, or name the one that the client is to use";
        Ok(Target {
            address: format!("http://{}", self.door.address),
            model: named.ok_or_else(|| ApiError::wish(Problem::Busy, detail))?,
            n_context: loaded.map_or(N_CONTEXT_UNKNOWN, |loaded| loaded.engine.info().n_context),
            key: key.map(str::to_owned),
        })
    }
}

impl Clients for Connections {
    fn list(&self) -> Result<Vec<ClientInfo>, ApiError> {
        Ok(connect::list(&place()?).into_iter().map(info).collect())
    }

    fn plan(&self, client: &str, model: Option<&str>) -> Result<ClientPlan, ApiError> {
        let (client, place) = (find(client)?, place()?);
        let plan = connect::plan(client, &self.target(model, None)?, &place).map_err(refusal::machine)?;
        shown(client, &plan, &place)
    }

    fn apply(&self, client: &str, model: Option<&str>, key: Option<&str>) -> Result<ClientPlan, ApiError> {
        let (client, place) = (find(client)?, place()?);
        if key.is_none() && needs_key()? {
            let detail = "this server asks for a key: make one under keys, and give it along";
            return Err(ApiError::invalid("key", detail));
        }
        let plan = connect::plan(client, &self.target(model, key)?, &place).map_err(refusal::machine)?;
        connect::apply(&plan, &place).map_err(refusal::machine)?;
        tracing::info!(client = client.name, "a client is set up");
        shown(client, &plan, &place)
    }

    fn remove(&self, client: &str) -> Result<ClientPlan, ApiError> {
        let (client, place) = (find(client)?, place()?);
        let busy = |error: anyhow::Error| ApiError::wish(Problem::Busy, say::cause(&error));
        let plan = connect::plan_removal(client, &place).map_err(busy)?;
        connect::apply(&plan, &place).map_err(refusal::machine)?;
        shown(client, &plan, &place)
    }

    fn test(&self, client: &str, model: Option<&str>) -> Result<ClientTest, ApiError> {
        let target = self.target(model, None)?;
        let messages = json!([{"role": "user", "content": "Say hello."}]);
        let body = json!({"model": target.model, "messages": messages, "max_tokens": 16});
        let path = if find(client)?.name.contains("claude") { "/v1/messages" } else { "/v1/chat/completions" };
        let start = Instant::now();
        let answer = control::post(&self.door, path, &body);
        let took_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(match answer {
            Ok(answer) => ClientTest { ok: true, words: words(&answer), took_ms },
            Err(error) => ClientTest { ok: false, words: say::cause(&error), took_ms },
        })
    }
}

/// Whether calls must bring a key that this user made.
fn needs_key() -> Result<bool, ApiError> {
    let path = key_file::place().map_err(refusal::machine)?;
    Ok(!key_file::read(&path).map_err(refusal::machine)?.is_empty())
}

/// The text of an answer in either dialect.
fn words(answer: &Value) -> String {
    let chat = &answer["choices"][0]["message"];
    let texts = [&chat["content"], &chat["reasoning_content"], &answer["content"][0]["text"]];
    texts.into_iter().filter_map(Value::as_str).find(|text| !text.is_empty()).unwrap_or("it answers").to_owned()
}

fn place() -> Result<Place, ApiError> {
    Place::of_user().map_err(refusal::machine)
}

fn find(name: &str) -> Result<&'static Client, ApiError> {
    connect::find(name).ok_or_else(|| {
        let names: Vec<&str> = connect::clients().iter().map(|client| client.name).collect();
        ApiError::wish(Problem::Missing, format!("no client is named {name:?}: there are {}", names.join(", ")))
    })
}

fn info(listed: Listed) -> ClientInfo {
    let first = listed.files.first();
    ClientInfo {
        id: listed.name.to_owned(),
        name: listed.title.to_owned(),
        how: if listed.kind == "files" { ClientHow::Config } else { ClientHow::Steps },
        // Where its settings lie, the client has been.
        is_installed: first.map(|file| file.exists() || file.parent().is_some_and(Path::is_dir)),
        is_connected: listed.is_connected,
        path: first.map(|file| file.display().to_string()),
    }
}

fn shown(client: &'static Client, plan: &Plan, place: &Place) -> Result<ClientPlan, ApiError> {
    let listed = connect::list(place).into_iter().find(|listed| listed.name == client.name);
    let info = info(listed.ok_or_else(|| refusal::machine(anyhow::anyhow!("{} is not listed", client.name)))?);
    let file = |change: &connect::Change| ClientFile {
        path: change.path.display().to_string(),
        before: change.before(),
        after: change.after(),
        diff: change.diff(),
    };
    let is_steps = matches!(client.how, How::Steps(_));
    let notes = plan.notes.trim();
    let snippet = Snippet { title: client.title.to_owned(), language: "text".to_owned(), text: notes.to_owned() };
    Ok(ClientPlan {
        is_removal_possible: info.is_connected,
        client: info,
        files: plan.changes.iter().filter(|change| !change.is_none()).map(file).collect(),
        snippets: if is_steps && !notes.is_empty() { vec![snippet] } else { Vec::new() },
        steps: if is_steps || notes.is_empty() { Vec::new() } else { vec![notes.to_owned()] },
    })
}
