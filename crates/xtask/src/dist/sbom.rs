//! The software bill of materials: what is in the app, as CycloneDX JSON.

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::crates::{self, Crate};
use super::pages;
use crate::setup::pins;

/// `dist sbom FILE`
pub fn write(arguments: &[String]) -> anyhow::Result<()> {
    let [file] = arguments else { bail!("one argument is taken: the file to write") };
    let text =
        serde_json::to_string_pretty(&bill(&super::version()?, &[crates::shipped()?, pages::shipped()?].concat()))?;
    std::fs::write(file, text + "\n").with_context(|| format!("writing {file}"))
}

/// The bill of a version made of these crates, and of MLX.
fn bill(version: &str, crates: &[Crate]) -> Value {
    let mut components: Vec<Value> = crates.iter().map(component).collect();
    let mlx = pins::MLX_METAL_WHEEL;
    components.push(json!({
        "type": "library",
        "name": "mlx-metal",
        "version": pins::MLX_VERSION,
        "purl": format!("pkg:pypi/mlx-metal@{}", pins::MLX_VERSION),
        "hashes": mlx.sha256.iter().map(|hash| json!({ "alg": "SHA-256", "content": hash })).collect::<Vec<_>>(),
        "licenses": [{ "license": { "id": "MIT" } }],
    }));
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "Tokbar", "version": version } },
        "components": components,
    })
}

fn component(found: &Crate) -> Value {
    json!({
        "type": "library",
        "name": found.name,
        "version": found.version,
        "purl": format!("pkg:{}/{}@{}", found.registry, found.name, found.version),
        // Some crates write the choice with a slash, which is no SPDX.
        "licenses": [{ "expression": found.licence.replace('/', " OR ") }],
    })
}

#[cfg(test)]
#[path = "sbom_tests.rs"]
mod tests;
