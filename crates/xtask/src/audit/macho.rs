//! Reads what a loader reads of a Mach-O file: processor, oldest system, libraries, search paths, signature.
//!
//! Any bytes may come in: every number is checked against the file's length, and a file that lies is an error.

use anyhow::{Context, bail, ensure};

const MAGIC_64: u32 = 0xfeed_facf;
/// Start of a file for several processors, in either byte order.
const MAGIC_FAT: [u32; 4] = [0xcafe_babe, 0xbeba_feca, 0xcafe_babf, 0xbfba_feca];
const CPU_ARM64: u32 = 0x0100_000c;
/// More commands than any linker writes.
const MAX_COMMANDS: u32 = 4096;

const LOAD_DYLIB: u32 = 0xc;
const ID_DYLIB: u32 = 0xd;
const CODE_SIGNATURE: u32 = 0x1d;
const BUILD_VERSION: u32 = 0x32;
const LOAD_WEAK_DYLIB: u32 = 0x8000_0018;
const RPATH: u32 = 0x8000_001c;
const REEXPORT_DYLIB: u32 = 0x8000_001f;
const PLATFORM_MACOS: u32 = 1;

/// What a program or library says of itself.
#[derive(Debug, Default, PartialEq)]
pub struct MachO {
    pub is_arm64: bool,
    /// Oldest macOS, as major and minor number; none if it is not for macOS.
    pub min_macos: Option<(u32, u32)>,
    /// Libraries that it loads, by install name.
    pub dylibs: Vec<String>,
    /// Its own install name, if it is a library.
    pub id: Option<String>,
    /// Where `@rpath` may point.
    pub rpaths: Vec<String>,
    pub signature: Option<Signature>,
}

/// What a code signature says; whether it is valid only a Mac checks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signature {
    /// Signed by nobody: enough for a processor, not for Gatekeeper.
    pub is_ad_hoc: bool,
    pub has_hardened_runtime: bool,
    /// Entitlements as XML; empty if there are none.
    pub entitlements: String,
}

/// True if the file starts as a program or library for Apple systems does.
pub fn is_macho(bytes: &[u8]) -> bool {
    u32_at(bytes, 0).is_ok_and(|magic| magic == MAGIC_64 || MAGIC_FAT.contains(&magic))
}

/// Reads a whole file.
pub fn read(bytes: &[u8]) -> anyhow::Result<MachO> {
    let magic = u32_at(bytes, 0)?;
    ensure!(!MAGIC_FAT.contains(&magic), "holds code for several processors; only arm64 is shipped");
    ensure!(magic == MAGIC_64, "is no 64-bit Mach-O file");
    let mut found = MachO { is_arm64: u32_at(bytes, 4)? == CPU_ARM64, ..MachO::default() };
    let n_commands = u32_at(bytes, 16)?;
    ensure!(n_commands <= MAX_COMMANDS, "says that it has {n_commands} load commands");
    let mut at = 32;
    for _ in 0..n_commands {
        let (kind, size) = (u32_at(bytes, at)?, u32_at(bytes, at + 4)? as usize);
        ensure!(size >= 8, "has a load command of {size} bytes");
        let command = bytes.get(at..at + size).context("ends inside its load commands")?;
        found.add(kind, command, bytes)?;
        at += size;
    }
    Ok(found)
}

impl MachO {
    fn add(&mut self, kind: u32, command: &[u8], file: &[u8]) -> anyhow::Result<()> {
        match kind {
            LOAD_DYLIB | LOAD_WEAK_DYLIB | REEXPORT_DYLIB => self.dylibs.push(text_in(command)?),
            ID_DYLIB => self.id = Some(text_in(command)?),
            RPATH => self.rpaths.push(text_in(command)?),
            BUILD_VERSION if u32_at(command, 8)? == PLATFORM_MACOS => {
                let version = u32_at(command, 12)?;
                self.min_macos = Some((version >> 16, version >> 8 & 0xff));
            }
            CODE_SIGNATURE => {
                let (start, size) = (u32_at(command, 8)? as usize, u32_at(command, 12)? as usize);
                let blob = file.get(start..).and_then(|rest| rest.get(..size));
                self.signature = Some(signature(blob.context("ends before its signature")?)?);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The text whose place a command's third word names.
fn text_in(command: &[u8]) -> anyhow::Result<String> {
    let start = u32_at(command, 8)? as usize;
    let text = command.get(start..).context("has a name outside its command")?;
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8(text.to_vec()).context("has a name that is not UTF-8")
}

fn u32_at(bytes: &[u8], at: usize) -> anyhow::Result<u32> {
    let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) else { bail!("ends too early") };
    Ok(u32::from_le_bytes(*word))
}

/// Signatures are big-endian: an index of blobs, each with a magic number and a length.
fn signature(bytes: &[u8]) -> anyhow::Result<Signature> {
    const SUPER_BLOB: u32 = 0xfade_0cc0;
    const CODE_DIRECTORY: u32 = 0xfade_0c02;
    const ENTITLEMENTS: u32 = 0xfade_7171;
    const MAX_BLOBS: u32 = 64;
    ensure!(big_u32_at(bytes, 0)? == SUPER_BLOB, "has a signature of an unknown kind");
    let n_blobs = big_u32_at(bytes, 8)?;
    ensure!(n_blobs <= MAX_BLOBS, "has a signature of {n_blobs} parts");
    let mut found = Signature::default();
    for blob_idx in 0..n_blobs as usize {
        let start = big_u32_at(bytes, 12 + 8 * blob_idx + 4)? as usize;
        let blob = bytes.get(start..).context("has a signature that ends too early")?;
        match big_u32_at(blob, 0)? {
            CODE_DIRECTORY => {
                let flags = big_u32_at(blob, 12)?;
                found.is_ad_hoc = flags & 0x2 != 0;
                found.has_hardened_runtime = flags & 0x1_0000 != 0;
            }
            ENTITLEMENTS => {
                let length = big_u32_at(blob, 4)? as usize;
                let text = blob.get(8..length).context("has entitlements that end too early")?;
                found.entitlements = String::from_utf8_lossy(text).into_owned();
            }
            _ => {}
        }
    }
    Ok(found)
}

fn big_u32_at(bytes: &[u8], at: usize) -> anyhow::Result<u32> {
    u32_at(bytes, at).map(u32::swap_bytes)
}

#[cfg(test)]
#[path = "macho_tests.rs"]
mod tests;
