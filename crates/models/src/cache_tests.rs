//! Sequences that share, branch, go on and are cut back, against lists of what each must hold.

use std::rc::Rc;

use super::run::Piece;
use super::slabs::Slabs;
use super::{CacheKind, KvQuantization, Layout, SequenceCache, Stored, join};
use crate::fixtures::uniforms;
use crate::mx::{self, Array, Dtype};

const DIM: i32 = 64;

/// A sequence and the number that each of its positions holds.
struct Checked {
    cache: SequenceCache,
    numbers: Vec<f32>,
}

impl Checked {
    fn append(&mut self, numbers: &[f32]) {
        self.cache.begin(numbers.len());
        let elements = |sign: f32| numbers.iter().flat_map(move |number| vec![number * sign; DIM as usize]);
        let kv: Vec<f32> = elements(1.0).chain(elements(-1.0)).collect();
        let kv = Array::from_slice(&kv, &[2, numbers.len() as i32, DIM]);
        for layer_idx in 0..self.cache.layout.kinds().len() {
            assert!(self.cache.append(layer_idx, &kv).unwrap().is_none());
        }
        self.numbers.extend(numbers);
    }

    fn check(&self, what: &str) {
        assert_eq!(self.cache.n_positions(), self.numbers.len(), "{what}");
        for layer_idx in 0..self.cache.layout.kinds().len() {
            let mut end = 0;
            for stretch in self.cache.stretches(layer_idx).unwrap() {
                assert_eq!(stretch.range.start, end, "{what}");
                end = stretch.range.end;
                let expected = &self.numbers[stretch.range.clone()];
                assert_eq!(firsts(&stretch.keys), expected, "{what}, keys of {:?}", stretch.range);
                assert_eq!(firsts(&stretch.values), expected.iter().map(|v| -v).collect::<Vec<_>>(), "{what}");
            }
            assert_eq!(end, self.numbers.len(), "{what}");
        }
    }
}

/// The first element of each position. Packing keeps numbers that are equal in all of their group.
fn firsts(stored: &Stored) -> Vec<f32> {
    let dense = match stored {
        Stored::Dense(array) => array.clone(),
        Stored::Packed(packed) => mx::dequantize(packed, Dtype::Float32).unwrap(),
    };
    mx::to_f32(&dense).unwrap().chunks(DIM as usize).map(|position| position[0]).collect()
}

/// Blocks of a sequence, and what they hold.
struct Block {
    pieces: Vec<Piece>,
    prefix: Vec<f32>,
}

fn check(name: &str, quantization: Option<KvQuantization>) {
    let layout = Layout::new(&[CacheKind::Full; 2], quantization);
    let mut dice = uniforms(name);
    let mut roll = move |n: usize| (dice.next().unwrap() * n as f32) as usize;
    let mut sequences = vec![];
    let mut blocks: Vec<Block> = vec![];
    let (mut slabs, mut n_together) = (Slabs::default(), 0);
    for at in 0..250 {
        let n_new = 1 + if roll(3) == 0 { roll(150) } else { roll(3) };
        let numbers: Vec<f32> = (0..n_new).map(|i| (at * 7 + i) as f32).collect();
        match roll(6) {
            0 => sequences.push(Checked { cache: SequenceCache::new(&layout), numbers: vec![] }),
            1 if !blocks.is_empty() => {
                let Block { pieces, prefix } = &blocks[roll(blocks.len())];
                let n_taken = prefix.len() - if roll(2) == 0 { 0 } else { roll(prefix.len()) };
                let taken = join::merge(pieces.iter().filter_map(|piece| piece.clip(&(0..n_taken))));
                let (cache, numbers) = (SequenceCache::on(&layout, taken), prefix[..n_taken].to_vec());
                sequences.push(Checked { cache, numbers });
            }
            2 if !sequences.is_empty() => {
                let sequence = &sequences[roll(sequences.len())];
                if !sequence.numbers.is_empty() {
                    let n_kept = 1 + roll(sequence.numbers.len());
                    let pieces = sequence.cache.pieces(&(0..n_kept));
                    blocks.push(Block { pieces, prefix: sequence.numbers[..n_kept].to_vec() });
                }
            }
            3 if !sequences.is_empty() => {
                let at = roll(sequences.len());
                let sequence = &mut sequences[at];
                let n_kept = sequence.numbers.len() - roll(sequence.numbers.len().min(40) + 1);
                assert!(sequence.cache.cut_back(n_kept));
                sequence.numbers.truncate(n_kept);
            }
            4 if sequences.len() > 4 => {
                let at = roll(sequences.len());
                let runs: Vec<_> = sequences.swap_remove(at).cache.runs().map(Rc::clone).collect();
                runs.iter().for_each(|run| run.shrink().unwrap());
                if blocks.len() > 5 {
                    let at = roll(blocks.len());
                    drop(blocks.swap_remove(at));
                    runs.iter().for_each(|run| run.shrink().unwrap());
                }
            }
            _ if !sequences.is_empty() => {
                let first = roll(sequences.len());
                let n_rows = 1 + if n_new < 4 { roll(sequences.len() - first) } else { 0 };
                let rows = &mut sequences[first..first + n_rows];
                slabs.arrange(rows.iter_mut().map(|row| (&mut row.cache, n_new))).unwrap();
                rows.iter_mut().for_each(|row| row.append(&numbers));
                n_together += rows.iter().filter(|row| row.cache.written().any(|run| run.place().is_some())).count();
            }
            _ => {}
        }
        if at % 5 == 0 {
            sequences.iter().for_each(|sequence| sequence.check(&format!("{name}, step {at}")));
        }
    }
    assert!(sequences.iter().any(|sequence| !sequence.numbers.is_empty()));
    let can_be_together = quantization.is_none_or(|quantization| quantization.min_length > 0);
    assert!(n_together > 20 || !can_be_together, "{name}: only {n_together} appends side by side");
}

#[test]
fn sequences_that_share_storage_hold_what_separate_ones_do() {
    for run in 0..4 {
        check(&format!("dense {run}"), None);
    }
    check("packed", Some(KvQuantization { bits: 8, min_length: 0 }));
    check("packed later", Some(KvQuantization { bits: 4, min_length: 37 }));
}

#[test]
fn a_step_that_failed_leaves_no_trace() {
    for quantization in [None, Some(KvQuantization { bits: 8, min_length: 12 })] {
        let layout = Layout::new(&[CacheKind::Full; 2], quantization);
        let mut sequence = Checked { cache: SequenceCache::new(&layout), numbers: vec![] };
        for n in [3, 1, 70, 1] {
            let numbers = sequence.numbers.clone();
            let saved = sequence.cache.save();
            sequence.append(&vec![5.0; n + 20]);
            sequence.cache.restore(saved);
            sequence.numbers = numbers;
            sequence.check("undone");
            sequence.append(&vec![n as f32; n]);
            sequence.check("done again");
        }
    }
}

#[test]
fn a_conversation_stays_in_one_run() {
    let layout = Layout::new(&[CacheKind::Full], None);
    let mut sequence = Checked { cache: SequenceCache::new(&layout), numbers: vec![] };
    for turn in 0..5 {
        sequence.append(&vec![turn as f32; 100]);
        let kept = sequence.cache.pieces(&(0..sequence.numbers.len()));
        let numbers = sequence.numbers.clone();
        drop(sequence);
        sequence = Checked { cache: SequenceCache::on(&layout, join::merge(kept)), numbers };
        assert_eq!(sequence.cache.stretches(0).unwrap().len(), 1);
    }
    sequence.check("all turns");
}

#[test]
fn scattered_pieces_are_copied_together() {
    let layout = Layout::new(&[CacheKind::Full], None);
    let blocks: Vec<Piece> = (0..6)
        .flat_map(|block_idx| {
            let mut cache = Checked { cache: SequenceCache::new(&layout), numbers: vec![] };
            cache.append(&(0..60).map(|i| i as f32).collect::<Vec<_>>());
            cache.cache.pieces(&(block_idx * 10..block_idx * 10 + 10))
        })
        .collect();
    assert_eq!(join::scattered(&blocks), Some(0..6));
    assert_eq!(join::scattered(&blocks[..2]), None);
    let run = join::copied(&blocks).unwrap().unwrap();
    let cache = SequenceCache::on(&layout, vec![Piece::new(run, 0..60)]);
    Checked { cache, numbers: (0..60).map(|i| i as f32).collect() }.check("copied");
}
