use std::fs::{self, File};
use std::ops::ControlFlow;

use serde_json::json;
use tokbar_hub::download::{DownloadError, Present, Progress, download};

use super::loopback::{Answer, Loopback};
use super::repository::{ID, Repository, WEIGHTS, weights};
use super::testbed::{Testbed, names, once};

fn cut(answer: Answer) -> Answer {
    Answer { n_sent: answer.body.len() / 2, ..answer }
}

#[test]
fn a_model_arrives_whole_and_only_once() {
    let repository = Repository::new();
    let bed = Testbed::serving(&repository);
    let mut seen: Vec<Progress> = Vec::new();
    let snapshot = download(ID, &bed.options, &mut |now| {
        seen.push(now);
        ControlFlow::Continue(())
    });
    let snapshot = snapshot.unwrap();
    bed.check_whole(&repository);
    let wanted = ["config.json", "empty.json", WEIGHTS, "tokenizer.json"];
    assert_eq!(names(&snapshot), wanted);
    let n_bytes: usize = wanted.iter().map(|name| repository.bytes(name).len()).sum();
    assert!(seen.iter().all(|now| now.n_bytes == n_bytes as u64) && seen.len() > 4);
    assert!(seen.is_sorted_by_key(|now| now.n_bytes_done));
    assert_eq!(seen.last().unwrap().n_bytes_done, n_bytes as u64);
    assert_eq!(bed.hub.asked().len(), 1 + 3, "the empty file needs no request");
    assert_eq!(bed.run().unwrap(), snapshot);
    assert_eq!(bed.hub.asked().len(), 1, "only the listing is asked for again");
}

#[test]
fn a_split_model_brings_what_its_index_names() {
    let index = json!({"weight_map": {"x.weight": "part-1.safetensors"}}).to_string();
    let repository = Repository::new()
        .with("model.safetensors.index.json", index.as_bytes())
        .with("part-1.safetensors", &weights(10))
        .with("part-2.safetensors", &weights(20));
    let bed = Testbed::serving(&repository);
    let snapshot = bed.run().unwrap();
    let index = "model.safetensors.index.json";
    assert_eq!(names(&snapshot), ["config.json", "empty.json", index, "part-1.safetensors", "tokenizer.json"]);
    bed.check_whole(&repository);
}

#[test]
fn the_token_goes_to_the_hub_but_not_where_it_redirects_to() {
    let repository = Repository::new();
    let bytes = repository.bytes(WEIGHTS).to_vec();
    let elsewhere = Loopback::start(move |_, _| Answer::ok(bytes.clone()));
    let address = format!("http://localhost:{}/weights", elsewhere.address.port());
    let served = repository.clone();
    let mut bed = Testbed::new(move |asked, _| match asked.path.ends_with(WEIGHTS) {
        true => Answer::status(302).with("Location", address.clone()),
        false => served.answer(asked),
    });
    bed.options.token = Some(" secret \n".to_owned());
    bed.run().unwrap();
    bed.check_whole(&repository);
    assert!(bed.hub.asked().iter().all(|asked| asked.token.as_deref() == Some("Bearer secret")));
    let tokens: Vec<_> = elsewhere.asked().into_iter().map(|asked| asked.token).collect();
    assert_eq!(tokens, [None]);
}

#[test]
fn a_cut_connection_goes_on_where_it_stopped() {
    let repository = Repository::new();
    let n_half = repository.bytes(WEIGHTS).len() / 2;
    let bed = once(&repository, cut).retrying(1);
    bed.run().unwrap();
    bed.check_whole(&repository);
    assert_eq!(bed.starts(WEIGHTS), [None, Some(n_half)]);

    let bed = once(&repository, cut);
    let error = bed.run().unwrap_err();
    assert!(matches!(error, DownloadError::Network { .. }), "{error}");
    bed.check_absent();
    assert_eq!(fs::metadata(bed.incomplete(&repository, WEIGHTS)).unwrap().len(), n_half as u64);
    bed.run().unwrap();
    bed.check_whole(&repository);
    assert_eq!(bed.starts(WEIGHTS), [None, Some(n_half)]);
}

#[test]
fn a_busy_server_is_asked_again_but_not_for_ever() {
    let repository = Repository::new();
    let bed = once(&repository, |_| Answer::status(503)).retrying(1);
    bed.run().unwrap();
    bed.check_whole(&repository);
    let bed = Testbed::new(|_, _| Answer::status(429)).retrying(2);
    assert!(matches!(bed.run(), Err(DownloadError::Refused { status: 429, .. })));
    assert_eq!(bed.hub.asked().len(), 3);
}

#[test]
fn what_an_earlier_download_left_is_used_only_if_it_is_right() {
    let repository = Repository::new();
    let bytes = repository.bytes(WEIGHTS);
    let damaged = vec![7; bytes.len()];
    let check = |left: &[u8], expected: &[Option<usize>]| {
        let bed = Testbed::serving(&repository);
        bed.put_incomplete(&repository, WEIGHTS, left);
        bed.run().unwrap();
        bed.check_whole(&repository);
        assert_eq!(bed.starts(WEIGHTS), expected);
    };
    check(&bytes[..1000], &[Some(1000)]);
    check(bytes, &[]);
    check(&damaged, &[None]);
    check(&damaged[..1000], &[Some(1000), None]);
    check(&[bytes, b"more"].concat(), &[None]);
}

#[test]
fn a_server_that_cannot_resume_sends_the_file_again() {
    let repository = Repository::new();
    let start = |answer: fn(Answer) -> Answer| {
        let bed = once(&repository, answer).retrying(1);
        bed.put_incomplete(&repository, WEIGHTS, &repository.bytes(WEIGHTS)[..1000]);
        bed.run().unwrap();
        bed.check_whole(&repository);
        bed.starts(WEIGHTS)
    };
    assert_eq!(start(|_| Answer::ok(Repository::new().bytes(WEIGHTS).to_vec())), [Some(1000)]);
    assert_eq!(start(|_| Answer::status(416)), [Some(1000), None]);
    assert_eq!(start(|answer| Answer { headers: Vec::new(), ..answer }), [Some(1000), None]);
}

#[test]
fn bytes_with_another_hash_are_deleted_and_named() {
    let repository = Repository::new();
    for name in [WEIGHTS, "tokenizer.json"] {
        let served = repository.clone();
        let bed = Testbed::new(move |asked, _| {
            let mut answer = served.answer(asked);
            if asked.path.ends_with(name) {
                answer.body[0] ^= 1;
            }
            answer
        })
        .retrying(3);
        match bed.run() {
            Err(DownloadError::Corrupt { name: damaged }) => assert_eq!(damaged, name),
            other => panic!("{other:?}"),
        }
        bed.check_absent();
        assert!(!bed.incomplete(&repository, name).exists() && !bed.blob(&repository, name).exists());
        assert_eq!(bed.starts(name), [None]);
    }
}

#[test]
fn a_cancelled_download_stops_and_can_go_on() {
    let repository = Repository::new();
    let bed = Testbed::serving(&repository);
    let cancelled = download(ID, &bed.options, &mut |now| match now.n_bytes_done {
        0..1000 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    assert!(matches!(cancelled, Err(DownloadError::Cancelled)));
    bed.check_absent();
    bed.run().unwrap();
    bed.check_whole(&repository);
}

#[test]
fn a_file_that_another_program_downloads_is_left_alone() {
    let repository = Repository::new();
    let bed = Testbed::serving(&repository);
    let locks = bed.cache.path().join(".locks/models--org--tiny");
    fs::create_dir_all(&locks).unwrap();
    let lock = File::create(locks.join(format!("{}.lock", repository.hash(WEIGHTS)))).unwrap();
    lock.lock().unwrap();
    assert!(matches!(bed.run(), Err(DownloadError::Busy { name }) if name == WEIGHTS));
    bed.check_absent();
    drop(lock);
    bed.run().unwrap();
    bed.check_whole(&repository);
}

#[test]
fn what_the_disk_forgot_is_found_when_asked_for_and_fetched_again() {
    let repository = Repository::new();
    let mut bed = Testbed::serving(&repository);
    bed.run().unwrap();
    let mut bytes = repository.bytes(WEIGHTS).to_vec();
    bytes[99] ^= 4;
    fs::write(bed.blob(&repository, WEIGHTS), bytes).unwrap();
    bed.run().unwrap();
    assert_eq!(bed.starts(WEIGHTS), [None], "the first download alone");
    bed.options.present = Present::Verified;
    bed.run().unwrap();
    bed.check_whole(&repository);
    assert_eq!(bed.hub.asked().len(), 2, "the listing, and what was damaged");
}
