//! How long a start takes and what an idle app costs. `TOKBAR_DESKTOP` names a program built for release, which is then held to
//! what is promised; a program built for development is held to a multiple of that.

use std::fs;
use std::time::{Duration, Instant};

use crate::app::App;
use crate::desk::Desk;
use crate::panel::{Panel, wait};
use crate::screen::Screen;

/// How long an idle app is watched.
const WATCHED: Duration = Duration::from_secs(6);
/// The kernel's ticks in a second, which it counts a process's time in.
const TICKS_PER_S: f64 = 100.0;

/// Seconds of processor that a process and all its threads have had.
fn cpu_s(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the app runs");
    let after_name = stat.rsplit_once(") ").expect("a name").1;
    let ticks = after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("a number"));
    ticks.sum::<f64>() / TICKS_PER_S
}

/// Bytes of memory that a process has for itself or shares, in megabytes.
fn resident_mb(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the app runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a figure");
    line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") / 1000.0
}

/// What a start does besides is done once the processor rests.
fn wait_for_rest(pid: u32) {
    let mut before = cpu_s(pid);
    wait("rest", || {
        std::thread::park_timeout(Duration::from_millis(300));
        let now = cpu_s(pid);
        let rests = now - before < 0.025;
        before = now;
        rests.then_some(())
    });
}

/// Of one core, while it is watched.
fn idle_percent(pid: u32) -> f64 {
    let (watched, from) = (Instant::now(), cpu_s(pid));
    std::thread::park_timeout(WATCHED);
    100.0 * (cpu_s(pid) - from) / watched.elapsed().as_secs_f64()
}

#[test]
fn it_starts_fast_and_rests_when_nobody_asks() {
    let leeway = if std::env::var_os("TOKBAR_DESKTOP").is_some() { 1.0 } else { 8.0 };
    let desk = Desk::new(&["alpha"]);
    let panel = Panel::new(&desk);

    let start = Instant::now();
    let app = App::start(&desk, &["--hidden"]);
    let icon = panel.icon();
    let to_tray_s = start.elapsed().as_secs_f64();
    icon.wait_for_row("Start alpha");
    wait_for_rest(app.id());
    let idle = idle_percent(app.id());
    let resident = resident_mb(app.id());
    drop(app);

    let screen = Screen::of(&desk);
    let start = Instant::now();
    let app = App::start(&desk, &["--window"]);
    screen.wait_for_window();
    let to_window_s = start.elapsed().as_secs_f64();
    // The page has come, and is looked at no longer.
    wait_for_rest(app.id());
    screen.close(screen.wait_for_window());
    let closed_percent = idle_percent(app.id());
    drop(app);
    println!(
        "icon after {to_tray_s:.2} s, window after {to_window_s:.2} s, idle {idle:.2} % of a core, {closed_percent:.2} % \
         once its window is closed, {resident:.0} MB without a window"
    );
    assert!(to_tray_s <= 0.5 * leeway && to_window_s <= leeway, "the start is slow");
    assert!(idle <= 0.5 * leeway && closed_percent <= 0.5 * leeway, "it does not rest");
    assert!(resident <= 120.0 * leeway.min(2.0), "it is fat");
}
