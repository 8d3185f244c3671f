//! Every golden, by every way of computing it and every way of cutting its sequences into steps.

use crate::cache::slabs::Slabs;
use crate::cache::{Layout, SequenceCache};
use crate::config::ConfigFile;
use crate::families::{FAMILIES, Model};
use crate::fixtures::{Fixture, Numbers, Sequence, golden_dir};
use crate::load::build;
use crate::mx::{self, Array, Dtype};
use crate::pass::{Pass, PassRow};
use crate::weights::{Compute, Kernels, PackedWeights, WeightFiles};

/// How sequences are cut into steps.
struct Schedule {
    name: &'static str,
    /// Most tokens a row computes in a step.
    n_chunk: usize,
    /// Steps between the first tokens of neighbouring rows.
    n_apart: usize,
    /// Whether KV of rows with few tokens lies side by side.
    is_arranged: bool,
}

const SCHEDULES: &[Schedule] = &[
    Schedule { name: "one after the other", n_chunk: usize::MAX, n_apart: 1000, is_arranged: false },
    Schedule { name: "ragged batch", n_chunk: usize::MAX, n_apart: 0, is_arranged: false },
    Schedule { name: "chunks beside decodes", n_chunk: 3, n_apart: 2, is_arranged: false },
    Schedule { name: "token by token", n_chunk: 1, n_apart: 1, is_arranged: false },
    Schedule { name: "side by side", n_chunk: 1, n_apart: 2, is_arranged: true },
    Schedule { name: "three tokens side by side", n_chunk: 3, n_apart: 1, is_arranged: true },
];

const COMPUTES: &[Compute] = &[
    Compute { dtype: Some(Dtype::Float32), packed: PackedWeights::Unpack, kernels: Kernels::Plain },
    Compute { dtype: Some(Dtype::Float32), packed: PackedWeights::Unpack, kernels: Kernels::Fused },
    Compute { dtype: Some(Dtype::Float32), packed: PackedWeights::Keep, kernels: Kernels::Plain },
    Compute { dtype: Some(Dtype::Float32), packed: PackedWeights::Keep, kernels: Kernels::Fused },
];

#[test]
fn logits_equal_the_references() {
    let mut names = golden_names();
    assert!(names.len() >= 30, "the goldens are missing");
    if let Ok(only) = std::env::var("TOKBAR_GOLDEN") {
        names.retain(|name| name.contains(&only));
        assert!(!names.is_empty(), "no golden's name has {only:?} in it");
    }
    let mut wrong = Vec::new();
    for name in &names {
        wrong.extend(check(name, SCHEDULES));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn prompts_of_many_chunks_equal_the_references() {
    let names = names_in("long");
    assert!(names.len() >= 14, "the goldens of long prompts are missing");
    let wrong: Vec<_> = names.iter().flat_map(|name| check(name, &SCHEDULES[1..2])).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every golden but those of long prompts.
pub fn golden_names() -> Vec<String> {
    names_in("")
}

/// The goldens of a folder, as [`Fixture::read`] takes them.
pub fn names_in(folder: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(golden_dir().join(folder))
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().path().file_name()?.to_str()?.strip_suffix(".json")?.to_owned()))
        .filter(|name| name != "rope")
        .map(|name| if folder.is_empty() { name } else { format!("{folder}/{name}") })
        .collect();
    names.sort();
    names
}

/// Complaints about a golden.
fn check(name: &str, schedules: &[Schedule]) -> Vec<String> {
    let fixture = Fixture::read(name);
    let dir = tempfile::tempdir().unwrap();
    fixture.write(dir.path());
    let config = ConfigFile::read(dir.path()).unwrap();
    let files = WeightFiles::open(dir.path()).unwrap();
    let is_packed = fixture.tensors.iter().any(|tensor| tensor.quantize.is_some());
    let mut wrong = Vec::new();
    for compute in COMPUTES.iter().filter(|compute| is_packed || compute.packed == PackedWeights::Unpack) {
        let (model, _) = match build(&config, &files, *compute, &mut |_| {}) {
            Ok(built) => built,
            Err(error) => return vec![format!("{name}: {error}")],
        };
        if let Some(head) = &fixture.head {
            let off = head_error(&*model, &fixture.sequences[0], head);
            if !off.is_finite() || off > fixture.tolerance {
                wrong.push(format!("{name}, {:?}: the head is off by {off}", (compute.packed, compute.kernels)));
            }
        }
        for schedule in schedules {
            let error = run(&*model, &fixture.sequences, schedule);
            if !error.is_finite() || error > fixture.tolerance {
                wrong.push(format!(
                    "{name}, {:?}, {}: off by {error}",
                    (compute.packed, compute.kernels),
                    schedule.name
                ));
            }
        }
    }
    wrong
}

/// Largest error of a logit of a checkpoint in `dir` that is to say what the golden does.
pub fn largest_errors(fixture: &Fixture, dir: &std::path::Path) -> Result<f32, crate::LoadError> {
    let (config, files) = (ConfigFile::read(dir)?, WeightFiles::open(dir)?);
    let (model, _) = build(&config, &files, COMPUTES[2], &mut |_| {})?;
    Ok(run(&*model, &fixture.sequences, &SCHEDULES[1]))
}

/// Largest error of a logit when the sequences run by the schedule.
fn run(model: &dyn Model, sequences: &[Sequence], schedule: &Schedule) -> f32 {
    let n_vocab = model.sizes().n_vocab;
    let layout = Layout::new(&model.sizes().caches, None);
    let mut caches: Vec<_> = sequences.iter().map(|_| SequenceCache::new(&layout)).collect();
    let mut logits: Vec<Vec<f32>> = vec![Vec::new(); sequences.len()];
    let mut slabs = Slabs::default();
    for step_idx in 0.. {
        let mut rows = Vec::new();
        let mut tokens: Vec<u32> = Vec::new();
        let mut lengths = Vec::new();
        for (row_idx, (sequence, cache)) in sequences.iter().zip(&mut caches).enumerate() {
            let offset = logits[row_idx].len() / n_vocab;
            let chunk = next_chunk(sequence, offset, schedule.n_chunk);
            if step_idx < row_idx * schedule.n_apart || chunk.is_empty() {
                continue;
            }
            let n_total = sequence.prompt.len().max(offset + chunk.len());
            rows.push(PassRow { start: tokens.len(), len: chunk.len(), offset, n_total, n_sure: usize::MAX, cache });
            lengths.push((row_idx, chunk.len()));
            tokens.extend(chunk);
        }
        if rows.is_empty() && step_idx >= sequences.len() * schedule.n_apart {
            break;
        } else if rows.is_empty() {
            continue;
        }
        if schedule.is_arranged {
            slabs.arrange(rows.iter_mut().map(|row| (&mut *row.cache, row.len))).unwrap();
        }
        let tokens = Array::from_slice(&tokens, &[tokens.len() as i32]);
        let hidden = model.hidden(&tokens, &mut Pass::new(rows)).unwrap();
        let all = mx::to_f32(&model.logits(&hidden).unwrap()).unwrap();
        let mut all = all.as_slice();
        for (row_idx, length) in lengths {
            let (row, rest) = all.split_at(length * n_vocab);
            logits[row_idx].extend(row);
            all = rest;
        }
    }
    let errors = sequences.iter().zip(&logits).map(|(sequence, logits)| largest_error(sequence, logits, n_vocab));
    errors.fold(0.0, |a: f32, b| if b.is_nan() { b } else { a.max(b) })
}

/// Largest error of a logit of the head, three tokens at a time.
pub fn head_error(model: &dyn Model, sequence: &Sequence, head: &Numbers) -> f32 {
    let tokens = [sequence.prompt.as_slice(), &sequence.continuation].concat();
    let predictor = model.predictor().unwrap();
    let mut own = SequenceCache::new(&Layout::new(predictor.caches(), None));
    let mut cache = SequenceCache::new(&Layout::new(&model.sizes().caches, None));
    let mut logits = Vec::new();
    for offset in (0..tokens.len() - 1).step_by(3) {
        let len = 3.min(tokens.len() - 1 - offset);
        let row = |cache| PassRow { start: 0, len, offset, n_total: offset + len, n_sure: usize::MAX, cache };
        let ids = |first: usize| Array::from_slice(&tokens[first..first + len], &[len as i32]);
        let hidden = model.hidden(&ids(offset), &mut Pass::new(vec![row(&mut cache)])).unwrap();
        let before = predictor.start(&hidden).unwrap();
        let out = predictor.advance(&before, &ids(offset + 1), &mut Pass::new(vec![row(&mut own)])).unwrap();
        logits.extend(mx::to_f32(&predictor.logits(&out).unwrap()).unwrap());
    }
    let expected = head.values();
    assert_eq!(logits.len(), expected.len());
    logits.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Prompt tokens up to `n_max`, or one of the continuation.
fn next_chunk(sequence: &Sequence, offset: usize, n_max: usize) -> Vec<u32> {
    let n_prompt = sequence.prompt.len();
    if offset < n_prompt {
        return sequence.prompt[offset..n_prompt.min(offset.saturating_add(n_max))].to_vec();
    }
    sequence.continuation.get(offset - n_prompt).copied().into_iter().collect()
}

fn largest_error(sequence: &Sequence, logits: &[f32], n_vocab: usize) -> f32 {
    let n_prompt = sequence.prompt.len();
    let expected = [sequence.prefill.values(), sequence.decode.values()].concat();
    let first = n_prompt - sequence.prefill.shape[0];
    let actual = &logits[first * n_vocab..];
    assert_eq!(actual.len(), expected.len());
    actual
        .iter()
        .zip(&expected)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, |a: f32, b| if b.is_nan() { b } else { a.max(b) })
}

#[test]
fn every_model_type_has_a_golden() {
    let covered: std::collections::BTreeSet<String> =
        golden_names().into_iter().flat_map(|name| model_types(&Fixture::read(&name).config)).collect();
    // The hybrid exists in tests only, and no reference has it.
    let is_missing = |name: &&str| *name != "hybrid_test" && !covered.contains(*name);
    let names = FAMILIES.iter().flat_map(|family| std::iter::once(&family.name).chain(family.aliases)).copied();
    let missing: Vec<_> = names.filter(is_missing).collect();
    assert!(missing.is_empty(), "no golden for {missing:?}");
}

/// Of the checkpoint and, where it has one, of its text part.
pub fn model_types(config: &serde_json::Value) -> Vec<String> {
    let inner = config.get("text_config").and_then(|text| text.get("model_type"));
    let all = config.get("model_type").into_iter().chain(inner);
    all.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}
