use std::sync::Arc;

use tempfile::TempDir;

use super::super::{Link, Tier};
use super::*;

fn options(root: &TempDir) -> TierOptions {
    TierOptions { n_free_min: Some(0), ..TierOptions::new(root.path().to_owned(), "my/model".to_owned(), 1 << 30) }
}

fn fill(root: &TempDir, model: &str, n_blocks: u32) {
    let tier = Tier::start(&options(root), model, || {});
    let mut parent = ChainKey::ROOT;
    for at in 0..n_blocks {
        let tokens: Arc<[u32]> = Arc::from([at, at + 1]);
        let key = parent.then(Kind::Block, &tokens);
        tier.put(&Link { key, kind: Kind::Block, parent, start: 2 * at as usize, tokens }, vec![at as u8; 9000]);
        parent = key;
    }
}

#[test]
fn an_export_brings_everything_back() {
    let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fill(&from, "a", 10);
    fill(&from, "b", 5);
    let file = to.path().join("all.kv");
    let exported = export(from.path(), &file).unwrap();
    assert_eq!((exported.n_moved, exported.n_bytes, exported.flaws.n_all()), (15, 15 * 9000, 0));
    assert!(matches!(export(from.path(), &file), Err(ArchiveError::Exists(_))));
    fill(&to, "a", 4);
    let imported = import(&options(&to), &file).unwrap();
    assert_eq!((imported.n_moved, imported.n_known), (11, 4));
    let again = import(&options(&to), &file).unwrap();
    assert_eq!((again.n_moved, again.n_known), (0, 15));
    let counts = |root: &TempDir| {
        let all = summaries(root.path()).unwrap();
        all.into_iter().map(|s| (s.fingerprint, s.label, s.n_blocks, s.n_tokens)).collect::<Vec<_>>()
    };
    assert_eq!(counts(&from), counts(&to));
    assert_eq!(counts(&from).len(), 2);
    assert_eq!(counts(&from)[0].1, "my/model");
    let left: Vec<_> = fs::read_dir(to.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".part")), "{left:?}");
}

#[test]
fn an_import_checks_every_byte() {
    let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fill(&from, "a", 6);
    let file = to.path().join("all.kv");
    export(from.path(), &file).unwrap();
    let sound = fs::read(&file).unwrap();
    let page = ALIGNMENT as usize;
    // The label takes one page and each record three.
    let cases = [
        (page + 60, (5, Flaws { n_corrupt: 1, ..Flaws::default() })),
        (page * 4 + 5000, (5, Flaws { n_corrupt: 1, ..Flaws::default() })),
        (page * 7 + 8, (5, Flaws { n_foreign: 1, ..Flaws::default() })),
    ];
    for (at, expected) in cases {
        let root = TempDir::new().unwrap();
        let mut spoiled = sound.clone();
        spoiled[at] ^= 1;
        fs::write(&file, &spoiled).unwrap();
        let imported = import(&options(&root), &file).unwrap();
        assert_eq!((imported.n_moved, imported.flaws), expected, "byte {at}");
    }
    for n_bytes in [0, 3, page, page + 100, page * 2] {
        let root = TempDir::new().unwrap();
        fs::write(&file, &sound[..n_bytes]).unwrap();
        let imported = import(&options(&root), &file);
        assert!(imported.is_err() || imported.is_ok_and(|transfer| transfer.n_moved == 0), "{n_bytes} bytes");
    }
    fs::write(&file, "x".repeat(10_000)).unwrap();
    assert!(matches!(import(&options(&to), &file), Err(ArchiveError::NoArchive(_))));
}

#[test]
fn an_import_evicts_nothing() {
    let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fill(&from, "a", 50);
    fill(&to, "b", 20);
    let file = to.path().join("all.kv");
    export(from.path(), &file).unwrap();
    let imported = import(&TierOptions { n_bytes_max: 500_000, ..options(&to) }, &file).unwrap();
    assert_eq!(imported.n_moved + imported.n_without_room, 50);
    assert!(imported.n_moved > 0 && imported.n_without_room > 0);
    assert_eq!(summaries(to.path()).unwrap().iter().map(|s| s.n_blocks).max(), Some(20));
}

#[test]
fn what_a_server_uses_is_left_alone() {
    let (root, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fill(&root, "a", 3);
    fill(&root, "b", 3);
    let file = other.path().join("all.kv");
    export(root.path(), &file).unwrap();
    let running = Tier::start(&options(&root), "a", || {});
    let (n_bytes, in_use) = clear(root.path()).unwrap();
    assert!(n_bytes > 0);
    assert_eq!(in_use, ["my/model"]);
    assert!(matches!(import(&options(&root), &file), Err(ArchiveError::InUse(_))));
    let left = summaries(root.path()).unwrap();
    let in_use: Vec<_> = left.iter().filter(|summary| summary.is_in_use).map(|summary| summary.n_blocks).collect();
    assert_eq!(in_use, [3]);
    drop(running);
    assert_eq!(clear(root.path()).unwrap().1, [""; 0]);
    assert_eq!(summaries(root.path()).unwrap(), []);
}

#[test]
fn no_folder_holds_nothing() {
    let root = TempDir::new().unwrap();
    assert_eq!(summaries(&root.path().join("none")).unwrap(), []);
    assert_eq!(clear(&root.path().join("none")).unwrap().0, 0);
}
