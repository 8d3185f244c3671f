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
fn a_shell_that_does_not_answer_sets_nothing_and_is_asked_once() {
    adopt(&Says(None));
    adopt(&Says(Some("TOKBAR_HF_MIRRORS=late")));
    assert_eq!(var("TOKBAR_HF_MIRRORS"), None);
}

#[test]
fn this_users_shell_answers() {
    let said = crate::wiring::UserShell.variables().expect("a shell");
    assert!(said.lines().any(|line| line.starts_with("PATH=")), "{said}");
}
