use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Update, manifest};

const SIGNATURE: &str =
    "untrusted comment: signature\nRUR\ntrusted comment: version:1.2.3 file:Tokbar.app.tar.gz\nglobal\n";

fn update() -> Update<'static> {
    Update {
        version: "1.2.3",
        url: "https://example.org/releases/v1.2.3/Tokbar.app.tar.gz",
        signature: SIGNATURE,
        notes: "Faster.\n",
        date: "2026-12-01T00:00:00Z",
    }
}

#[test]
fn the_updater_reads_its_platform() {
    let manifest = manifest(&update()).expect("a manifest");
    assert_eq!(manifest["version"], "1.2.3");
    assert_eq!(manifest["notes"], "Faster.");
    let signature = manifest["platforms"]["darwin-aarch64"]["signature"].as_str().expect("a signature");
    assert_eq!(STANDARD.decode(signature).expect("base64"), SIGNATURE.as_bytes());
}

#[test]
fn what_an_app_would_refuse_is_not_offered() {
    for (update, cause) in [
        (Update { version: "1.2.4", ..update() }, "not for version:1.2.4"),
        (Update { version: "1.2", ..update() }, "not for version:1.2;"),
        (Update { signature: "RUR", ..update() }, "no trusted comment"),
        (Update { url: "http://example.org/v1.2.3/x", ..update() }, "not encrypted"),
        (Update { url: "https://example.org/latest/x", ..update() }, "does not name version"),
        (Update { notes: " \n", ..update() }, "notes are empty"),
        (Update { date: "yesterday", ..update() }, "no date"),
    ] {
        let error = manifest(&update).expect_err(cause).to_string();
        assert!(error.contains(cause), "{error}");
    }
}
