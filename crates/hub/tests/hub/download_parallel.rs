//! Large files over several connections, and mirrors.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokbar_hub::download::{DownloadError, Parallel, Progress, download};

use super::loopback::{Answer, Asked, Loopback};
use super::repository::{ID, Repository, WEIGHTS};
use super::testbed::Testbed;

const N_PIECE: u64 = 50_000;

fn parallel(answer: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static) -> Testbed {
    let mut bed = Testbed::new(answer);
    bed.options.parallel = Parallel { n_connections: 4, n_piece_bytes: N_PIECE, n_bytes_least: 100_000 };
    bed
}

fn weights_asked(bed: &Testbed) -> Vec<(Option<usize>, Option<usize>)> {
    let asked = bed.hub.asked().into_iter().filter(|asked| asked.path.ends_with(WEIGHTS));
    let mut spans: Vec<_> = asked.map(|asked| (asked.start, asked.last)).collect();
    spans.sort_unstable();
    spans
}

#[test]
fn pieces_come_at_once_and_make_the_whole() {
    let repository = Repository::new();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (served, counts) = (repository.clone(), (Arc::clone(&now), Arc::clone(&most)));
    let bed = parallel(move |asked, _| {
        let answer = served.answer(asked);
        if asked.path.ends_with(WEIGHTS) {
            // Answered only once another piece is asked for, or this is the last.
            let n = counts.0.fetch_add(1, Ordering::SeqCst) + 1;
            counts.1.fetch_max(n, Ordering::SeqCst);
            std::thread::park_timeout(Duration::from_millis(20));
            counts.0.fetch_sub(1, Ordering::SeqCst);
        }
        answer
    });
    let mut seen: Vec<Progress> = Vec::new();
    download(ID, &bed.options, &mut |now| {
        seen.push(now);
        ControlFlow::Continue(())
    })
    .unwrap();
    bed.check_whole(&repository);
    assert!(most.load(Ordering::SeqCst) > 1, "one after another");
    assert!(seen.is_sorted_by_key(|now| now.n_bytes_done));
    let n = repository.bytes(WEIGHTS).len();
    let expected: Vec<_> =
        (0..n).step_by(N_PIECE as usize).map(|at| (Some(at), Some(n.min(at + N_PIECE as usize) - 1))).collect();
    assert_eq!(weights_asked(&bed), expected);
}

#[test]
fn a_stopped_download_asks_only_for_what_it_lacks() {
    let repository = Repository::new();
    let served = repository.clone();
    let is_cut = Arc::new(AtomicBool::new(true));
    let cut = Arc::clone(&is_cut);
    let bed = parallel(move |asked, _| {
        let answer = served.answer(asked);
        let is_third = asked.path.ends_with(WEIGHTS) && asked.start == Some(2 * N_PIECE as usize);
        if is_third && cut.load(Ordering::SeqCst) { Answer { n_sent: 1000, ..answer } } else { answer }
    });
    let error = bed.run().unwrap_err();
    assert!(matches!(error, DownloadError::Network { .. }), "{error}");
    bed.check_absent();
    bed.hub.asked();
    is_cut.store(false, Ordering::SeqCst);
    bed.run().unwrap();
    bed.check_whole(&repository);
    let asked = weights_asked(&bed);
    assert!(asked.contains(&(Some(2 * N_PIECE as usize + 1000), Some(3 * N_PIECE as usize - 1))), "{asked:?}");
    // Which other pieces had come by then differs from run to run.
    let n_asked: usize = asked.iter().filter_map(|(start, last)| Some(last.as_ref()? + 1 - start.as_ref()?)).sum();
    assert!(n_asked <= repository.bytes(WEIGHTS).len() - 1000, "{asked:?}");
}

#[test]
fn a_server_without_parts_sends_the_file_once() {
    let repository = Repository::new();
    let served = repository.clone();
    let bed = parallel(move |asked, _| served.answer(&Asked { start: None, last: None, ..asked.clone() }));
    bed.run().unwrap();
    bed.check_whole(&repository);
    assert_eq!(weights_asked(&bed).iter().filter(|(start, _)| start.is_none()).count(), 1);
}

#[test]
fn wrong_bytes_in_a_piece_are_found_and_fetched_anew() {
    let repository = Repository::new();
    let served = repository.clone();
    let is_first = AtomicBool::new(true);
    let bed = parallel(move |asked, _| {
        let mut answer = served.answer(asked);
        let is_second = asked.path.ends_with(WEIGHTS) && asked.start == Some(N_PIECE as usize);
        if is_second && is_first.swap(false, Ordering::SeqCst) {
            answer.body[7] ^= 1;
        }
        answer
    });
    bed.run().unwrap();
    bed.check_whole(&repository);
}

#[test]
fn a_cancelled_download_keeps_its_pieces() {
    let repository = Repository::new();
    let served = repository.clone();
    let bed =
        parallel(move |asked, _| Answer { drip: Some((10_000, Duration::from_millis(2))), ..served.answer(asked) });
    let cancelled = download(ID, &bed.options, &mut |now| match now.n_bytes_done {
        0..300_000 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    assert!(matches!(cancelled, Err(DownloadError::Cancelled)), "{cancelled:?}");
    bed.check_absent();
    let mut first = None;
    download(ID, &bed.options, &mut |now| {
        if now.n_bytes > 800_000 && first.is_none() && now.n_bytes_done > 1000 {
            first = Some(now.n_bytes_done);
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(first.unwrap() >= 300_000, "{first:?}");
    bed.check_whole(&repository);
}

/// Whoever waits for the server here, instead of for the word, waits for an hour.
#[test]
fn a_download_is_cancelled_while_its_server_is_silent() {
    let repository = Repository::new();
    for n_connections in [1, 4] {
        let (served, is_asked) = (repository.clone(), Arc::new(AtomicBool::new(false)));
        let asked_for_weights = Arc::clone(&is_asked);
        let mut bed = parallel(move |asked, _| {
            if !asked.path.ends_with(WEIGHTS) {
                return served.answer(asked);
            }
            asked_for_weights.store(true, Ordering::SeqCst);
            Answer { n_sent: 1000, is_silent: true, ..served.answer(asked) }
        });
        bed.options.parallel.n_connections = n_connections;
        bed.options.patience.stall = Duration::from_secs(3600);
        let (mut last, mut n_same) = (0, 0);
        let cancelled = download(ID, &bed.options, &mut |now| {
            let is_still = is_asked.load(Ordering::SeqCst) && now.n_bytes_done == last;
            n_same = if is_still { n_same + 1 } else { 0 };
            last = now.n_bytes_done;
            // Told twice that nothing came, somebody has seen enough.
            if n_same < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert!(matches!(cancelled, Err(DownloadError::Cancelled)), "{cancelled:?}");
        bed.check_absent();
    }
}

/// Neither for the Hub's word on the model, nor between two tries.
#[test]
fn a_download_is_cancelled_before_anything_came() {
    let repository = Repository::new();
    for is_silent in [true, false] {
        let served = repository.clone();
        let bed = parallel(move |asked, _| match asked.path.starts_with("/api/") {
            true if is_silent => Answer { n_sent: 0, is_silent, ..served.answer(asked) },
            true => Answer::status(503),
            false => served.answer(asked),
        });
        let mut bed = bed.retrying(9);
        (bed.options.patience.stall, bed.options.patience.pause) =
            (Duration::from_secs(3600), Duration::from_secs(3600));
        let mut n_told = 0;
        let cancelled = download(ID, &bed.options, &mut |now| {
            assert_eq!(now, Progress { n_bytes_done: 0, n_bytes: 0 });
            n_told += 1;
            if n_told < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert!(matches!(cancelled, Err(DownloadError::Cancelled)), "{cancelled:?}");
        bed.check_absent();
    }
}

#[test]
fn a_mirror_takes_over_and_hears_no_token() {
    let repository = Repository::new();
    let served = repository.clone();
    let mirror = Loopback::start(move |asked, _| served.answer(asked));
    let mut bed = Testbed::new(|_, _| Answer::status(503));
    bed.options.token = Some("secret".to_owned());
    bed.options.mirrors = vec!["http://127.0.0.1:1".to_owned(), mirror.endpoint()];
    bed.run().unwrap();
    bed.check_whole(&repository);
    assert!(bed.hub.asked().iter().all(|asked| asked.token.is_some()));
    let asked = mirror.asked();
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked.token.is_none()));

    // What the Hub knows for certain, no mirror is asked about.
    let mut bed = Testbed::new(|_, _| Answer::status(404));
    bed.options.mirrors = vec![mirror.endpoint()];
    assert!(matches!(bed.run(), Err(DownloadError::NoSuchModel { .. })));
    assert!(mirror.asked().is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_is_full_is_said_and_nothing_appears() {
    let repository = Repository::new();
    let check = |bed: Testbed, name: &str| {
        let blobs = bed.dir().join("blobs");
        std::fs::create_dir_all(&blobs).unwrap();
        // Every write to this device fails as on a full disk.
        std::os::unix::fs::symlink("/dev/full", blobs.join(format!("{}.{name}", repository.hash(WEIGHTS)))).unwrap();
        let error = bed.run().unwrap_err();
        assert!(matches!(error, DownloadError::DiskFull { .. }), "{error}");
        assert!(error.to_string().contains("Free some"), "{error}");
        bed.check_absent();
    };
    check(Testbed::serving(&repository), "incomplete");
}
