//! What long prompts cost the families with recurrent layers.

use std::time::Instant;

use crate::cache::{Layout, SequenceCache};
use crate::config::ConfigFile;
use crate::fixtures::{Fixture, RECURRENT, uniforms};
use crate::golden_tests::names_in;
use crate::layers::attention::blind::blind;
use crate::load::build;
use crate::mx::{self, Array, Dtype};
use crate::pass::{Pass, PassRow};
use crate::weights::{Compute, Kernels, PackedWeights, WeightFiles};

use super::Model;

/// Set by `cargo xtask bench hybrids`: times are taken and written down.
const MEASURE: &str = "TOKBAR_MEASURE_HYBRIDS";

/// How often each length is measured; the shortest time counts.
const N_RUNS: usize = 40;

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
            let n_layers = model.sizes().caches.len();
            assert!(long < 1024 * n_layers, "{name}, {kernels:?}: {long} operations in {n_layers} layers");
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

/// Shortest times of a short and a long prompt, taken in turn, in ms.
fn shortest_ms(model: &dyn Model) -> [f64; 2] {
    let run = |n| {
        let start = Instant::now();
        let (_, made) = prefill(model, n);
        mx::eval(&made.iter().collect::<Vec<_>>()).unwrap();
        start.elapsed().as_secs_f64() * 1e3
    };
    let runs = (0..N_RUNS).map(|_| [512, 4096].map(run));
    runs.fold([f64::INFINITY; 2], |best, run| [best[0].min(run[0]), best[1].min(run[1])])
}

fn measured() -> String {
    let mut page = String::from(PAGE);
    for name in names_in("long") {
        let model = model(&name, Kernels::Plain);
        let ([short, long], [short_blind, long_blind]) = (shortest_ms(&*model), blind(|| shortest_ms(&*model)));
        let row = format!(
            "| `{}` | {short:.1} | {long:.1} | {:.1} | {short_blind:.1} | {long_blind:.1} | {:.2} |\n",
            name.trim_start_matches("long/"),
            long / short,
            long_blind / short_blind,
        );
        print!("{row}");
        page.push_str(&row);
    }
    page
}

/// The page has every hybrid, and all that they do but scoring positions grows more slowly than the prompt.
#[test]
fn the_page_of_long_prompts_is_whole() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hybrids.md");
    if std::env::var_os(MEASURE).is_some() {
        std::fs::write(&path, measured()).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(page.starts_with(PAGE), "the page's head is out of date: run `cargo xtask bench hybrids`");
    for name in names_in("long") {
        let name = name.trim_start_matches("long/");
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{name} is not measured: run `cargo xtask bench hybrids`"));
        let ratio: f64 = row.trim_end_matches(" |").rsplit(' ').next().unwrap().parse().unwrap();
        assert!(ratio > 1.0 && ratio <= 6.0, "{row}");
    }
}

const PAGE: &str = "\
# Long prompts of hybrids

Made by `cargo xtask bench hybrids`: networks as narrow as they can be (16 elements, one head, layers in the proportions that
checkpoints have: `crates/models/tests/golden/long`), f32 on a CPU, one pass over a prompt; the shortest of 40 times, short and
long prompts in turn.

A prompt of eight times the tokens takes at most six times the operations (a test counts them): no layer goes token by token. At
this width operations are small, so that time follows their number more than the prompt: the last column says how many times as
long all that a network does but scoring positions takes (a test holds it at six).

Softmax attention scores every earlier position: 64 times as many scores for eight times the tokens, 8.4 million a head for 4096
tokens. MLX's CPU backend takes 4 ns for the exponential of each and 3 ns for the rest, about 60 ms a head and layer, which no
order of operations makes fewer. It is what the whole network's ratio is above six for.

| network | all: 512 tokens, ms | 4096 tokens, ms | ratio | without scores: 512 tokens, ms | 4096 tokens, ms | ratio |
|---|---|---|---|---|---|---|
";
