use serde_json::json;

use super::{config, text_name};

#[test]
fn names_lose_what_marks_the_text_part() {
    let cases = [
        ("language_model.model.layers.0.mlp.up_proj.weight", Some("model.layers.0.mlp.up_proj.weight")),
        ("language_model.lm_head.weight", Some("lm_head.weight")),
        ("model.language_model.norm.weight", Some("model.norm.weight")),
        ("model.layers.3.input_layernorm.weight", Some("model.layers.3.input_layernorm.weight")),
        ("lm_head.weight", Some("lm_head.weight")),
        ("vision_tower.encoder.0.weight", None),
        ("model.visual.blocks.0.attn.qkv.bias", None),
        ("multi_modal_projector.linear_1.weight", None),
    ];
    for (name, expected) in cases {
        assert_eq!(text_name(name).as_deref(), expected, "{name}");
    }
}

#[test]
fn settings_of_the_text_part_win_over_those_around_it() {
    let whole = json!({
        "model_type": "gemma3", "eos_token_id": [1, 106], "quantization": {"bits": 4, "group_size": 64},
        "vision_config": {"hidden_size": 9}, "hidden_size": 1, "vocab_size": 5,
        "text_config": {"model_type": "gemma3_text", "hidden_size": 8, "vocab_size": null},
    });
    let expected = json!({
        "model_type": "gemma3_text", "eos_token_id": [1, 106], "quantization": {"bits": 4, "group_size": 64},
        "hidden_size": 8, "vocab_size": 5,
    });
    assert_eq!(config(&whole), Some(expected));
    assert_eq!(config(&json!({"model_type": "llama"})), None);
}
