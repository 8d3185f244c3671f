//! What long prompts cost the families with recurrent layers.

use std::time::Instant;

use crate::cache::{Layout, SequenceCache};
use crate::config::ConfigFile;
use crate::fixtures::{Fixture, RECURRENT, uniforms};
use crate::load::build;
use crate::mx::{self, Array, Dtype};
use crate::pass::{Pass, PassRow};
use crate::weights::{Compute, Kernels, PackedWeights, WeightFiles};

use super::Model;

fn model(name: &str, kernels: Kernels) -> Box<dyn Model> {
    let dir = tempfile::tempdir().unwrap();
    Fixture::read(name).write(dir.path());
    let compute = Compute { dtype: Some(Dtype::Float32), packed: PackedWeights::Unpack, kernels };
    let (config, files) = (ConfigFile::read(dir.path()).unwrap(), WeightFiles::open(dir.path()).unwrap());
    build(&config, &files, compute, &mut |_| {}).unwrap().0
}

/// Operations that a prompt of `n` tokens takes in one pass, and what they compute.
fn prefill(model: &dyn Model, n: usize) -> (usize, Vec<Array>) {
    let tokens: Vec<u32> = uniforms("prefill").take(n).map(|u| (u * 67.0) as u32).collect();
    let layout = Layout::new(&model.sizes().caches, None);
    let mut cache = SequenceCache::new(&layout);
    let n_before = mx::n_operations();
    let row = PassRow { start: 0, len: n, offset: 0, n_total: n, n_sure: usize::MAX, cache: &mut cache };
    let hidden = model.hidden(&Array::from_slice(&tokens, &[n as i32]), &mut Pass::new(vec![row])).unwrap();
    let n_operations = mx::n_operations() - n_before;
    (n_operations, cache.states().flat_map(|state| state.get().to_vec()).chain([hidden]).collect())
}

#[test]
fn long_prompts_take_fewer_operations_than_tokens() {
    for name in RECURRENT {
        for kernels in [Kernels::Fused, Kernels::Plain] {
            let model = model(name, kernels);
            let ((short, _), (long, _)) = (prefill(&*model, 512), prefill(&*model, 4096));
            println!("{name}, {kernels:?}: {short} operations for 512 tokens, {long} for 4096");
            assert!(long <= 6 * short, "{name}, {kernels:?}: {long} operations, {short} for an eighth of the tokens");
            assert!(long < 4096, "{name}, {kernels:?}: {long} operations in all layers together");
        }
    }
}

#[test]
fn one_long_pass_leaves_the_state_of_many_short_ones() {
    for name in RECURRENT {
        let model = model(name, Kernels::Plain);
        let n = 700;
        let start = Instant::now();
        let (_, whole) = prefill(&*model, n);
        mx::eval(&whole.iter().collect::<Vec<_>>()).unwrap();
        println!("{name}: {n} tokens in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
        let tokens: Vec<u32> = uniforms("prefill").take(n).map(|u| (u * 67.0) as u32).collect();
        let layout = Layout::new(&model.sizes().caches, None);
        let mut cache = SequenceCache::new(&layout);
        for (at, chunk) in tokens.chunks(53).enumerate() {
            let len = chunk.len();
            let row = PassRow { start: 0, len, offset: at * 53, n_total: n, n_sure: usize::MAX, cache: &mut cache };
            model.hidden(&Array::from_slice(chunk, &[len as i32]), &mut Pass::new(vec![row])).unwrap();
        }
        let states: Vec<Array> = cache.states().flat_map(|state| state.get().to_vec()).collect();
        for (whole, parts) in whole.iter().zip(&states) {
            let off = mx::to_f32(&mx::subtract(whole, parts).unwrap()).unwrap();
            assert!(off.iter().all(|off| off.abs() < 1e-3), "{name}: {off:?}");
        }
    }
}
