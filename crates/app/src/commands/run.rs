//! `tokbar run`: a chat in the terminal, or one answer.

use anyhow::{Context, Result, anyhow};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use serde_json::Map;
use tokbar_chat::{AnswerRules, Event, Message, Prompt, Role, StopStrings};
use tokbar_engine::SamplingOptions;
use tokbar_server::{Job, Models, Scope, ServerOptions, ServerState, Update};

use crate::cli::RunArgs;
use crate::{lifecycle, say, wiring};

const HELP: &str = "Type a message. /clear forgets the conversation, /bye or Ctrl-D ends it, Ctrl-C stops an answer.";

/// Loads the model and answers the prompt, or chats until the person leaves.
pub fn run(args: &RunArgs) -> Result<()> {
    let loaded = lifecycle::load(&args.model)?;
    let engine = loaded.engine.clone();
    let chat = loaded.text.template.is_some();
    let state = ServerState::new(Models::new(vec![loaded.into_served(Vec::new())]), ServerOptions::default());
    let mut talk = Talk { state, args, messages: opening(args) };
    let outcome = match &args.prompt {
        Some(prompt) if !chat => talk.complete(prompt),
        Some(prompt) => talk.answer(prompt),
        None if !chat => Err(anyhow!(
            "this checkpoint has no chat template; give a prompt to continue, or an instruction-tuned model"
        )),
        None => talk.converse(),
    };
    engine.shutdown();
    outcome
}

fn opening(args: &RunArgs) -> Vec<Message> {
    args.system.iter().map(|text| Message::new(Role::System, text.clone())).collect()
}

struct Talk<'a> {
    state: ServerState,
    args: &'a RunArgs,
    messages: Vec<Message>,
}

impl Talk<'_> {
    fn converse(&mut self) -> Result<()> {
        say::line(HELP)?;
        let mut editor = DefaultEditor::new().context("cannot read from the terminal")?;
        loop {
            match editor.readline("> ") {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) if line.trim() == "/bye" => return Ok(()),
                Ok(line) if line.trim() == "/clear" => self.messages = opening(self.args),
                Ok(line) if line.starts_with('/') => say::line(HELP)?,
                Ok(line) => self.take_line(&mut editor, &line)?,
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => return Err(error).context("cannot read from the terminal"),
            }
        }
    }

    /// An answer that fails is said; the conversation goes on without it.
    fn take_line(&mut self, editor: &mut DefaultEditor, line: &str) -> Result<()> {
        editor.add_history_entry(line).context("cannot remember the line")?;
        let n_messages = self.messages.len();
        if let Err(error) = self.answer(line) {
            eprintln!("error: {}", say::cause(&error));
            self.messages.truncate(n_messages);
        }
        Ok(())
    }

    fn answer(&mut self, text: &str) -> Result<()> {
        self.messages.push(Message::new(Role::User, text.to_owned()));
        let messages = self.messages.clone();
        let answer = self.print(Prompt::Chat { messages, tools: Vec::new(), template_kwargs: Map::new() })?;
        self.messages.push(Message::new(Role::Assistant, answer));
        Ok(())
    }

    fn complete(&self, text: &str) -> Result<()> {
        self.print(Prompt::Text(text.to_owned())).map(|_| ())
    }

    /// Prints the text as it comes, and returns it. Ctrl-C ends it early.
    fn print(&self, prompt: Prompt) -> Result<String> {
        wiring::block_on(async {
            let stop = wiring::stop_signal(1)?;
            let mut answer = String::new();
            tokio::select! {
                printed = self.stream(prompt, &mut answer) => printed?,
                () = stop => {}
            }
            say::line("")?;
            Ok(answer)
        })
    }

    async fn stream(&self, prompt: Prompt, answer: &mut String) -> Result<()> {
        let model = self.state.models.find(None)?;
        let mut generations = tokbar_server::start(&self.state, &model, self.job(prompt)?).await?;
        let mut generation = generations.pop().context("the engine started nothing")?;
        while let Some(update) = generation.next().await {
            match update {
                Update::Piece { event: Event::Text(text), .. } => {
                    say::piece(&text)?;
                    answer.push_str(&text);
                }
                Update::Piece { event: Event::Reasoning(text), .. } => say::aside(&text),
                Update::Failed(error) => return Err(error.into()),
                Update::Prompt(_) | Update::Piece { .. } | Update::Finish { .. } => {}
            }
        }
        Ok(())
    }

    fn job(&self, prompt: Prompt) -> Result<Job> {
        Ok(Job {
            prompts: vec![prompt],
            n_choices: 1,
            sampling: SamplingOptions {
                temperature: self.args.temperature,
                top_p: 0.9,
                seed: seed(),
                ..SamplingOptions::default()
            },
            max_tokens: self.args.max_tokens,
            stop: StopStrings::new(Vec::new())?,
            scope: Scope::default(),
            rules: AnswerRules::default(),
            prediction: None,
        })
    }
}

/// Another one on every call.
fn seed() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
