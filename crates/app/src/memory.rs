//! What memory this machine has, now. Reads only: no limit is ever changed.

use std::fs;

use sysinfo::{MemoryRefreshKind, ProcessRefreshKind, ProcessesToUpdate, RefreshKind, System};
use tokbar_hub::fit::Machine;
#[cfg(target_os = "macos")]
use tokbar_hub::fit::usual_gpu_limit;

/// All of it, what is free, and what the GPU may use of it. Inside a container, what that may use.
pub fn machine() -> Machine {
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(kind);
    let (n_bytes, n_free_bytes) = contained(system.total_memory(), system.available_memory());
    let n_gpu_bytes = gpu_limit(n_bytes);
    Machine {
        n_bytes,
        n_free_bytes,
        n_gpu_bytes,
        n_gpu_used_bytes: if n_gpu_bytes.is_some() { footprint() } else { 0 },
    }
}

/// Bytes of physical memory that this program holds: not only what MLX counts.
pub fn footprint() -> u64 {
    let Ok(pid) = sysinfo::get_current_pid() else { return 0 };
    let mut system = System::new();
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[pid]),
        false,
        ProcessRefreshKind::nothing().with_memory(),
    );
    system.process(pid).map_or(0, sysinfo::Process::memory)
}

/// The least of what the machine and its control group have.
fn contained(n_bytes: u64, n_free_bytes: u64) -> (u64, u64) {
    let read = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    match (read("memory.max"), read("memory.current")) {
        (Some(limit), Some(used)) if limit < n_bytes => (limit, n_free_bytes.min(limit.saturating_sub(used))),
        _ => (n_bytes, n_free_bytes),
    }
}

/// `iogpu.wired_limit_mb` where a person set it, else what macOS does without.
#[cfg(target_os = "macos")]
fn gpu_limit(n_bytes: u64) -> Option<u64> {
    let output = std::process::Command::new("/usr/sbin/sysctl").args(["-n", "iogpu.wired_limit_mb"]).output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let set = text.trim().parse::<u64>().ok().filter(|megabytes| *megabytes > 0);
    Some(set.map_or_else(|| usual_gpu_limit(n_bytes), |megabytes| megabytes.saturating_mul(1 << 20)))
}

/// Other GPUs have memory of their own, which MLX reports.
#[cfg(not(target_os = "macos"))]
fn gpu_limit(_n_bytes: u64) -> Option<u64> {
    None
}
