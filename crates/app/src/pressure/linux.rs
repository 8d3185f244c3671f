//! Pressure stall information: the part of time in which programs wait for memory, of the control group or the machine,
//! and how near the group is to its limit.
//!
//! Source: the kernel's documentation of PSI and of cgroup v2.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Level, Source};

/// Per cent of the last ten seconds in which some program waited for memory.
const SOME_WARNING: f64 = 10.0;
/// Per cent in which all did.
const FULL_CRITICAL: f64 = 10.0;
/// Parts of the group's limit in use.
const USED_WARNING: f64 = 0.90;
const USED_CRITICAL: f64 = 0.97;

/// Where the kernel tells.
pub struct Stall {
    pressure: PathBuf,
    group: PathBuf,
}

impl Stall {
    /// Of this machine; `None` when the kernel does not tell.
    pub fn open() -> Option<Self> {
        Self::at(Path::new("/sys/fs/cgroup"), Path::new("/proc/pressure/memory"))
    }

    fn at(group: &Path, machine: &Path) -> Option<Self> {
        let own = group.join("memory.pressure");
        let pressure = [own, machine.to_owned()].into_iter().find(|path| fs::read_to_string(path).is_ok())?;
        Some(Self { pressure, group: group.to_owned() })
    }

    /// The part of the group's limit in use, if it has one. What the kernel can drop at once does not count.
    fn part_used(&self) -> Option<f64> {
        let read = |name: &str| fs::read_to_string(self.group.join(name)).ok();
        let limit: f64 = read("memory.max")?.trim().parse().ok()?;
        let used: f64 = read("memory.current")?.trim().parse().ok()?;
        let cached = read("memory.stat").and_then(|stat| {
            let line = stat.lines().find_map(|line| line.strip_prefix("inactive_file "))?.trim().parse::<f64>();
            line.ok()
        });
        (limit > 0.0).then(|| (used - cached.unwrap_or(0.0)) / limit)
    }
}

impl Source for Stall {
    fn level(&mut self) -> Option<Level> {
        let stalls = level_of(&fs::read_to_string(&self.pressure).ok()?)?;
        let usage = self.part_used().map_or(Level::Normal, |part| match part {
            part if part >= USED_CRITICAL => Level::Critical,
            part if part >= USED_WARNING => Level::Warning,
            _ => Level::Normal,
        });
        Some(stalls.max(usage))
    }
}

/// The level of lines such as `some avg10=0.12 avg60=...`.
fn level_of(text: &str) -> Option<Level> {
    let average = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        line.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse::<f64>().ok()
    };
    let (some, full) = (average("some ")?, average("full ").unwrap_or(0.0));
    Some(match () {
        () if full >= FULL_CRITICAL => Level::Critical,
        () if some >= SOME_WARNING => Level::Warning,
        () => Level::Normal,
    })
}

#[cfg(test)]
#[path = "linux_tests.rs"]
mod tests;
