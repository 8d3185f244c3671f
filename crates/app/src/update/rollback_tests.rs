use std::fs;
use std::path::Path;

use super::{Kept, Start, Trial, keep_previous, put_back, read_trial, started, write_trial};

fn trial(n_starts: u32) -> Trial {
    Trial { from: "1.0.0".to_owned(), to: "1.1.0".to_owned(), n_starts }
}

/// An app that is one file with this text, and a folder in it.
fn app(place: &Path, text: &str) {
    fs::create_dir_all(place.join("Contents/MacOS")).expect("a folder");
    fs::write(place.join("Contents/MacOS/Tokbar"), text).expect("written");
}

fn says(place: &Path) -> String {
    fs::read_to_string(place.join("Contents/MacOS/Tokbar")).expect("an app")
}

#[test]
fn a_version_that_fails_to_start_twice_gives_way() {
    assert_eq!(started(None, "1.0.0"), Start::Ordinary);
    assert_eq!(started(Some(trial(0)), "1.1.0"), Start::OnTrial(trial(1)));
    assert_eq!(started(Some(trial(1)), "1.1.0"), Start::OnTrial(trial(2)));
    assert_eq!(started(Some(trial(2)), "1.1.0"), Start::OfferPrevious(trial(3)));
    assert_eq!(started(Some(trial(u32::MAX)), "1.1.0"), Start::OfferPrevious(trial(u32::MAX)));
    assert_eq!(started(Some(trial(3)), "1.0.0"), Start::Back(trial(3)));
    assert_eq!(started(Some(trial(3)), "2.0.0"), Start::Ordinary);
}

#[test]
fn the_trial_outlives_the_program() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("update.json");
    assert_eq!(read_trial(&file), None);
    write_trial(&file, Some(&trial(1))).expect("written");
    assert_eq!(read_trial(&file), Some(trial(1)));
    for junk in ["", "{}", "[]", &"x".repeat(10_000)] {
        fs::write(&file, junk).expect("written");
        assert_eq!(read_trial(&file), None, "{junk:.20}");
    }
    write_trial(&file, None).expect("removed");
    write_trial(&file, None).expect("removed again");
    assert!(!file.exists());
}

#[test]
fn the_version_before_comes_back_whole() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = dir.path().join("Tokbar.app");
    app(&place, "one");
    let kept = keep_previous(&place, &dir.path().join("kept")).expect("kept");
    fs::remove_dir_all(&place).expect("removed");
    app(&place, "two, which fails");
    fs::write(place.join("Contents/new"), "").expect("written");

    put_back(&kept, &place).expect("put back");
    assert_eq!(says(&place), "one");
    assert!(!place.join("Contents/new").exists(), "nothing of the other is left");
    assert_eq!(says(&kept.app), "one", "and it is still kept");
    let names: Vec<_> =
        fs::read_dir(dir.path()).expect("a folder").map(|entry| entry.expect("one").file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn an_app_that_is_one_file_is_kept_and_put_back_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let (image, folder) = (dir.path().join("Tokbar.AppImage"), dir.path().join("kept"));
    fs::write(&image, "one").expect("written");
    let kept = keep_previous(&image, &folder).expect("kept");
    assert_eq!(kept, Kept::of(&image, &folder));
    fs::write(&image, "two").expect("written");
    put_back(&kept, &image).expect("back");
    assert_eq!(fs::read_to_string(&image).expect("an app"), "one");
    kept.forget().expect("forgotten");
    kept.forget().expect("again");
    assert!(!kept.app.exists());
}

#[test]
fn only_the_newest_is_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    let (place, folder) = (dir.path().join("Tokbar.app"), dir.path().join("kept"));
    app(&place, "one");
    keep_previous(&place, &folder).expect("kept");
    fs::write(place.join("Contents/MacOS/Tokbar"), "two").expect("written");
    let kept = keep_previous(&place, &folder).expect("kept");
    assert_eq!(says(&kept.app), "two");
}

#[test]
fn what_is_not_there_changes_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = dir.path().join("Tokbar.app");
    app(&place, "two");
    let error = put_back(&Kept { app: dir.path().join("kept/Tokbar.app") }, &place).expect_err("nothing is kept");
    assert!(error.to_string().contains("kept/Tokbar.app"), "{error}");
    assert_eq!(says(&place), "two");
    assert!(keep_previous(&dir.path().join("none"), &dir.path().join("kept")).is_err());
}
