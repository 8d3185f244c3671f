use super::*;

#[test]
fn a_panic_leaves_a_report_that_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(take(dir.path()), None);
    watch(dir.path());
    note_state("Qwen · 108 tok/s".to_owned());
    let panicked = std::thread::Builder::new().name("doomed".to_owned()).spawn(|| panic!("the reason")).unwrap().join();
    assert!(panicked.is_err());
    let text = fs::read_to_string(take(dir.path()).unwrap()).unwrap();
    for part in ["Tokbar ", "thread doomed at ", "report_tests.rs", ": the reason", "It was: Qwen · 108 tok/s"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(take(dir.path()), None);
}
