//! Settings, API keys and the key of the cloud over the control API.

use tokbar_server::control::{CloudKey, CloudKeyInfo, KeyInfo, KeyRing, NewKey, Preferences, Settings, SettingsAnswer};
use tokbar_server::{ApiError, KeyScope, Keys};

use super::refusal;
use crate::cloud::SECRET;
use crate::keychain::{self, Keychain};
use crate::{json_file, key_file, settings};

/// Settings in this user's file.
pub struct Kept {
    /// As they were at the start.
    then: Settings,
}

impl Kept {
    /// What is there now counts as in force; a damaged file as the usual settings.
    pub fn new() -> Self {
        Self { then: settings::read().unwrap_or_default() }
    }

    fn answer(&self, now: Settings) -> Result<SettingsAnswer, ApiError> {
        let path = settings::place().map_err(refusal::machine)?;
        let needs_restart = settings::needs_restart(&self.then, &now);
        Ok(SettingsAnswer { settings: now, needs_restart, path: path.display().to_string() })
    }
}

impl Preferences for Kept {
    fn settings(&self) -> Result<SettingsAnswer, ApiError> {
        self.answer(settings::read().map_err(refusal::machine)?)
    }

    fn change(&self, merged: &dyn Fn(&Settings) -> Result<Settings, ApiError>) -> Result<SettingsAnswer, ApiError> {
        let path = settings::place().map_err(refusal::machine)?;
        let _alone = json_file::Alone::with(&path).map_err(refusal::machine)?;
        let settings = merged(&settings::read().map_err(refusal::machine)?)?;
        settings::check(&settings)?;
        json_file::write(&path, &settings).map_err(refusal::machine)?;
        self.answer(settings)
    }
}

/// Keys in this user's file, and those that are in none.
pub struct Ring {
    /// Of the command line.
    pub own: Keys,
}

impl KeyRing for Ring {
    fn list(&self) -> Result<Vec<KeyInfo>, ApiError> {
        let path = key_file::place().map_err(refusal::machine)?;
        let entries = key_file::read(&path).map_err(refusal::machine)?;
        let info = |entry: key_file::Entry| KeyInfo { name: entry.name, scope: entry.scope, created: entry.created };
        Ok(entries.into_iter().map(info).collect())
    }

    fn keys(&self) -> Result<Keys, ApiError> {
        let path = key_file::place().map_err(refusal::machine)?;
        let mut keys = key_file::keys(&key_file::read(&path).map_err(refusal::machine)?);
        keys.0.extend(self.own.0.iter().cloned());
        Ok(keys)
    }

    fn add(&self, name: &str, scope: KeyScope) -> Result<NewKey, ApiError> {
        let path = key_file::place().map_err(refusal::machine)?;
        let taken = |error: anyhow::Error| ApiError::invalid("name", format!("cannot be used: {error:#}"));
        let secret = key_file::add(&path, name, scope).map_err(taken)?;
        Ok(NewKey { name: name.to_owned(), secret })
    }

    fn remove(&self, name: &str) -> Result<(), ApiError> {
        let path = key_file::place().map_err(refusal::machine)?;
        let absent = |error: anyhow::Error| ApiError::wish(tokbar_server::Problem::Missing, format!("{error:#}"));
        key_file::remove(&path, name).map_err(absent)
    }
}

/// The key of the cloud among this user's secrets.
pub struct Secret;

impl CloudKey for Secret {
    fn look(&self) -> Result<CloudKeyInfo, ApiError> {
        let kept = Keychain::of_user().and_then(|keychain| keychain.get(SECRET)).map_err(refusal::machine)?;
        let path = Keychain::place().map_err(refusal::machine)?;
        Ok(CloudKeyInfo { is_kept: kept.is_some(), path: path.map(|path| path.display().to_string()) })
    }

    fn keep(&self, key: &str) -> Result<(), ApiError> {
        let key = key.trim();
        keychain::check_secret(key).map_err(|error| ApiError::invalid("key", format!("cannot be kept: {error:#}")))?;
        Keychain::of_user().and_then(|keychain| keychain.set(SECRET, key)).map_err(refusal::machine)
    }

    fn forget(&self) -> Result<(), ApiError> {
        Keychain::of_user().and_then(|keychain| keychain.remove(SECRET)).map_err(refusal::machine)
    }
}
