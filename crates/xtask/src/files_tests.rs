use std::fs;
use std::path::Path;

use super::*;

#[test]
fn a_finished_folder_takes_the_place_of_the_old_one() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let dir = scratch.path();
    for (name, text) in [("place", "old"), ("partial", "new")] {
        fs::create_dir(dir.join(name)).expect(name);
        fs::write(dir.join(name).join("file"), text).expect(name);
    }
    replace_dir(&dir.join("partial"), &dir.join("place")).expect("moved");
    assert!(says(&dir.join("place/file"), "new"));
    assert_eq!(fs::read_dir(dir).expect("readable").count(), 1, "nothing else is left");
}

#[test]
fn an_untouched_file_keeps_its_time() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let path = scratch.path().join("file");
    write_if_new(&path, "a").expect("written");
    let time = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).expect("a time");
    let first = time(&path);
    write_if_new(&path, "a").expect("left alone");
    assert_eq!(time(&path), first);
    write_if_new(&path, "b").expect("written");
    assert!(says(&path, "b"));
}

#[test]
fn files_are_found_below_in_order_of_their_names() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let dir = scratch.path();
    for path in ["b/x.part01", "c/x.part00", "a/y"] {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(&path, "").expect("written");
    }
    let found = find(dir, |name| name.starts_with("x.")).expect("found");
    assert_eq!(found, [dir.join("c/x.part00"), dir.join("b/x.part01")]);
    only_entry(dir, |name| name == "a").expect("one folder");
    only_entry(dir, |name| name.len() == 1).expect_err("three folders");
    only_entry(dir, |name| name == "y").expect_err("not below");
}

#[test]
fn endings_add_to_a_name_with_dots() {
    assert_eq!(with_ending(Path::new("/a/mlx-0.32.2"), "old"), Path::new("/a/mlx-0.32.2.old"));
}
