//! Which keys open the server: those that a person made, which may change while it runs, and the one of this launch.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::keys::{Key, Keys};

/// All keys; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Doors {
    keys: Arc<RwLock<Option<Arc<Keys>>>>,
    /// Held while they are looked up, so that older ones never replace newer ones.
    refreshing: Arc<Mutex<()>>,
    launch: Option<Arc<Key>>,
}

impl Doors {
    /// Asks for one of `keys`, if there are any; `launch` opens everything.
    pub fn new(keys: Option<Keys>, launch: Option<Key>) -> Self {
        let keys = Arc::new(RwLock::new(keys.map(Arc::new)));
        Self { keys, refreshing: Arc::default(), launch: launch.map(Arc::new) }
    }

    /// What calls must bring; `None` where they need nothing.
    pub fn keys(&self) -> Option<Arc<Keys>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The key of this launch, if `secret` is it.
    pub fn launch(&self, secret: &[u8]) -> Option<Key> {
        self.launch.as_ref().filter(|key| key.opens_with(secret)).map(|key| Key::clone(key))
    }

    /// Asks from now on for the keys that `look` finds. Once a server has asked for keys it goes on to, even if none is left.
    ///
    /// # Errors
    /// `look`'s.
    pub fn refresh<E>(&self, look: impl FnOnce() -> Result<Keys, E>) -> Result<(), E> {
        let _alone = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = look()?;
        let mut known = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if known.is_some() || !keys.0.is_empty() {
            *known = Some(Arc::new(keys));
        }
        Ok(())
    }
}
