use super::*;

struct Says(Option<&'static str>);

impl LoginShell for Says {
    fn variables(&self) -> Option<String> {
        self.0.map(str::to_owned)
    }
}

#[test]
fn only_what_matters_is_taken_over() {
    let found =
        known("PATH=/bin\nHF_HOME=/Volumes/Big/hf\nHF_TOKEN=hf_x=y\nHF_HOMELY=1\nno line\nHF_ENDPOINT=a\u{7}b\n");
    let pairs: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(pairs, [("HF_HOME", "/Volumes/Big/hf"), ("HF_TOKEN", "hf_x=y")]);
    assert!(known(&format!("HF_HOME={}", "x".repeat(5000))).is_empty());
}

#[test]
fn whoever_asks_waits_for_the_shell_which_is_asked_once() {
    expect();
    let asker = std::thread::spawn(|| var("TOKBAR_HF_MIRRORS"));
    adopt(&Says(Some("TOKBAR_HF_MIRRORS=https://mirror.example")));
    adopt(&Says(Some("TOKBAR_HF_MIRRORS=late")));
    assert_eq!(asker.join().expect("an answer").as_deref(), Some("https://mirror.example"));
    assert_eq!(var("HF_HOMELY"), None);
}

#[test]
fn a_shell_that_does_not_answer_sets_nothing() {
    assert!(known(&Says(None).variables().unwrap_or_default()).is_empty());
}

#[test]
fn this_users_shell_answers_unless_nobody_waits() {
    let said = crate::wiring::UserShell::default().variables().expect("a shell");
    assert!(said.lines().any(|line| line.starts_with("PATH=")), "{said}");
    let shell = crate::wiring::UserShell::default();
    shell.give_up();
    assert_eq!(shell.variables(), None);
}

#[test]
fn what_a_profile_leaves_running_is_not_waited_for() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a folder");
    let (shell, note) = (dir.path().join("shell"), dir.path().join("pid"));
    let script = format!("#!/bin/sh\nsleep 60 &\necho $! > {}\nHF_HOME=/x exec env\n", note.display());
    std::fs::write(&shell, script).expect("a place");
    std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o700)).expect("ours");
    let said = crate::wiring::UserShell::at(shell.into()).variables().expect("it answers");
    assert!(said.lines().any(|line| line == "HF_HOME=/x"), "{said}");
    let pid = std::fs::read_to_string(note).expect("a process").trim().parse().expect("a number");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).expect("it still runs");
}
