use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::json;
use tokbar_hub::download::{DownloadError, DownloadOptions, download};

use super::loopback::Answer;
use super::repository::{ID, Repository, WEIGHTS};
use super::testbed::{Testbed, names, once};

#[test]
fn hostile_names_write_nothing() {
    for name in ["../evil.json", "/evil.json", "a/../../evil.json", "..\\evil.json", "evil\n.json"] {
        let bed = Testbed::serving(&Repository::new().with(name, b"{}"));
        assert!(matches!(bed.run(), Err(DownloadError::BadName { .. })), "{name}");
        assert_eq!(names(bed.cache.path()), [""; 0]);
        assert_eq!(bed.hub.asked().len(), 1);
    }
    let index = json!({"weight_map": {"x.weight": "../../../evil.safetensors"}}).to_string();
    let bed = Testbed::serving(&Repository::new().with("model.safetensors.index.json", index.as_bytes()));
    assert!(matches!(bed.run(), Err(DownloadError::NoWeights { .. })));
    bed.check_absent();
}

#[test]
fn sizes_beyond_reason_are_refused_before_anything_is_fetched() {
    let check = |name: &str, n_bytes: u64, is_expected: fn(&DownloadError) -> bool| {
        let mut listing = Repository::new().listing();
        let siblings = listing["siblings"].as_array_mut().unwrap();
        let file = siblings.iter_mut().find(|file| file["rfilename"] == name).unwrap();
        (file["size"], file["lfs"]["size"]) = (json!(n_bytes), json!(n_bytes));
        if name != WEIGHTS {
            file.as_object_mut().unwrap().remove("lfs");
        }
        let bed = Testbed::new(move |_, _| Answer::ok(listing.to_string().into_bytes()));
        let error = bed.run().unwrap_err();
        assert!(is_expected(&error), "{error}");
        bed.check_absent();
        assert_eq!(bed.hub.asked().len(), 1);
    };
    check("config.json", 1 << 40, |error| matches!(error, DownloadError::BadAnswer { .. }));
    check(WEIGHTS, u64::MAX, |error| matches!(error, DownloadError::BadAnswer { .. }));
    check(WEIGHTS, 1 << 60, |error| matches!(error, DownloadError::DiskFull { .. }));
}

#[test]
fn answers_that_are_too_long_or_no_listing_are_refused() {
    let check = |body: Vec<u8>| {
        let bed = Testbed::new(move |_, _| Answer::ok(body.clone()));
        let error = bed.run().unwrap_err();
        assert!(matches!(error, DownloadError::BadAnswer { .. }), "{error}");
        assert_eq!(names(bed.cache.path()), [""; 0]);
    };
    check(vec![b' '; 33 << 20]);
    check(b"<html>a login page</html>".to_vec());
    check(b"{}".to_vec());

    // More bytes than promised: the promised ones count.
    let repository = Repository::new();
    let bed = once(&repository, |answer| Answer::ok([answer.body, vec![0; 1 << 20]].concat()));
    bed.run().unwrap();
    bed.check_whole(&repository);
}

#[test]
fn refusals_say_what_to_do() {
    let check = |status: u16, code: Option<&'static str>, expected: &[&str]| {
        let answer = move || match code {
            Some(code) => Answer::status(status).with("X-Error-Code", code),
            None => Answer::status(status),
        };
        // The Hub shows a gated model to everybody, and refuses its files.
        let files_only = Testbed::new(move |asked, _| match asked.path.starts_with("/api/") {
            true => Repository::new().answer(asked),
            false => answer(),
        });
        for bed in [Testbed::new(move |_, _| answer()), files_only] {
            let error = bed.run().unwrap_err().to_string();
            bed.check_absent();
            let is_listed_but_gone = status == 404 && error.contains("is listed but not there");
            assert!(is_listed_but_gone || expected.iter().all(|part| error.contains(part)), "{error}");
        }
    };
    check(401, Some("GatedRepo"), &["is gated", "/org/tiny", "HF_TOKEN"]);
    check(403, None, &["is gated", "/org/tiny", "HF_TOKEN"]);
    check(401, None, &["gated or private", "/org/tiny", "HF_TOKEN"]);
    check(401, Some("RepoNotFound"), &["no model `org/tiny`", "spelling"]);
    check(404, None, &["no model `org/tiny`", "spelling"]);
    check(404, Some("RevisionNotFound"), &["no revision `main`"]);
    check(500, None, &["status 500", "run the command again"]);
}

#[test]
fn a_silent_server_is_not_waited_for_for_ever() {
    let check = |n_sent: usize| {
        let served = Repository::new();
        let mut bed = Testbed::new(move |asked, _| match asked.path.ends_with(WEIGHTS) {
            true => Answer { is_silent: true, n_sent, ..served.answer(asked) },
            false => served.answer(asked),
        });
        // The other answers take a loaded machine far less.
        bed.options.patience.stall = Duration::from_secs(1);
        let error = bed.run().unwrap_err();
        assert!(matches!(error, DownloadError::Stalled { .. }), "{error}");
        bed.check_absent();
    };
    check(0);
    check(1000);
}

#[test]
fn a_hub_that_is_not_there_is_said_at_once() {
    let mut bed = Testbed::serving(&Repository::new()).retrying(9);
    // A port that nothing uses, and that no other test can be given.
    bed.options.endpoint = "http://127.0.0.1:1".to_owned();
    bed.options.patience.pause = Duration::from_secs(3600);
    let error = bed.run().unwrap_err();
    assert!(matches!(error, DownloadError::Network { .. }), "{error}");
    bed.check_absent();
}

#[test]
fn what_was_given_is_checked_before_anybody_is_asked() {
    let bed = Testbed::serving(&Repository::new());
    let check = |id: &str, change: fn(&mut DownloadOptions), is_expected: fn(&DownloadError) -> bool| {
        let mut options = bed.options.clone();
        change(&mut options);
        let error = download(id, &options, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(is_expected(&error), "{error}");
    };
    check("../etc", |_| {}, |error| matches!(error, DownloadError::BadId { .. }));
    let revision = |options: &mut DownloadOptions| options.revision = Some("../x".to_owned());
    check(ID, revision, |error| matches!(error, DownloadError::BadRevision { .. }));
    let endpoint = |options: &mut DownloadOptions| options.endpoint = "hub".to_owned();
    check(ID, endpoint, |error| matches!(error, DownloadError::BadEndpoint { .. }));
    let token = |options: &mut DownloadOptions| options.token = Some("a\nb".to_owned());
    check(ID, token, |error| matches!(error, DownloadError::BadToken));
    assert_eq!(bed.hub.asked().len(), 0);
}
