use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread::yield_now;

use super::super::{Kind, Link, Tier, TierOptions};
use super::*;

/// Set for the process that is to be killed: the folder it writes to.
const CHILD: &str = "TOKBAR_TIER_CHILD";

fn options(dir: PathBuf) -> TierOptions {
    TierOptions { n_free_min: Some(0), ..TierOptions::new(dir, "m".to_owned(), 1 << 30) }
}

fn link(parent: ChainKey, at: u32) -> Link {
    let tokens: Arc<[u32]> = Arc::from([at]);
    Link { key: parent.then(Kind::Block, &tokens), kind: Kind::Block, parent, start: at as usize, tokens }
}

fn payload(link: &Link) -> Vec<u8> {
    link.key.0.iter().copied().cycle().take(150_000).collect()
}

/// Writes a chain without end, and says how much of it is written.
fn write_until_killed(dir: PathBuf) {
    let tier = Tier::start(&options(dir), "m", || {});
    let mut last = tier.hottest(u64::MAX).pop();
    let mut n_put = 0;
    loop {
        let (parent, at) = last.map_or((ChainKey::ROOT, 0), |link| (link.key, link.start as u32 + 1));
        let link = link(parent, at);
        tier.put(&link, payload(&link));
        n_put += 1;
        while n_put % 4 == 0 && tier.stats().n_written < n_put {
            yield_now();
        }
        if n_put % 4 == 0 {
            println!("written {at}");
            std::io::stdout().flush().unwrap();
        }
        last = Some(link);
    }
}

#[test]
fn a_kill_at_any_point_loses_nothing_written() {
    if let Some(dir) = std::env::var_os(CHILD) {
        return write_until_killed(dir.into());
    }
    let root = tempfile::TempDir::new().unwrap();
    let mut n_seen = 0;
    for n_lines in [1, 3, 2, 9, 5] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tier::worker::tests::a_kill_at_any_point_loses_nothing_written", "--nocapture"])
            .env(CHILD, root.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let written = lines.filter_map(|line| line.rsplit_once("written ")?.1.parse::<usize>().ok());
        n_seen = written.take(n_lines).last().unwrap() + 1;
        child.kill().unwrap();
        child.wait().unwrap();
        check_chain(&options(root.path().to_owned()), n_seen);
    }
    assert!(n_seen >= 80);
}

/// At least `n_written` records are there, and all that are there are sound.
fn check_chain(options: &TierOptions, n_written: usize) {
    let (sender, woken) = std::sync::mpsc::channel();
    let tier = Tier::start(options, "m", move || sender.send(()).unwrap_or_default());
    let chain = tier.hottest(u64::MAX);
    assert!(chain.len() >= n_written, "{} of {n_written} records are there", chain.len());
    assert!(tier.stats().flaws.n_corrupt == 0, "{:?}", tier.stats());
    assert!(tier.stats().is_writing, "the lock of a killed process is free");
    assert!(tier.fetch(&chain.iter().map(|link| link.key).collect::<Vec<_>>()));
    let mut n_left = chain.len();
    while n_left > 0 {
        woken.recv().unwrap();
        for (key, found) in tier.take_fetched() {
            let link = chain.iter().find(|link| link.key == key).unwrap();
            assert_eq!(found, Some(payload(link)), "{link:?}");
            n_left -= 1;
        }
    }
}
