use super::{Format, Piece, Run, Tail, room};
use crate::mx::{self, Array};

fn kv(n: i32) -> Array {
    Array::from_slice(&vec![1.0_f32; (n * 8) as usize], &[4, n, 2])
}

#[test]
fn what_no_piece_needs_is_given_back() {
    let tail = Tail::new(Format::Dense, 0, 3);
    let run = tail.run().clone();
    for layer_idx in 0..3 {
        run.write(layer_idx, 0, &kv(1000)).unwrap();
    }
    run.set_end(1000);
    let bytes = |n: usize| 3 * n * 4 * 2 * 4;
    let pieces: Vec<_> = (0..10).map(|i| Piece::new(run.clone(), i * 100..i * 100 + 100)).collect();
    assert_eq!(run.n_bytes(), bytes(room(1000)));
    run.shrink().unwrap();
    assert_eq!(run.n_bytes(), bytes(room(1000)), "a sequence writes it");
    drop(tail);
    let mut pieces = pieces;
    for n_left in [9, 5, 2] {
        pieces.truncate(n_left);
        run.shrink().unwrap();
        assert!(run.n_bytes() <= bytes(room(n_left * 100)));
        assert_eq!(run.end(), n_left * 100);
    }
    pieces.clear();
    run.shrink().unwrap();
    assert_eq!(run.n_bytes(), 0);
}

#[test]
fn appends_happen_in_place() {
    let run = Run::new(Format::Dense, 0, 1);
    run.write(0, 0, &kv(5000)).unwrap();
    mx::eval(&run.arrays().iter().collect::<Vec<_>>()).unwrap();
    let piece = Piece::new(run.clone(), 0..5000);
    let before = mx::address(&run.arrays()[0]);
    for at in 5000..5100 {
        run.write(0, at, &kv(1)).unwrap();
        let (keys, _) = run.read(0, piece.range()).unwrap();
        let super::Stored::Dense(keys) = keys else { panic!("dense") };
        mx::eval(&run.arrays().iter().chain([&keys]).collect::<Vec<_>>()).unwrap();
    }
    assert_eq!(mx::address(&run.arrays()[0]), before, "the buffer has not been copied");
}
