//! How large the app is, and what the download may be.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::{bundle, shell};

/// The download with MLX's full set of kernels.
const MAX_DOWNLOAD_BYTES: u64 = 110_000_000;
/// Parts that get a line of their own.
const N_LINES: usize = 8;

/// `dist size APP [DMG]`
pub fn check(arguments: &[String]) -> anyhow::Result<()> {
    let (app, dmg) = match arguments {
        [app] => (Path::new(app), None),
        [app, dmg] => (Path::new(app), Some(Path::new(dmg))),
        _ => bail!("an app is taken, and a disk image"),
    };
    print!("{}", report(app)?);
    let Some(dmg) = dmg else { return Ok(()) };
    let n_bytes = dmg.metadata().with_context(|| format!("reading {}", dmg.display()))?.len();
    println!("{}: {n_bytes} bytes, budget {MAX_DOWNLOAD_BYTES}", dmg.display());
    ensure!(n_bytes <= MAX_DOWNLOAD_BYTES, "the download is larger than its budget");
    Ok(())
}

/// Bytes of the largest parts, of all, and of all compressed as a disk image is.
pub fn report(app: &Path) -> anyhow::Result<String> {
    let sizes = bundle::sizes(app)?;
    let total: u64 = sizes.iter().map(|(_, n_bytes)| n_bytes).sum();
    let lines = sizes.iter().take(N_LINES).map(|(path, n_bytes)| format!("{n_bytes:>12} {path}\n"));
    let rest: u64 = sizes.iter().skip(N_LINES).map(|(_, n_bytes)| n_bytes).sum();
    let compressed = compressed_bytes(app)?;
    Ok(format!(
        "{}{rest:>12} the other {}\n{total:>12} in all\n{compressed:>12} compressed, budget {MAX_DOWNLOAD_BYTES}\n",
        lines.collect::<String>(),
        sizes.len().saturating_sub(N_LINES),
    ))
}

/// Disk images are compressed by zlib as gzip is.
fn compressed_bytes(app: &Path) -> anyhow::Result<u64> {
    let script = "set -o pipefail; tar -C \"$1\" -cf - . | gzip -6 | wc -c";
    let said = shell::capture(Command::new("bash").args(["-c", script, "bash"]).arg(app))?;
    said.trim().parse().with_context(|| format!("`wc` printed `{}`", said.trim()))
}

#[cfg(test)]
#[path = "size_tests.rs"]
mod tests;
