use std::f64::consts::TAU;

use super::*;
use crate::gguf::kind::Kind;
use crate::gguf::synthetic::{Builder, tiny};

fn built(file: &Builder) -> Result<Map<String, Value>, ImportError> {
    let dir = tempfile::tempdir().unwrap();
    let gguf = Gguf::open(&file.write(dir.path())).unwrap();
    let architecture = Architecture::of(&gguf)?;
    config(&gguf, architecture, &sizes(&gguf, architecture)?)
}

fn check(file: &Builder, expected: Value) {
    let config = built(file).unwrap();
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&config[key], value, "{key}");
    }
}

#[test]
fn sizes_and_defaults_are_carried_over() {
    check(
        &tiny("llama", Kind::F16),
        json!({
            "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 8, "hidden_size": 32,
            "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
            "head_dim": 16, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 50_000.0,
            "rope_scaling": null, "tie_word_embeddings": true, "attention_bias": false, "hidden_act": "silu",
            "eos_token_id": 0,
        }),
    );
    check(&tiny("qwen2", Kind::F16), json!({"model_type": "qwen2", "attention_bias": true}));
    check(&tiny("qwen3", Kind::F16).count("qwen3.attention.key_length", 16), json!({"head_dim": 16}));
    check(
        &tiny("gemma3", Kind::F16).number("gemma3.rope.scaling.factor", 8.0),
        json!({
            "model_type": "gemma3_text", "sliding_window": 16, "sliding_window_pattern": 6, "query_pre_attn_scalar": 16,
            "rope_local_base_freq": 10_000.0, "layer_types": ["sliding_attention", "sliding_attention"],
            "rope_scaling": {"rope_type": "linear", "type": "linear", "factor": 8.0},
        }),
    );
}

#[test]
fn rope_scaling_is_carried_over() {
    let llama = tiny("llama", Kind::F16);
    let yarn = llama.clone().text("llama.rope.scaling.type", "yarn").number("llama.rope.scaling.factor", 4.0);
    check(
        &yarn.clone().count("llama.rope.scaling.original_context_length", 32),
        json!({"rope_scaling":
            {"rope_type": "yarn", "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}}),
    );
    assert!(built(&yarn).unwrap_err().to_string().contains("original_context_length` is missing"));
    check(&llama.clone().text("llama.rope.scaling.type", "none"), json!({"rope_scaling": null}));
    assert!(built(&llama.text("llama.rope.scaling.type", "linear")).unwrap_err().to_string().contains("factor"));
}

#[test]
fn llama3_scaling_is_recovered_from_its_divisors() {
    let divisor = |i: i32| -> f32 {
        let wavelength = TAU * 50_000f64.powf(f64::from(i) / 8.0);
        if wavelength < 8192.0 / 4.0 {
            1.0
        } else if wavelength > 8192.0 {
            32.0
        } else {
            let smooth = (8192.0 / wavelength - 1.0) / 3.0;
            (1.0 / ((1.0 - smooth) / 32.0 + smooth)) as f32
        }
    };
    let divisors: Vec<f32> = (0..8).map(divisor).collect();
    assert!(divisors.iter().any(|&x| x > 1.0 && x < 32.0), "the smooth part is exercised");
    let with = |divisors: &[f32]| {
        let bytes = divisors.iter().flat_map(|x| x.to_le_bytes()).collect();
        tiny("llama", Kind::F16).tensor("rope_freqs.weight", Kind::F32, &[divisors.len()], bytes)
    };
    check(
        &with(&divisors),
        json!({"rope_scaling": {
            "rope_type": "llama3", "type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192}}),
    );
    check(&with(&[1.0; 8]), json!({"rope_scaling": null}));
    assert!(built(&with(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])).unwrap_err().to_string().contains("Llama 3"));
    assert!(built(&with(&[1.0; 4])).unwrap_err().to_string().contains("shape [4] where [8]"));
}

#[test]
fn impossible_sizes_are_named() {
    let check = |key: &str, n: u32, expected: &str| {
        let file = tiny("llama", Kind::F16).unset(key).count(key, n);
        let message = built(&file).unwrap_err().to_string();
        assert!(message.contains(expected), "`{message}` does not say `{expected}`");
    };
    check("llama.block_count", 2_000_000_000, "more than the file has tensors");
    check("llama.feed_forward_length", 1 << 30, "too large to be true");
    check("llama.attention.key_length", 1 << 20, "too large to be true");
    check("llama.embedding_length", 0, "is 0, which is no possible size");
    check("llama.attention.head_count", 33, "heads");
    check("llama.attention.head_count_kv", 4, "key-value heads");
    check("llama.attention.value_length", 8, "values of another size");
}
