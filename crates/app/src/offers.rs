//! What a person can start or get: the models on this machine, and those of the catalogue that would fit.

use anyhow::Result;
use tokbar_hub::catalog::Entry;
use tokbar_hub::fit::{Unloaded, Verdict, fit};
use tokbar_hub::recommend::{N_CONTEXT, recommend};
use tokbar_hub::scan::Condition;

use crate::{known, memory, shelf};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Whole models on this machine, by name.
    pub here: Vec<Offer>,
    /// Models of the catalogue that fit and are not here, as the catalogue has them.
    pub fitting: Vec<Offer>,
    /// The name of the one to start with, here or not.
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

/// Looks at the disk and the catalogue.
///
/// # Errors
/// When this user's lists of folders or models are damaged.
pub fn offers() -> Result<Offers> {
    let (catalog, machine, shelves) = (known::catalog()?, memory::machine(), shelf::shelves()?);
    let mut here: Vec<Offer> = Vec::new();
    for model in shelves.iter().flat_map(|shelf| &shelf.models) {
        let is_known = here.iter().any(|offer| offer.name == model.name);
        if model.condition == Condition::Ready && !is_known {
            here.push(Offer { name: model.name.clone(), n_bytes: model.n_bytes });
        }
    }
    here.sort_by(|a, b| a.name.cmp(&b.name));
    let is_here = |entry: &Entry| here.iter().any(|offer| offer.name == entry.repo);
    let fits = |entry: &&Entry| {
        let n_context = entry.n_context.map_or(N_CONTEXT, |most| most.min(N_CONTEXT));
        entry
            .demand()
            .is_some_and(|demand| fit(&demand, n_context, &machine, &Unloaded::default()).verdict == Verdict::Fits)
    };
    let missing = catalog.models.iter().filter(|entry| known::can_run(entry) && !is_here(entry));
    let offer =
        |entry: &Entry| Offer { name: known::short(entry).to_owned(), n_bytes: entry.weight_bytes().unwrap_or(0) };
    let fitting = missing.filter(fits).map(offer).collect();
    let recommended = recommend(&catalog, &machine, &known::can_run).smart;
    Ok(Offers { fitting, recommended: recommended.map(|entry| entry.repo.clone()), here })
}
