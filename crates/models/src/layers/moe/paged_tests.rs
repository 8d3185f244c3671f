//! Networks whose experts do not all fit say what those say whose experts do.

use std::rc::Rc;

use crate::cache::{Layout, SequenceCache};
use crate::config::ConfigFile;
use crate::families::Model;
use crate::fixtures::{Fixture, uniforms};
use crate::load::{LoadOptions, build, load};
use crate::mx::{self, Array, Dtype};
use crate::pass::{Pass, PassRow};
use crate::weights::{Compute, ExpertCounts, Kernels, PackedWeights, Paging, WeightFiles};

/// Every way in which experts are kept so that they can be read one by one, and what one token takes of each.
const NAMES: &[&str] = &[
    "deepseek_v3",
    "deepseek_v4_published",
    "ernie4_5_moe",
    "glm4_moe",
    "jamba",
    "kimi_k2_int4",
    "kimi_linear_affine4_g32",
    "lfm2_moe",
    "minimax_fp8",
    "mixtral",
    "nemotron_h",
    "qwen2_moe",
    "qwen3_moe",
    "qwen3_moe_affine4_g64",
    "qwen3_moe_mxfp4_g32",
    "qwen3_next_affine4_g32",
];

fn model(name: &str, packed: PackedWeights, n_bytes: Option<u64>) -> (Box<dyn Model>, usize, Rc<ExpertCounts>) {
    let dir = tempfile::tempdir().unwrap();
    Fixture::read(name).write(dir.path());
    let paging = Paging::new(n_bytes.unwrap_or(0));
    let files = WeightFiles::open(dir.path()).unwrap().with_paging(n_bytes.map(|_| Rc::clone(&paging)));
    let compute = Compute { dtype: Some(Dtype::Float32), packed, kernels: Kernels::Fused };
    let config = ConfigFile::read(dir.path()).unwrap();
    let built = build(&config, &files, compute, &mut |_| {});
    let (model, n_bytes) = built.unwrap_or_else(|error| panic!("{name}: {error}"));
    (model, n_bytes, Rc::clone(&paging.counts))
}

/// Logits of a long prompt and of tokens after it, which take few experts each.
fn logits(model: &dyn Model) -> Vec<f32> {
    let tokens: Vec<u32> = uniforms("paged").take(60).map(|u| (u * 67.0) as u32).collect();
    let mut cache = SequenceCache::new(&Layout::new(&model.sizes().caches, None));
    let (mut offset, mut all) = (0, Vec::new());
    for len in [40].into_iter().chain([1; 20]) {
        let row = PassRow { start: 0, len, offset, n_total: offset + len, n_sure: usize::MAX, cache: &mut cache };
        let ids = Array::from_slice(&tokens[offset..offset + len], &[len as i32]);
        let hidden = model.hidden(&ids, &mut Pass::new(vec![row])).unwrap();
        all.extend(mx::to_f32(&model.logits(&hidden).unwrap()).unwrap());
        offset += len;
    }
    all
}

/// The least that the experts must have, as the refusal of less says.
fn least(name: &str) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    Fixture::read(name).write(dir.path());
    let options = LoadOptions { expert_bytes: Some(1), ..LoadOptions::default() };
    let Err(error) = load(dir.path(), &options, &mut |_| {}) else { panic!("{name} is content with a byte") };
    let text = error.to_string();
    let number =
        text.split("at least ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{text}"));
    number.parse().unwrap()
}

#[test]
fn logits_are_those_of_whole_networks() {
    for name in NAMES {
        for packed in [PackedWeights::Unpack, PackedWeights::Keep] {
            let (whole, n_whole, _) = model(name, packed, None);
            let least = least(name);
            for n_bytes in [least, least * 3 / 2] {
                let (paged, n_paged, counts) =
                    model(name, packed, Some(n_bytes * if packed == PackedWeights::Keep { 1 } else { 8 }));
                if counts.n_resident == counts.n_all {
                    continue;
                }
                assert!(n_paged < n_whole, "{name}: {n_paged} of {n_whole} bytes");
                let off = logits(&*whole).iter().zip(logits(&*paged)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(off < 1e-4, "{name}, {packed:?}, {n_bytes} bytes: off by {off}");
                assert!(counts.n_misses.get() > 0 && counts.n_bytes_read.get() > 0, "{name}: {counts:?}");
            }
        }
    }
}

#[test]
fn experts_that_are_picked_often_stay() {
    let name = "qwen3_moe";
    let (paged, _, counts) = model(name, PackedWeights::Keep, Some(least(name) * 2));
    let mut cache = SequenceCache::new(&Layout::new(&paged.sizes().caches, None));
    let mut rates = Vec::new();
    for offset in 0..60 {
        let (hits, misses) = (counts.n_hits.get(), counts.n_misses.get());
        let row = PassRow { start: 0, len: 1, offset, n_total: offset + 1, n_sure: usize::MAX, cache: &mut cache };
        let ids = Array::from_slice(&[7_u32], &[1]);
        mx::eval(&[&paged.hidden(&ids, &mut Pass::new(vec![row])).unwrap()]).unwrap();
        let (hits, misses) = ((counts.n_hits.get() - hits) as f64, (counts.n_misses.get() - misses) as f64);
        rates.push(hits / (hits + misses));
    }
    let late = rates[30..].iter().sum::<f64>() / 30.0;
    assert!(late > 0.9, "the same token finds {late} of its experts: {rates:?}");
}
