//! Runs other programs; a failure names the command, its exit status and what it said last.

use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, bail};

/// Lines of a failed command's output that go into the error.
const TAIL_LINES: usize = 40;

/// Runs quietly and returns standard output.
pub fn capture(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        let both = [output.stdout, output.stderr].concat();
        bail!("{}\n{}", failed(command, output.status), tail(&String::from_utf8_lossy(&both), TAIL_LINES));
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` printed text that is not UTF-8", line(command)))
}

/// Runs with this program's own input and output.
pub fn show(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("{}", failed(command, status));
    }
    Ok(())
}

/// Returns standard output, while standard error is shown as it comes.
pub fn capture_with_progress(command: &mut Command) -> anyhow::Result<String> {
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        bail!("{}", failed(command, output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// True if the command can be started and exits with status 0.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start `{}`: is it installed and on PATH?", command.get_program().display())
}

fn failed(command: &Command, status: ExitStatus) -> String {
    format!("`{}` failed ({status})", line(command))
}

/// The command as one would type it, without quoting.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn tail(text: &str, n_lines: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n_lines)..].join("\n")
}
