//! Installs a package in a folder, serves a real model from there, and removes it again.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use crate::{files, shell};

/// Longer than a start takes anywhere, and an answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// What a model's name is in the folder of models.
const MODEL: &str = "SmolLM2";

/// Fails with what does not work.
pub fn works(package: &Path, model: &Path) -> anyhow::Result<()> {
    ensure!(model.join("config.json").is_file(), "{} is no model", model.display());
    let place = super::super::folder()?.join("installed");
    files::empty_dir(&place)?;
    let database = place.join("var/lib/dpkg");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(database.join(folder))?;
    }
    fs::write(database.join("status"), "")?;
    let dpkg = |words: &[&str]| {
        let mut dpkg = Command::new("dpkg");
        // Into this folder alone: what it needs of the system is the machine's.
        dpkg.arg(format!("--root={}", place.display())).args(["--force-depends", "--force-not-root"]).args(words);
        dpkg
    };
    shell::capture(dpkg(&["--install"]).arg(package))?;
    let version = shell::capture(Command::new(place.join("usr/bin/tokbar")).arg("--version"))?;
    println!("  installed: {}", version.trim());
    let mut doctor = Command::new(place.join("usr/bin/tokbar"));
    let findings = shell::capture(doctor.args(["doctor", "--json"]).env("HF_HUB_OFFLINE", "1"))?;
    ensure!(findings.contains("share/doc/tokbar/THIRD-PARTY.txt"), "the notices are not found: {findings}");
    let answer = ask_desktop(&place, model)?;
    println!("  answered: {answer}");
    ensure!(answer.contains("Paris"), "the app answers {answer:?}");
    shell::capture(&mut dpkg(&["--purge", "tokbar"]))?;
    let left = files::find(&place.join("usr"), |_| true).unwrap_or_default();
    ensure!(left.is_empty(), "after its removal there are still {left:?}");
    println!("  removed: nothing is left");
    files::remove_dir(&place)
}

/// Starts the desktop app without a desktop, asks it a question over HTTP, and ends it as a session's end does.
fn ask_desktop(place: &Path, model: &Path) -> anyhow::Result<String> {
    let home = place.join("home");
    let (config, models, run) = (home.join("config"), home.join("models"), home.join("run"));
    for folder in [&config, &models, &run] {
        fs::create_dir_all(folder)?;
    }
    std::os::unix::fs::symlink(model.canonicalize()?, models.join(MODEL)).context("linking the model")?;
    fs::write(config.join("folders.json"), json!([models]).to_string())?;
    let screen = Program::start(Command::new("Xvfb").args([
        "-displayfd",
        "1",
        "-screen",
        "0",
        "1280x900x24",
        "-nolisten",
        "tcp",
    ]))?;
    let bus =
        Program::start(Command::new("dbus-daemon").args(["--session", "--nofork", "--nopidfile", "--print-address"]))?;
    let mut command = Command::new(place.join("usr/bin/tokbar-desktop"));
    command.arg("--window").env("DISPLAY", format!(":{}", screen.said)).env("DBUS_SESSION_BUS_ADDRESS", &bus.said);
    command.env("HOME", &home).env("XDG_RUNTIME_DIR", &run).env("TOKBAR_CONFIG_DIR", &config);
    command.env("TOKBAR_CACHE_DIR", home.join("cache")).env("HF_HUB_OFFLINE", "1").env("GDK_BACKEND", "x11");
    command.env("NO_AT_BRIDGE", "1").env_remove("WAYLAND_DISPLAY").env_remove("LD_LIBRARY_PATH").stdin(Stdio::null());
    let mut app = Running(command.spawn().context("starting the installed app")?);
    let address = wait("the app serves", || address(&config))?;
    let answer = chat(&address)?;
    shell::capture(Command::new("kill").arg(app.0.id().to_string()))?;
    let status = wait("the app ends", || app.0.try_wait().ok().flatten())?;
    ensure!(status.success(), "the app ended with {status}");
    ensure!(TcpStream::connect(&address).is_err(), "something still listens at {address}");
    Ok(answer)
}

/// Where the running app listens, as its mark says.
fn address(config: &Path) -> Option<String> {
    let mark = fs::read_dir(config.join("running")).ok()?.flatten().next()?;
    let mark: Value = serde_json::from_str(&fs::read_to_string(mark.path()).ok()?).ok()?;
    mark["address"].as_str().map(str::to_owned)
}

fn chat(address: &str) -> anyhow::Result<String> {
    let question = json!({ "role": "user", "content": "What is the capital of France?" });
    let body = json!({ "model": MODEL, "messages": [question], "temperature": 0, "max_tokens": 24 }).to_string();
    let mut socket = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    write!(
        socket,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).context("reading the answer")?;
    let start = answer.find('{').with_context(|| format!("the app answers {answer}"))?;
    let end = answer.rfind('}').context("an answer that does not end")?;
    let said: Value =
        serde_json::from_str(&answer[start..=end]).with_context(|| format!("the app answers {answer}"))?;
    let text = said["choices"][0]["message"]["content"].as_str().with_context(|| format!("the app answers {said}"))?;
    Ok(text.to_owned())
}

fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> anyhow::Result<T> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(seen) = look() {
            return Ok(seen);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("waited {} s in vain: {what}", PATIENCE.as_secs())
}

/// A child that does not outlive this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait().map(drop)) {
            eprintln!("a program stays: {error}");
        }
    }
}

/// A program of the desktop's, and the line with which it says where it is.
struct Program {
    said: String,
    _child: Running,
}

impl Program {
    fn start(command: &mut Command) -> anyhow::Result<Program> {
        let name = command.get_program().display().to_string();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Running(command.spawn().with_context(|| format!("starting {name}"))?);
        let mut line = String::new();
        let out = child.0.stdout.take().context("a program without output")?;
        BufReader::new(out).take(4096).read_line(&mut line)?;
        ensure!(!line.trim().is_empty(), "{name} ended at once");
        Ok(Program { said: line.trim().to_owned(), _child: child })
    }
}
