//! What `tokbar_hub::fit` predicts, against what MLX counts.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;
use tokbar_engine::{Backend, Opening, Prefix, Row, RowInput, RowOutput, SamplingOptions, SequenceId, Step, TokenId};
use tokbar_hub::checkpoint::Checkpoint;
use tokbar_hub::fit::{Demand, Numbers};
use tokbar_hub::safetensors::Dtype;
use tokbar_hub::shards::{ShardWriter, Slot};

use crate::{LoadOptions, MlxBackend, Precision, mx};

/// Most that a prediction may be off, of all that is in use.
const ERROR_MAX: f64 = 0.05;

/// Set in the process of a test that measures.
const ALONE: &str = "TOKBAR_TEST_ALONE";

/// Tokens of a step, as the engine has it.
const N_STEP: usize = 512;

/// Bytes in use after a prompt of `n` tokens, and the most while it was computed.
fn measured(dir: &Path, n: usize) -> [usize; 2] {
    let options = LoadOptions { precision: Precision::F32, ..LoadOptions::default() };
    let mut backend = MlxBackend::load(dir, &options, &mut |_| {}).unwrap();
    let id = SequenceId(1);
    let prompt: Vec<TokenId> = (0..n as u32).map(|at| at * 7 % 50).collect();
    let sampling = Arc::new(SamplingOptions::default());
    backend.open(id, &Opening { sampling, prompt: &prompt, output: &[], prefix: Prefix::default() }).unwrap();
    mx::clear_cache().unwrap();
    mx::reset_peak();
    for start in (0..n).step_by(N_STEP) {
        let tokens = prompt[start..n.min(start + N_STEP)].to_vec();
        let output = if start + tokens.len() == n { RowOutput::sample(0.5) } else { RowOutput::None };
        let row = Row { sequence: id, start, input: RowInput::Tokens(tokens), output };
        backend.submit(&Step { rows: vec![row] }).unwrap();
        backend.collect().unwrap();
    }
    [mx::memory().0, mx::peak_memory()]
}

fn check(name: &str, dir: &Path, contexts: [usize; 3]) -> Vec<String> {
    let checkpoint = Checkpoint::open(dir).unwrap();
    let demand = Demand::of(&checkpoint, Numbers::F32);
    let mut wrong = Vec::new();
    for n in contexts {
        let [held, peak] = measured(dir, n);
        let need = demand.at(n as u64);
        let predicted = [need.n_weight_bytes + need.n_kv_bytes, need.n_array_bytes()];
        for (what, predicted, measured) in [("held", predicted[0], held), ("peak", predicted[1], peak)] {
            let off = predicted as f64 / measured as f64 - 1.0;
            let line = format!("{name} at {n}: {what} {measured} predicted {predicted} ({:+.1} %)", off * 100.0);
            println!("{line}");
            if off.abs() > ERROR_MAX {
                wrong.push(line);
            }
        }
    }
    wrong
}

fn testkit(name: &str) -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.testkit");
    let dir = std::env::var_os("TOKBAR_TESTKIT").map_or_else(default, PathBuf::from).join(name);
    assert!(dir.join("config.json").exists(), "no model at {}: run `cargo xtask model` once", dir.display());
    dir
}

/// A llama of these sizes, all weights zero but the norms' places.
fn synthetic(n_layers: usize, n_hidden: usize, n_heads: usize, n_kv_heads: usize) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let (n_vocab, n_inner, head) = (1024, n_hidden * 3, n_hidden / n_heads);
    let config = json!({
        "model_type": "llama", "vocab_size": n_vocab, "hidden_size": n_hidden, "intermediate_size": n_inner,
        "num_hidden_layers": n_layers, "num_attention_heads": n_heads, "num_key_value_heads": n_kv_heads, "head_dim": head,
        "max_position_embeddings": 32_768, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true,
        "torch_dtype": "float32"
    });
    std::fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    let mut shapes =
        vec![("model.embed_tokens".to_owned(), vec![n_vocab, n_hidden]), ("model.norm".to_owned(), vec![n_hidden])];
    for layer in 0..n_layers {
        let mut add =
            |name: &str, shape: &[usize]| shapes.push((format!("model.layers.{layer}.{name}"), shape.to_vec()));
        add("input_layernorm", &[n_hidden]);
        add("post_attention_layernorm", &[n_hidden]);
        add("self_attn.q_proj", &[n_hidden, n_hidden]);
        add("self_attn.k_proj", &[n_kv_heads * head, n_hidden]);
        add("self_attn.v_proj", &[n_kv_heads * head, n_hidden]);
        add("self_attn.o_proj", &[n_hidden, n_hidden]);
        add("mlp.gate_proj", &[n_inner, n_hidden]);
        add("mlp.up_proj", &[n_inner, n_hidden]);
        add("mlp.down_proj", &[n_hidden, n_inner]);
    }
    let slot = |(name, shape)| Slot { name: format!("{name}.weight"), dtype: Dtype::F32, shape };
    let slots: Vec<Slot> = shapes.into_iter().map(slot).collect();
    let mut shard = ShardWriter::create(&dir.path().join("model.safetensors"), &slots).unwrap();
    slots.into_iter().for_each(|slot| {
        shard.add(slot);
    });
    shard.finish().unwrap();
    dir
}

/// Runs the test in a process where nothing else computes, and tells whether this is that process.
fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let exe = std::env::current_exe().unwrap();
    let output = Command::new(exe).args([test, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    false
}

#[test]
fn predictions_are_close() {
    if !is_alone("fit_tests::predictions_are_close") {
        return;
    }
    let mut wrong = check("SmolLM2", &testkit("SmolLM2-135M-Instruct"), [200, 700, 1300]);
    wrong.extend(check("Gemma 270m", &testkit("gemma-3-270m"), [200, 700, 1300]));
    // Weights count most, state counts most, and what a step computes with counts most.
    for (name, sizes) in [("wide", (2, 1024, 16, 4)), ("deep", (24, 128, 2, 2)), ("flat", (2, 256, 4, 1))] {
        let (n_layers, n_hidden, n_heads, n_kv_heads) = sizes;
        let dir = synthetic(n_layers, n_hidden, n_heads, n_kv_heads);
        wrong.extend(check(name, dir.path(), [700, 1500, 3000]));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
