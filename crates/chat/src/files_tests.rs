use std::fs;

use super::*;

fn check(prepare: impl Fn(&Path), expected: Result<Option<&str>, &str>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file.json");
    prepare(&path);
    let found = read_text(&path, 8).map_err(|error| error.to_string());
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found.as_deref(), expected),
        (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
        (found, expected) => panic!("{found:?} instead of {expected:?}"),
    }
}

#[test]
fn only_plain_files_of_bounded_text_are_read() {
    check(|path| fs::write(path, "{}").unwrap(), Ok(Some("{}")));
    check(|_| {}, Ok(None));
    check(|path| fs::write(path, "123456789").unwrap(), Err("larger than 8 bytes"));
    check(|path| fs::write(path, [0xff]).unwrap(), Err("not UTF-8"));
    check(|path| fs::create_dir(path).unwrap(), Err("no plain file"));
    let pipe = |path: &Path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    check(pipe, Err("no plain file"));
}
