//! What engines may hold for the time being: less while memory is short, and after an unclean end.

use tokbar_engine::Hold;
use tokbar_server::PressureChange;

use super::super::keeper::Refusing;
use super::super::safe::{Service, tighter};
use super::{Worker, now, push};
use crate::cli::DraftArgs;
use crate::pressure::Level;

impl Worker {
    /// Acts when the machine is short of memory, and again when it no longer is.
    pub(super) fn feel_pressure(&mut self) {
        let Some(said) = self.source.as_mut().and_then(|source| source.level()) else { return };
        let Some(level) = self.policy.observe(self.start.elapsed(), said) else { return };
        push(&mut self.pressure_history, PressureChange { at: now(), level });
        let refuses = if level == Level::Critical { Refusing::All } else { Refusing::Nothing };
        match level {
            Level::Normal => {
                self.hold = Hold::default();
                self.act("memory pressure is over: everything is as before".to_owned());
            }
            Level::Warning => {
                let n_running = self.residents.iter().map(|resident| resident.served.engine.stats().n_running).sum();
                self.hold = Hold { n_rows: usize::max(n_running, 1), kept_bytes: 0 };
                self.act("memory pressure: kept KV goes to disk, and no more sequences start at once".to_owned());
            }
            Level::Critical => {
                self.hold = Hold { n_rows: 1, kept_bytes: 0 };
                self.act("memory pressure is critical: idle models are unloaded, and calls are refused".to_owned());
            }
        }
        self.bound();
        self.shared.refuse(refuses);
        if level == Level::Critical {
            let idle = self.held().into_iter().filter(|held| !held.is_busy && !held.is_pinned);
            for held in idle.collect::<Vec<_>>() {
                self.act(format!("{} is unloaded: memory is short", held.name));
                self.report(&held.name);
            }
        }
    }

    /// Lets go of the bounds after an unclean end once it has gone well for a while.
    pub(super) fn leave_safe_mode(&mut self) {
        let is_good = !self.residents.is_empty() && self.policy.level() == Level::Normal;
        let (now, service) = (self.start.elapsed(), if is_good { Service::Good } else { Service::Idle });
        let Some(safe) = self.safe.take_if(|safe| safe.is_over(now, service)) else { return };
        let (draft, words) = safe.end();
        // The draft model is the first model's; others never have it.
        let others = DraftArgs { draft_model: None, ..draft.clone() };
        self.recipes.iter_mut().for_each(|recipe| recipe.model.draft = others.clone());
        self.usual.model.draft = draft.clone();
        if let Some(first) = self.recipes.first_mut().filter(|first| first.model.model == self.usual.model.model) {
            first.model.draft = draft;
        }
        self.bound();
        self.act(words);
    }

    /// What each engine may hold now.
    pub(super) fn bounds(&self) -> Hold {
        self.safe.as_ref().map_or(self.hold, |safe| tighter(self.hold, safe.hold()))
    }

    fn bound(&self) {
        let bounds = self.bounds();
        self.residents.iter().for_each(|resident| resident.served.engine.hold(bounds));
    }
}
