use std::io::{Seek, SeekFrom, Write};

use tempfile::TempDir;

use super::*;

const BOUNDS: Bounds = Bounds { n_bytes_max: 1 << 30, n_free_min: 0 };

fn fingerprint() -> Fingerprint {
    Fingerprint::of("m")
}

/// A chain of blocks of one token, with payloads that tell them apart.
fn chain(n_blocks: u32) -> Vec<Record> {
    let mut parent = ChainKey::ROOT;
    let record = |at: u32| {
        let header = Header::new(Kind::Block, fingerprint(), (parent, u64::from(at)), vec![at]);
        parent = header.key;
        Record { header, payload: vec![at as u8 | 1; 5000 + at as usize % 1000] }
    };
    (0..n_blocks).map(record).collect()
}

fn open(root: &TempDir) -> Opened {
    Store::open(root.path(), fingerprint(), "my model", BOUNDS).unwrap()
}

/// Writes a chain into one segment and returns its path.
fn written(root: &TempDir, records: &[Record]) -> PathBuf {
    let mut store = open(root).store;
    for record in records {
        store.append(record).unwrap();
    }
    store.sync().unwrap();
    segment_path(store.dir(), store.open_segment().unwrap().0)
}

/// Which of the records can be read.
fn readable(opened: &Opened, records: &[Record]) -> Vec<usize> {
    let is_readable = |record: &Record| {
        let entry = opened.index.get(record.header.key)?;
        let payload = read(opened.store.dir(), record.header.key, entry).ok()?;
        assert_eq!(payload, record.payload, "what is read is what was written");
        Some(())
    };
    (0..records.len()).filter(|at| is_readable(&records[*at]).is_some()).collect()
}

fn flip(path: &Path, at: u64) {
    let mut file = OpenOptions::new().write(true).read(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte[0] ^ 0x10]).unwrap();
}

/// Spoils the file of five records and says which must still be readable, and what must be counted at the start.
fn check(spoil: impl FnOnce(&Path), expected: &[usize], flaws: Flaws) {
    let root = TempDir::new().unwrap();
    let records = chain(5);
    spoil(&written(&root, &records));
    let opened = open(&root);
    assert_eq!(opened.flaws, flaws);
    assert_eq!(readable(&opened, &records), expected);
}

/// Offset of a record: the label takes one page, every record two.
fn offset(at: u64) -> u64 {
    ALIGNMENT * (1 + 2 * at)
}

#[test]
fn what_was_written_is_found_again() {
    check(|_| {}, &[0, 1, 2, 3, 4], Flaws::default());
}

#[test]
fn a_flipped_byte_in_a_header_costs_that_record() {
    let flaws = Flaws { n_corrupt: 1, ..Flaws::default() };
    for at in [0, 3, 14, 17, 30, 60, 150] {
        check(|path| flip(path, offset(2) + at), &[0, 1, 3, 4], flaws);
    }
}

#[test]
fn a_flipped_byte_in_a_payload_is_found_when_it_is_read() {
    check(|path| flip(path, offset(1) + 3000), &[0, 2, 3, 4], Flaws::default());
}

#[test]
fn a_record_of_another_version_is_skipped() {
    check(|path| flip(path, offset(3) + 8), &[0, 1, 2, 4], Flaws { n_foreign: 1, ..Flaws::default() });
}

#[test]
fn a_cut_file_keeps_what_is_whole() {
    for n_kept in [offset(4) + 6000 - 4096, offset(4) + 300, offset(4) + 20] {
        let cut = |path: &Path| OpenOptions::new().write(true).open(path).unwrap().set_len(n_kept).unwrap();
        check(cut, &[0, 1, 2, 3], Flaws { n_truncated: 1, ..Flaws::default() });
    }
}

#[test]
fn a_lost_padding_is_no_loss() {
    let cut = |path: &Path| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() - 100).unwrap();
    };
    check(cut, &[0, 1, 2, 3, 4], Flaws::default());
}

#[test]
fn foreign_files_are_left_alone() {
    let root = TempDir::new().unwrap();
    let records = chain(2);
    let path = written(&root, &records);
    let dir = path.parent().unwrap();
    fs::write(dir.join("00000007.kv"), b"not ours").unwrap();
    fs::write(dir.join("notes.txt"), b"somebody's").unwrap();
    fs::write(dir.join("00000008.kv"), b"").unwrap();
    fs::create_dir(dir.join("00000009.kv")).unwrap();
    let opened = open(&root);
    assert_eq!(opened.flaws, Flaws { n_corrupt: 1, ..Flaws::default() });
    assert_eq!(readable(&opened, &records), [0, 1]);
    assert!(dir.join("notes.txt").exists() && dir.join("00000007.kv").exists());
}

#[test]
fn records_of_another_model_are_foreign() {
    let root = TempDir::new().unwrap();
    let path = written(&root, &chain(2));
    let other = root.path().join(Fingerprint::of("other").to_string());
    fs::create_dir(&other).unwrap();
    fs::copy(&path, other.join("00000000.kv")).unwrap();
    let opened = Store::open(root.path(), Fingerprint::of("other"), "other", BOUNDS).unwrap();
    assert_eq!(opened.flaws.n_foreign, 3);
    assert_eq!(opened.index.count(Kind::Block), 0);
}

#[test]
fn the_same_record_twice_is_one() {
    let root = TempDir::new().unwrap();
    let records = chain(3);
    written(&root, &records);
    written(&root, &records);
    let opened = open(&root);
    assert_eq!((opened.index.count(Kind::Block), opened.flaws), (3, Flaws::default()));
    assert_eq!(readable(&opened, &records), [0, 1, 2]);
}

#[test]
fn a_second_process_only_reads() {
    let root = TempDir::new().unwrap();
    let records = chain(3);
    written(&root, &records);
    let first = open(&root);
    let second = open(&root);
    assert_eq!((first.store.access(), second.store.access()), (Access::Write, Access::Read));
    assert_eq!(readable(&second, &records), [0, 1, 2]);
    drop(first);
    assert_eq!(open(&root).store.access(), Access::Write);
}

#[test]
fn thousands_of_records_are_found_by_their_headers() {
    let root = TempDir::new().unwrap();
    let records = chain(3000);
    written(&root, &records);
    let opened = open(&root);
    assert_eq!(opened.index.count(Kind::Block), 3000);
    let last = &records[2999].header;
    let first = opened.index.next(records[2998].header.key, Kind::Block, &last.tokens);
    assert_eq!(first, Some((last.key, 1)));
}
