use std::path::Path;

use super::{Place, app_of, place_of};

fn check(program: &str, writable: &[&str], expected: Place) {
    let can_write = |folder: &Path| writable.iter().any(|known| Path::new(known) == folder);
    let app = app_of(Path::new(program), None);
    assert_eq!(place_of(app.as_deref(), can_write), expected, "{program} {writable:?}");
}

#[test]
fn an_app_is_replaced_only_where_both_folders_may_be_written() {
    let program = "/Applications/Tokbar.app/Contents/MacOS/Tokbar";
    check(program, &["/Applications", "/Applications/Tokbar.app"], Place::Installed);
    check(program, &["/Applications"], Place::ReadOnly);
    check(program, &["/Applications/Tokbar.app"], Place::ReadOnly);
    check(program, &[], Place::ReadOnly);
}

#[test]
fn hidden_copies_and_disk_images_are_told_from_other_places() {
    let hidden = "/private/var/folders/a/b/T/AppTranslocation/C0/d/Tokbar.app";
    check(&format!("{hidden}/Contents/MacOS/Tokbar"), &[], Place::Translocated);
    let parent = hidden.trim_end_matches("/Tokbar.app");
    check(&format!("{hidden}/Contents/MacOS/Tokbar"), &[parent, hidden], Place::Translocated);
    check("/Volumes/Tokbar/Tokbar.app/Contents/MacOS/Tokbar", &[], Place::DiskImage);
    // A drive is no disk image.
    let drive = "/Volumes/Drive/Tokbar.app";
    check(&format!("{drive}/Contents/MacOS/Tokbar"), &["/Volumes/Drive", drive], Place::Installed);
}

#[test]
fn a_program_of_a_checkout_is_in_no_app() {
    for program in ["/checkout/target/debug/tokbar-desktop", "/Tokbar.app/Tokbar", "/", "Tokbar"] {
        assert_eq!(app_of(Path::new(program), None), None, "{program}");
        check(program, &["/"], Place::Loose);
    }
}

#[test]
fn an_image_is_the_app_whatever_runs_inside_it() {
    let image = Path::new("/opt/Tokbar.AppImage");
    let app = app_of(Path::new("/tmp/.mount_x/usr/bin/tokbar-desktop"), Some(image)).expect("an app");
    assert_eq!(app, image);
    assert_eq!(place_of(Some(&app), |_| true), Place::Installed);
    assert_eq!(place_of(Some(&app), |path| path == image), Place::ReadOnly);
}
