//! A screen, a session bus, a home folder and models, all gone with the test.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::loopback::Loopback;
use crate::tiny::tiny_model;

pub struct Desk {
    dir: TempDir,
    _programs: Programs,
    /// Where models come from; from nowhere without.
    hub: Option<String>,
    /// What the login shell is.
    shell: PathBuf,
    /// Of the screen.
    pub display: String,
    /// Of the session bus.
    pub bus_address: String,
}

impl Desk {
    /// With these tiny models on its disk.
    pub fn new(models: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        for folder in ["config", "run", "home", "models"] {
            fs::create_dir(dir.path().join(folder)).expect("a place");
        }
        fs::set_permissions(dir.path().join("run"), fs::Permissions::from_mode(0o700)).expect("our own folder");
        if !models.is_empty() {
            let tiny = tiny_model();
            models.iter().for_each(|name| copy(tiny.path(), &dir.path().join("models").join(name)));
        }
        let folders = json!([dir.path().join("models")]).to_string();
        fs::write(dir.path().join("config/folders.json"), folders).expect("a place");
        let (screen, display) = start_screen();
        let (bus, bus_address) = start_bus();
        Self { dir, hub: None, shell: "/bin/sh".into(), _programs: Programs([bus, screen]), display, bus_address }
    }

    /// The same, with a Hub in reach.
    pub fn with_hub(self, hub: &Loopback) -> Self {
        Self { hub: Some(hub.endpoint()), ..self }
    }

    /// The same, with a login shell that does this.
    pub fn with_shell(self, script: &str) -> Self {
        let shell = self.home().join("shell");
        fs::write(&shell, format!("#!/bin/sh\n{script}\n")).expect("a place");
        fs::set_permissions(&shell, fs::Permissions::from_mode(0o700)).expect("our own file");
        Self { shell, ..self }
    }

    pub fn config(&self) -> PathBuf {
        self.dir.path().join("config")
    }

    /// Where downloads go.
    pub fn hub_cache(&self) -> PathBuf {
        self.home().join(".cache/huggingface/hub")
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Sets `command` at this desk.
    pub fn seat<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match &self.hub {
            Some(hub) => command.env("HF_ENDPOINT", hub).env_remove("HF_HUB_OFFLINE"),
            None => command.env("HF_HUB_OFFLINE", "1"),
        };
        command
            .env("DISPLAY", &self.display)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.bus_address)
            .env("XDG_RUNTIME_DIR", self.dir.path().join("run"))
            .env("HOME", self.home())
            .env("SHELL", &self.shell)
            .env("TOKBAR_CONFIG_DIR", self.config())
            .env("TOKBAR_CACHE_DIR", self.dir.path().join("cache"))
            .env("TOKBAR_CACHE_RESERVE", "0")
            .env("LC_ALL", "C.UTF-8")
            // No screen that a person sits at draws with a compiler of 45 MB for want of a graphics card.
            .envs([("GDK_BACKEND", "x11"), ("NO_AT_BRIDGE", "1"), ("GDK_GL", "disable")])
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("HF_HOME")
            .env_remove("HF_HUB_CACHE")
            .stdin(Stdio::null())
    }
}

/// Programs of the desk; gone when dropped.
struct Programs([Child; 2]);

impl Drop for Programs {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a place");
    for entry in fs::read_dir(from).expect("a model") {
        let path = entry.expect("a file").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a place");
    }
}

/// It chooses a free number, and says it once it takes connections. It does not start anew when its last client leaves: the next
/// one would be thrown out.
fn start_screen() -> (Child, String) {
    let mut screen = Command::new("Xvfb");
    screen.args(["-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp", "-noreset"]);
    let (child, number) = start_and_listen(&mut screen);
    (child, format!(":{number}"))
}

fn start_bus() -> (Child, String) {
    start_and_listen(Command::new("dbus-daemon").args(["--session", "--nofork", "--nopidfile", "--print-address"]))
}

fn start_and_listen(command: &mut Command) -> (Child, String) {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it is installed");
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("stdout is piped"));
    (&mut out).take(4096).read_line(&mut line).expect("it says where it is");
    assert!(!line.trim().is_empty(), "{command:?} ended at once");
    (child, line.trim().to_owned())
}
