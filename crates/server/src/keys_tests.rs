use super::*;

#[test]
fn secrets_find_their_keys() {
    let keys = Keys(vec![
        Key::new("a", KeyScope::Inference, "one"),
        Key::new("b", KeyScope::Manage, "two"),
        Key::new("empty", KeyScope::Manage, ""),
    ]);
    let cases = [("one", Some("a")), ("two", Some("b")), ("", None), ("on", None), ("one ", None), ("ONE", None)];
    for (secret, expected) in cases {
        assert_eq!(keys.find(secret.as_bytes()).map(|key| key.name.as_str()), expected, "{secret:?}");
    }
    assert!(Keys::default().find(b"one").is_none());
}

#[test]
fn a_hash_is_as_good_as_its_secret() {
    // SHA-256 of "abc", from FIPS 180-4.
    let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let key = Key::from_hash("a", KeyScope::Inference, hex).unwrap();
    assert_eq!(key, Key::new("a", KeyScope::Inference, "abc"));
    for bad in ["", "ba78", &"x".repeat(64), &"é".repeat(32)] {
        assert_eq!(Key::from_hash("a", KeyScope::Inference, bad), None, "{bad:?}");
    }
    assert!(!format!("{key:?}").contains("ba78"), "hashes stay out of logs");
}
