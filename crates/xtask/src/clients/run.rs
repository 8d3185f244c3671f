//! Runs each client against servers of ours, where nothing but this machine can be reached.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, bail};

use super::install;
use super::report::{Outcome, Tried};
use super::table::{Ask, ROWS, Row, Source};
use crate::{files, repo, shell};

/// What the scripted model says to what it does not know.
const GREETING: &str = "Hello from the script.";
/// What stands in the file that clients read, and what their tools give.
const SECRET: &str = "blue-4711";
/// Seconds after which a client is hung.
const PATIENCE: &str = "240";

/// The servers that clients are run against, and where they work.
pub struct Lab {
    tokbar: PathBuf,
    scripted: Scripted,
    real: Real,
    home: PathBuf,
}

/// The example program with the scripted model.
struct Scripted {
    child: Child,
    /// Ready, strict, busy and loading.
    addresses: Vec<String>,
}

/// `tokbar serve` with a real model.
struct Real {
    child: Child,
    address: String,
}

impl Lab {
    /// Starts the servers, with a home folder in which nothing is.
    pub fn open(tokbar: &Path, scripted: &Path, model: &Path) -> anyhow::Result<Self> {
        let home = repo::target_dir()?.join("clients");
        files::empty_dir(&home)?;
        Ok(Self {
            tokbar: tokbar.to_owned(),
            scripted: Scripted::start(scripted)?,
            real: Real::start(tokbar, model, &home)?,
            home,
        })
    }

    /// Runs all clients, or those named.
    pub fn run(&self, names: &[String]) -> anyhow::Result<Vec<Tried>> {
        let wanted = |row: &&Row| names.is_empty() || names.iter().any(|name| name == row.name);
        ROWS.iter().filter(wanted).map(|row| self.one(row)).collect()
    }

    fn one(&self, row: &'static Row) -> anyhow::Result<Tried> {
        let scripted = &self.scripted.addresses[0];
        let plain = self.ask(row, row.plain, (scripted, GREETING))?;
        let tools = self.ask(row, row.tools, (scripted, SECRET))?;
        let real = if row.is_small { self.ask(row, row.plain, (&self.real.address, ""))? } else { Outcome::NotAsked };
        eprintln!("[clients] {:<18} plain {plain}, tools {tools}, SmolLM2 {real}", row.name);
        Ok(Tried { row, plain, tools, real })
    }

    fn ask(&self, row: &Row, ask: Ask, wanted: (&str, &str)) -> anyhow::Result<Outcome> {
        let (address, expected) = wanted;
        let folder = self.home.join("work");
        files::empty_dir(&folder)?;
        std::fs::write(folder.join("hello.txt"), format!("{SECRET}\n")).context("writing hello.txt")?;
        shell::capture(Command::new("git").current_dir(&folder).args(["init", "--quiet"]))?;
        let (mut command, expected) = match ask {
            Ask::Nothing => return Ok(Outcome::NotAsked),
            Ask::Launch(arguments) => (self.launch(row, arguments, (address, &folder))?, expected),
            Ask::Snippet => (self.snippet(row, address)?, expected),
            Ask::Script(script) => (self.script(row, script)?, "all checks passed"),
        };
        let output = command.current_dir(&folder).stdin(Stdio::null()).output().context("starting a client")?;
        Ok(judge(row, &output, expected))
    }

    /// A command in an environment that tells nothing of this machine's user, ended after a while.
    fn clean(&self, program: &Path) -> anyhow::Result<Command> {
        let mut command = Command::new("timeout");
        let path = std::env::var("PATH").context("there is no PATH")?;
        command.env_clear().args(["--kill-after=5", PATIENCE]).arg(program);
        command.env("PATH", path).env("HOME", &self.home).env("LANG", "C.UTF-8").env("NO_COLOR", "1");
        command.env("TOKBAR_CONFIG_DIR", self.home.join("config")).env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
        Ok(command)
    }

    fn launch(&self, row: &Row, arguments: &[&str], at: (&str, &Path)) -> anyhow::Result<Command> {
        let (address, folder) = at;
        let program = install::place(row.folder)?.join(row.source.program());
        let bin = program.parent().context("a program lies in a folder")?;
        let mut command = self.clean(&self.tokbar)?;
        let path = std::env::var("PATH").context("there is no PATH")?;
        command.env("PATH", format!("{}:{path}", bin.display())).args(["launch", "--server", address, row.name]);
        let folder = folder.to_str().context("the path of the checkout is no UTF-8")?;
        command.args(arguments.iter().map(|argument| argument.replace("FOLDER", folder)));
        Ok(command)
    }

    /// The code that `tokbar connect` prints, as a program.
    fn snippet(&self, row: &Row, address: &str) -> anyhow::Result<Command> {
        let folder = install::place(row.folder)?;
        let mut connect = self.clean(&self.tokbar)?;
        let code = shell::capture(connect.args(["connect", "--server", address, row.name]))?;
        // Node looks for packages beside the code.
        let ending = if matches!(row.source, Source::Npm { .. }) { "mjs" } else { "py" };
        let file = folder.join(format!("snippet-{}.{ending}", row.name));
        std::fs::write(&file, code).with_context(|| format!("writing {}", file.display()))?;
        let mut command = self.clean(&interpreter(row, &folder))?;
        command.arg(file);
        Ok(command)
    }

    fn script(&self, row: &Row, script: &str) -> anyhow::Result<Command> {
        let folder = install::place(row.folder)?;
        let mut command = self.clean(&interpreter(row, &folder))?;
        let scripts = repo::root()?.join("crates/xtask/src/clients/scripts");
        command.env("CLIENT_FOLDER", &folder).arg(scripts.join(script)).args(&self.scripted.addresses);
        Ok(command)
    }
}

/// What runs a client's code: the machine's Node, or the Python of its environment.
fn interpreter(row: &Row, folder: &Path) -> PathBuf {
    match row.source {
        Source::Npm { .. } => "node".into(),
        Source::Pip { .. } => folder.join("bin/python"),
    }
}

fn judge(row: &Row, output: &Output, expected: &str) -> Outcome {
    let said = String::from_utf8_lossy(&[&output.stdout[..], b"\n", &output.stderr].concat()).into_owned();
    let answered = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && said.contains(expected) && !answered.trim().is_empty() {
        return Outcome::Right;
    }
    eprintln!("[clients] {} ended with {}, {expected:?} was expected:\n{said}", row.name, output.status);
    Outcome::Wrong
}

impl Scripted {
    fn start(program: &Path) -> anyhow::Result<Self> {
        let tokenizer = repo::testkit()?.join("tokenizers/qwen3");
        let mut command = Command::new(program);
        command.arg(tokenizer).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("starting {}", program.display()))?;
        let stdout = child.stdout.take().context("it has no output")?;
        let addresses = lines(stdout).take(4).filter_map(|line| Some(line.split_once(": ")?.1.to_owned())).collect();
        let scripted = Self { child, addresses };
        if scripted.addresses.len() < 4 {
            bail!("the scripted servers did not start");
        }
        Ok(scripted)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

impl Real {
    fn start(tokbar: &Path, model: &Path, home: &Path) -> anyhow::Result<Self> {
        let model = greedy(model, home)?;
        let mut command = Command::new(tokbar);
        command.arg("serve").arg(&model).args(["--port", "0", "--no-disk-cache", "--no-safe-mode"]);
        command.env("TOKBAR_CONFIG_DIR", home.join("config")).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("starting {}", tokbar.display()))?;
        let stdout = child.stdout.take().context("it has no output")?;
        let ready = lines(stdout).find_map(|line| line.strip_prefix("Ready: ").map(str::to_owned));
        let address = ready.context("the server did not start")?.trim_end_matches("/v1").to_owned();
        Ok(Self { child, address })
    }
}

/// The model, with the advice to choose the likeliest token: clients do not say how to, and chance may go on for long.
fn greedy(model: &Path, home: &Path) -> anyhow::Result<PathBuf> {
    const ADVICE: &str = "generation_config.json";
    let folder = home.join("SmolLM2-135M-Instruct");
    files::empty_dir(&folder)?;
    for entry in std::fs::read_dir(model).with_context(|| format!("reading {}", model.display()))? {
        let entry = entry?;
        if entry.file_name() != ADVICE {
            std::os::unix::fs::symlink(entry.path(), folder.join(entry.file_name())).context("linking the model")?;
        }
    }
    std::fs::write(folder.join(ADVICE), r#"{"do_sample": false}"#).context("writing the advice")?;
    Ok(folder)
}

impl Drop for Real {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    if let Err(error) = child.kill().and_then(|()| child.wait().map(drop)) {
        eprintln!("[clients] a server is lost: {error}");
    }
}

fn lines(out: impl std::io::Read) -> impl Iterator<Item = String> {
    BufReader::new(out).lines().map_while(Result::ok)
}
