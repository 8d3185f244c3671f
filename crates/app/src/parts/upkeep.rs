//! The cache on disk, what is wrong on this machine, and the end, over the control API.

use tokbar_engine::tier;
use tokbar_server::ApiError;
use tokbar_server::control::{CachedModel, DiskCache, Finding, FindingState, Upkeep};

use super::refusal;
use crate::cli::CacheDirArgs;
use crate::commands::doctor::{self, State};
use crate::kv_cache;
use crate::launch::Ending;

/// See the module.
pub struct Keep {
    /// Where the KV cache is.
    pub cache_dir: CacheDirArgs,
    /// How the server ends.
    pub ending: Ending,
}

impl Upkeep for Keep {
    fn cache(&self) -> Result<DiskCache, ApiError> {
        let options = kv_cache::options(&self.cache_dir, "").map_err(refusal::machine)?;
        let summaries = tier::summaries(&options.dir).map_err(|error| refusal::machine(error.into()))?;
        let models: Vec<CachedModel> = summaries
            .into_iter()
            .map(|summary| {
                let label = if summary.label.is_empty() { summary.fingerprint } else { summary.label };
                CachedModel { label, n_bytes: summary.n_bytes }
            })
            .collect();
        Ok(DiskCache {
            dir: Some(options.dir.display().to_string()),
            n_bytes: models.iter().map(|model| model.n_bytes).sum(),
            n_bytes_max: Some(options.n_bytes_max),
            models,
        })
    }

    fn clear_cache(&self) -> Result<DiskCache, ApiError> {
        let options = kv_cache::options(&self.cache_dir, "").map_err(refusal::machine)?;
        let (n_freed, _) = tier::clear(&options.dir).map_err(|error| refusal::machine(error.into()))?;
        tracing::info!(n_freed, "the KV cache on disk was cleared");
        self.cache()
    }

    fn findings(&self) -> Result<Vec<Finding>, ApiError> {
        let finding = |finding: doctor::Finding| Finding {
            title: finding.what.to_owned(),
            state: match finding.state {
                State::Fine => FindingState::Good,
                State::Notable => FindingState::Note,
                State::Wrong => FindingState::Bad,
            },
            detail: finding.found,
            fix: (!finding.fix.is_empty()).then_some(finding.fix),
        };
        Ok(doctor::findings().into_iter().map(finding).collect())
    }

    fn shut_down(&self) {
        tracing::info!("the server is told to end");
        self.ending.ask();
    }
}
