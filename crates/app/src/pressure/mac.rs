//! The kernel's own level, as Activity Monitor colours it.

use std::process::Command;
use std::time::{Duration, Instant};

use super::{Level, Source};

/// How long an answer counts: asking starts a process.
const FRESH: Duration = Duration::from_secs(2);

/// `kern.memorystatus_vm_pressure_level`: 1, 2 or 4.
#[derive(Default)]
pub struct Sysctl {
    last: Option<(Instant, Option<Level>)>,
}

impl Source for Sysctl {
    fn level(&mut self) -> Option<Level> {
        if let Some((_, level)) = self.last.filter(|(since, _)| since.elapsed() < FRESH) {
            return level;
        }
        let level = read();
        self.last = Some((Instant::now(), level));
        level
    }
}

fn read() -> Option<Level> {
    let output = Command::new("/usr/sbin/sysctl").args(["-n", "kern.memorystatus_vm_pressure_level"]).output().ok()?;
    match String::from_utf8_lossy(&output.stdout).trim() {
        "1" => Some(Level::Normal),
        "2" => Some(Level::Warning),
        "4" => Some(Level::Critical),
        _ => None,
    }
}
