use super::*;

#[test]
fn revisions_stay_inside_the_cache() {
    let check = |revision: &str, expected: bool| assert_eq!(is_revision(revision), expected, "{revision}");
    ["main", "v1.0", "4bit-g64", "0123abc"].iter().for_each(|revision| check(revision, true));
    ["", ".", "..", "../main", "refs/pr/1", "a b", "a?b", "-x"].iter().for_each(|revision| check(revision, false));
    check(&"a".repeat(129), false);
}
