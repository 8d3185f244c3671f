//! Short of memory: what is kept goes to disk and comes back, and whoever waits is served.

use tempfile::TempDir;
use tokbar_engine::Hold;
use tokbar_engine::tier::TierOptions;

use super::*;

const TIGHT: Hold = Hold { n_rows: 1, kept_bytes: 0 };

fn long(n: u32) -> Request {
    Request { prompt: (0..700).map(|i| (i * 31 + n * 17) % 499 + 1).collect(), ..request(n, 8) }
}

fn n_cached(bench: &Bench, request: &Request) -> usize {
    let mut outputs = bench.submit(request);
    let (tokens, _, usage) = drain(&mut outputs);
    assert_eq!(tokens, expected_tokens(&bench.fake, request));
    usage.n_cached
}

#[test]
fn what_is_kept_goes_to_disk_and_comes_back() {
    let root = TempDir::new().unwrap();
    let tier = TierOptions::new(root.path().to_owned(), "fake".to_owned(), 64 << 20);
    let tier = TierOptions { n_free_min: Some(0), ..tier };
    let bench = Bench::start(fake(), EngineOptions { tier: Some(tier), n_block: 16, ..options() });
    assert_eq!(n_cached(&bench, &long(1)), 0);
    assert!(bench.probe.seen().n_blocks >= 43);
    bench.engine.hold(TIGHT);
    bench.probe.wait_until(|seen| seen.n_blocks == 0);
    assert_eq!(n_cached(&bench, &long(1)), 0, "memory is short: it is computed and not kept");
    bench.probe.wait_until(|seen| seen.n_blocks == 0);
    bench.engine.hold(Hold::default());
    assert!(n_cached(&bench, &long(1)) >= 600);
    assert!(bench.probe.seen().n_blocks >= 43, "it is kept again");
    bench.check_nothing_left();
}

#[test]
fn no_request_fails_while_only_one_may_run() {
    let bench = Bench::start(fake(), options());
    let (first, second) = (request(1, 300), request(2, 20));
    let mut outputs = [bench.submit(&first), bench.submit(&second)];
    next_token(&mut outputs[0]);
    bench.engine.hold(TIGHT);
    let more: Vec<Request> = (3..9).map(|n| request(n, 20)).collect();
    let waiting: Vec<Outputs> = more.iter().map(|request| bench.submit(request)).collect();
    for (request, outputs) in more.iter().zip(waiting) {
        bench.check_whole(request, outputs);
    }
    let [mut long, mut short] = outputs;
    assert!(drain(&mut long).0.len() == 299 && drain(&mut short).0.len() == 20);
    bench.check_nothing_left();
}
