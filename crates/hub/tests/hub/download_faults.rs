//! Hundreds of downloads from a Hub that fails in every way at random: each ends complete and verified, or in an error after
//! which the next goes on; never with a model that is not whole.

use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use tokbar_hub::download::{DownloadError, Parallel, download};
use tokbar_hub::resolve::resolve;

use super::loopback::{Answer, Asked};
use super::repository::{ID, Repository, weights};
use super::testbed::{Testbed, names};

/// SplitMix64: numbers that follow from a seed.
struct Dice(AtomicU64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    fn below(&self, n: usize) -> usize {
        let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// A model in one to three files.
fn repository(dice: &Dice) -> Repository {
    let n_shards = 1 + dice.below(3);
    if n_shards == 1 {
        return Repository::new().with("model.safetensors", &weights(1 + dice.below(4000)));
    }
    let shard = |idx: usize| format!("model-0000{}-of-0000{n_shards}.safetensors", idx + 1);
    let map: serde_json::Map<_, _> = (0..n_shards).map(|idx| (format!("x{idx}"), json!(shard(idx)))).collect();
    let mut repository = Repository::new();
    repository.files.retain(|(name, _)| name != "model.safetensors");
    repository = repository.with("model.safetensors.index.json", json!({"weight_map": map}).to_string().as_bytes());
    (0..n_shards).fold(repository, |repository, idx| {
        let renamed = renamed(&weights(1 + dice.below(3000)), &format!("x{idx}"));
        repository.with(&shard(idx), &renamed)
    })
}

/// The file of one tensor with another name for it.
fn renamed(bytes: &[u8], name: &str) -> Vec<u8> {
    let n_header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = String::from_utf8(bytes[8..8 + n_header].to_vec()).unwrap().replace("x.weight", name);
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &bytes[8 + n_header..]].concat()
}

/// What a Hub in trouble makes of a right answer.
fn fault(answer: Answer, asked: &Asked, dice: &Dice) -> Answer {
    let n = answer.body.len();
    match dice.below(16) {
        0 => Answer::status([500, 502, 503, 504, 408, 429][dice.below(6)]).with("Retry-After", "1"),
        1 | 2 if n > 0 => Answer { n_sent: dice.below(n), ..answer },
        3 => Answer::status(416),
        4 if n > 0 => {
            let mut wrong = answer;
            wrong.body[dice.below(n)] ^= 1 << dice.below(8);
            wrong
        }
        5 => {
            let n_less = dice.below(n + 1);
            let body = answer.body[..n_less].to_vec();
            Answer { n_sent: body.len(), body, ..answer }
        }
        6 => {
            let body = [answer.body, vec![7; 1 + dice.below(5000)]].concat();
            Answer { n_sent: body.len(), body, ..answer }
        }
        // A part without its place, or with another one.
        7 => Answer { headers: Vec::new(), ..answer },
        8 if asked.start.is_some() => Answer { headers: vec![("Content-Range", "bytes 3-5/9".to_owned())], ..answer },
        9 => Answer { is_silent: true, n_sent: 0, ..answer },
        10 if n > 0 => Answer { is_silent: true, n_sent: dice.below(n), ..answer },
        11 => Answer { drip: Some((1 + n / 3, Duration::from_millis(1))), ..answer },
        12 => Answer::ok(b"<html>please log in</html>".to_vec()),
        13 => Answer::status(302).with("Location", asked.path.clone()),
        _ => answer,
    }
}

/// A Hub that fails in one of `n_between` answers.
fn troubled(repository: &Repository, seed: u64, n_between: usize) -> Testbed {
    let (served, dice) = (repository.clone(), Dice::new(seed));
    let mut bed = Testbed::new(move |asked, _| {
        let answer = served.answer(asked);
        if dice.below(n_between) == 0 { fault(answer, asked, &dice) } else { answer }
    })
    .retrying(2);
    bed.options.patience.stall = Duration::from_millis(150);
    bed.options.parallel = Parallel { n_connections: 3, n_piece_bytes: 1500, n_bytes_least: 3000 };
    bed
}

/// Whoever reads the cache finds the whole model or none.
fn check_never_corrupt(bed: &Testbed, repository: &Repository) {
    match resolve(ID, Some(bed.cache.path())) {
        Ok(_) => bed.check_snapshot(repository),
        Err(_) => assert!(!bed.dir().join("refs").exists()),
    }
    let blobs = bed.dir().join("blobs");
    if blobs.exists() {
        for name in names(&blobs).iter().filter(|name| !name.ends_with(".incomplete")) {
            let whole = repository.files.iter().find(|(file, _)| repository.hash(file) == *name);
            assert_eq!(Some(&fs::read(blobs.join(name)).unwrap()), whole.map(|(_, bytes)| bytes), "{name}");
        }
    }
}

/// One model, downloaded until it is there. Returns how many calls that took.
fn until_it_is_there(seed: u64) -> usize {
    let dice = Dice::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let repository = repository(&dice);
    let bed = troubled(&repository, seed, 2 + dice.below(5));
    for n_calls in 1..=60 {
        let n_left = dice.below(40_000) as u64;
        let cancels = dice.below(4) == 0;
        let outcome = download(ID, &bed.options, &mut |now| match now.n_bytes_done {
            n if cancels && n > n_left => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        check_never_corrupt(&bed, &repository);
        match outcome {
            Ok(_) => {
                bed.check_snapshot(&repository);
                return n_calls;
            }
            Err(error) => {
                let said = error.to_string();
                assert!(said.len() > 20 && said.ends_with('.'), "seed {seed}: {said}");
                assert!(
                    !matches!(error, DownloadError::Io { .. } | DownloadError::BadName { .. }),
                    "seed {seed}: {said}"
                );
            }
        }
    }
    panic!("seed {seed}: sixty calls brought no model");
}

#[test]
fn random_faults_never_leave_a_model_that_is_not_whole() {
    let n_seeds = if std::env::var_os("TOKBAR_TEST_ALL").is_some() { 4000 } else { 500 };
    // Several at once, as most of the time goes to servers that are silent.
    let next = AtomicU64::new(0);
    let n_calls: usize = std::thread::scope(|scope| {
        let work = || {
            let mut n_calls = 0;
            loop {
                let seed = next.fetch_add(1, Ordering::SeqCst);
                if seed >= n_seeds {
                    return n_calls;
                }
                n_calls += until_it_is_there(seed);
            }
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{n_calls} downloads of {n_seeds} models");
    assert!(n_calls >= 500, "{n_calls} downloads are too few to tell");
}
