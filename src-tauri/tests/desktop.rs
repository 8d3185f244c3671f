//! The built app on a screen and a session bus of its own: its menu read and clicked as a panel does, its window driven as a
//! person would, and killed at bad moments. On Linux only: a Mac has no screen of its own for each test.
#![cfg(target_os = "linux")]

#[path = "desktop/app.rs"]
mod app;
#[path = "desktop/calls.rs"]
mod calls;
#[path = "desktop/desk.rs"]
mod desk;
#[path = "desktop/ends.rs"]
mod ends;
#[path = "desktop/figures.rs"]
mod figures;
#[path = "desktop/first_run.rs"]
mod first_run;
#[path = "desktop/hub.rs"]
mod hub;
#[path = "desktop/kills.rs"]
mod kills;
// The Hub that the tests of `tokbar-hub` download from.
#[allow(clippy::unwrap_used, dead_code)]
#[path = "../../crates/hub/tests/hub/loopback.rs"]
mod loopback;
#[path = "desktop/menus.rs"]
mod menus;
#[path = "desktop/news.rs"]
mod news;
#[path = "desktop/panel.rs"]
mod panel;
#[allow(clippy::unwrap_used, dead_code)]
#[path = "../../crates/hub/tests/hub/repository.rs"]
mod repository;
#[path = "desktop/screen.rs"]
mod screen;
// What the tests of `tokbar-app` serve.
#[path = "../../crates/app/tests/app/tiny.rs"]
mod tiny;
#[path = "desktop/updates.rs"]
mod updates;
#[path = "desktop/variables.rs"]
mod variables;
#[path = "desktop/window.rs"]
mod window;

/// Where the model's parts come from.
mod testbed {
    use std::path::{Path, PathBuf};

    pub fn smollm2() -> PathBuf {
        let kit = std::env::var_os("TOKBAR_TESTKIT")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../.testkit"), PathBuf::from);
        let dir = kit.join("SmolLM2-135M-Instruct");
        assert!(dir.join("config.json").exists(), "no model at {}: run `cargo xtask model smollm2`", dir.display());
        dir
    }
}
