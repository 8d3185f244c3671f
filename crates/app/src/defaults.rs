//! Sampling that a checkpoint recommends in `generation_config.json`.

use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use tokbar_server::SamplingDefaults;

const N_BYTES_MAX: u64 = 1 << 20;

/// The fields that matter here; the rest of the file is not ours.
#[derive(Default, Deserialize)]
struct GenerationConfig {
    do_sample: Option<bool>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    top_k: Option<usize>,
    min_p: Option<f32>,
    repetition_penalty: Option<f32>,
}

/// What the checkpoint recommends; a file that is missing or damaged recommends nothing.
pub fn recommended(dir: &Path) -> SamplingDefaults {
    let path = dir.join("generation_config.json");
    match read(&path) {
        Ok(config) => from_config(&config),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => SamplingDefaults::default(),
        Err(error) => {
            tracing::warn!("{} is ignored: {error}", path.display());
            SamplingDefaults::default()
        }
    }
}

fn read(path: &Path) -> std::io::Result<GenerationConfig> {
    // Before opening: a pipe would block until somebody writes to it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no plain file"));
    }
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(N_BYTES_MAX).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

fn from_config(config: &GenerationConfig) -> SamplingDefaults {
    let own = SamplingDefaults::default();
    let temperature = match config.do_sample {
        Some(false) => Some(0.0),
        _ => config.temperature,
    };
    let in_range = |value: Option<f32>, low: f32, high: f32, otherwise: f32| {
        value.filter(|value| (low..=high).contains(value)).unwrap_or(otherwise)
    };
    SamplingDefaults {
        temperature: in_range(temperature, 0.0, 2.0, own.temperature),
        top_p: in_range(config.top_p, 0.0, 1.0, own.top_p),
        top_k: config.top_k.unwrap_or(own.top_k),
        min_p: in_range(config.min_p, 0.0, 1.0, own.min_p),
        repetition_penalty: in_range(config.repetition_penalty, 0.1, 2.0, own.repetition_penalty),
        ..own
    }
}

#[cfg(test)]
#[path = "defaults_tests.rs"]
mod tests;
