use super::{Held, N_SLACK, Rotating};
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

/// Appends `[2 Hk, L, D]`; returns them and all that the first of them sees.
fn append(cache: &mut Rotating, kv: &Array) -> Held {
    let n_new = kv.dim(1) as usize;
    cache.begin(n_new);
    cache.write(0, kv).unwrap();
    cache.seen_by_last(0, n_new).unwrap()
}

/// Random appends and trims; what the cache returns is what the plain one holds of the visible positions.
fn check(name: &str, window: usize) {
    let mut numbers = uniforms(name);
    let (mut cache, mut plain) = (Rotating::new(window, 1), Concat::default());
    let mut restored = 0;
    for _ in 0..120 {
        let n_held = plain.heads[0].len();
        let dice = numbers.next().unwrap();
        // What a snapshot leaves out cannot come back.
        if dice < 0.15 && n_held > restored + 3 {
            let n_kept = n_held - (numbers.next().unwrap() * 4.0) as usize;
            assert!(cache.can_cut_back(n_kept), "{name}: a few positions can always be cut back");
            cache.cut_back(n_kept);
            plain.heads.iter_mut().for_each(|head| head.truncate(n_kept));
        } else if dice < 0.2 && n_held > 0 {
            let Held { kv, start } = cache.snapshot(0).unwrap().unwrap();
            assert!(kv.dim(1) as usize <= window, "{name}");
            cache = Rotating::of(window, start..n_held, vec![vec![kv]]);
            restored = n_held;
        }
        let n_new = if dice < 0.6 { 1 } else { 1 + (numbers.next().unwrap() * 90.0) as usize };
        let n_held = plain.heads[0].len();
        let keys = plain.append(n_new, &mut numbers);
        let values = mx::subtract(&mx::scalar(0.0), &keys).unwrap();
        let Held { kv, start } = append(&mut cache, &mx::concatenate(&[&keys, &values], 0).unwrap());
        assert_eq!(start, (n_held + 1).saturating_sub(window), "{name}");
        let keys = plain.from(start);
        let expected: Vec<f32> = keys.iter().copied().chain(keys.iter().map(|v| 0.0 - v)).collect();
        assert_eq!(mx::to_f32(&kv).unwrap(), expected, "{name}");
    }
}

#[test]
fn cache_holds_what_a_plain_one_does() {
    for window in [1, 7, 64, 256, 300] {
        check(&format!("cache with window {window}"), window);
    }
}

#[test]
fn cutting_back_further_than_the_slack_is_refused_and_changes_nothing() {
    let mut cache = Rotating::new(8, 1);
    let add = |cache: &mut Rotating, n: i32| append(cache, &mx::zeros(&[2, n, 4], mx::Dtype::Float32).unwrap());
    (0..10).for_each(|_| drop(add(&mut cache, 300)));
    for _ in 0..40 {
        add(&mut cache, 300);
        add(&mut cache, 1);
        let n_positions = cache.run().end();
        assert!(cache.can_cut_back(n_positions - N_SLACK));
        assert!(!cache.can_cut_back(n_positions - 1200));
        cache.cut_back(n_positions - N_SLACK);
        assert_eq!(add(&mut cache, 1).start, n_positions - N_SLACK - 7);
    }
}

#[test]
fn rotating_cache_stays_bounded() {
    let mut cache = Rotating::new(64, 1);
    let new = Array::from_slice(&[1.0_f32; 8], &[2, 1, 4]);
    for _ in 0..2000 {
        let held = append(&mut cache, &new);
        mx::eval(&[&held.kv]).unwrap();
    }
    assert!(cache.run().arrays()[0].dim(1) <= 768, "a window of 64 needs no more than three times its growth");
}
