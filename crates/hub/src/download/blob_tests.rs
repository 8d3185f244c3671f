use super::*;

/// Adds `pieces` one by one after `earlier` and says whether the bytes are right.
fn check(earlier: &[u8], pieces: &[&[u8]], n_bytes: u64, hash: Hash, expected: bool) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.incomplete");
    fs::write(&path, earlier).unwrap();
    let mut partial = Partial::open(&path, &HubFile { name: "x".to_owned(), n_bytes, hash }).unwrap();
    for piece in pieces {
        partial.append(piece).unwrap();
    }
    assert_eq!(partial.is_right(), expected, "{earlier:?} {pieces:?}");
    partial.finish(&dir.path().join("x")).unwrap();
    assert!(!path.exists() && dir.path().join("x").exists());
}

#[test]
fn hashes_agree_with_published_ones() {
    let git = |hex: &str| Hash::Git(hex.to_owned());
    let sha256 = |hex: &str| Hash::Sha256(hex.to_owned());
    let hello = "ce013625030ba8dba906f756967f9e9ca394464a";
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    check(b"", &[], 0, git("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"), true);
    check(b"", &[b"hello\n"], 6, git(hello), true);
    check(b"he", &[b"ll", b"o\n"], 6, git(hello), true);
    check(b"hello\n", &[], 6, git(hello), true);
    check(b"", &[b"ab", b"c and more"], 3, sha256(abc), true);
    check(b"longer than it should be", &[b"abc"], 3, sha256(abc), true);
    check(b"", &[b"ab"], 3, sha256(abc), false);
    check(b"x", &[b"bc"], 3, sha256(abc), false);
}
