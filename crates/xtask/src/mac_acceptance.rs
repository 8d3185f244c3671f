//! `cargo xtask mac-acceptance APP`: runs on a Mac what of `packaging/mac-checklist.md` needs no eyes, and prints one report.

use std::process::{Command, Stdio};

use anyhow::{bail, ensure};

/// A question to the Mac: a command, and the text that its output has to have; empty for none.
struct Question {
    what: &'static str,
    /// `APP` stands for the app's path, `CLI` for the program for the terminal in it.
    command: &'static [&'static str],
    expected: &'static str,
}

#[rustfmt::skip] // A table: one row per line.
const QUESTIONS: &[Question] = &[
    Question { what: "system", command: &["sw_vers"], expected: "ProductVersion" },
    Question { what: "machine", command: &["sysctl", "-n", "machdep.cpu.brand_string"], expected: "Apple" },
    Question { what: "memory", command: &["sysctl", "-n", "hw.memsize"], expected: "" },
    Question { what: "signature", command: &["codesign", "--verify", "--strict", "--deep", "--verbose=2", "APP"], expected: "valid on disk" },
    Question { what: "signer and runtime", command: &["codesign", "--display", "--verbose=4", "APP"], expected: "runtime" },
    Question { what: "Gatekeeper", command: &["spctl", "--assess", "--type", "execute", "--verbose=2", "APP"], expected: "accepted" },
    Question { what: "notarisation", command: &["xcrun", "stapler", "validate", "APP"], expected: "worked" },
    Question { what: "no quarantine left", command: &["xattr", "-r", "APP"], expected: "" },
    Question { what: "libraries load", command: &["CLI", "--version"], expected: "tokbar" },
    Question { what: "kernels and machine", command: &["CLI", "doctor"], expected: "mlx.metallib" },
    Question { what: "models here", command: &["CLI", "ls"], expected: "" },
    Question { what: "models that fit", command: &["CLI", "models"], expected: "" },
    Question { what: "answer on the GPU", command: &["CLI", "run", "smollm2", "What is the capital of France?", "--temperature", "0", "--max-tokens", "24"], expected: "Paris" },
    Question { what: "speed on the GPU", command: &["CLI", "bench", "engine", "smollm2"], expected: "" },
];
/// Lines of an answer that the report shows.
const MAX_LINES: usize = 12;

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let [app] = arguments else { bail!("`mac-acceptance` takes the path of an app, such as /Applications/Tokbar.app") };
    ensure!(cfg!(target_os = "macos"), "`mac-acceptance` asks a Mac; this is none");
    println!("# Acceptance of {app}\n");
    let mut n_failed = 0;
    for question in QUESTIONS {
        let (is_fine, said) = ask(question, app);
        n_failed += u32::from(!is_fine);
        print!("{}", section(question, is_fine, &said));
    }
    println!(
        "{} of {} are fine. The rest of packaging/mac-checklist.md needs eyes.",
        QUESTIONS.len() as u32 - n_failed,
        QUESTIONS.len()
    );
    ensure!(n_failed == 0, "{n_failed} answers are not as expected");
    Ok(())
}

/// Whether the answer is as expected, and all that was said.
fn ask(question: &Question, app: &str) -> (bool, String) {
    let words = words(question.command, app);
    match Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).output() {
        Err(error) => (false, format!("cannot start {}: {error}", words[0])),
        Ok(output) => {
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            (output.status.success() && said.contains(question.expected), said)
        }
    }
}

fn words(command: &[&str], app: &str) -> Vec<String> {
    let word = |word: &&str| match *word {
        "APP" => app.to_owned(),
        "CLI" => format!("{app}/{}", crate::bundle::CLI_PROGRAM),
        word => word.to_owned(),
    };
    command.iter().map(word).collect()
}

fn section(question: &Question, is_fine: bool, said: &str) -> String {
    let verdict = if is_fine { "fine" } else { "NOT FINE" };
    let lines: Vec<String> = said.lines().take(MAX_LINES).map(|line| format!("    {line}\n")).collect();
    format!("## {}: {verdict}\n\n{}\n", question.what, lines.concat())
}

#[cfg(test)]
#[path = "mac_acceptance_tests.rs"]
mod tests;
