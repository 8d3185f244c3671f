//! The login keychain, where `Keychain Access` shows what is kept under the app's name.

use anyhow::{Context, Result};
use apple_native_keyring_store::keychain;
use keyring_core::api::CredentialStoreApi;
use keyring_core::{Entry, Error};

use super::Store;

/// Under which name the items are found; it never changes.
const SERVICE: &str = "app.tokbar.Tokbar";

/// See the module.
pub struct Login;

fn entry(name: &str) -> Result<Entry> {
    let store = keychain::Store::new().context("the keychain is not there")?;
    store.build(SERVICE, name, None).context("the keychain is not there")
}

impl Store for Login {
    fn get(&self, name: &str) -> Result<Option<String>> {
        match entry(name)?.get_password() {
            Ok(secret) => Ok(Some(secret)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => {
                Err(error).context("the keychain does not give the key; unlock it, and allow Tokbar to read it")
            }
        }
    }

    fn set(&self, name: &str, secret: &str) -> Result<()> {
        entry(name)?.set_password(secret).context("the keychain does not take the key; unlock it, and try again")
    }

    fn remove(&self, name: &str) -> Result<()> {
        match entry(name)?.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(error).context("the keychain keeps the key; unlock it, and try again"),
        }
    }
}
