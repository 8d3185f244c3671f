use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::shards::{ShardWriter, Slot};

const LLAMA: &str = r#"{"model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 8, "hidden_size": 64,
    "num_key_value_heads": 2, "max_position_embeddings": 512}"#;

fn weights(dir: &Path, name: &str, tensors: &[(&str, Dtype, &[usize])]) {
    let slot = |&(name, dtype, shape): &(&str, Dtype, &[usize])| Slot { name: name.into(), dtype, shape: shape.into() };
    let slots: Vec<Slot> = tensors.iter().map(slot).collect();
    let mut shard = ShardWriter::create(&dir.join(name), &slots).unwrap();
    slots.into_iter().for_each(|slot| {
        shard.add(slot);
    });
    shard.finish().unwrap();
}

fn folder(config: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("config.json"), config).unwrap();
    dir
}

fn check_refused(dir: &TempDir, expected: &str) {
    let message = Checkpoint::open(dir.path()).expect_err(expected).to_string();
    assert!(message.contains(expected), "`{message}` does not say `{expected}`");
}

#[test]
fn a_plain_checkpoint_is_described() {
    let dir = folder(LLAMA);
    weights(dir.path(), "model.safetensors", &[("a.weight", Dtype::F16, &[4, 8]), ("n.weight", Dtype::F16, &[8])]);
    fs::write(dir.path().join("tokenizer.json"), "{}").unwrap();
    fs::write(dir.path().join("tokenizer_config.json"), r#"{"chat_template": "x"}"#).unwrap();
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    assert_eq!((checkpoint.model_type.as_str(), checkpoint.n_params, checkpoint.n_context), ("llama", 40, Some(512)));
    assert_eq!((checkpoint.quantization.as_ref(), checkpoint.files.len()), (None, 1));
    assert_eq!(checkpoint.n_bytes(), fs::metadata(dir.path().join("model.safetensors")).unwrap().len());
    assert!(checkpoint.has_tokenizer && checkpoint.has_chat_template);
    // Keys and values of 2 heads of 8 in 4 layers, two bytes each.
    assert_eq!(checkpoint.kv.unwrap().n_bytes(10), 10 * 2 * 2 * 8 * 4 * 2);
}

#[test]
fn packed_weights_are_counted_one_by_one() {
    let dir = folder(
        r#"{"model_type": "llama", "quantization": {"group_size": 32, "bits": 4, "big": {"group_size": 64, "bits": 8}}}"#,
    );
    let packed = [
        ("a.weight", Dtype::U32, &[4, 8][..]),
        ("a.scales", Dtype::F16, &[4, 2]),
        ("a.biases", Dtype::F16, &[4, 2]),
        ("big.weight", Dtype::U32, &[2, 16]),
        ("big.scales", Dtype::F16, &[2, 1]),
        ("big.biases", Dtype::F16, &[2, 1]),
        ("n.weight", Dtype::F16, &[5]),
    ];
    weights(dir.path(), "model.safetensors", &packed);
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    assert_eq!(checkpoint.n_params, 4 * 64 + 2 * 64 + 5);
    let quantization = checkpoint.quantization.unwrap();
    assert_eq!((quantization.bits, quantization.group_size, quantization.mode.as_str()), (4, 32, "affine"));
    assert_eq!(checkpoint.kv, None);
}

#[test]
fn windowed_layers_cost_no_more_than_their_window() {
    let dir = folder(
        r#"{"model_type": "gemma3", "text_config": {"num_hidden_layers": 12, "num_attention_heads": 4,
        "num_key_value_heads": 1, "head_dim": 16, "sliding_window": 100, "sliding_window_pattern": 6,
        "max_position_embeddings": 4096}}"#,
    );
    weights(dir.path(), "model.safetensors", &[("a.weight", Dtype::F16, &[1])]);
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    assert_eq!(checkpoint.n_context, Some(4096));
    let per_layer = 2 * 16 * 2;
    assert_eq!(checkpoint.kv.unwrap().n_bytes(1000), per_layer * (2 * 1000 + 10 * 100));
}

#[test]
fn shards_are_held_to_their_index() {
    let dir = folder(LLAMA);
    let index = |map: Value| fs::write(dir.path().join(INDEX), json!({"weight_map": map}).to_string()).unwrap();
    let (one, two) = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors");
    weights(dir.path(), one, &[("a", Dtype::F32, &[3])]);
    check_refused(&dir, "`model-00002-of-00002.safetensors` is missing");
    index(json!({"a": one, "b": two}));
    check_refused(&dir, "`model-00002-of-00002.safetensors` is missing");
    weights(dir.path(), two, &[("c", Dtype::F32, &[4])]);
    check_refused(&dir, "tensor `b` is not in `model-00002-of-00002.safetensors`");
    index(json!({"a": "../outside.safetensors"}));
    check_refused(&dir, "names no plain file");
    index(json!({}));
    check_refused(&dir, "weight_map is empty");
    index(json!({"a": one, "c": two}));
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    assert_eq!((checkpoint.files.len(), checkpoint.n_params), (2, 7));
}

#[test]
fn unusable_folders_are_named() {
    let dir = tempfile::tempdir().unwrap();
    check_refused(&dir, "has no config.json");
    check_refused(&folder("[]"), "is no JSON object");
    check_refused(&folder("{"), "is damaged");
    check_refused(&folder("{\"model_type\": 3}"), "names no model_type");
    let dir = folder(LLAMA);
    check_refused(&dir, "has no weights in safetensors format. Finish the download");
    fs::write(dir.path().join("m.gguf"), "").unwrap();
    check_refused(&dir, "Import `m.gguf` first");
    fs::write(dir.path().join("model.safetensors"), [0xff; 16]).unwrap();
    check_refused(&dir, "is not a usable safetensors file");
    let big = File::create(dir.path().join("config.json")).unwrap();
    big.set_len(N_CONFIG_BYTES_MAX + 1).unwrap();
    check_refused(&dir, "more than the 16777216 allowed");
}
