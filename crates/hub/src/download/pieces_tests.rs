use super::super::listing::Hash;
use super::*;

const N_PIECE: u64 = 100;

fn file(n_bytes: u64) -> HubFile {
    HubFile { name: "x".to_owned(), n_bytes, hash: Hash::Sha256("0".repeat(64)) }
}

fn bytes(range: std::ops::Range<u64>) -> Vec<u8> {
    range.map(|at| (at % 251) as u8).collect()
}

#[test]
fn pieces_are_claimed_once_and_written_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let partial = dir.path().join("aa.incomplete");
    let pieces = Pieces::open(&partial, &file(250), N_PIECE).unwrap();
    let mut claims: Vec<_> = std::iter::from_fn(|| pieces.claim()).collect();
    assert_eq!(
        claims.iter().map(|claim| (claim.at(), claim.end())).collect::<Vec<_>>(),
        [(0, 100), (100, 200), (200, 250)]
    );
    for claim in claims.iter_mut().rev() {
        let (start, end) = (claim.at(), claim.end());
        claim.write(&bytes(start..start + 30)).unwrap();
        // More than the piece wants.
        claim.write(&bytes(start + 30..end + 10)).unwrap();
        assert!(claim.is_done());
    }
    drop(claims);
    assert!(pieces.is_whole() && pieces.claim().is_none());
    pieces.into_partial(&partial).unwrap();
    assert_eq!(fs::read(&partial).unwrap(), bytes(0..250));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn what_was_written_is_there_again_after_a_stop() {
    let dir = tempfile::tempdir().unwrap();
    let partial = dir.path().join("aa.incomplete");
    let pieces = Pieces::open(&partial, &file(250), N_PIECE).unwrap();
    let (mut first, mut second) = (pieces.claim().unwrap(), pieces.claim().unwrap());
    first.write(&bytes(0..10)).unwrap();
    second.write(&bytes(100..200)).unwrap();
    // Nothing is closed in order: that is how a kill looks.
    let again = Pieces::open(&partial, &file(250), N_PIECE).unwrap();
    assert_eq!((again.n_bytes(), n_bytes_held(&partial, 250)), (110, Some(110)));
    let starts: Vec<u64> = [again.claim(), again.claim()].iter().flatten().map(Claim::at).collect();
    assert_eq!(starts, [10, 200]);
}

#[test]
fn a_stream_that_was_cut_is_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    let partial = dir.path().join("aa.incomplete");
    fs::write(&partial, bytes(0..130)).unwrap();
    let pieces = Pieces::open(&partial, &file(250), N_PIECE).unwrap();
    assert_eq!((pieces.n_bytes(), pieces.claim().unwrap().at()), (130, 130));
    assert!(!partial.exists());
}

#[test]
fn journals_that_are_damaged_count_for_nothing() {
    let check = |journal: &[u8]| {
        let dir = tempfile::tempdir().unwrap();
        let partial = dir.path().join("aa.incomplete");
        drop(Pieces::open(&partial, &file(250), N_PIECE).unwrap());
        fs::write(partial.with_extension("journal.incomplete"), journal).unwrap();
        assert_eq!(Pieces::open(&partial, &file(250), N_PIECE).unwrap().n_bytes(), 0);
    };
    let journal = |n_bytes: u64, n_piece: u64, done: [u64; 3]| {
        let numbers = [n_bytes, n_piece].into_iter().chain(done);
        [&MAGIC[..], &numbers.flat_map(u64::to_le_bytes).collect::<Vec<_>>()].concat()
    };
    check(b"");
    check(b"garbage");
    check(&journal(250, 100, [0, 0, 51]));
    check(&journal(250, 100, [u64::MAX, 0, 0]));
    check(&journal(251, 100, [10, 0, 0]));
    check(&journal(250, 99, [10, 0, 0]));
    check(&journal(250, 100, [100, 100, 50])[..40]);
}
