use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::scripts;

/// What the script `name` hands to Zig when it is called with `arguments`; `zig` prints what it is given.
fn called(name: &str, arguments: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a folder");
    let zig = dir.path().join("zig");
    fs::write(&zig, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").expect("written");
    let scripts = scripts(&zig, dir.path(), Path::new("/sdk of stubs"));
    let (_, text) = scripts.iter().find(|(found, _)| *found == name).expect(name);
    let script = dir.path().join("script");
    fs::write(&script, text).expect("written");
    for path in [&zig, &script] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    }
    let output = Command::new("bash").arg(&script).args(arguments).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn compilers_get_the_target_in_zigs_words_and_nothing_that_it_does_not_take() {
    let given = ["-arch", "arm64", "--target=arm64-apple-macosx", "-isysroot", "/sdk", "-mmacosx-version-min=11.0"];
    let words = called("mac-cc", &[&given[..], &["-DNAME=a b", "-c", "x.c"]].concat());
    assert_eq!(words, ["cc", "-target", "aarch64-macos.14.0", "-g0", "-DNAME=a b", "-c", "x.c"]);
    assert_eq!(called("mac-c++", &["x.cpp"])[0], "c++");
    assert_eq!(called("mac-cc", &[]), ["cc", "-target", "aarch64-macos.14.0", "-g0"]);
}

#[test]
fn the_linker_finds_the_stubs() {
    let words = called("mac-ld", &["-framework", "AppKit"]);
    assert!(words.contains(&"-F/sdk of stubs/System/Library/Frameworks".to_owned()), "{words:?}");
    assert!(words.contains(&"-L/sdk of stubs/usr/lib".to_owned()), "{words:?}");
    assert_eq!(words[words.len() - 2..], ["-framework", "AppKit"]);
}
