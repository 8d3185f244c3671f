//! The kernel's own level, as Activity Monitor colours it, asked for in process: cheap enough for every look.

use sysctl::{Ctl, Sysctl};

use super::{Level, Source};

/// 1, 2 or 4.
const NAME: &str = "kern.memorystatus_vm_pressure_level";

/// See the module.
#[derive(Default)]
pub struct Kernel {
    ctl: Option<Ctl>,
}

impl Source for Kernel {
    fn level(&mut self) -> Option<Level> {
        if self.ctl.is_none() {
            self.ctl = Ctl::new(NAME).inspect_err(|error| tracing::debug!(%error, "the kernel tells no level")).ok();
        }
        match self.ctl.as_ref()?.value_string().ok()?.trim() {
            "1" => Some(Level::Normal),
            "2" => Some(Level::Warning),
            "4" => Some(Level::Critical),
            _ => None,
        }
    }
}
