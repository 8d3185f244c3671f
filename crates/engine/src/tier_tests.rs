use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use tempfile::TempDir;

use super::media::SegmentFile;
use super::*;

/// A disk on which only so many bytes fit.
struct SmallDisk {
    n_left: Arc<AtomicU64>,
}

struct SmallFile {
    file: Box<dyn SegmentFile>,
    n_left: Arc<AtomicU64>,
}

impl Media for SmallDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        let file = RealMedia.create(path)?;
        Ok(Box::new(SmallFile { file, n_left: Arc::clone(&self.n_left) }))
    }

    fn space(&self, _dir: &Path) -> io::Result<Space> {
        Ok(Space { n_free: u64::MAX / 2, n_total: u64::MAX / 2 })
    }
}

impl SegmentFile for SmallFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let n_fit = self.n_left.load(Ordering::SeqCst).min(bytes.len() as u64);
        self.file.append(&bytes[..n_fit as usize])?;
        self.n_left.fetch_sub(n_fit, Ordering::SeqCst);
        if n_fit < bytes.len() as u64 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}

struct Bench {
    tier: Tier,
    woken: Receiver<()>,
}

impl Bench {
    fn open(options: &TierOptions) -> Self {
        let (sender, woken) = channel();
        let wake = ring(sender);
        Self { tier: Tier::start(options, "m", wake), woken }
    }

    /// On a disk where `n_bytes` fit.
    fn on_small_disk(options: &TierOptions, n_bytes: u64) -> Self {
        let (sender, woken) = channel();
        let fingerprint = Fingerprint::of("m");
        let mut opened = Store::open(&options.dir, fingerprint, "m", options.bounds()).unwrap();
        opened.store.set_media(Box::new(SmallDisk { n_left: Arc::new(AtomicU64::new(n_bytes)) }));
        let wake = Box::new(ring(sender));
        Self { tier: Tier::with_store(Ok(opened), (fingerprint, options), wake), woken }
    }

    fn put(&self, links: &[Link]) {
        links.iter().for_each(|link| self.tier.put(link, payload(link)));
    }

    /// What comes back for these links, in their order.
    fn read(&self, links: &[Link]) -> Vec<bool> {
        let keys: Vec<_> = links.iter().map(|link| link.key).collect();
        if !self.tier.fetch(&keys) {
            return vec![false; links.len()];
        }
        let mut came = HashMap::new();
        while came.len() < keys.len() {
            self.woken.recv().unwrap();
            came.extend(self.tier.take_fetched());
        }
        let is_sound = |link: &Link| {
            let payload_read = came[&link.key].as_ref();
            assert!(payload_read.is_none_or(|found| *found == payload(link)), "what is read is what was written");
            payload_read.is_some()
        };
        links.iter().map(is_sound).collect()
    }
}

/// Once the test is over, no one listens.
fn ring(bell: Sender<()>) -> impl Fn() + Send + Sync + 'static {
    move || bell.send(()).unwrap_or_default()
}

fn options(root: &TempDir) -> TierOptions {
    TierOptions { n_free_min: Some(0), ..TierOptions::new(root.path().to_owned(), "m".to_owned(), 1 << 30) }
}

/// A chain of blocks of four tokens each, from `seed` on.
fn chain(seed: u32, n_blocks: u32) -> Vec<Link> {
    let mut parent = ChainKey::ROOT;
    let link = |at: u32| {
        let tokens: Arc<[TokenId]> = (0..4).map(|i| seed * 1000 + at * 4 + i).collect();
        let key = parent.then(Kind::Block, &tokens);
        let link = Link { key, kind: Kind::Block, parent, start: 4 * at as usize, tokens };
        parent = key;
        link
    };
    (0..n_blocks).map(link).collect()
}

fn payload(link: &Link) -> Vec<u8> {
    link.key.0.iter().copied().cycle().take(20_000 + link.start).collect()
}

#[test]
fn what_is_put_comes_back_now_and_after_a_restart() {
    let root = TempDir::new().unwrap();
    let links = chain(1, 40);
    let bench = Bench::open(&options(&root));
    bench.put(&links);
    bench.put(&links);
    assert_eq!(bench.read(&links), [true; 40]);
    drop(bench);
    let bench = Bench::open(&options(&root));
    let stats = bench.tier.stats();
    assert_eq!((stats.n_blocks, stats.flaws.n_all(), stats.n_waiting_bytes), (40, 0, 0));
    assert_eq!(bench.tier.block_after(links[0].key, &links[1].tokens), Some((links[1].key, 4)));
    assert_eq!(bench.tier.hottest(u64::MAX), links);
    assert_eq!(bench.read(&links), [true; 40]);
}

#[test]
fn the_oldest_segments_go_when_the_cap_is_reached() {
    let root = TempDir::new().unwrap();
    let options = TierOptions { n_bytes_max: 4 << 20, ..options(&root) };
    let bench = Bench::open(&options);
    let links: Vec<_> = (1..=10).flat_map(|seed| chain(seed, 50)).collect();
    bench.put(&links);
    drop(bench);
    let bench = Bench::open(&options);
    let stats = bench.tier.stats();
    assert!(stats.n_bytes <= 4 << 20, "{} bytes are held", stats.n_bytes);
    assert!(stats.n_blocks >= 80, "only {} blocks are held", stats.n_blocks);
    let found = bench.read(&links);
    assert!(!found[0] && found[499], "the oldest go first");
}

#[test]
fn a_full_disk_turns_writing_off_and_loses_nothing_written() {
    let root = TempDir::new().unwrap();
    let links = chain(1, 30);
    let bench = Bench::on_small_disk(&options(&root), 300_000);
    bench.put(&links);
    let Bench { tier, .. } = bench;
    let shared = Arc::clone(&tier.shared);
    drop(tier);
    let stats = shared.lock().stats();
    assert_eq!((stats.n_errors, stats.is_writing, stats.n_waiting_bytes), (1, false, 0));
    assert!(stats.n_written + stats.n_dropped <= 30 && stats.n_dropped > 0);
    let bench = Bench::open(&options(&root));
    let n_written = stats.n_written as usize;
    assert!((5..15).contains(&n_written), "{n_written}");
    assert_eq!(bench.tier.stats().flaws, Flaws { n_truncated: 1, ..Flaws::default() });
    assert_eq!(bench.read(&links), (0..30).map(|at| at < n_written).collect::<Vec<_>>());
    bench.put(&links);
    assert_eq!(bench.read(&links), [true; 30], "a disk with room again takes the rest");
}

#[test]
fn the_free_reserve_stops_writing() {
    let root = TempDir::new().unwrap();
    let bench = Bench::open(&TierOptions { n_free_min: Some(u64::MAX / 4), ..options(&root) });
    bench.put(&chain(1, 3));
    let shared = Arc::clone(&bench.tier.shared);
    drop(bench);
    let stats = shared.lock().stats();
    assert_eq!((stats.n_written, stats.n_errors), (0, 1));
}

#[test]
fn a_folder_that_cannot_be_used_means_no_tier() {
    let root = TempDir::new().unwrap();
    let file = root.path().join("file");
    std::fs::write(&file, b"in the way").unwrap();
    for dir in [file.join("kv"), file, "/proc/tokbar".into()] {
        let bench = Bench::open(&TierOptions { dir, ..options(&root) });
        bench.put(&chain(1, 2));
        assert_eq!(bench.read(&chain(1, 2)), [false; 2]);
        let stats = bench.tier.stats();
        assert_eq!((stats.n_errors, stats.is_writing, stats.n_blocks), (1, false, 0));
    }
}

#[test]
fn a_folder_that_vanishes_costs_what_was_in_it() {
    let root = TempDir::new().unwrap();
    let links = chain(1, 200);
    let bench = Bench::open(&TierOptions { n_bytes_max: 32 << 20, ..options(&root) });
    bench.put(&links[..10]);
    assert_eq!(bench.read(&links[..10]), [true; 10]);
    std::fs::remove_dir_all(root.path().join(Fingerprint::of("m").to_string())).unwrap();
    bench.put(&links[10..]);
    let shared = Arc::clone(&bench.tier.shared);
    drop(bench);
    let stats = shared.lock().stats();
    assert!(stats.n_errors >= 1 && stats.n_waiting_bytes == 0, "{stats:?}");
}

#[test]
fn pressure_drops_the_oldest_that_wait() {
    let root = TempDir::new().unwrap();
    let bench = Bench::open(&TierOptions { n_queue_max: 100_000, ..options(&root) });
    let links = chain(1, 50);
    bench.put(&links);
    let stats = bench.tier.stats();
    assert!(stats.n_waiting_bytes <= 120_000, "{stats:?}");
    let shared = Arc::clone(&bench.tier.shared);
    drop(bench);
    let stats = shared.lock().stats();
    assert_eq!(stats.n_written + stats.n_dropped, 50);
    assert!(stats.n_written >= 1 && stats.n_waiting_bytes == 0);
}

#[test]
fn a_second_owner_reads_and_does_not_write() {
    let root = TempDir::new().unwrap();
    let links = chain(1, 5);
    let first = Bench::open(&options(&root));
    first.put(&links);
    assert_eq!(first.read(&links), [true; 5]);
    drop(first);
    let _first = Bench::open(&options(&root));
    let second = Bench::open(&options(&root));
    assert!(!second.tier.stats().is_writing);
    second.put(&chain(2, 5));
    assert_eq!(second.read(&links), [true; 5]);
    assert_eq!(second.tier.stats().n_blocks, 5);
}
