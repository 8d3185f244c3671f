//! An update as a server offers it, signed by a release's own script: taken, refused, and undone when it does not start.

use std::collections::HashMap;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::app::App;
use crate::calls::{address, chat, get};
use crate::desk::Desk;
use crate::loopback::{Answer, Loopback};
use crate::panel::{Icon, Panel, wait};
use crate::screen::Screen;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// As long as [`VERSION`], so that it takes its place in a program.
const NEXT: &str = "0.9.9";

/// A server that offers updates, and the folder in which they are made.
struct Shop {
    dir: tempfile::TempDir,
    files: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    server: Loopback,
}

impl Shop {
    fn open() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let made = Command::new("minisign")
            .args(["-G", "-W", "-p", "public", "-s", "secret"])
            .current_dir(dir.path())
            .output();
        assert!(made.expect("minisign is installed").status.success());
        let files = Arc::new(Mutex::new(HashMap::<String, Vec<u8>>::new()));
        let kept = Arc::clone(&files);
        let server = Loopback::start(move |asked, _| match kept.lock().expect("files").get(&asked.path) {
            Some(bytes) => Answer::ok(bytes.clone()),
            None => Answer::status(404),
        });
        Self { dir, files, server }
    }

    /// Of the key that signs.
    fn public_key(&self) -> String {
        let text = fs::read_to_string(self.dir.path().join("public")).expect("a key");
        text.lines().nth(1).expect("a key").to_owned()
    }

    /// minisign's words about `bytes` as `version`.
    fn sign(&self, bytes: &[u8], version: &str) -> String {
        let archive = self.dir.path().join("archive");
        fs::write(&archive, bytes).expect("written");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/sign-archive.sh");
        let mut sign = Command::new("bash");
        sign.arg(script).arg(&archive).arg(version);
        sign.env("UPDATE_KEY", self.dir.path().join("secret")).env("TOKBAR_UPDATE_KEY", self.public_key());
        let output = sign.output().expect("bash starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read_to_string(self.dir.path().join("archive.minisig")).expect("a signature")
    }

    /// From now on `bytes` are offered as `version`, with this signature.
    fn offer(&self, version: &str, bytes: &[u8], signature: &str) {
        let platform = json!({
            "url": format!("{}/archive", self.server.endpoint()),
            "signature": STANDARD.encode(signature),
        });
        let manifest = json!({
            "version": version, "notes": "Faster.", "pub_date": "2026-12-01T00:00:00Z",
            "platforms": { "linux-x86_64": platform },
        });
        let mut files = self.files.lock().expect("files");
        files.insert("/archive".to_owned(), bytes.to_owned());
        files.insert("/latest.json".to_owned(), manifest.to_string().into_bytes());
    }

    fn is_archive_fetched(&self) -> bool {
        self.server.asked().iter().any(|asked| asked.path == "/archive")
    }
}

/// The app as one file that replaces itself, which is what an AppImage does.
struct Image {
    path: PathBuf,
    log: PathBuf,
}

impl Image {
    fn new(desk: &Desk) -> Self {
        let image = Self { path: desk.home().join("Tokbar.AppImage"), log: desk.home().join("log") };
        let program = env!("CARGO_BIN_EXE_tokbar-desktop");
        let stripped = Command::new("strip").args(["--strip-debug", "-o"]).arg(&image.path).arg(program).status();
        assert!(stripped.expect("strip is installed").success());
        image
    }

    /// The same program with another number in it.
    fn next(&self) -> Vec<u8> {
        let path = self.path.with_extension("next");
        fs::copy(&self.path, &path).expect("copied");
        let change = format!("s/{}/{NEXT}/g", VERSION.replace('.', "\\."));
        let changed = Command::new("sed").env("LC_ALL", "C").args(["-i", &change]).arg(&path).status();
        assert!(changed.expect("sed is installed").success());
        let bytes = fs::read(&path).expect("a program");
        fs::remove_file(path).expect("removed");
        bytes
    }

    fn start(&self, desk: &Desk, shop: &Shop) -> App {
        let log = File::options().create(true).append(true).open(&self.log).expect("a log");
        let mut command = Command::new(&self.path);
        command.env("APPIMAGE", &self.path).env("TOKBAR_UPDATE_KEY", shop.public_key()).stderr(log);
        command.env("TOKBAR_UPDATE_URL", format!("{}/latest.json", shop.server.endpoint()));
        App::of(desk, command, &["--hidden"])
    }

    fn wait_for_words(&self, words: &str) {
        let said = || fs::read_to_string(&self.log).unwrap_or_default();
        wait(words, || said().contains(words).then_some(())).unwrap_or_else(|| panic!("not {words:?}: {}", said()));
        fs::write(&self.log, "").expect("a log");
    }
}

fn version_at(desk: &Desk) -> String {
    let answer = get(&address(desk), "/health");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    let health: Value = serde_json::from_str(body.trim()).expect("JSON");
    health["version"].as_str().expect("a version").to_owned()
}

fn update(icon: &Icon) {
    icon.choose("Check for Updates");
    icon.choose("Restart to Update");
}

/// Does `work` while answers are generated, several at a time so that there is always one.
fn while_answering(desk: &Desk, work: impl FnOnce()) {
    let (address, is_over) = (address(desk), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let pieces = chat(&address, "alpha", 1500).take_while(|_| !is_over.load(Ordering::Relaxed));
                    assert!(pieces.count() > 0);
                }
            });
        }
        // Also when `work` fails: else the threads would go on.
        let done = catch_unwind(AssertUnwindSafe(work));
        is_over.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| resume_unwind(panic));
    });
}

#[test]
fn a_signed_version_takes_the_apps_place_and_goes_again_when_it_does_not_start() {
    let desk = Desk::new(&["alpha"]);
    let (panel, screen, shop) = (Panel::new(&desk), Screen::of(&desk), Shop::open());
    let image = Image::new(&desk);
    let (old, new) = (fs::read(&image.path).expect("a program"), image.next());
    let mut first = image.start(&desk, &shop);
    let icon = panel.icon();
    assert_eq!(version_at(&desk), VERSION);

    // While it answers, nothing is fetched.
    icon.choose("Start alpha");
    icon.wait_for_status("alpha is ready", |status| status == "alpha · Ready");
    shop.offer(NEXT, &new, &shop.sign(&new, NEXT));
    while_answering(&desk, || {
        icon.wait_for_status("alpha generates", |status| status.ends_with(" tok/s"));
        icon.choose("Check for Updates");
        image.wait_for_words("waits");
        assert!(!shop.is_archive_fetched(), "not while answers are generated");
    });

    icon.choose("Restart to Update");
    let (status, _) = first.wait();
    assert!(status.success(), "{status}");
    let icon = panel.icon();
    wait("the new version", || (version_at(&desk) == NEXT).then_some(())).expect("it runs");
    assert!(fs::read(&image.path).expect("a program") == new, "byte for byte what was served");
    icon.wait_for_row("Start alpha");

    // It does not start well: killed twice before it has proved itself, the third start asks.
    first.kill_group();
    let second = image.start(&desk, &shop);
    panel.icon();
    second.kill();
    let _third = image.start(&desk, &shop);
    screen.press_return(&format!("Tokbar {NEXT} does not start"));
    panel.icon();
    wait("the version before", || (version_at(&desk) == VERSION).then_some(())).expect("it is back");
    assert!(fs::read(&image.path).expect("a program") == old, "the version before, byte for byte");
    assert!(
        !desk.config().join("update/trial.json").exists()
            && !desk.config().join("update/previous/Tokbar.AppImage").exists()
    );
}

#[test]
fn what_was_changed_or_is_older_is_refused_and_changes_nothing() {
    let desk = Desk::new(&[]);
    let (panel, shop) = (Panel::new(&desk), Shop::open());
    let image = Image::new(&desk);
    let old = fs::read(&image.path).expect("a program");
    let new = image.next();
    let signature = shop.sign(&new, NEXT);
    let _app = image.start(&desk, &shop);
    let icon = panel.icon();
    let refused = |words: &str| {
        icon.choose("Check for Updates");
        image.wait_for_words(words);
        assert!(icon.find("Restart to Update").is_none(), "{words}");
        assert!(fs::read(&image.path).expect("a program") == old, "{words}");
    };

    let mut tampered = new.clone();
    let middle = tampered.len() / 2;
    tampered[middle] ^= 1;
    shop.offer(NEXT, &tampered, &signature);
    refused("signature verification failed");
    // An old archive under a new number; and the number changed in the part that is signed.
    shop.offer(NEXT, &new, &shop.sign(&new, "0.0.9"));
    refused("it was signed as 0.0.9");
    shop.offer("9.0.0", &new, &signature.replace(NEXT, "9.0.0"));
    refused("signature verification failed");
    // A step back, which is signed well.
    shop.server.asked();
    shop.offer("0.0.9", &new, &shop.sign(&new, "0.0.9"));
    refused("nothing newer");
    assert!(!shop.is_archive_fetched());
    // Another's key.
    let other = Shop::open();
    shop.offer(NEXT, &new, &other.sign(&new, NEXT));
    refused("no update");
    // And after all that, the right one is taken.
    shop.offer(NEXT, &new, &signature);
    update(&icon);
    panel.icon();
    wait("the new version", || (version_at(&desk) == NEXT).then_some(())).expect("it runs");
}
