use std::rc::Rc;

use super::Recurrent;
use crate::cache::state::Recurrence;
use crate::cache::{CacheKind, Layout, SequenceCache};
use crate::mx::{self, Array, Dtype, Result};
use crate::pass::{Pass, PassRow};

fn caches(n: usize) -> Vec<SequenceCache> {
    let layout = Layout::new(&[CacheKind::State], None);
    (0..n).map(|_| SequenceCache::new(&layout)).collect()
}

fn pass<'a>(caches: &'a mut [&mut SequenceCache], lens: &[usize]) -> Pass<'a> {
    let mut start = 0;
    let rows = caches.iter_mut().zip(lens).map(|(cache, &len)| {
        start += len;
        let offset = cache.n_positions();
        PassRow { start: start - len, len, offset, n_total: offset + len, n_sure: usize::MAX, cache }
    });
    Pass::new(rows.collect())
}

/// Running sums of numbers, and of those sums.
struct Sums;

impl Recurrence for Sums {
    fn start(&self, _: &[Array]) -> Result<Vec<Array>> {
        Ok(vec![mx::zeros(&[1, 1], Dtype::Float32)?; 2])
    }

    fn advance(&self, inputs: &[Array], states: &[Array]) -> Result<(Array, Vec<Array>)> {
        let mut y = inputs[0].clone();
        let mut after = Vec::new();
        for state in states {
            y = mx::add(&mx::cumsum(&y, 1)?, &mx::expand_dims(state, 1)?)?;
            let last = y.dim(1) - 1;
            after.push(mx::reshape(&mx::slice(&y, &[mx::Cut { axis: 1, start: last, stop: last + 1 }])?, &[-1, 1])?);
        }
        Ok((y, after))
    }
}

fn step(caches: &mut [&mut SequenceCache], lens: &[usize], numbers: &[f32]) -> Vec<f32> {
    let numbers = Array::from_slice(numbers, &[numbers.len() as i32, 1]);
    let sums = Recurrent::new(Rc::new(Sums), 0);
    mx::to_f32(&sums.forward(&[numbers], &mut pass(caches, lens)).unwrap()).unwrap()
}

#[test]
fn states_follow_their_rows_through_changing_batches() {
    let mut all = caches(3);
    let [a, b, c] = all.as_mut_slice() else { unreachable!() };
    assert_eq!(step(&mut [a, b], &[1, 1], &[1.0, 2.0]), [1.0, 2.0]);
    assert_eq!(step(&mut [b, a], &[1, 1], &[0.0, 0.0]), [4.0, 2.0]);
    assert_eq!(step(&mut [c, a, b], &[1, 2, 2], &[5.0, 1.0, 1.0, 1.0, 0.0]), [5.0, 4.0, 7.0, 7.0, 10.0]);
    assert_eq!(step(&mut [a], &[1], &[0.0]), [10.0]);
    assert_eq!(step(&mut [a, b, c], &[1, 1, 3], &[0.0, 0.0, 1.0, 1.0, 1.0]), [13.0, 13.0, 11.0, 18.0, 26.0]);
}
