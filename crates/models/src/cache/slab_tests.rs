use std::rc::Rc;

use super::Slab;
use crate::cache::run::{Format, Piece, Run, Stored, Tail};
use crate::mx::{self, Array, Dtype};

const N_HEADS: i32 = 4;
const DIM: i32 = 2;

/// `[2 Hk, L, D]` of one number.
fn kv(n: i32, number: f32) -> Array {
    Array::from_slice(&vec![number; (n * N_HEADS * DIM) as usize], &[N_HEADS, n, DIM])
}

/// A run of `n` positions of one number, in one layer.
fn run(n: usize, number: f32) -> Tail {
    let tail = Tail::new(Format::Dense, 0, 1);
    tail.run().write(0, 0, &kv(n as i32, number)).unwrap();
    tail.run().set_end(n);
    tail
}

fn numbers(run: &Run) -> Vec<f32> {
    let (keys, _) = run.read(0, &(0..run.end())).unwrap();
    let Stored::Dense(keys) = keys else { panic!("dense") };
    mx::to_f32(&keys).unwrap()[..run.end() * DIM as usize].to_vec()
}

fn slab_of(runs: &[Tail], n_positions: usize) -> Rc<Slab> {
    let slab = Rc::new(Slab::default());
    slab.reserve(runs.len(), n_positions).unwrap();
    runs.iter().for_each(|tail| slab.take_in(tail.run()).unwrap());
    slab
}

#[test]
fn tokens_are_written_in_place() {
    let runs: Vec<_> = (0..3).map(|at| run(100 + at, at as f32)).collect();
    let slab = slab_of(&runs, 200);
    mx::eval(&slab.arrays().iter().collect::<Vec<_>>()).unwrap();
    let before = mx::address(&slab.arrays()[0]);
    for at in 0..50 {
        let slots = Array::from_slice(&[0_u32, 1, 2], &[3]);
        let places = Array::from_slice(&[100 + at, 101 + at, 102 + at], &[3]);
        let new = mx::zeros(&[3, N_HEADS, DIM], Dtype::Float32).unwrap();
        slab.scatter(0, [&slots, &places], &new).unwrap();
        let read = mx::sum(&slab.heads(0, 1, 150).unwrap(), 2).unwrap();
        mx::eval(&slab.arrays().iter().chain([&read]).collect::<Vec<_>>()).unwrap();
    }
    assert_eq!(mx::address(&slab.arrays()[0]), before, "the buffer has not been copied");
}

#[test]
fn a_slot_holds_nothing_of_the_run_before() {
    let runs = vec![run(70, f32::NAN), run(30, 1.0)];
    let slab = slab_of(&runs, 70);
    drop(runs);
    slab.close_gaps().unwrap();
    assert_eq!(slab.n_slots(), 0);
    let short = run(10, 2.0);
    slab.reserve(1, 70).unwrap();
    slab.take_in(short.run()).unwrap();
    let all = mx::to_f32(&slab.heads(0, 0, 70).unwrap()).unwrap();
    assert!(all.iter().all(|number| [0.0, 2.0].contains(number)), "{all:?}");
}

#[test]
fn runs_close_up_and_leave_with_what_is_needed() {
    let mut runs: Vec<_> = (0..4).map(|at| run(10 * (at + 1), at as f32)).collect();
    let slab = slab_of(&runs, 50);
    drop(runs.remove(1));
    slab.close_gaps().unwrap();
    assert_eq!(slab.n_slots(), 3);
    let check = |runs: &[Tail]| {
        for tail in runs {
            let number = tail.run().end() as f32 / 10.0 - 1.0;
            assert_eq!(numbers(tail.run()), vec![number; tail.run().end() * DIM as usize]);
        }
    };
    check(&runs);
    slab.reserve(20, 300).unwrap();
    check(&runs);
    let last = runs.pop().unwrap();
    let (kept, piece) = (last.run().clone(), Piece::new(last.run().clone(), 0..15));
    drop(last);
    kept.move_out().unwrap();
    assert!(kept.place().is_none());
    assert_eq!((kept.end(), numbers(&kept)), (15, vec![3.0; 15 * DIM as usize]));
    drop(piece);
    slab.close_gaps().unwrap();
    slab.reserve(2, 10).unwrap();
    check(&runs);
    assert_eq!(slab.arrays()[0].dim(0), 2, "slots that nobody needs are given back");
}

#[test]
fn a_step_that_fails_spoils_all_runs_of_its_arrays() {
    let runs = vec![run(3, 1.0), run(4, 2.0)];
    let slab = slab_of(&runs, 10);
    runs[0].run().lose();
    assert!(runs.iter().all(|tail| tail.run().is_lost()));
    drop(slab);
}
