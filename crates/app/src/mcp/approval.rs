//! Which calls may run: those that the command line allows, and those that a person allows while they wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokbar_chat::ToolCall;
use tokbar_server::ApiError;
use tokbar_server::control::{WaitingCall, Word};
use tokio::sync::oneshot;

/// How long a call waits for a word; then it does not run.
const PATIENCE: Duration = Duration::from_secs(120);
/// Most calls that wait at once.
const N_WAITING_MAX: usize = 64;

/// See the module.
pub struct Approvals {
    /// Names, and beginnings of names before a star.
    patterns: Vec<String>,
    desk: Mutex<Desk>,
}

#[derive(Default)]
struct Desk {
    n_asked: u64,
    always: BTreeSet<String>,
    waiting: BTreeMap<u64, (WaitingCall, oneshot::Sender<Word>)>,
}

impl Approvals {
    /// Allows what these patterns fit.
    pub fn new(patterns: Vec<String>) -> Self {
        Self { patterns, desk: Mutex::default() }
    }

    /// Whether a call may run; waits for a word where nothing says so. A caller that is gone takes its question along.
    pub async fn is_allowed(&self, call: &ToolCall) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => call.name.starts_with(start),
            None => *pattern == call.name,
        };
        if self.patterns.iter().any(fits) || self.desk().always.contains(&call.name) {
            return true;
        }
        let Some((question, word)) = self.ask(call) else { return false };
        tracing::info!("{} waits for a word: POST /control/v1/tools/decide", call.name);
        let word = tokio::time::timeout(PATIENCE, word).await;
        drop(question);
        match word {
            Ok(Ok(Word::Once)) => true,
            Ok(Ok(Word::Always)) => {
                self.desk().always.insert(call.name.clone());
                true
            }
            _ => false,
        }
    }

    /// Calls that wait, the oldest first.
    pub fn waiting(&self) -> Vec<WaitingCall> {
        self.desk().waiting.values().map(|(call, _)| call.clone()).collect()
    }

    /// A word on a call that waits.
    ///
    /// # Errors
    /// When it does not wait.
    pub fn decide(&self, id: u64, word: Word) -> Result<(), ApiError> {
        let found = self.desk().waiting.remove(&id);
        let sent = found.is_some_and(|(_, sender)| sender.send(word).is_ok());
        if sent { Ok(()) } else { Err(ApiError::invalid("id", format!("{id} is no call that waits for a word"))) }
    }

    fn ask(&self, call: &ToolCall) -> Option<(Question<'_>, oneshot::Receiver<Word>)> {
        let mut desk = self.desk();
        if desk.waiting.len() >= N_WAITING_MAX {
            return None;
        }
        desk.n_asked += 1;
        let id = desk.n_asked;
        let (sender, receiver) = oneshot::channel();
        let shown = WaitingCall { id, tool: call.name.clone(), arguments: call.arguments.clone() };
        desk.waiting.insert(id, (shown, sender));
        Some((Question { approvals: self, id }, receiver))
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Taken back when dropped.
struct Question<'a> {
    approvals: &'a Approvals,
    id: u64,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.approvals.desk().waiting.remove(&self.id);
    }
}
