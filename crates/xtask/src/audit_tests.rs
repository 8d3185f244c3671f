use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Signer, app_report, sample};
use crate::bundle;

/// Problems of an app in which something was changed.
fn problems(change: impl FnOnce(&Path)) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a folder");
    let app = sample::app(dir.path());
    change(&app);
    app_report(&app, Signer::Anybody).expect("an app that can be read").problems
}

fn check(change: impl FnOnce(&Path), cause: &str) {
    let found = problems(change);
    assert!(matches!(&found[..], [problem] if problem.contains(cause)), "expected `{cause}`: {found:?}");
}

fn write(path: &Path, bytes: &[u8], mode: u32) {
    fs::write(path, bytes).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

#[test]
fn the_bundlers_app_is_fine() {
    assert_eq!(problems(|_| {}), Vec::<String>::new());
}

#[test]
fn a_missing_part_is_named() {
    for part in [bundle::METALLIB, bundle::CLI_PROGRAM, "Contents/Resources/LICENSE-APACHE", "Contents/PkgInfo"] {
        check(|app| fs::remove_file(app.join(part)).expect("removed"), &format!("{part}: is not there"));
    }
}

#[test]
fn kernels_that_are_none_are_named() {
    check(|app| write(&app.join(bundle::METALLIB), b"not kernels", 0o644), "holds no Metal kernels");
}

#[test]
fn what_breaks_a_signature_is_named() {
    let resources = |app: &Path| app.join("Contents/Resources");
    check(|app| write(&resources(app).join("._icon"), b"", 0o644), "a leaving of the Finder");
    check(|app| write(&resources(app).join("tool"), &sample::program().bytes(), 0o755), "code where no code belongs");
    check(|app| write(&app.join("Contents/MacOS/run.sh"), b"#!/bin/sh\n", 0o755), "is no program or library");
    check(|app| write(&app.join("Contents/MacOS/Tokbar"), &sample::program().bytes(), 0o644), "is not executable");
    check(|app| write(&resources(app).join("open"), b"", 0o666), "others may write");
    let link = |app: &Path| std::os::unix::fs::symlink("/etc/passwd", resources(app).join("link")).expect("linked");
    check(link, "a link");
}

#[test]
fn a_library_that_is_gone_is_missed_by_whoever_loads_it() {
    let found = problems(|app| fs::remove_file(app.join("Contents/Frameworks/libmlx.dylib")).expect("removed"));
    let missed = found.iter().filter(|problem| problem.contains("loads @rpath/libmlx.dylib")).count();
    assert_eq!((found.len(), missed), (3, 2), "{found:?}");
}

#[test]
fn an_app_without_a_list_cannot_be_read() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = sample::app(dir.path());
    fs::remove_file(app.join("Contents/Info.plist")).expect("removed");
    let error = app_report(&app, Signer::Anybody).expect_err("no list").to_string();
    assert!(error.contains("Info.plist"), "{error}");
}

#[test]
fn an_app_is_found_out_whatever_byte_of_a_program_is_turned() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = sample::app(dir.path());
    let program = app.join(bundle::APP_PROGRAM);
    let bytes = fs::read(&program).expect("a program");
    for at in 0..bytes.len() {
        let mut turned = bytes.clone();
        turned[at] ^= 0xff;
        fs::write(&program, turned).expect("written");
        // Many turned bytes are of no account; none may break the audit off.
        app_report(&app, Signer::Anybody).expect("a report, whatever it says");
    }
}
