//! Secrets that a person entrusts to Tokbar, such as the key of a server in the cloud: where the system keeps such, and in no
//! settings file. Names and secrets are checked here, once for all systems.

#[cfg(any(test, not(target_os = "macos")))]
mod file;
#[cfg(target_os = "macos")]
mod mac;

use std::path::PathBuf;

use anyhow::{Result, bail};

/// Longest name of a secret, and longest secret.
const N_NAME_MAX: usize = 64;
const N_SECRET_MAX: usize = 4096;

/// What keeps secrets.
pub trait Store: Send + Sync {
    /// The secret of that name, if there is one.
    ///
    /// # Errors
    /// When the store is locked or damaged, or a person refused.
    fn get(&self, name: &str) -> Result<Option<String>>;
    /// Keeps `secret` in place of what had that name.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn set(&self, name: &str, secret: &str) -> Result<()>;
    /// Forgets it, if it was there.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn remove(&self, name: &str) -> Result<()>;
}

/// See the module.
pub struct Keychain(Box<dyn Store>);

impl Keychain {
    /// This user's: of the system on macOS, else a file that only this user can read.
    ///
    /// # Errors
    /// When there is no such place.
    pub fn of_user() -> Result<Self> {
        #[cfg(target_os = "macos")]
        return Ok(Self(Box::new(mac::Login)));
        #[cfg(not(target_os = "macos"))]
        Ok(Self(Box::new(file::SecretsFile::at(Self::place()?.unwrap_or_default()))))
    }

    /// The file that it is; `None` for the system's own.
    ///
    /// # Errors
    /// When there is no such place.
    pub fn place() -> Result<Option<PathBuf>> {
        if cfg!(target_os = "macos") { Ok(None) } else { Ok(Some(crate::config_dir::place()?.join("secrets.json"))) }
    }

    /// The secret of that name, if there is one.
    ///
    /// # Errors
    /// When `name` is none, or the store does not give it.
    pub fn get(&self, name: &str) -> Result<Option<String>> {
        check_name(name)?;
        self.0.get(name)
    }

    /// Keeps `secret` in place of what had that name.
    ///
    /// # Errors
    /// When either is nothing that can be kept, or the store does not take it.
    pub fn set(&self, name: &str, secret: &str) -> Result<()> {
        check_name(name)?;
        check_secret(secret)?;
        self.0.set(name, secret)
    }

    /// Forgets it, if it was there.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn remove(&self, name: &str) -> Result<()> {
        check_name(name)?;
        self.0.remove(name)
    }
}

/// # Errors
/// When it is no secret that can be kept.
pub fn check_secret(secret: &str) -> Result<()> {
    if secret.is_empty() || secret.len() > N_SECRET_MAX || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        bail!("that is no key: keys have up to {N_SECRET_MAX} letters, digits and signs, and no spaces; copy it again");
    }
    Ok(())
}

fn check_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > N_NAME_MAX || !name.bytes().all(is_plain) {
        bail!("{name:?} names no secret; use up to {N_NAME_MAX} letters, digits, '-', '_' and '.'");
    }
    Ok(())
}

#[cfg(test)]
#[path = "keychain_tests.rs"]
mod tests;
