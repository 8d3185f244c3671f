//! A served model per test, on a port of its own, gone when the test ends.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// What the KV cache leaves free of the disk: tests pass on full disks, too.
const NO_RESERVE: &str = "0";

/// Where the real models are: `cargo xtask model` puts them there.
pub fn testkit() -> PathBuf {
    std::env::var_os("TOKBAR_TESTKIT")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.testkit"), PathBuf::from)
}

pub fn smollm2() -> PathBuf {
    model("SmolLM2-135M-Instruct", "smollm2")
}

pub fn gemma3() -> PathBuf {
    model("gemma-3-270m", "gemma3")
}

fn model(folder: &str, name: &str) -> PathBuf {
    let dir = testkit().join(folder);
    assert!(dir.join("config.json").exists(), "no model at {}: run `cargo xtask model {name}`", dir.display());
    dir
}

/// Runs a command to its end, without asking any network.
pub fn tokbar(args: &[&str]) -> Output {
    tokbar_in(&no_config(), args)
}

/// With the settings of this folder.
pub fn tokbar_in(config: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokbar"));
    command
        .args(args)
        .env("HF_HUB_OFFLINE", "1")
        .env("TOKBAR_CONFIG_DIR", config)
        .env("TOKBAR_CACHE_RESERVE", NO_RESERVE)
        .stdin(Stdio::null())
        .output()
        .expect("tokbar starts")
}

/// Settings of this run alone: those of whoever runs the tests do not count.
fn no_config() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("config-{}", std::process::id()))
}

pub struct Server {
    child: Child,
    /// Such as `http://localhost:40001/v1`.
    pub base_url: String,
    /// The key of its launch.
    pub token: String,
}

impl Server {
    pub fn start(model: &Path) -> Self {
        Self::start_with(model, &[])
    }

    pub fn start_with(model: &Path, args: &[&str]) -> Self {
        // Tests kill their servers, which is no unclean end to speak of.
        Self::start_in(&no_config(), model, &[&["--no-safe-mode"], args].concat(), Stdio::inherit())
    }

    /// With the settings of this folder, and its log on `stderr`.
    pub fn start_in(config: &Path, model: &Path, args: &[&str], stderr: Stdio) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokbar"));
        command.env("TOKBAR_CONFIG_DIR", config).stderr(stderr);
        Self::run(command, model, args)
    }

    /// As [`start_with`](Self::start_with), where no file may grow beyond `n_kib`.
    pub fn start_limited(model: &Path, n_kib: u32, args: &[&str]) -> Self {
        let mut shell = Command::new("bash");
        let script = format!("trap '' XFSZ; ulimit -f {n_kib}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_tokbar")]).env("TOKBAR_CONFIG_DIR", no_config());
        Self::run(shell, model, &[&["--no-safe-mode"], args].concat())
    }

    fn run(mut command: Command, model: &Path, args: &[&str]) -> Self {
        command.arg("serve");
        if model != Path::new("") {
            command.arg(model);
        }
        Self::spawn(command, args)
    }

    /// As `command` says, up to the model.
    pub fn spawn(mut command: Command, args: &[&str]) -> Self {
        let mut child = command
            .env("TOKBAR_CACHE_RESERVE", NO_RESERVE)
            .args(["--port", "0"])
            // Without a folder of its own a test keeps nothing on disk.
            .args((!args.contains(&"--cache-dir")).then_some("--no-disk-cache"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("tokbar starts");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut lines = stdout.lines().map_while(Result::ok);
        let mut said = |start: &str| {
            let line = lines.find_map(|line| line.strip_prefix(start).map(str::to_owned));
            line.unwrap_or_else(|| panic!("the server does not say {start:?}"))
        };
        let (base_url, page) = (said("Ready: "), said("Manage: "));
        let token = page.split_once("#token=").expect("a key behind #").1.to_owned();
        Self { child, base_url, token }
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        self.base_url.trim_start_matches("http://").trim_end_matches("/v1")
    }

    /// Waits until the server ends by itself.
    pub fn ends(mut self) -> std::process::ExitStatus {
        self.child.wait().expect("the server ends")
    }

    /// Asks the server to stop as Ctrl-C does, and waits for it.
    pub fn stop(mut self) -> std::process::ExitStatus {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).expect("a pid fits"));
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("the server is there");
        self.child.wait().expect("the server ends")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.child.kill().expect("the server can be killed");
            self.child.wait().expect("the server ends");
        }
    }
}
