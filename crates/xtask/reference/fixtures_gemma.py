"""What the goldens of Gemma 3n and 4 cover: see fixtures.py."""

from fixtures import EXPERTS, base, fixture

ROPES = {
    "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 5000.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
}
LOCAL = "sliding_attention"
GLOBAL = "full_attention"


def gemma4(**changes):
    shape = {"num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 8, "global_head_dim": 16, "sliding_window": 6}
    layers = {"num_hidden_layers": 6, "layer_types": [LOCAL, LOCAL, GLOBAL] * 2, "num_kv_shared_layers": 3}
    plain = {"rope_theta": None, "rope_parameters": ROPES, "rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh"}
    parts = {"hidden_size_per_layer_input": 12, "vocab_size_per_layer_input": 67, "use_double_wide_mlp": True, "attention_k_eq_v": False}
    changes = {"tie_word_embeddings": True, "final_logit_softcapping": 0.7, **shape, **layers, **plain, **parts, **changes}
    return base("gemma4_text", architectures=["Gemma4ForCausalLM"], **changes)


def gemma3n():
    shape = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12, "sliding_window": 6}
    layers = {"num_hidden_layers": 6, "layer_types": [LOCAL, LOCAL, GLOBAL] * 2, "num_kv_shared_layers": 3}
    sparse = {"intermediate_size": [80] * 6, "activation_sparsity_pattern": [0.8, 0.8] + [0.0] * 4}
    streams = {"altup_num_inputs": 3, "altup_active_idx": 0, "altup_coef_clip": 120.0, "altup_correct_scale": True, "laurel_rank": 8}
    vectors = {"hidden_size_per_layer_input": 12, "vocab_size_per_layer_input": 61}
    ropes = {"rope_theta": 1e6, "rope_local_base_freq": 100.0}
    config = {**shape, **layers, **sparse, **streams, **vectors, **ropes, "final_logit_softcapping": 0.7, "rms_norm_eps": 1e-6}
    return base("gemma3n_text", hidden_activation="gelu_pytorch_tanh", **config)


LARGE = {
    "hidden_size_per_layer_input": 0,
    "num_kv_shared_layers": 0,
    "use_double_wide_mlp": False,
    "attention_k_eq_v": True,
    "num_key_value_heads": 2,
    "num_global_key_value_heads": 1,
}


def inside(config):
    """`config` as the text part of a checkpoint for images."""
    left_out = ("vocab_size", "architectures", "tie_word_embeddings")
    text = {key: value for key, value in config.items() if key not in left_out}
    name = config["model_type"].removesuffix("_text")
    if name == "gemma3n":
        text["vocab_size"] = config["vocab_size"]
    tied = {"vocab_size": config["vocab_size"], "tie_word_embeddings": True}
    return {"model_type": name, **tied, "text_config": text, "vision_config": {"hidden_size": 4}}


GEMMA3N_UNLIKE = [{"sliding_window": 60}, {"activation_sparsity_pattern": [0.0] * 6}, {"rope_local_base_freq": 1e6}, {"altup_correct_scale": False}]

FIXTURES = {
    "gemma3n": fixture(
        "streams that correct each other, a low-rank path, gates of which a fifth passes, a vector of each token for each layer "
        "(the last tokens have none of their own), late layers that read earlier ones' keys and values",
        inside(gemma3n()),
        run={"lengths": [5, 9, 30], "n_decode": 9},
        unlike=[{"text_config": {**gemma3n(), **change}} for change in GEMMA3N_UNLIKE],
    ),
    "gemma4": fixture("the text part of a checkpoint for images and sound", inside(gemma4())),
    "gemma4_text": fixture(
        "a vector of each token for each layer, late layers that read earlier ones' keys and values through a window and "
        "without one, twice as wide; larger heads in global layers, of which a quarter turns",
        gemma4(),
        run={"lengths": [5, 9, 30], "n_decode": 9},
        unlike=[{"sliding_window": 60}, {"final_logit_softcapping": 30.0}, {"rope_parameters": {**ROPES, GLOBAL: ROPES[LOCAL]}}],
    ),
    "gemma4_text_experts": fixture(
        "experts beside the dense part, picked by a router with a norm and factors of its own, in one tensor a projection",
        gemma4(**LARGE, enable_moe_block=True, num_experts=6, top_k_experts=2, moe_intermediate_size=20),
        run=EXPERTS,
        unlike=[{"top_k_experts": 3}],
    ),
    "gemma4_text_one_projection": fixture(
        "global layers with fewer key heads, whose values are the keys without norm and rotation",
        gemma4(**LARGE, num_hidden_layers=3),
    ),
}
