use super::*;

fn server(pid: u32, model: &str) -> Running {
    Running { pid, model: model.to_owned(), token: String::new(), address: "127.0.0.1:1".to_owned() }
}

#[test]
fn only_unclean_ends_leave_marks() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("running");
    assert!(take_unclean(&dir).is_empty());
    let mark = Mark::set(&dir, &server(1, "a")).unwrap();
    assert_eq!(running(&dir), [server(1, "a")]);
    assert!(take_unclean(&dir).is_empty(), "it still runs");
    drop(mark);
    assert!(running(&dir).is_empty() && take_unclean(&dir).is_empty());

    // As a kill leaves it: the file without its lock.
    fs::write(dir.join("2.json"), serde_json::to_vec(&server(2, "b")).unwrap()).unwrap();
    fs::write(dir.join("3.json"), "cut sh").unwrap();
    fs::write(dir.join("5.json"), serde_json::to_vec(&server(5, "")).unwrap()).unwrap();
    let mut other = Mark::set(&dir, &server(4, "a longer name")).unwrap();
    other.update(&server(4, "c"));
    assert_eq!(take_unclean(&dir), ["b"]);
    assert!(take_unclean(&dir).is_empty(), "it is said once");
    assert_eq!(running(&dir), [server(4, "c")]);
}

#[test]
fn a_folder_that_cannot_be_written_is_no_error() {
    assert!(Mark::set(Path::new("/proc/nowhere"), &server(1, "a")).is_none());
}
