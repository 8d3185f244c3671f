//! The scripts of `packaging/`, run for real with stand-ins for the programs that only a Mac has. The stand-ins write down
//! how they were called, and answer what the test wants them to.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::audit::sample;
use crate::repo;

struct Stage {
    dir: tempfile::TempDir,
}

impl Stage {
    /// A folder with an app, and with stand-ins that do nothing but write down their calls.
    fn new() -> Stage {
        let stage = Stage { dir: tempfile::tempdir().expect("a folder") };
        fs::create_dir(stage.dir.path().join("bin")).expect("a folder");
        for name in ["codesign", "xcrun", "ditto", "hdiutil", "security", "minisign", "gh", "cargo"] {
            stage.stand_in(name, "");
        }
        sample::app(stage.dir.path());
        stage
    }

    fn app(&self) -> PathBuf {
        self.dir.path().join("out/Tokbar.app")
    }

    /// A program of this name: it writes down its call, then does `then`.
    fn stand_in(&self, name: &str, then: &str) {
        let path = self.dir.path().join("bin").join(name);
        let calls = self.dir.path().join("calls");
        let text = format!("#!/bin/bash\necho \"{name} $*\" >> '{}'\n{then}\n", calls.display());
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    }

    fn run(&self, script: &str, arguments: &[&Path], variables: &[(&str, &str)]) -> Output {
        self.run_at(&repo::root().expect("a checkout").join("packaging").join(script), arguments, variables)
    }

    fn run_at(&self, script: &Path, arguments: &[&Path], variables: &[(&str, &str)]) -> Output {
        let path = std::env::var("PATH").expect("a PATH");
        let mut command = Command::new("bash");
        command.arg(script).args(arguments).env("PATH", format!("{}:{path}", self.dir.path().join("bin").display()));
        for name in ["SIGN_IDENTITY", "NOTARY_KEY", "UPDATE_KEY", "TOKBAR_UPDATE_KEY", "RUNNER_TEMP"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied()).output().expect("bash starts")
    }

    /// Calls of stand-ins, with the app's path and other folders left out.
    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join("calls")).unwrap_or_default();
        let app = self.app().display().to_string();
        text.replace(&app, "APP").lines().map(str::to_owned).collect()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

const NOTARY: &[(&str, &str)] = &[("NOTARY_KEY", "key.p8"), ("NOTARY_KEY_ID", "id"), ("NOTARY_ISSUER", "issuer")];

#[test]
fn the_app_is_signed_from_the_inside_with_the_hardened_runtime() {
    let stage = Stage::new();
    let output = stage.run("sign.sh", &[&stage.app()], &[("SIGN_IDENTITY", "Developer ID")]);
    assert!(output.status.success(), "{}", said(&output));
    let calls = stage.calls();
    let options = "codesign --force --options runtime --sign Developer ID --timestamp";
    assert_eq!(calls[0], format!("{options} APP/Contents/Frameworks/libmlx.dylib"));
    assert_eq!(calls[1], format!("{options} APP/Contents/Helpers/tokbar"));
    assert!(calls[2].starts_with(options) && calls[2].ends_with("entitlements.plist APP"), "{calls:?}");
    assert_eq!(calls[3..], ["codesign --verify --strict --deep --verbose=2 APP"]);

    assert!(!stage.run("sign.sh", &[&stage.app()], &[]).status.success(), "without an identity nothing is signed");
    stage.stand_in("codesign", "exit 1");
    assert!(!stage.run("sign.sh", &[&stage.app()], &[("SIGN_IDENTITY", "-")]).status.success());
}

#[test]
fn notarisation_goes_by_the_status_and_not_by_the_exit_code() {
    for (answer, is_fine) in [
        (r#"{"id": "7", "status": "Accepted"}"#, true),
        (r#"{"id": "7", "status": "Invalid"}"#, false),
        (r#"{"id": "7", "status": "In Progress"}"#, false),
        (r#"{"message": "no such key"}"#, false),
        ("not JSON", false),
        ("", false),
    ] {
        let stage = Stage::new();
        stage.stand_in("xcrun", &format!("[ \"$2\" != submit ] || echo '{answer}'"));
        let output = stage.run("notarise.sh", &[&stage.app()], NOTARY);
        assert_eq!(output.status.success(), is_fine, "{answer}: {}", said(&output));
        let calls = stage.calls();
        let is_stapled = calls.iter().any(|call| call == "xcrun stapler staple APP");
        assert_eq!(is_stapled, is_fine, "{answer}: {calls:?}");
        if answer.contains("Invalid") {
            assert!(said(&output).contains("is \"Invalid\", not \"Accepted\""), "{}", said(&output));
            assert!(calls.iter().any(|call| call.starts_with("xcrun notarytool log 7")), "{calls:?}");
        }
    }
}

#[test]
fn an_app_is_sent_as_an_archive_and_a_disk_image_as_it_is() {
    let stage = Stage::new();
    stage.stand_in("xcrun", "[ \"$2\" != submit ] || echo '{\"status\": \"Accepted\"}'");
    let dmg = stage.dir.path().join("x.dmg");
    fs::write(&dmg, "image").expect("written");
    assert!(stage.run("notarise.sh", &[&dmg], NOTARY).status.success());
    assert!(stage.calls()[0].starts_with(&format!("xcrun notarytool submit {}", dmg.display())), "{:?}", stage.calls());
    assert!(stage.run("notarise.sh", &[&stage.app()], NOTARY).status.success());
    assert!(stage.calls().iter().any(|call| call.starts_with("ditto -c -k --keepParent APP")), "{:?}", stage.calls());
}

#[test]
fn the_disk_image_holds_the_app_and_a_link() {
    let stage = Stage::new();
    stage.stand_in("ditto", "cp -R \"$1\" \"$2\"");
    stage.stand_in("hdiutil", "for last; do :; done; ls \"$5\" > \"$last\"");
    let out = stage.dir.path();
    let output = stage.run("dmg.sh", &[&stage.app(), Path::new("1.2.3"), out], &[]);
    assert!(output.status.success(), "{}", said(&output));
    let listing = fs::read_to_string(out.join("Tokbar-1.2.3-arm64.dmg")).expect("an image");
    assert_eq!(listing, "Applications\nTokbar.app\n");
}

/// A real key of minisign's, in the stage's folder; returns its public half.
fn update_key(stage: &Stage) -> String {
    fs::remove_file(stage.dir.path().join("bin/minisign")).expect("no stand-in");
    let key = |name: &str| stage.dir.path().join(name);
    let mut minisign = Command::new("minisign");
    let output = minisign.args(["-G", "-W", "-p"]).arg(key("public")).arg("-s").arg(key("secret")).output();
    let output = output.expect("minisign is installed");
    assert!(output.status.success(), "{}", said(&output));
    let text = fs::read_to_string(key("public")).expect("a key");
    text.lines().nth(1).expect("a key").to_owned()
}

#[test]
fn the_update_is_one_app_and_its_signature_names_the_version() {
    let stage = Stage::new();
    let public = update_key(&stage);
    let secret = stage.dir.path().join("secret").display().to_string();
    let out = stage.dir.path().join("release");
    fs::create_dir(&out).expect("a folder");
    let sign = |public: &str| {
        let keys = [("UPDATE_KEY", secret.as_str()), ("TOKBAR_UPDATE_KEY", public)];
        stage.run("sign-update.sh", &[&stage.app(), Path::new("1.2.3"), &out], &keys)
    };
    let output = sign(&public);
    assert!(output.status.success(), "{}", said(&output));
    let archive = out.join("Tokbar-1.2.3-arm64.app.tar.gz");
    let list = Command::new("tar").arg("-tzf").arg(&archive).output().expect("tar");
    let list = String::from_utf8(list.stdout).expect("names");
    assert!(list.lines().all(|path| path.starts_with("Tokbar.app/")) && list.contains("Info.plist"), "{list}");
    let signature = fs::read_to_string(out.join("Tokbar-1.2.3-arm64.app.tar.gz.minisig")).expect("a signature");
    assert_eq!(
        signature.lines().nth(2),
        Some("trusted comment: version:1.2.3\tfile:Tokbar-1.2.3-arm64.app.tar.gz"),
        "fields stand between tabs, as the updater reads them"
    );

    let output = sign("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3");
    assert!(!output.status.success(), "an app with another key would refuse it: {}", said(&output));
    assert!(!sign("").status.success(), "without the app's key nothing is signed");
    fs::write(stage.app().join("Contents/._Info.plist"), "attributes").expect("written");
    let output = sign(&public);
    assert!(!output.status.success() && said(&output).contains("files of attributes"), "{}", said(&output));
}

/// Runs git in a folder, and returns what it said.
fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(folder).args(words).output().expect("git is installed");
    assert!(output.status.success(), "git {words:?}: {}", said(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// With a copy of the script in a repository of its own, and a bare one as its origin.
#[test]
fn the_cask_of_a_release_is_asked_for_in_a_pull_request() {
    let stage = Stage::new();
    let (copy, origin) = (stage.dir.path().join("copy"), stage.dir.path().join("origin"));
    fs::create_dir_all(copy.join("packaging/Casks")).expect("a folder");
    let packaging = repo::root().expect("a checkout").join("packaging");
    for file in ["bump-cask.sh", "Casks/tokbar.rb"] {
        fs::copy(packaging.join(file), copy.join("packaging").join(file)).expect("copied");
    }
    git(stage.dir.path(), &["init", "--quiet", "--bare", "origin"]);
    git(&copy, &["init", "--quiet"]);
    for (name, value) in [("user.name", "release"), ("user.email", "release@example.org")] {
        git(&copy, &["config", name, value]);
    }
    git(&copy, &["remote", "add", "origin", &origin.display().to_string()]);
    git(&copy, &["add", "."]);
    git(&copy, &["commit", "--quiet", "--message", "before"]);
    // As `cargo xtask dist cask VERSION HASH` does.
    stage.stand_in(
        "cargo",
        r#"version=$4 sha256=$5 perl -pi -e 's/^  (version|sha256) ".*"/  $1 "$ENV{$1}"/' packaging/Casks/tokbar.rb"#,
    );
    let dmg = stage.dir.path().join("Tokbar-1.2.3-arm64.dmg");
    fs::write(&dmg, "image").expect("written");
    let script = copy.join("packaging/bump-cask.sh");
    let output = stage.run_at(&script, &[Path::new("1.2.3"), &dmg], &[]);
    assert!(output.status.success(), "{}", said(&output));
    let sha256 = "6105d6cc76af400325e94d588ce511be5bfdbb73b437dc51eca43917d7a43e3d";
    let pushed = git(&origin, &["show", "--format=%s", "--unified=0", "cask-1.2.3"]);
    let changed: Vec<&str> = pushed.lines().filter(|line| line.starts_with("+ ")).collect();
    assert_eq!(changed, ["+  version \"1.2.3\"", &format!("+  sha256 \"{sha256}\"")], "{pushed}");
    assert!(pushed.starts_with("Offer 1.2.3 to Homebrew\n"), "{pushed}");
    let calls = stage.calls();
    let asked =
        format!("gh pr create --head cask-1.2.3 --title Cask of 1.2.3 --body SHA-256 of the disk image: {sha256}");
    assert_eq!(calls, [format!("cargo xtask dist cask 1.2.3 {sha256}"), asked]);

    git(&copy, &["checkout", "--quiet", "-"]);
    let none = stage.dir.path().join("none.dmg");
    assert!(!stage.run_at(&script, &[Path::new("1.2.4"), &none], &[]).status.success(), "no image, no cask");
    stage.stand_in("cargo", "exit 1");
    assert!(!stage.run_at(&script, &[Path::new("1.2.4"), &dmg], &[]).status.success(), "no change, no pull request");
    assert_eq!(git(&origin, &["branch", "--list", "--format=%(refname:short)"]), "cask-1.2.3\n");
}

#[test]
fn the_certificate_does_not_stay_on_the_disk() {
    let stage = Stage::new();
    let secrets = [("SIGN_CERTIFICATE", "Y2VydA=="), ("SIGN_CERTIFICATE_PASSWORD", "x")];
    let temp = stage.dir.path().display().to_string();
    let variables = [&secrets[..], &[("RUNNER_TEMP", temp.as_str())]].concat();
    stage
        .stand_in("security", "[ \"$1\" != import ] || cp \"$2\" '__'".replace("__", &format!("{temp}/seen")).as_str());
    let output = stage.run("keychain.sh", &[], &variables);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(fs::read_to_string(stage.dir.path().join("seen")).expect("it was there"), "cert");
    assert!(!stage.dir.path().join("certificate.p12").exists(), "it is gone");
    assert!(!stage.run("keychain.sh", &[], &secrets[..1]).status.success());
}

#[test]
fn checksums_are_those_of_all_files() {
    let stage = Stage::new();
    let out = stage.dir.path().join("release");
    fs::create_dir(&out).expect("a folder");
    assert!(!stage.run("checksums.sh", &[&out], &[]).status.success(), "nothing to sum");
    fs::write(out.join("a"), "a").expect("written");
    fs::write(out.join("b c"), "b").expect("written");
    for _ in 0..2 {
        let output = stage.run("checksums.sh", &[&out], &[]);
        assert!(output.status.success(), "{}", said(&output));
    }
    let check = Command::new("sha256sum").current_dir(&out).args(["--check", "--strict", "SHA256SUMS"]).output();
    let check = check.expect("sha256sum");
    assert_eq!(String::from_utf8_lossy(&check.stdout), "a: OK\nb c: OK\n");
}
