//! What a person can start or get: the shelf as the control API has it, as short as a menu wants it.

use tokbar_server::control::{DiskState, Model, Shelf, Verdict};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Whole models on this machine, by name.
    pub here: Vec<Offer>,
    /// Known models that fit and are not here, in the order of the list.
    pub fitting: Vec<Offer>,
    /// The one to start with, here or not.
    pub recommended: Option<String>,
}

/// One model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What to load or get it by.
    pub name: String,
    /// Bytes of its files.
    pub n_bytes: u64,
}

impl From<Shelf> for Offers {
    fn from(shelf: Shelf) -> Self {
        let of = |model: &Model, name: &str| {
            let n_bytes = if model.disk.n_bytes > 0 { Some(model.disk.n_bytes) } else { model.size_bytes };
            Offer { name: name.to_owned(), n_bytes: n_bytes.unwrap_or(0) }
        };
        let is_ready = |model: &&Model| model.disk.state == DiskState::Ready;
        let fits = |model: &Model| model.fit.as_ref().is_some_and(|fit| fit.verdict == Verdict::Fits);
        let can_be_got = |model: &&Model| model.disk.state == DiskState::Absent && model.can_run && fits(model);
        let mut here: Vec<Offer> = shelf.models.iter().filter(is_ready).map(|model| of(model, &model.id)).collect();
        here.sort_by(|a, b| a.name.cmp(&b.name));
        let fitting = shelf.models.iter().filter(can_be_got).map(|model| of(model, &model.name)).collect();
        Self { here, fitting, recommended: shelf.recommended.smart }
    }
}

#[cfg(test)]
#[path = "offered_tests.rs"]
mod tests;
