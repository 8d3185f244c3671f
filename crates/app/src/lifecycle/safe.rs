//! Safe mode: after an unclean end while a model was loaded, the next start holds less until that went well for a while.

use std::path::Path;
use std::time::Duration;

use tokbar_engine::Hold;
use tokbar_server::control::SafeNote;

use super::mark;
use crate::cli::{DraftArgs, ModelArgs, SpeculationArg};

/// How long it must go well.
pub const GOOD_FOR: Duration = Duration::from_secs(300);
/// KV that is kept: of a sequence of middling length for most models.
const KEPT_BYTES: usize = 1 << 30;

/// Bounds that end by themselves. Pure: time and what is seen come in as arguments.
#[derive(Clone, Debug)]
pub struct SafeMode {
    /// What is said of it, wherever it is asked for, until it is over.
    pub note: SafeNote,
    good_for: Duration,
    /// Since when it has gone well, on the clock of whoever observes.
    good_since: Option<Duration>,
    /// How drafts are made once it is over.
    draft: DraftArgs,
}

/// How it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// A model is loaded, and memory is not short.
    Good,
    /// Nothing is loaded, or memory is short: nothing is learnt from that.
    Idle,
}

impl SafeMode {
    /// Begins if the last run ended uncleanly. `model` loses its drafts for now.
    pub fn after_unclean_end(dir: &Path, model: &mut ModelArgs, good_for: Duration) -> Option<Self> {
        let models = mark::take_unclean(dir);
        let last = models.last()?;
        Some(Self::begin(&format!("the last run ended uncleanly while {last} was loaded"), model, good_for))
    }

    /// Begins because somebody asked for it. `model` loses its drafts for now.
    pub fn as_asked(model: &mut ModelArgs, good_for: Duration) -> Self {
        Self::begin("as asked", model, good_for)
    }

    fn begin(why: &str, model: &mut ModelArgs, good_for: Duration) -> Self {
        let none = DraftArgs { draft_model: None, speculation: SpeculationArg::Off, ..model.draft.clone() };
        let draft = std::mem::replace(&mut model.draft, none);
        let note = format!(
            "{why}: safe mode, with one sequence at a time (other calls wait \
             for it), no drafts and a smaller cache; it ends by itself after {} of good service, or now with a start with \
             --no-safe-mode",
            span(good_for)
        );
        Self { note: SafeNote::new(note), good_for, good_since: None, draft }
    }

    /// What engines may hold meanwhile.
    pub fn hold(&self) -> Hold {
        Hold { n_rows: 1, kept_bytes: KEPT_BYTES }
    }

    /// Tells how it goes at `now`; whether it has gone well for long enough.
    pub fn is_over(&mut self, now: Duration, service: Service) -> bool {
        if service == Service::Idle {
            self.good_since = None;
            return false;
        }
        let since = *self.good_since.get_or_insert(now);
        now.saturating_sub(since) >= self.good_for
    }

    /// Ends it. Returns how drafts are made from the next load on, and what to say.
    pub fn end(self) -> (DraftArgs, String) {
        self.note.lift();
        let words = format!(
            "safe mode is over after {} of good service: calls run side by side again, and drafts come with the next load",
            span(self.good_for)
        );
        (self.draft, words)
    }
}

/// What both allow.
pub fn tighter(a: Hold, b: Hold) -> Hold {
    Hold { n_rows: a.n_rows.min(b.n_rows), kept_bytes: a.kept_bytes.min(b.kept_bytes) }
}

fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds >= 120 => format!("{} minutes", seconds / 60),
        seconds => format!("{seconds} seconds"),
    }
}

#[cfg(test)]
#[path = "safe_tests.rs"]
mod tests;
