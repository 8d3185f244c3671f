use super::{Held, KvCache};
use crate::fixtures::uniforms;
use crate::mx::{self, Array};

const N_HEADS: i32 = 2;
const HEAD_DIM: i32 = 4;

/// The plain cache: every position's keys (values are their negation), as one list of vectors a head.
#[derive(Default)]
struct Concat {
    heads: [Vec<[f32; HEAD_DIM as usize]>; N_HEADS as usize],
}

impl Concat {
    fn append(&mut self, n: usize, numbers: &mut impl Iterator<Item = f32>) -> Array {
        let mut new = Vec::new();
        for head in &mut self.heads {
            for _ in 0..n {
                let vector = std::array::from_fn(|_| numbers.next().unwrap());
                head.push(vector);
                new.extend(vector);
            }
        }
        Array::from_slice(&new, &[N_HEADS, n as i32, HEAD_DIM])
    }

    fn from(&self, start: usize) -> Vec<f32> {
        self.heads.iter().flat_map(|head| head[start..].iter().flatten().copied()).collect()
    }
}

/// Random appends and trims; what the cache returns is what the plain one holds of the visible positions.
fn check(name: &str, window: Option<usize>) {
    let mut numbers = uniforms(name);
    let (mut cache, mut plain) = (KvCache::new(window), Concat::default());
    for _ in 0..120 {
        let n_held = plain.heads[0].len();
        let dice = numbers.next().unwrap();
        if dice < 0.15 && n_held > 3 {
            let n_kept = n_held - (numbers.next().unwrap() * 4.0) as usize;
            if cache.trim(n_kept) {
                plain.heads.iter_mut().for_each(|head| head.truncate(n_kept));
            } else {
                // Too far back for the window: a sequence starts anew.
                (cache, plain) = (KvCache::new(window), Concat::default());
            }
        }
        let n_new = if dice < 0.6 { 1 } else { 1 + (numbers.next().unwrap() * 90.0) as usize };
        let n_held = plain.heads[0].len();
        let keys = plain.append(n_new, &mut numbers);
        let values = mx::subtract(&mx::scalar(0.0), &keys).unwrap();
        let Held { keys, values, start } = cache.update(&keys, &values).unwrap();
        assert_eq!(start, window.map_or(0, |window| (n_held + 1).saturating_sub(window)), "{name}");
        let expected = plain.from(start);
        assert_eq!(mx::to_f32(&keys).unwrap(), expected, "{name}");
        assert_eq!(mx::to_f32(&values).unwrap(), expected.iter().map(|v| 0.0 - v).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn cache_holds_what_a_plain_one_does() {
    for window in [None, Some(1), Some(7), Some(64), Some(256), Some(300)] {
        check(&format!("cache with window {window:?}"), window);
    }
}

#[test]
fn rotating_cache_stays_bounded() {
    let mut cache = KvCache::new(Some(64));
    let new = Array::from_slice(&[1.0_f32; 8], &[2, 1, 4]);
    for _ in 0..2000 {
        let held = cache.update(&new, &new).unwrap();
        mx::eval(&[&held.keys, &held.values]).unwrap();
    }
    assert!(cache.arrays().all(|buffer| buffer.dim(1) <= 512), "a window of 64 needs no more than two blocks");
}
