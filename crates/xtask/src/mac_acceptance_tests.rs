use super::{Question, ask, section, words};

fn question(command: &'static [&'static str], expected: &'static str) -> Question {
    Question { what: "test", command, expected }
}

#[test]
fn an_answer_is_fine_if_it_ends_well_and_says_what_is_expected() {
    assert_eq!(ask(&question(&["echo", "APP"], "/A b.app"), "/A b.app"), (true, "/A b.app\n".to_owned()));
    assert!(!ask(&question(&["echo", "no"], "yes"), "").0);
    assert!(!ask(&question(&["sh", "-c", "echo yes; exit 1"], "yes"), "").0);
    let (is_fine, said) = ask(&question(&["no-such-program-at-all"], ""), "");
    assert!(!is_fine && said.contains("no-such-program-at-all"), "{said}");
}

#[test]
fn the_programs_path_is_inside_the_app() {
    assert_eq!(words(&["CLI", "ls"], "/T.app"), ["/T.app/Contents/Helpers/tokbar", "ls"]);
}

#[test]
fn a_long_answer_is_cut() {
    let said = "line\n".repeat(100);
    let text = section(&question(&["x"], ""), false, &said);
    assert!(text.starts_with("## test: NOT FINE\n") && text.matches("line").count() == 12, "{text}");
}
