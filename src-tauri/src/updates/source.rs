//! Where updates come from, and whose signature counts.

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tauri::Url;

/// The newest release's.
const MANIFEST: &str = "https://github.com/tokbar/tokbar/releases/latest/download/latest.json";
/// The public half of the key that signs updates, as `minisign` prints it: `packaging/README.md`.
const KEY: Option<&str> = option_env!("TOKBAR_UPDATE_KEY");

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Of the file that says what is newest.
    pub manifest: Url,
    /// As Tauri's updater takes it: minisign's file in base64.
    pub key: String,
}

impl Source {
    /// This build's.
    ///
    /// # Errors
    /// When it was built without a key, so that no update can be trusted.
    pub fn of_build() -> Result<Self> {
        // Tests bring a server and a key of their own; a shipped build takes nobody else's.
        let given = |name: &str| cfg!(debug_assertions).then(|| std::env::var(name).ok()).flatten();
        let key = given("TOKBAR_UPDATE_KEY").or_else(|| KEY.map(str::to_owned));
        let key = key.filter(|key| !key.is_empty());
        let key = key.context("this Tokbar was built without a key for updates: update it the way it was built")?;
        let manifest = given("TOKBAR_UPDATE_URL").unwrap_or_else(|| MANIFEST.to_owned());
        Self::new(&manifest, &key)
    }

    fn new(manifest: &str, key: &str) -> Result<Self> {
        let manifest = Url::parse(manifest).with_context(|| format!("{manifest} is no address"))?;
        Ok(Self { manifest, key: STANDARD.encode(format!("untrusted comment: Tokbar\n{}\n", key.trim())) })
    }
}
