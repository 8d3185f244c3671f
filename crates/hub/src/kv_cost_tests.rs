use serde_json::json;

use super::*;

fn cost(config: Value) -> Option<KvCost> {
    KvCost::as_published(config.as_object().unwrap())
}

/// Bytes a token in full and windowed layers, the window, and the state's bytes.
fn check(config: Value, expected: [u64; 4]) {
    let shown = config.to_string();
    let KvCost { n_bytes_per_token, n_window_bytes_per_token, window, n_state_bytes } = cost(config).unwrap();
    assert_eq!([n_bytes_per_token, n_window_bytes_per_token, window, n_state_bytes], expected, "{shown}");
}

#[test]
fn attention_costs_its_heads_in_every_layer() {
    let llama =
        json!({"num_hidden_layers": 28, "num_attention_heads": 24, "num_key_value_heads": 8, "hidden_size": 3072});
    check(llama, [28 * 8 * 128 * 2 * 2, 0, 0, 0]);
    check(
        json!({"num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 16, "torch_dtype": "float32"}),
        [2 * 4 * 16 * 2 * 4, 0, 0, 0],
    );
    let nested =
        json!({"text_config": {"num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 16, "dtype": "bfloat16"}});
    check(nested, [2 * 4 * 16 * 2 * 2, 0, 0, 0]);
}

#[test]
fn windows_cost_no_more_than_they_see() {
    let gemma = json!({"num_hidden_layers": 18, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
        "sliding_window": 512, "sliding_window_pattern": 6});
    check(gemma.clone(), [3 * 1024, 15 * 1024, 512, 0]);
    assert_eq!(cost(gemma).unwrap().n_bytes(10_000), 10_000 * 3 * 1024 + 512 * 15 * 1024);
    let kinds = ["sliding_attention", "full_attention"].repeat(12);
    let gpt_oss = json!({"num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
        "sliding_window": 128, "layer_types": kinds});
    check(gpt_oss, [12 * 2048, 12 * 2048, 128, 0]);
}

#[test]
fn latent_attention_costs_its_latent() {
    let glm = json!({"num_hidden_layers": 47, "num_attention_heads": 20, "num_key_value_heads": 20, "hidden_size": 2048,
        "kv_lora_rank": 512, "qk_rope_head_dim": 64});
    check(glm, [47 * 576 * 2, 0, 0, 0]);
}

#[test]
fn hybrids_cost_their_attention_layers_and_a_state() {
    let matrix = 48 * 128 * 128 * 4 + (2 * 16 * 128 + 48 * 128) * 3 * 2;
    let qwen = json!({"text_config": {"num_hidden_layers": 64, "num_attention_heads": 24, "num_key_value_heads": 4, "head_dim": 256,
        "full_attention_interval": 4, "linear_num_key_heads": 16, "linear_num_value_heads": 48, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4}});
    check(qwen, [16 * 4 * 256 * 2 * 2, 0, 0, 48 * matrix]);
    let lfm = json!({"num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 2048,
        "conv_L_cache": 3, "full_attn_idxs": [2, 5, 8, 10, 12, 14]});
    check(lfm, [6 * 8 * 64 * 2 * 2, 0, 0, 10 * 2048 * 2 * 2]);
    let kimi = json!({"num_hidden_layers": 27, "num_attention_heads": 32, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "hidden_size": 2304,
        "linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "num_heads": 32, "head_dim": 128}});
    check(kimi, [7 * 576 * 2, 0, 0, 20 * (32 * 128 * 128 * 4 + 3 * 32 * 128 * 3 * 2)]);
}

#[test]
fn layers_that_share_keys_and_values_keep_none() {
    let kinds = ["sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"];
    let gemma = json!({"num_hidden_layers": 35, "num_kv_shared_layers": 20, "num_attention_heads": 8, "num_key_value_heads": 1,
        "head_dim": 256, "global_head_dim": 512, "sliding_window": 512, "layer_types": kinds.repeat(7)});
    check(gemma, [3 * 512 * 2 * 2, 12 * 256 * 2 * 2, 512, 0]);
}

#[test]
fn sizes_that_no_machine_has_are_no_cost() {
    for huge in [u64::MAX, 1 << 62] {
        let config = json!({"num_hidden_layers": huge, "num_attention_heads": 8, "head_dim": huge});
        assert_eq!(cost(config), None);
    }
    assert_eq!(cost(json!({"num_hidden_layers": 2, "num_attention_heads": 0, "hidden_size": 64})), None);
    assert_eq!(
        cost(json!({"num_hidden_layers": 2, "num_kv_shared_layers": 3, "num_attention_heads": 8, "head_dim": 8})),
        None
    );
}
