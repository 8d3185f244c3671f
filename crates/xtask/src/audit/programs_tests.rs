use super::{entitlement_problems, problems};
use crate::audit::{Binary, Signer, macho, sample};

/// What is wrong with a program, in an app that has MLX's library.
fn found(change: impl FnOnce(&mut sample::Sample), signer: Signer) -> Vec<String> {
    let mut program = sample::program();
    change(&mut program);
    let macho = macho::read(&program.bytes()).expect("a program");
    let files = ["Contents/Frameworks/libmlx.dylib".to_owned()];
    problems(&Binary { inside: "Contents/MacOS/Tokbar".to_owned(), macho }, &files, (14, 0), signer)
}

/// One problem, which says this.
fn check(change: impl FnOnce(&mut sample::Sample), cause: &str) {
    let found = found(change, Signer::Anybody);
    assert!(matches!(&found[..], [problem] if problem.contains(cause)), "expected `{cause}`: {found:?}");
}

#[test]
fn a_program_that_is_fine_has_no_problems() {
    assert_eq!(found(|_| {}, Signer::Anybody), Vec::<String>::new());
}

#[test]
fn each_fault_is_named() {
    check(|program| program.cpu = 0x0100_0007, "not for Apple silicon");
    check(|program| program.min_macos = (15, 0), "needs macOS (15, 0)");
    check(|program| program.rpaths.clear(), "has no rpath @executable_path/../Frameworks");
    check(|program| program.rpaths.push("/opt/homebrew/lib"), "in /opt/homebrew/lib, outside the app");
    check(|program| program.dylibs.push("/opt/homebrew/lib/libfmt.dylib"), "other Macs do not have");
    check(|program| program.dylibs.push("/usr/lib/../../opt/x.dylib"), "other Macs do not have");
    check(|program| program.dylibs.push("@rpath/libjaccl.dylib"), "Frameworks/libjaccl.dylib is not there");
    check(|program| program.is_signed = false, "is not signed");
    check(|program| program.entitlements = Some("<plist><dict>"), "cannot be read");
}

#[test]
fn a_release_is_signed_by_a_developer() {
    let found = found(|_| {}, Signer::Developer);
    assert!(matches!(&found[..], [problem] if problem.contains("signed by nobody")), "{found:?}");
}

#[test]
fn no_entitlement_is_needed() {
    let with = |key: &str| format!("<plist><dict><key>{key}</key><true/></dict></plist>");
    for key in ["com.apple.security.cs.allow-jit", "com.apple.security.cs.disable-library-validation"] {
        let found = entitlement_problems(&with(key));
        assert!(matches!(&found[..], [problem] if problem.contains(key)), "{found:?}");
    }
    assert_eq!(entitlement_problems(include_str!("../../../../packaging/entitlements.plist")), Vec::<String>::new());
}
