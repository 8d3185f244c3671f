//! What the menu is made of.

use tokbar_app::pressure::Level;

use super::Dot;
use crate::offered::Offer;

/// What is the case now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// In memory, on the way there, or on the way out.
    pub models: Vec<Loaded>,
    /// What went wrong last, until something goes well.
    pub trouble: Option<Trouble>,
    /// `None` while nothing is known.
    pub memory: Option<Memory>,
    /// Where clients find the server; `None` while it does not serve.
    pub endpoint: Option<String>,
    /// What can be started or got.
    pub offered: Offered,
    /// Clients that can be set up: what the window calls them, and what people do.
    pub clients: Vec<(String, String)>,
    /// Whether the run before ended unexpectedly.
    pub ended_badly: bool,
    /// Whether there is a report of that.
    pub has_report: bool,
    /// Whether models are loaded with less because of that.
    pub is_safe: bool,
    /// The version of an update that can be installed now.
    pub update: Option<String>,
    /// Whether the rate stands beside the icon.
    pub shows_rate: bool,
}

/// How the memory is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// How short it is.
    pub level: Level,
    /// Bytes that nobody holds.
    pub n_free_bytes: u64,
}

/// Something that a person should know.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// The server does not run, and why.
    NotServing(String),
    /// A model was not loaded, and why.
    LoadFailed(String, String),
}

/// What can be started or got.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offered {
    /// Whole models on this machine.
    pub here: Vec<Offer>,
    /// Models that fit and are not here.
    pub fitting: Vec<Offer>,
    /// The one to start with.
    pub recommended: Option<String>,
    /// Names of those that were started, the newest first.
    pub recents: Vec<String>,
}

/// A model in memory, or about to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Its name.
    pub name: String,
    /// Bytes of its weights and its kept state; 0 while it comes.
    pub n_bytes: u64,
    /// Whether it stays.
    pub is_pinned: bool,
    /// What it does.
    pub phase: Phase,
}

/// What a model does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// Comes.
    Loading {
        /// Of its weights that are there.
        percent: u8,
    },
    /// Waits for calls.
    Ready,
    /// Reads prompts.
    Prefill {
        /// Of them that is read, where that is known.
        percent: Option<u8>,
    },
    /// Writes answers.
    Decode {
        /// Over all of them.
        tokens_per_s: f64,
    },
    /// Goes.
    Leaving,
}

impl Phase {
    /// Its colour.
    pub fn dot(self) -> Dot {
        match self {
            Self::Ready | Self::Decode { .. } => Dot::Green,
            Self::Loading { .. } | Self::Prefill { .. } => Dot::Amber,
            Self::Leaving => Dot::Grey,
        }
    }

    /// How much a person wants to know of it, the most first.
    fn rank(self) -> u8 {
        match self {
            Self::Decode { .. } => 0,
            Self::Prefill { .. } => 1,
            Self::Loading { .. } => 2,
            Self::Ready => 3,
            Self::Leaving => 4,
        }
    }
}

impl Live {
    /// The model that the first line is about.
    pub fn main(&self) -> Option<&Loaded> {
        self.models.iter().min_by_key(|model| model.phase.rank())
    }
}

impl Offered {
    /// The model that Start starts: the last one, else the recommended one, else any, of those that are here.
    pub fn to_start(&self) -> Option<&str> {
        let here = |name: &String| self.here.iter().any(|offer| offer.name == *name);
        let wanted = self.recents.iter().chain(&self.recommended).find(|name| here(name));
        wanted.map(String::as_str).or_else(|| self.here.first().map(|offer| offer.name.as_str()))
    }
}
