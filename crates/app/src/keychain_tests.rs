use std::os::unix::fs::PermissionsExt;

use super::*;

fn keychain(dir: &std::path::Path) -> Keychain {
    Keychain(Box::new(file::SecretsFile::at(dir.join("new/secrets.json"))))
}

#[test]
fn secrets_are_kept_replaced_and_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let keychain = keychain(dir.path());
    assert_eq!(keychain.get("cloud").unwrap(), None);
    keychain.remove("cloud").unwrap();
    assert!(!dir.path().join("new").exists(), "nothing is written for nothing");
    keychain.set("cloud", "sk-1").unwrap();
    keychain.set("other", "x").unwrap();
    keychain.set("cloud", "sk-2").unwrap();
    assert_eq!(keychain.get("cloud").unwrap().as_deref(), Some("sk-2"));
    keychain.remove("cloud").unwrap();
    assert_eq!(keychain.get("cloud").unwrap(), None);
    assert_eq!(keychain.get("other").unwrap().as_deref(), Some("x"));
}

#[test]
fn nobody_else_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    keychain(dir.path()).set("cloud", "sk-1").unwrap();
    let mode = std::fs::metadata(dir.path().join("new/secrets.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_is_no_name_or_key_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let keychain = keychain(dir.path());
    let long = "x".repeat(N_SECRET_MAX + 1);
    for secret in ["", "a b", "a\n", "schlüssel", &long] {
        let error = keychain.set("cloud", secret).unwrap_err().to_string();
        assert!(error.contains("copy it again"), "{error}");
        assert!(secret.is_empty() || !error.contains(secret), "it is not repeated");
    }
    for name in ["", "a b", "../x", &"n".repeat(N_NAME_MAX + 1)] {
        assert!(keychain.get(name).is_err() && keychain.set(name, "s").is_err() && keychain.remove(name).is_err());
    }
}

#[test]
fn a_damaged_file_is_named_and_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/secrets.json");
    std::fs::create_dir(dir.path().join("new")).unwrap();
    std::fs::write(&path, "{\"cloud\": 3").unwrap();
    let error = keychain(dir.path()).set("cloud", "sk-1").unwrap_err();
    assert!(format!("{error:#}").contains("secrets.json is damaged"), "{error:#}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"cloud\": 3");
}
