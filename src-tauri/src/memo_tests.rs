use std::fs;

use super::*;

#[test]
fn the_newest_come_first_and_once() {
    let mut memo = Memo::default();
    for name in ["a", "b", "a"] {
        memo.started(name);
    }
    assert_eq!(memo.recents, ["a", "b"]);
    (0..100).for_each(|idx| memo.started(&idx.to_string()));
    assert_eq!(memo.recents.len(), N_RECENTS_MAX);
    assert_eq!(memo.recents[0], "99");
}

#[test]
fn what_is_written_is_read_and_damage_is_a_new_start() {
    let dir = tempfile::tempdir().unwrap();
    let path = place(&dir.path().join("new"));
    assert_eq!(Memo::read(&path), None);
    let memo = Memo { recents: vec!["a/b".to_owned()] };
    memo.write(&path).unwrap();
    assert_eq!(Memo::read(&path), Some(memo));
    for damaged in ["", "[1", "{\"recents\": 3}"] {
        fs::write(&path, damaged).unwrap();
        assert_eq!(Memo::read(&path), None, "{damaged}");
    }
    fs::write(&path, "{}").unwrap();
    assert_eq!(Memo::read(&path), Some(Memo::default()));
    assert!(Memo::default().write(Path::new("/proc/nowhere/desktop.json")).is_err());
}
