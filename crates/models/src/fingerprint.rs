//! What tells checkpoints and their numerics apart, so that kept KV is never used with another model.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use ring::digest::{Context, SHA256};

use crate::cache::KvQuantization;
use crate::config::ConfigFile;
use crate::mx::Device;
use crate::weights::{Compute, WeightFiles};
use crate::{LoadError, LoadResult};

/// To be raised when the KV computed from the same weights changes.
const NUMERICS_VERSION: u32 = 1;

/// Samples of each weight file, evenly spread, and their size.
const N_SAMPLES: u64 = 64;
const N_SAMPLE_BYTES: u64 = 4096;

/// What KV depends on.
pub struct Traits<'a> {
    /// The configuration.
    pub config: &'a ConfigFile,
    /// The weights.
    pub files: &'a WeightFiles,
    /// What they are computed in.
    pub compute: Compute,
    /// Where.
    pub device: Device,
    /// How KV is stored.
    pub kv_quantization: Option<KvQuantization>,
}

/// Hex digits. Equal for equal checkpoints wherever they lie; weight files are sampled, not read as a whole.
///
/// # Errors
/// When a file cannot be read.
pub fn fingerprint(traits: &Traits<'_>) -> LoadResult<String> {
    let Traits { config, files, compute, device, kv_quantization } = traits;
    let mut digest = Context::new(&SHA256);
    digest.update(format!("{NUMERICS_VERSION} {compute:?} {device:?} {kv_quantization:?}\n").as_bytes());
    digest.update(config.text().as_bytes());
    for (name, info) in files.infos() {
        digest.update(format!("\n{name:?} {info:?}").as_bytes());
    }
    for path in &files.paths {
        sample(path, &mut digest).map_err(|source| LoadError::Read { path: path.clone(), source })?;
    }
    Ok(digest.finish().as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect())
}

fn sample(path: &Path, digest: &mut Context) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let n_bytes = file.metadata()?.len();
    digest.update(&n_bytes.to_le_bytes());
    let mut buffer = Vec::with_capacity(N_SAMPLE_BYTES as usize);
    for i in 0..N_SAMPLES {
        let last = n_bytes.saturating_sub(N_SAMPLE_BYTES);
        file.seek(SeekFrom::Start((u128::from(last) * u128::from(i) / u128::from(N_SAMPLES - 1)) as u64))?;
        buffer.clear();
        file.by_ref().take(N_SAMPLE_BYTES).read_to_end(&mut buffer)?;
        digest.update(&buffer);
    }
    Ok(())
}

#[cfg(test)]
#[path = "fingerprint_tests.rs"]
mod tests;
