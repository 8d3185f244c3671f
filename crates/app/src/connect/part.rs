//! Connecting clients over the control API.

use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};
use tokbar_server::control::{ClientFile, ClientHow, ClientInfo, ClientPlan, ClientTest, Clients, Snippet};
use tokbar_server::{ApiError, Models};

use super::{Client, How, Listed, Place, Plan, Target, apply, find, list, plan, plan_removal};
use crate::cli::AskArgs;
use crate::{control, key_file, launch, say};

/// Tokens of an answer that is only to show that one comes.
const N_TEST_TOKENS: usize = 8;

/// The clients of this user, for one server.
pub struct ClientsPart {
    address: Option<SocketAddr>,
    models: Models,
}

impl ClientsPart {
    /// For the server at `address`, with the models that it serves.
    pub fn new(address: Option<SocketAddr>, models: Models) -> Self {
        Self { address, models }
    }

    fn target(&self, model: Option<&str>, key: Option<&str>) -> Result<Target> {
        let address = launch::host(self.address.context("the server has no address yet")?);
        // A model that is not loaded is loaded when the client calls it; its context is known then.
        let served = self.models.find(model).ok();
        let id = model.map(str::to_owned).or_else(|| served.as_ref().map(|model| model.id.clone()));
        let n_context = served.map_or(super::N_CONTEXT_UNKNOWN, |model| model.engine.info().n_context);
        let model = id.context("no model is loaded; load one, or name one")?;
        Ok(Target { address: format!("http://{address}"), model, n_context, key: key.map(str::to_owned) })
    }

    fn show(&self, client: &'static Client, model: Option<&str>, place: &Place) -> Result<ClientPlan> {
        let plan = plan(client, &self.target(model, None)?, place)?;
        described(client, &plan, place)
    }

    fn change(&self, client: &str, make: impl FnOnce(&'static Client, &Place) -> Result<Plan>) -> Result<ClientPlan> {
        let (client, place) = (known(client)?, Place::of_user()?);
        let plan = make(client, &place)?;
        apply(&plan, &place)?;
        described(client, &plan, &place)
    }

    fn call(&self, client: &'static Client, model: Option<&str>) -> Result<String> {
        let target = self.target(model, None)?;
        let ask = AskArgs { server: Some(target.address.clone()), api_key: None };
        let door = control::doors(&ask)?.into_iter().next().context("the server is not there")?;
        let message = json!([{ "role": "user", "content": "Say hello." }]);
        let (path, field, input) = match client.name {
            "claude-code" | "anthropic-node" | "anthropic-python" => ("/v1/messages", "max_tokens", "messages"),
            "codex" => ("/v1/responses", "max_output_tokens", "input"),
            _ => ("/v1/chat/completions", "max_tokens", "messages"),
        };
        let body = json!({ "model": target.model, (field): N_TEST_TOKENS, (input): message });
        control::send(&door, path, &body).map(|answer| said(&answer))
    }
}

/// The text of an answer of any dialect; what a short answer begins with may be thought, and no text.
fn said(answer: &Value) -> String {
    let places = ["/choices/0/message/content", "/content/0/text", "/output/0/content/0/text"];
    let text = places.iter().find_map(|place| answer.pointer(place)?.as_str()).unwrap_or_default();
    format!("The model answers: {}", if text.trim().is_empty() { "(it thinks)" } else { text.trim() })
}

impl Clients for ClientsPart {
    fn list(&self) -> Result<Vec<ClientInfo>, ApiError> {
        let place = Place::of_user().map_err(refusal)?;
        Ok(list(&place).into_iter().map(info).collect())
    }

    fn plan(&self, client: &str, model: Option<&str>) -> Result<ClientPlan, ApiError> {
        let show = || self.show(known(client)?, model, &Place::of_user()?);
        show().map_err(refusal)
    }

    fn apply(&self, client: &str, model: Option<&str>, key: Option<&str>) -> Result<ClientPlan, ApiError> {
        self.change(client, |client, place| plan(client, &self.target(model, key)?, place)).map_err(refusal)
    }

    fn remove(&self, client: &str) -> Result<ClientPlan, ApiError> {
        self.change(client, plan_removal).map_err(refusal)
    }

    fn test(&self, client: &str, model: Option<&str>) -> Result<ClientTest, ApiError> {
        let client = known(client).map_err(refusal)?;
        let started = Instant::now();
        let answer = self.call(client, model);
        let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(match answer {
            Ok(words) => ClientTest { ok: true, words, took_ms },
            Err(error) => ClientTest { ok: false, words: say::cause(&error), took_ms },
        })
    }
}

fn known(client: &str) -> Result<&'static Client> {
    find(client).ok_or_else(|| anyhow!("no client has the id {client:?}"))
}

fn refusal(error: anyhow::Error) -> ApiError {
    ApiError::invalid("client", say::cause(&error))
}

fn info(listed: Listed) -> ClientInfo {
    let how = match (listed.kind, listed.name) {
        ("files", _) => ClientHow::Config,
        (_, "shell") => ClientHow::Env,
        (_, name) if super::language(name).is_some() => ClientHow::Snippet,
        _ => ClientHow::Steps,
    };
    ClientInfo {
        id: listed.name.to_owned(),
        name: listed.title.to_owned(),
        how,
        is_installed: listed.is_installed,
        is_connected: listed.is_connected,
        path: listed.files.first().map(|path| path.display().to_string()),
    }
}

fn described(client: &'static Client, plan: &Plan, place: &Place) -> Result<ClientPlan> {
    let listed = list(place).into_iter().find(|listed| listed.name == client.name).context("the client is gone")?;
    let is_removal_possible = listed.is_connected;
    let info = info(listed);
    let files = plan.changes.iter().map(|change| {
        let (before, after) = change.texts();
        ClientFile { path: change.path.display().to_string(), before, after, diff: change.diff() }
    });
    let (snippets, mut steps) = match (client.how, super::language(client.name)) {
        (How::Steps(_), Some(language)) => {
            let (title, language) = (client.title.to_owned(), language.to_owned());
            (vec![Snippet { title, language, text: plan.notes.clone() }], Vec::new())
        }
        _ if plan.notes.is_empty() => (Vec::new(), Vec::new()),
        _ => (Vec::new(), plan.notes.split("\n\n").map(|step| step.trim().to_owned()).collect()),
    };
    if !key_file::read(&key_file::place()?)?.is_empty() {
        steps.push(
            "This server asks for a key: make one with `tokbar key add NAME` and put it where the client keeps keys."
                .to_owned(),
        );
    }
    Ok(ClientPlan { client: info, files: files.collect(), snippets, steps, is_removal_possible })
}
