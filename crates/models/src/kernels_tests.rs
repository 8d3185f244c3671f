use std::fs;
use std::path::Path;

use super::{check, in_app};

#[test]
fn both_programs_of_an_app_find_its_kernels_wherever_it_is() {
    let translocated = "/private/var/folders/zz/T/AppTranslocation/0A/d/Tokbar.app";
    for app in ["/Applications/Tokbar.app", "/Volumes/Tokbar 1.2/Tokbar.app", translocated, "/tmp/Other name.app"] {
        for program in ["Contents/MacOS/Tokbar", "Contents/Helpers/tokbar"] {
            let found = in_app(&Path::new(app).join(program)).expect(program);
            assert_eq!(found, Path::new(app).join("Contents/Resources/mlx.metallib"));
        }
    }
}

#[test]
fn outside_an_app_there_are_none() {
    for program in [
        "/usr/local/bin/tokbar",
        "/checkout/target/debug/tokbar",
        "/Applications/Tokbar.app/Contents/Resources/tokbar",
        "/Applications/Tokbar/Contents/MacOS/Tokbar",
        "/Tokbar.app/MacOS/Tokbar",
        "tokbar",
        "/",
    ] {
        assert_eq!(in_app(Path::new(program)), None, "{program}");
    }
}

#[test]
fn damage_is_named_with_the_file_and_what_to_do() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("mlx.metallib");
    let said = |expected: &str| {
        let error = check(&path).expect_err(expected).to_string();
        let parts = [expected, "mlx.metallib", "brew reinstall --cask tokbar"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    said("cannot be read");
    for bytes in [&b""[..], b"MTL", b"MTLA and more"] {
        fs::write(&path, bytes).expect("written");
        said("holds no Metal kernels");
    }
    fs::write(&path, b"MTLB and kernels").expect("written");
    check(&path).expect("kernels");
}
