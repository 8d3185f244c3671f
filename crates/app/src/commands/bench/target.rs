//! One server under measurement, started and stopped as the suites need it.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::client::{self, Call, Endpoint};
use super::options::{Source, TargetSpec};
use super::prompts::{self, Draw};
use super::worker::Server;
use crate::control;
use crate::lifecycle::mark;

/// Between two looks at a server that is starting.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Enough for a server to allocate and compile what it needs.
const N_WARM_UP_TOKENS: usize = 8;

/// A server under measurement.
pub struct Target {
    /// What it is and where.
    pub spec: TargetSpec,
    /// How to speak to it.
    pub endpoint: Endpoint,
    /// What a reader of its figures should know.
    pub notes: Vec<String>,
    api_key: Option<String>,
    patience: Duration,
    server: Option<Server>,
    /// Of a server of this program's own; it outlives restarts.
    cache: TempDir,
    n_starts: u64,
    seed: u64,
}

/// What all targets share.
pub struct Shared {
    /// Bearer token.
    pub api_key: Option<String>,
    /// Longest wait for a start or an answer.
    pub patience: Duration,
    /// Makes the prompts of warm-ups.
    pub seed: u64,
}

impl Target {
    /// Starts the server if that is to be done, waits until it answers, and warms it up.
    ///
    /// # Errors
    /// When it does not start, or does not answer in OpenAI's way; with the end of its output.
    pub async fn start(spec: TargetSpec, shared: &Shared) -> Result<Self> {
        let url = if let Source::Url(url) = &spec.source { url } else { "http://127.0.0.1" };
        let endpoint = Endpoint::new(url, shared.api_key.clone(), shared.patience)?;
        let (api_key, patience, seed) = (shared.api_key.clone(), shared.patience, shared.seed);
        let cache = tempfile::tempdir().context("cannot make a folder for the server's cache")?;
        let mut target =
            Self { spec, endpoint, notes: Vec::new(), api_key, patience, server: None, cache, n_starts: 0, seed };
        target.launch().await?;
        Ok(target)
    }

    /// Whether this program can kill and start it.
    pub fn can_restart(&self) -> bool {
        !matches!(self.spec.source, Source::Url(_))
    }

    /// `kill -9`, then a new start; returns the seconds from the start to the first answer.
    ///
    /// # Errors
    /// As `start`.
    pub async fn restart(&mut self) -> Result<f64> {
        if let Some(server) = self.server.take() {
            let pid = server.kill().await?;
            control::marks().iter().for_each(|dir| mark::forget(dir, pid));
        }
        let started = Instant::now();
        self.launch().await?;
        Ok(started.elapsed().as_secs_f64())
    }

    /// Starts it again if it has died.
    ///
    /// # Errors
    /// As `start`.
    pub async fn revive(&mut self) -> Result<()> {
        let Some(server) = &mut self.server else { return Ok(()) };
        if let Some(status) = server.ended() {
            let note = format!("the server died ({status}) and was started again: {}", server.log_tail());
            self.note(note);
            self.restart().await?;
        }
        Ok(())
    }

    /// Adds a note, once.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            tracing::warn!("{}: {note}", self.spec.name);
            self.notes.push(note);
        }
    }

    async fn launch(&mut self) -> Result<()> {
        if self.can_restart() {
            let port = free_port()?;
            let asks_past_eos = self.endpoint.asks_past_eos;
            self.endpoint = self.at(port)?;
            self.endpoint.asks_past_eos = asks_past_eos;
            self.server = Some(Server::start(self.command(port)?)?);
        }
        self.n_starts += 1;
        self.wait_until_it_answers().await
    }

    fn at(&self, port: u16) -> Result<Endpoint> {
        Endpoint::new(&format!("http://127.0.0.1:{port}/v1"), self.api_key.clone(), self.patience)
    }

    fn command(&self, port: u16) -> Result<Command> {
        match &self.spec.source {
            Source::Url(url) => bail!("{url} is not this program's to start"),
            Source::Command(line) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(line.replace("{port}", &port.to_string()));
                Ok(command)
            }
            Source::Own(model) => {
                let program = std::env::current_exe().context("cannot find this program's own file")?;
                let mut command = Command::new(program);
                command.arg("serve").arg(model).args(["--no-safe-mode", "--port", &port.to_string()]);
                // It starts with an empty cache, and leaves nothing in this user's.
                command.arg("--cache-dir").arg(self.cache.path());
                Ok(command)
            }
        }
    }

    /// A server that this program started gets time to load; one that runs already answers now.
    async fn wait_until_it_answers(&mut self) -> Result<()> {
        let started = Instant::now();
        loop {
            let Err(error) = self.first_answer().await else { return Ok(()) };
            let Some(server) = &mut self.server else { return Err(error) };
            if let Some(status) = server.ended() {
                return Err(self.with_log(error.context(format!("the server ended while it started ({status})"))));
            }
            if started.elapsed() > self.patience || client::is_final(&error) {
                let wait = format!("the server did not answer {} s after its start", started.elapsed().as_secs());
                return Err(self.with_log(error.context(wait)));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Asks for the model's name if it is not known, then for a short answer.
    async fn first_answer(&mut self) -> Result<()> {
        self.endpoint.model = match &self.spec.model {
            Some(model) => model.clone(),
            None => {
                let listed = self.endpoint.models().await?.into_iter().next();
                listed.context("the server lists no model; name one with --model or --target-model")?
            }
        };
        self.warm_up().await
    }

    /// One short answer; finds out whether the server takes `ignore_eos`.
    async fn warm_up(&mut self) -> Result<()> {
        let mut draw = Draw::new(self.seed, &[u64::MAX, self.n_starts]);
        let words = draw.words(N_WARM_UP_TOKENS);
        let call = Call::new(prompts::chat(&prompts::opening(&mut draw), &words), N_WARM_UP_TOKENS);
        let Err(first) = self.endpoint.ask(&call).await else { return Ok(()) };
        if !self.endpoint.asks_past_eos || !client::is_final(&first) {
            return Err(first);
        }
        self.endpoint.asks_past_eos = false;
        if self.endpoint.ask(&call).await.is_err() {
            self.endpoint.asks_past_eos = true;
            return Err(first);
        }
        self.note("it refuses `ignore_eos`, so answers may end early".to_owned());
        Ok(())
    }

    fn with_log(&self, error: anyhow::Error) -> anyhow::Error {
        match &self.server {
            Some(server) => error.context(format!("{} says: {}", self.spec.name, server.log_tail())),
            None => error,
        }
    }
}

/// A port that nobody listens on now. Somebody may take it before the server does; then the server says so.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    Ok(listener.local_addr().context("a socket has no address")?.port())
}
