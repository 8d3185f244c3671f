//! Where models usually lie. The environment comes in as a value.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::resolve::cache_dir;

/// Largest settings file of another program that is read, in bytes.
const N_SETTINGS_BYTES_MAX: u64 = 4 << 20;

/// Whose models lie in a place; it decides how they are laid out and what removing one means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The cache that programs share which use the Hub.
    HuggingFace,
    /// LM Studio.
    LmStudio,
    /// Ollama.
    Ollama,
    /// Whoever added the folder.
    Person,
}

impl Owner {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::HuggingFace => "Hugging Face cache",
            Self::LmStudio => "LM Studio",
            Self::Ollama => "Ollama",
            Self::Person => "added folder",
        }
    }
}

/// A folder that models lie in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Whose models.
    pub owner: Owner,
    /// The folder; it need not be there.
    pub path: PathBuf,
}

/// What the usual places depend on.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The home folder.
    pub home: Option<PathBuf>,
    /// `HF_HUB_CACHE`.
    pub hf_hub_cache: Option<OsString>,
    /// `HF_HOME`.
    pub hf_home: Option<OsString>,
    /// `OLLAMA_MODELS`.
    pub ollama_models: Option<OsString>,
    /// Folders that a person added.
    pub added: Vec<PathBuf>,
}

/// The Hugging Face cache, LM Studio's folders, Ollama's store and the added folders.
pub fn usual_places(environment: &Environment) -> Vec<Place> {
    let Environment { home, hf_hub_cache, hf_home, ollama_models, added } = environment;
    let mut places = Vec::new();
    let mut add = |owner: Owner, path: PathBuf| {
        if !places.iter().any(|place: &Place| place.path == path) {
            places.push(Place { owner, path });
        }
    };
    if let Some(cache) = cache_dir(hf_hub_cache.clone(), hf_home.clone(), home.clone()) {
        add(Owner::HuggingFace, cache);
    }
    if let Some(home) = home {
        lm_studio(home).into_iter().for_each(|dir| add(Owner::LmStudio, dir));
    }
    let named = ollama_models.clone().filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(store) = named.or_else(|| home.as_ref().map(|home| home.join(".ollama/models"))) {
        add(Owner::Ollama, store);
    }
    added.iter().for_each(|dir| add(Owner::Person, dir.clone()));
    places
}

/// Where LM Studio's settings say, else its usual folder; and the folder of its early versions, if it is still there.
fn lm_studio(home: &Path) -> Vec<PathBuf> {
    let base = home.join(".lmstudio");
    let named =
        setting(&base.join("settings.json"), "downloadsFolder").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let early = home.join(".cache/lm-studio/models");
    let mut dirs = vec![named.unwrap_or_else(|| base.join("models"))];
    dirs.extend(early.is_dir().then_some(early));
    dirs
}

/// A text in a JSON file of another program, which may change its mind about the file at any time.
fn setting(path: &Path, key: &str) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(N_SETTINGS_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let settings: Value = serde_json::from_slice(&bytes).ok()?;
    settings.get(key)?.as_str().map(str::to_owned)
}
