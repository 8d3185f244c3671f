#![allow(clippy::unwrap_used)]

use std::fs;

use super::*;

#[test]
fn keys_come_and_go_and_only_hashes_stay() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sub/keys.json");
    assert!(read(&path).unwrap().is_empty());
    let secret = add(&path, "laptop", KeyScope::Inference).unwrap();
    let other = add(&path, "me", KeyScope::Manage).unwrap();
    assert!(secret.len() > 40 && secret != other);
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(&secret) && text.contains("laptop"), "{text}");
    let keys = keys(&read(&path).unwrap());
    let found = keys.find(secret.as_bytes()).unwrap();
    assert_eq!((found.name.as_str(), found.scope), ("laptop", KeyScope::Inference));
    remove(&path, "laptop").unwrap();
    assert!(super::keys(&read(&path).unwrap()).find(secret.as_bytes()).is_none());
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2, "only the lock beside it is left");
}

#[cfg(unix)]
#[test]
fn others_cannot_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys.json");
    add(&path, "a", KeyScope::Inference).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0);
}

#[test]
fn bad_names_and_damaged_files_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys.json");
    add(&path, "a", KeyScope::Inference).unwrap();
    for name in ["", "a b", "a/b", &"x".repeat(65), "a"] {
        assert!(add(&path, name, KeyScope::Inference).is_err(), "{name:?}");
    }
    assert!(remove(&path, "b").unwrap_err().to_string().contains("the keys are: a"));
    for text in [
        "",
        "{",
        "[{\"name\": \"a\"}]",
        "[{\"name\":\"a\",\"scope\":\"all\",\"sha256\":\"00\",\"created\":\"2026-01-01T00:00:00Z\"}]",
    ] {
        fs::write(&path, text).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("is damaged"), "{text}");
        assert!(add(&path, "c", KeyScope::Inference).is_err(), "a damaged file is not overwritten");
    }
}
