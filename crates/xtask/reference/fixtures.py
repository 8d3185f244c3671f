"""What each golden covers: a table of tiny configs. A fixture's `unlike` are config changes that must move its logits,
so a fixture whose point no longer shows cannot be written."""

from copy import deepcopy

HEAD_DIM = 16


def base(model_type, **changes):
    config = {
        "model_type": model_type,
        "vocab_size": 67,
        "hidden_size": 48,
        "intermediate_size": 80,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "num_key_value_heads": 3,
        "rms_norm_eps": 1e-5,
        "max_position_embeddings": 256,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    config.update(changes)
    return {key: value for key, value in config.items() if value is not None}


def llama(**changes):
    return base("llama", architectures=["LlamaForCausalLM"], hidden_act="silu", **changes)


def qwen2(**changes):
    grouped = {"num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64, "rope_theta": 1e6, **changes}
    return base("qwen2", architectures=["Qwen2ForCausalLM"], hidden_act="silu", **grouped)


def qwen3(**changes):
    grouped = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 24, "rope_theta": 1e6, **changes}
    return base("qwen3", architectures=["Qwen3ForCausalLM"], hidden_act="silu", rms_norm_eps=1e-6, **grouped)


def gemma3(**changes):
    shape = {"num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": HEAD_DIM}
    local = {"sliding_window": 6, "sliding_window_pattern": 3, "rope_local_base_freq": 100.0, "query_pre_attn_scalar": 10}
    changes = {"tie_word_embeddings": True, "rope_theta": 1e6, "rms_norm_eps": 1e-6, **shape, **local, **changes}
    return base("gemma3_text", architectures=["Gemma3ForCausalLM"], hidden_activation="gelu_pytorch_tanh", **changes)


def quantized(config, group_size, bits, mode="affine", overrides=None):
    """`config` with MLX's quantization table, in both places that MLX writes it."""
    wide = {"hidden_size": 128, "intermediate_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32}
    table = {"group_size": group_size, "bits": bits, "mode": mode, **(overrides or {})}
    return {**config, **wide, "quantization": table, "quantization_config": deepcopy(table)}


def qwen3_moe(**changes):
    experts = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 1}
    some = {"num_hidden_layers": 3, "mlp_only_layers": [1], "norm_topk_prob": True}
    changes = {**GROUPED, **experts, **some, **changes}
    return base("qwen3_moe", architectures=["Qwen3MoeForCausalLM"], hidden_act="silu", **changes)


GROUPED = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
GROWING = {
    "rope_type": "yarn",
    "factor": 4.0,
    "rope_theta": 10000.0,
    "original_max_position_embeddings": 8,
    "llama_4_scaling_beta": 0.4,
}
LINEAR = {"rope_type": "linear", "factor": 2.0}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
YARN_SHAPED = {**YARN, "factor": 8.0, "beta_fast": 8, "beta_slow": 2, "mscale": 0.8, "mscale_all_dim": 0.5}
LONGROPE = {
    "rope_type": "longrope",
    "original_max_position_embeddings": 12,
    "short_factor": [1.0, 1.05, 1.1, 1.2, 1.3, 1.5, 1.8, 2.0],
    "long_factor": [1.1, 1.6, 2.4, 3.5, 5.0, 8.0, 12.0, 20.0],
}

# Prompt lengths of the three rows of the ragged batch, and tokens decoded after each.
RAGGED = {"lengths": [5, 9, 17], "n_decode": 3}
# The long row has enough picks for them to be sorted by expert.
EXPERTS = {"lengths": [5, 9, 40], "n_decode": 3}
SHORT = {"lengths": [4, 7, 11], "n_decode": 2}


def fixture(about, config, run=RAGGED, **rest):
    """`reference`: the config as mlx-lm spells it, where it cannot read ours. `unlike`: see the module's text."""
    return {"about": about, "config": config, "run": run, "dtype": "float32", "reference": {}, "unlike": [], **rest}


LATENT = {
    "num_attention_heads": 3,
    "num_key_value_heads": 3,
    "num_hidden_layers": 3,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 12,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "n_routed_experts": 8,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 24,
    "n_shared_experts": 2,
    "n_group": 4,
    "topk_group": 2,
    "norm_topk_prob": True,
    "routed_scaling_factor": 1.7,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "rms_norm_eps": 1e-6,
}
# Rows of several chunks of linear attention.
CHUNKS = {"lengths": [5, 9, 150], "n_decode": 3}
DELTA = {
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_hidden_layers": 5,
    "full_attention_interval": 2,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 12,
    "linear_value_head_dim": 10,
    "linear_conv_kernel_dim": 4,
    "rms_norm_eps": 1e-6,
}
DELTA_EXPERTS = {
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 40,
    "norm_topk_prob": True,
}
NEXT_EXPERTS = {**DELTA_EXPERTS, "decoder_sparse_step": 1, "mlp_only_layers": [1], "partial_rotary_factor": 0.25}
MROPE = {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5, "mrope_section": [1, 1, 2]}
# Sizes that split into groups of 32.
WIDE_DELTA = {"linear_key_head_dim": 32, "linear_value_head_dim": 32, "moe_intermediate_size": 64, "shared_expert_intermediate_size": 64}


def qwen3_next(**changes):
    return base("qwen3_next", **{**DELTA, **NEXT_EXPERTS, **changes})


def qwen3_5(model_type, **changes):
    sizes = {**DELTA, "rope_theta": None, "rope_parameters": MROPE, **changes}
    text = {key: value for key, value in base(f"{model_type}_text", **sizes).items() if not key.endswith("_token_id")}
    return {"model_type": model_type, "text_config": text, "vision_config": {"hidden_size": 4}, "eos_token_id": 2}


OLMO_HYBRID = {
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 12,
    "linear_value_head_dim": 10,
    "linear_conv_kernel_dim": 4,
    "linear_allow_neg_eigval": True,
    "attention_bias": False,
}


BAILING = {
    "num_attention_heads": 3,
    "num_hidden_layers": 5,
    "head_dim": 16,
    "layer_group_size": 2,
    "kv_lora_rank": 32,
    "q_lora_rank": 20,
    "qk_nope_head_dim": 12,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "num_experts": 8,
    "num_experts_per_tok": 3,
    "num_shared_experts": 2,
    "moe_intermediate_size": 24,
    "routed_scaling_factor": 1.5,
    "n_group": 4,
    "topk_group": 2,
    "first_k_dense_replace": 1,
}
RING_LINEAR = {
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 5,
    "layer_group_size": 2,
    "group_norm_size": 4,
    "partial_rotary_factor": 0.5,
    "use_qk_norm": True,
    "num_experts": 8,
    "num_experts_per_tok": 3,
    "num_shared_experts": 2,
    "moe_intermediate_size": 24,
    "moe_router_enable_expert_bias": True,
    "norm_topk_prob": True,
    "routed_scaling_factor": 1.5,
    "n_group": 4,
    "topk_group": 2,
    "first_k_dense_replace": 1,
}
KIMI = {
    "num_attention_heads": 3,
    "num_key_value_heads": 3,
    "num_hidden_layers": 5,
    "head_dim": 16,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 12,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "mla_use_nope": True,
    "linear_attn_config": {"kda_layers": [1, 2, 4], "full_attn_layers": [3, 5], "num_heads": 2, "head_dim": 20, "short_conv_kernel_size": 4},
    "model_max_length": 256,
    "num_experts": 8,
    "num_experts_per_token": 3,
    "moe_intermediate_size": 24,
    "num_shared_experts": 2,
    "num_expert_group": 4,
    "topk_group": 2,
    "routed_scaling_factor": 1.7,
    "first_k_dense_replace": 1,
    "rms_norm_eps": 1e-6,
}


def kimi_linear(**changes):
    return base("kimi_linear", **{**KIMI, **changes})


STRETCHED = {**YARN, "rope_type": None, "type": "yarn", "mscale": 1.0, "mscale_all_dim": 0.7}
STRETCHED = {key: value for key, value in STRETCHED.items() if value is not None}



# Long enough for several chunks of state space.
CHUNKS = {"lengths": [5, 9, 140], "n_decode": 3}


def nemotron_h(**changes):
    sizes = {"mamba_num_heads": 6, "mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 10, "conv_kernel": 4}
    biases = {"attention_bias": False, "mlp_bias": False, "mamba_proj_bias": False, "use_bias": False, "use_conv_bias": True}
    experts = {"n_routed_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 24, "norm_topk_prob": True}
    more = {"n_shared_experts": 1, "moe_shared_expert_intermediate_size": 40, "n_group": 1, "topk_group": 1, "routed_scaling_factor": 1.7}
    some = {"num_hidden_layers": None, "rms_norm_eps": None, "layer_norm_epsilon": 1e-5, "rope_theta": None}
    return base("nemotron_h", **{**GROUPED, **sizes, **biases, **experts, **more, **some, **changes})


def granitemoehybrid(**changes):
    sizes = {"mamba_n_heads": 4, "mamba_d_head": 12, "mamba_n_groups": 1, "mamba_d_state": 8, "mamba_d_conv": 4}
    biases = {"attention_bias": False, "mamba_proj_bias": False, "mamba_conv_bias": True}
    factors = {"attention_multiplier": 0.4, "embedding_multiplier": 12.0, "residual_multiplier": 0.22, "logits_scaling": 0.7}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True, "num_hidden_layers": 3}
    return base("granitemoehybrid", **{**sizes, **biases, **factors, **heads, **changes})


def falcon_h1(**changes):
    sizes = {"mamba_n_heads": 4, "mamba_d_head": 12, "mamba_d_ssm": 48, "mamba_n_groups": 1, "mamba_d_state": 8, "mamba_d_conv": 4}
    biases = {"attention_bias": False, "mlp_bias": False, "projectors_bias": False, "mamba_proj_bias": False, "mamba_conv_bias": True}
    norms = {"mamba_rms_norm": False, "mamba_norm_before_gate": False, "rope_theta": 1e11}
    factors = {
        "embedding_multiplier": 3.0,
        "lm_head_multiplier": 1.4,
        "attention_in_multiplier": 0.7,
        "attention_out_multiplier": 0.9,
        "key_multiplier": 0.4,
        "mlp_multipliers": [0.9, 0.6],
        "ssm_in_multiplier": 1.2,
        "ssm_out_multiplier": 0.8,
        "ssm_multipliers": [0.35, 0.6, 0.8, 0.5, 0.7],
    }
    return base("falcon_h1", **{**GROUPED, **sizes, **biases, **norms, **factors, **changes})


def jamba(**changes):
    sizes = {"mamba_d_conv": 4, "mamba_d_state": 6, "mamba_expand": 2, "mamba_dt_rank": "auto"}
    biases = {"mamba_proj_bias": False, "mamba_conv_bias": True}
    layers = {"attn_layer_period": 3, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1}
    experts = {"num_experts": 5, "num_experts_per_tok": 2, "num_hidden_layers": 4}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    return base("jamba", **{**heads, **sizes, **biases, **layers, **experts, **changes})


def lfm2(model_type="lfm2", **changes):
    sizes = {"block_dim": 48, "conv_L_cache": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3}
    some = {"conv_bias": False, "norm_eps": 1e-5, "rms_norm_eps": None, "rope_theta": 1000.0, "tie_word_embeddings": True}
    adjusting = {"block_auto_adjust_ff_dim": False, "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 32}
    return base(model_type, **{**sizes, **some, **(adjusting if model_type == "lfm2" else {}), **changes})


MORE = {
    "bailing_hybrid": fixture(
        "lightning attention of heads that are no power of two, then latent attention; biases, groups of experts",
        base("bailing_hybrid", **BAILING, group_norm_size=4, partial_rotary_factor=0.5, rope_scaling=STRETCHED, use_qkv_bias=True, use_bias=False),
        run=CHUNKS,
        unlike=[{"topk_group": 4}, {"partial_rotary_factor": 1.0}, {"group_norm_size": 1}, {"rope_interleave": False}],
    ),
    "bailing_moe_linear": fixture(
        "lightning attention that all heads rotate a part of, then attention of grouped heads; softmax routing in groups with a correction",
        base("bailing_moe_linear", **RING_LINEAR),
        run=CHUNKS,
        unlike=[{"topk_group": 4}, {"partial_rotary_factor": 1.0}, {"group_norm_size": 1}, {"routed_scaling_factor": 1.0}],
    ),
    "bailing_moe_linear_plain": fixture(
        "the same without norms of heads and groups of experts, sigmoid routing, biases, layers after the last group",
        base(
            "bailing_moe_linear",
            **{**RING_LINEAR, "num_attention_heads": 3, "num_key_value_heads": 1, "n_group": 1, "topk_group": 1, "num_hidden_layers": 3},
        )
        | {"use_qk_norm": False, "use_qkv_bias": True, "score_function": "sigmoid", "group_norm_size": 3, "norm_topk_prob": False},
        run=EXPERTS,
        unlike=[{"score_function": "softmax"}],
    ),
    "bailing_moe_v3": fixture(
        "the third generation under the same model_type: bounded decay of single elements, gated latent attention",
        base("bailing_hybrid", architectures=["BailingMoeV3ForCausalLM"], **BAILING, moe_shared_expert_intermediate_size=20, short_conv_kernel_size=4, kda_lower_bound=-2.0),
        run=CHUNKS,
        unlike=[{"topk_group": 3}, {"kda_lower_bound": -5.0}],
    ),
    "kimi_linear": fixture(
        "decay of single elements, latent attention that does not rotate, groups of experts, as published",
        kimi_linear(published=True),
        run=CHUNKS,
        unlike=[{"topk_group": 4}, {"routed_scaling_factor": 1.0}],
    ),
    "kimi_linear_converted": fixture(
        "the same as MLX conversions have it", kimi_linear(num_expert_group=1, topk_group=1, moe_renormalize=False), run=SHORT
    ),
    "qwen3_next": fixture(
        "linear attention as published: joined projections, filters and norms as the authors store them, and a head that predicts",
        qwen3_next(published=True),
        run=CHUNKS,
        unlike=[{"partial_rotary_factor": 1.0}, {"norm_topk_prob": False}, {"num_experts_per_tok": 3}],
    ),
    "qwen3_next_converted": fixture(
        "the same as MLX conversions have it, with biases in attention and norms that show their eps",
        qwen3_next(attention_bias=True, rms_norm_eps=0.1, norm_topk_prob=False),
        run=CHUNKS,
        unlike=[{"rms_norm_eps": 1e-6}, {"norm_topk_prob": True}],
    ),
    "qwen3_5": fixture(
        "linear attention in the text part of a checkpoint for images, as published, the output layer tied",
        qwen3_5("qwen3_5", published=True, tie_word_embeddings=True),
        run=CHUNKS,
        unlike=[{"text_config": {**qwen3_5("qwen3_5", published=True, tie_word_embeddings=True)["text_config"], "rope_parameters": {**MROPE, "partial_rotary_factor": 1.0}}}],
    ),
    "qwen3_5_moe": fixture(
        "the same with experts, as published: gate and up of all experts in one",
        qwen3_5("qwen3_5_moe", published=True, **DELTA_EXPERTS, intermediate_size=None),
        run=CHUNKS,
    ),
    "deepseek_v2": fixture(
        "latent attention without a small vector for queries, softmax routing in groups, yarn",
        base("deepseek_v2", **{**LATENT, "norm_topk_prob": False, "q_lora_rank": None}, topk_method="group_limited_greedy", rope_scaling=STRETCHED),
        run=EXPERTS,
        reference={"q_lora_rank": None},
        unlike=[{"topk_method": "greedy"}, {"rope_scaling": {**STRETCHED, "mscale_all_dim": 0.0}}],
    ),
    "deepseek_v3": fixture(
        "latent attention, sigmoid routing in groups with a correction, yarn",
        base("deepseek_v3", **LATENT, q_lora_rank=20, rope_scaling=STRETCHED, num_nextn_predict_layers=1),
        run=EXPERTS,
        unlike=[{"topk_group": 4}, {"rope_scaling": {**STRETCHED, "mscale_all_dim": 0.0}}],
    ),
    "glm4_moe_lite": fixture(
        "latent attention with the heads' matrices apart, as MLX conversions keep them",
        base("glm4_moe_lite", **{**LATENT, "n_group": 1, "topk_group": 1, "n_shared_experts": 1}, q_lora_rank=20, heads_apart=True, num_nextn_predict_layers=1),
        run=EXPERTS,
        unlike=[{"routed_scaling_factor": 1.0}],
    ),
    "nemotron_h": fixture(
        "a part a layer: state space in groups, attention that does not rotate, feed-forward, experts in groups",
        nemotron_h(hybrid_override_pattern="M*-ME", n_group=4, topk_group=2, time_step_limit=[0.6, 0.8]),
        run=CHUNKS,
        unlike=[{"topk_group": 4}, {"routed_scaling_factor": 1.0}, {"time_step_limit": [0.0, 100.0]}],
    ),
    "nemotron_h_latent": fixture(
        "layers as words, biases everywhere, experts on a smaller vector",
        nemotron_h(
            layers_block_type=["moe", "mamba", "attention", "mlp"],
            n_groups=1,
            attention_bias=True,
            mlp_bias=True,
            mamba_proj_bias=True,
            use_conv_bias=False,
            moe_latent_size=20,
        ),
        run=EXPERTS,
    ),
    "granitemoehybrid": fixture(
        "state space and attention before experts and what all tokens share, factors as Granite has them",
        granitemoehybrid(
            layer_types=["mamba", "attention", "mamba"],
            position_embedding_type="rope",
            num_local_experts=5,
            num_experts_per_tok=2,
            shared_intermediate_size=40,
            time_step_limit=[0.001, 100.0],
        ),
        run=CHUNKS,
        unlike=[{"num_experts_per_tok": 3}, {"position_embedding_type": "nope"}, {"residual_multiplier": 1.0}],
    ),
    "granitemoehybrid_dense": fixture(
        "dense, attention that does not rotate, two groups of heads, biases elsewhere",
        granitemoehybrid(
            layer_types=["attention", "mamba", "mamba"],
            position_embedding_type="nope",
            num_local_experts=0,
            shared_intermediate_size=80,
            mamba_n_groups=2,
            mamba_proj_bias=True,
            mamba_conv_bias=False,
            attention_bias=True,
            tie_word_embeddings=False,
            time_step_limit=[0.001, 100.0],
        ),
    ),
    "falcon_h1": fixture(
        "state space beside attention, a factor on everything as published, keys and values too (mlx-lm drops theirs)",
        falcon_h1(tie_word_embeddings=True, mamba_rms_norm=True),
        run=CHUNKS,
        unlike=[{"key_multiplier": 1.0}, {"ssm_multipliers": [1.0, 0.6, 0.8, 0.5, 0.7]}, {"ssm_out_multiplier": 1.0}],
    ),
    "falcon_h1_converted": fixture(
        "as MLX conversions have it, factors in the weights; gated after its norm, biases",
        falcon_h1(
            is_converted=True,
            tie_word_embeddings=True,
            attention_bias=True,
            mlp_bias=True,
            mamba_proj_bias=True,
            projectors_bias=True,
            mamba_rms_norm=True,
            mamba_norm_before_gate=True,
            rope_theta=10000.0,
        ),
        unlike=[{"mamba_norm_before_gate": False}],
    ),
    "falcon_h1_groups": fixture(
        "two groups of heads, the gate alone, an output layer of its own",
        falcon_h1(mamba_n_groups=2, mamba_conv_bias=False),
    ),
    "jamba": fixture(
        "Mamba, attention in one of three layers, experts in one of two, weighed as the authors do (mlx-lm has them sum to 1)",
        jamba(),
        run=CHUNKS,
        unlike=[{"num_experts_per_tok": 3}],
    ),
    "jamba_dense": fixture(
        "layers as words, dense, biases on other projections",
        jamba(
            layers_block_type=["attention", "mamba", "mamba"],
            num_hidden_layers=3,
            num_experts=1,
            mamba_dt_rank=5,
            mamba_proj_bias=True,
            mamba_conv_bias=False,
            tie_word_embeddings=True,
        ),
    ),
    "lfm2": fixture(
        "gated short convolutions with biases, attention in one layer, norms on its heads",
        lfm2(conv_bias=True, block_ff_dim=80, full_attn_idxs=[1]),
        unlike=[{"rope_theta": 100.0}],
    ),
    "lfm2_adjusted": fixture(
        "an inner size that is made from others, layers and RoPE as transformers 5 writes them",
        lfm2(
            layer_types=["full_attention", "conv", "conv"],
            block_ff_dim=99,
            block_auto_adjust_ff_dim=True,
            block_ffn_dim_multiplier=1.3,
            block_multiple_of=32,
            conv_L_cache=4,
            rope_theta=None,
            rope_parameters={"rope_theta": 5000.0, "rope_type": "default"},
        ),
    ),
    "lfm2_moe": fixture(
        "convolutions, then experts after a dense layer, a correction of picks",
        lfm2(
            "lfm2_moe",
            layer_types=["conv", "full_attention", "conv"],
            num_dense_layers=1,
            num_experts=6,
            num_experts_per_tok=2,
            moe_intermediate_size=24,
            norm_topk_prob=True,
            use_expert_bias=True,
            routed_scaling_factor=1.5,
        ),
        run=EXPERTS,
        unlike=[{"num_experts_per_tok": 3}, {"norm_topk_prob": False}, {"routed_scaling_factor": 1.0}],
    ),
    "gemma2": fixture(
        "bounded scores and logits, norms around each part (no window reaches: mlx-lm has none)",
        base(
            "gemma2",
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            query_pre_attn_scalar=12.0,
            attn_logit_softcapping=0.5,
            final_logit_softcapping=0.7,
            sliding_window=128,
            tie_word_embeddings=True,
        ),
        unlike=[{"attn_logit_softcapping": 50.0}, {"final_logit_softcapping": 30.0}],
    ),
    "gpt_oss": fixture(
        "attention sinks, windows in every other layer, bounded gates, biases on experts and router",
        base(
            "gpt_oss",
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            num_hidden_layers=4,
            num_local_experts=6,
            num_experts_per_tok=2,
            sliding_window=6,
            rope_theta=150000,
            layer_types=["sliding_attention", "full_attention"] * 2,
            rope_scaling={**YARN, "beta_fast": 32.0, "beta_slow": 1.0},
        ),
        run=EXPERTS,
        unlike=[{"sliding_window": 60}, {"num_experts_per_tok": 3}],
    ),
    "bailing_moe": fixture(
        "names of its own, joined projections, groups of experts with a correction",
        base(
            "bailing_moe",
            num_attention_heads=4,
            num_key_value_heads=2,
            num_hidden_layers=3,
            use_qkv_bias=True,
            use_qk_norm=True,
            partial_rotary_factor=0.5,
            num_experts=8,
            num_experts_per_tok=3,
            num_shared_experts=1,
            moe_intermediate_size=24,
            norm_topk_prob=True,
            moe_router_enable_expert_bias=True,
            routed_scaling_factor=1.5,
            score_function="sigmoid",
            n_group=4,
            topk_group=2,
            first_k_dense_replace=1,
        ),
        run=EXPERTS,
        unlike=[{"topk_group": 4}, {"score_function": "softmax"}],
    ),
    "cohere2": fixture(
        "layer norms, attention and feed-forward side by side, global layers that do not rotate",
        base(
            "cohere2",
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=12,
            num_hidden_layers=4,
            layer_norm_eps=1e-5,
            logit_scale=0.7,
            sliding_window=6,
            sliding_window_pattern=3,
            tie_word_embeddings=True,
            rms_norm_eps=None,
        ),
        unlike=[{"sliding_window": 60}, {"sliding_window_pattern": 2}],
    ),
    "ernie4_5_moe": fixture(
        "experts after a dense layer; the correction of picks as the authors have it (mlx-lm drops it)",
        base(
            "ernie4_5_moe",
            **GROUPED,
            num_hidden_layers=3,
            use_bias=False,
            moe_num_experts=6,
            moe_k=2,
            moe_intermediate_size=24,
            moe_num_shared_experts=2,
            moe_layer_start_index=1,
            moe_layer_interval=1,
            moe_use_aux_free=True,
            tie_word_embeddings=True,
        ),
        run=EXPERTS,
        unlike=[{"moe_k": 3}],
    ),
    "gemma3": fixture(
        "the text part of a checkpoint for images",
        {
            "model_type": "gemma3",
            "vocab_size": 67,
            "text_config": {key: value for key, value in gemma3().items() if key not in ("vocab_size", "architectures")},
            "vision_config": {"hidden_size": 4},
        },
    ),
    "ministral3": fixture(
        "queries that grow with their position",
        base("ministral3", **GROUPED, rope_theta=None, rope_parameters=GROWING),
        unlike=[{"rope_parameters": {**GROWING, "llama_4_scaling_beta": 0.0}}],
    ),
    "mistral3": fixture(
        "the text part of a checkpoint for images, named as Ministral 3 is",
        {
            "model_type": "mistral3",
            "vision_config": {"hidden_size": 4},
            "text_config": base("ministral3", **GROUPED, rope_theta=None, rope_parameters=GROWING, tie_word_embeddings=True),
        },
    ),
    "ernie4_5": fixture(
        "pairs of neighbours rotate, biases everywhere",
        base("ernie4_5", **GROUPED, use_bias=True, tie_word_embeddings=True),
    ),
    "exaone4": fixture(
        "norms after each part and on heads, windows, global layers that do not rotate",
        base("exaone4", **GROUPED, num_hidden_layers=4, sliding_window=6, sliding_window_pattern="LLG", rope_scaling=LLAMA3),
        unlike=[{"rope_scaling": LINEAR}, {"sliding_window": 60}, {"sliding_window_pattern": "LGL"}],
    ),
    "glm4": fixture(
        "four norms a block, half of each head rotated in pairs of neighbours, gate and up joined",
        base("glm4", **GROUPED, attention_bias=True, partial_rotary_factor=0.5),
        unlike=[{"partial_rotary_factor": 1.0}, {"rope_traditional": False}],
    ),
    "granite": fixture(
        "factors on embedding, attention, residual stream and logits",
        base(
            "granite",
            num_attention_heads=4,
            num_key_value_heads=2,
            attention_bias=False,
            mlp_bias=False,
            tie_word_embeddings=True,
            logits_scaling=0.7,
            attention_multiplier=0.4,
            embedding_multiplier=12.0,
            residual_multiplier=0.22,
        ),
        unlike=[{"attention_multiplier": 0.3}, {"residual_multiplier": 1.0}, {"embedding_multiplier": 1.0}],
    ),
    "olmo2": fixture("norms after each part, and over all heads together", base("olmo2", num_attention_heads=4, num_key_value_heads=2)),
    "olmo_hybrid": fixture(
        "linear attention normed before its parts, states that may turn around, then attention normed after them",
        base("olmo_hybrid", **OLMO_HYBRID, rope_theta=None, rope_parameters={"rope_type": "default", "rope_theta": 500.0}),
        run=CHUNKS,
        unlike=[{"linear_allow_neg_eigval": False}, {"rope_parameters": {"rope_theta": 1e6}}],
    ),
    "olmo_hybrid_still": fixture(
        "the same without rotation, its layers named, tied",
        base(
            "olmo_hybrid",
            **{**OLMO_HYBRID, "num_hidden_layers": 3, "linear_allow_neg_eigval": False, "tie_word_embeddings": True},
            rope_theta=None,
            layer_types=["linear_attention", "full_attention", "linear_attention"],
        ),
        run=SHORT,
        reference={"rope_theta": None},
    ),
    "olmo3": fixture(
        "windows in three of four layers, where the rotation is not stretched",
        base("olmo3", **GROUPED, num_hidden_layers=5, sliding_window=5, rope_scaling=YARN),
        unlike=[{"rope_scaling": None}, {"sliding_window": 50}],
    ),
    "phi": fixture(
        "layer norms, biases everywhere, an ungated feed-forward part beside attention, part of each head rotated",
        base(
            "phi",
            num_attention_heads=4,
            num_key_value_heads=2,
            hidden_size=64,
            partial_rotary_factor=0.5,
            hidden_act="gelu_new",
            layer_norm_eps=1e-5,
            rms_norm_eps=None,
        ),
        unlike=[{"partial_rotary_factor": 1.0}],
    ),
    "phi3": fixture("joined projections", base("phi3", num_attention_heads=4, num_key_value_heads=2)),
    "phi3_partial": fixture(
        "three quarters of each head rotated, as Phi-4-mini does; its output layer is the embedding",
        base("phi3", num_attention_heads=3, num_key_value_heads=1, partial_rotary_factor=0.75, tie_word_embeddings=True),
        unlike=[{"partial_rotary_factor": 1.0}],
    ),
    "seed_oss": fixture(
        "biases on queries, keys and values only", base("seed_oss", **GROUPED, attention_bias=True, rope_theta=1e6)
    ),
    "smollm3": fixture(
        "every third layer does not rotate",
        base("smollm3", num_hidden_layers=4, no_rope_layer_interval=3, tie_word_embeddings=True),
        unlike=[{"no_rope_layer_interval": 2}],
    ),
    "glm4_moe": fixture(
        "a dense layer first, groups of experts, two shared ones, a correction of picks, a head that predicts the token after the next",
        base(
            "glm4_moe",
            **GROUPED,
            num_hidden_layers=3,
            attention_bias=True,
            use_qk_norm=True,
            partial_rotary_factor=0.5,
            n_routed_experts=8,
            num_experts_per_tok=3,
            moe_intermediate_size=24,
            n_shared_experts=2,
            n_group=4,
            topk_group=2,
            norm_topk_prob=True,
            routed_scaling_factor=1.7,
            first_k_dense_replace=1,
            num_nextn_predict_layers=1,
        ),
        run=EXPERTS,
        reference={"rope_scaling": None},
        unlike=[{"topk_group": 4}, {"routed_scaling_factor": 1.0}, {"num_experts_per_tok": 2}],
    ),
    "minimax": fixture(
        "sigmoid routing with a correction of picks, norms over all heads, part of each head rotated",
        base(
            "minimax",
            **GROUPED,
            num_local_experts=6,
            num_experts_per_tok=2,
            shared_intermediate_size=0,
            rotary_dim=8,
            intermediate_size=40,
        ),
        run=EXPERTS,
        unlike=[{"num_experts_per_tok": 3}, {"rotary_dim": 16}],
    ),
    "minimax_fp8": fixture(
        "projections as 8-bit floats with a factor for each block of 128 by 128",
        base(
            "minimax",
            **GROUPED,
            num_local_experts=3,
            num_experts_per_tok=2,
            shared_intermediate_size=0,
            rotary_dim=8,
            hidden_size=144,
            intermediate_size=136,
            quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]},
        ),
        run=SHORT,
    ),
    "mixtral": fixture(
        "each expert its own tensors, softmax over the picked",
        base("mixtral", num_attention_heads=4, num_key_value_heads=2, num_local_experts=5, num_experts_per_tok=2),
        run=EXPERTS,
        unlike=[{"num_experts_per_tok": 3}],
    ),
    "qwen2_moe": fixture(
        "a gated expert that every token takes",
        base(
            "qwen2_moe",
            num_attention_heads=4,
            num_key_value_heads=2,
            num_experts=6,
            num_experts_per_tok=3,
            moe_intermediate_size=24,
            shared_expert_intermediate_size=56,
        ),
        run=EXPERTS,
        unlike=[{"num_experts_per_tok": 2}],
    ),
    "qwen3_moe": fixture("experts in some layers, weights made to sum to 1", qwen3_moe(), run=EXPERTS, unlike=[{"norm_topk_prob": False}]),
}

FIXTURES = {
    "llama": fixture("as many key as query heads, untied", llama()),
    "llama_tied": fixture("the embedding is the output layer too", llama(tie_word_embeddings=True)),
    "llama_gqa": fixture(
        "grouped queries, three layers", llama(num_attention_heads=6, num_key_value_heads=2, num_hidden_layers=3, head_dim=8)
    ),
    "llama_head_dim": fixture(
        "head_dim is not hidden_size / num_attention_heads", llama(head_dim=20, num_attention_heads=4, num_key_value_heads=1)
    ),
    "llama_long": fixture(
        "rows that grow past 256 positions while decoding", llama(num_key_value_heads=1), run={"lengths": [3, 254, 300], "n_decode": 4}
    ),
    "llama_biases": fixture("biases on every projection", llama(attention_bias=True, mlp_bias=True)),
    "llama_linear": fixture(
        "linear scaling, under its old name `type`",
        llama(rope_scaling={"type": "linear", "factor": 4.0}),
        unlike=[{"rope_scaling": None}],
    ),
    "llama_llama3": fixture(
        "llama3 scaling: untouched, blended and stretched frequencies all occur",
        llama(rope_scaling=LLAMA3),
        unlike=[{"rope_scaling": None}, {"rope_scaling": {"rope_type": "linear", "factor": 8.0}}],
    ),
    "llama_yarn": fixture(
        "yarn with its defaults", llama(rope_scaling=YARN), unlike=[{"rope_scaling": None}, {"rope_scaling": YARN_SHAPED}]
    ),
    "llama_yarn_mscale": fixture(
        "yarn with its own betas and mscales", llama(rope_scaling=YARN_SHAPED), unlike=[{"rope_scaling": {**YARN, "factor": 8.0}}]
    ),
    "llama_longrope": fixture(
        "longrope: rows of at most 12 positions take the short factors, the long row the long ones (as its authors do; "
        "mlx-lm always takes the long ones)",
        llama(rope_scaling=LONGROPE),
        run={"lengths": [4, 8, 17], "n_decode": 3},
        unlike=[{"rope_scaling": None}],
    ),
    "llama_rope_parameters": fixture(
        "RoPE settings where transformers 5 keeps them",
        llama(rope_theta=None, rope_parameters={**LLAMA3, "rope_theta": 500.0}),
        reference={"rope_theta": 500.0, "rope_scaling": LLAMA3},
        unlike=[{"rope_theta": 10000.0}, {"rope_scaling": None}],
    ),
    "llama_bfloat16": fixture("stored in bfloat16, computed in f32", llama(), run=SHORT, dtype="bfloat16"),
    "llama_float16": fixture("stored in float16, computed in f32", llama(tie_word_embeddings=True), run=SHORT, dtype="float16"),
    "mistral": fixture(
        "an alias of llama, full attention",
        {**llama(num_attention_heads=6, num_key_value_heads=2, head_dim=8), "model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": None},
        run=SHORT,
    ),
    "mistral_window": fixture(
        "every layer slides (as its authors do; mlx-lm ignores the window)",
        {**llama(num_key_value_heads=1), "model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 6},
    ),
    "qwen2": fixture("biases on q, k and v, untied", qwen2()),
    "qwen2_tied": fixture("tied, one key head", qwen2(tie_word_embeddings=True, num_key_value_heads=1), run=SHORT),
    "qwen2_yarn": fixture("yarn", qwen2(rope_scaling={**YARN, "type": "yarn"}), unlike=[{"rope_scaling": None}], run=SHORT),
    "qwen3": fixture("norms on the heads of q and k, untied", qwen3()),
    "qwen3_tied": fixture("tied, three layers", qwen3(tie_word_embeddings=True, num_hidden_layers=3), run=SHORT),
    "qwen3_yarn": fixture(
        "yarn, where transformers 5 keeps it",
        qwen3(rope_theta=None, rope_parameters={**YARN, "rope_theta": 1000.0}),
        unlike=[{"rope_parameters": {"rope_type": "default", "rope_theta": 1000.0}}],
        run=SHORT,
    ),
    "gemma3_text": fixture(
        "a window shorter than the prompt, one global layer in three, two RoPE bases; sqrt(hidden_size) is rounded to bfloat16",
        gemma3(),
        unlike=[{"sliding_window": 64}, {"sliding_window_pattern": 2}, {"rope_local_base_freq": 1e6}, {"query_pre_attn_scalar": 16}],
    ),
    "gemma3_text_rotating": fixture(
        "decoding through the window several times over", gemma3(), run={"lengths": [2, 5, 30], "n_decode": 15}
    ),
    "gemma3_text_untied": fixture(
        "its own output layer, two key heads, a scaled global RoPE",
        gemma3(tie_word_embeddings=False, num_key_value_heads=2, rope_scaling={"rope_type": "linear", "factor": 8.0}),
        unlike=[{"rope_scaling": None}],
    ),
    "gemma3_text_layer_types": fixture(
        "layers and RoPE as transformers 5 writes them",
        gemma3(
            sliding_window_pattern=None,
            rope_theta=None,
            rope_local_base_freq=None,
            layer_types=["sliding_attention", "full_attention"] * 2,
            rope_parameters={
                "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
            },
        ),
        reference={
            "sliding_window_pattern": 2,
            "rope_theta": 5000.0,
            "rope_local_base_freq": 50.0,
            "rope_scaling": {"rope_type": "linear", "factor": 2.0},
        },
        unlike=[{"rope_scaling": None}, {"rope_local_base_freq": 5000.0}],
    ),
}

FIXTURES |= MORE

OVERRIDES = {
    "model.embed_tokens": {"group_size": 32, "bits": 8},
    "model.layers.0.self_attn.v_proj": {"group_size": 64, "bits": 6, "mode": "affine"},
    "model.layers.1.mlp.down_proj": {"group_size": 32, "bits": 4, "mode": "mxfp4"},
    "model.layers.1.self_attn.o_proj": False,
    "lm_head": False,
}

# (family, what `base` is changed by, group size, bits, mode)
PACKINGS = [
    ("llama", {}, 32, 2, "affine"),
    ("llama", {"tie_word_embeddings": True}, 64, 3, "affine"),
    ("llama", {"attention_bias": True, "mlp_bias": True}, 64, 4, "affine"),
    ("llama", {}, 128, 5, "affine"),
    ("llama", {}, 32, 6, "affine"),
    ("llama", {"tie_word_embeddings": True}, 128, 8, "affine"),
    ("llama", {"tie_word_embeddings": True}, 32, 4, "mxfp4"),
    ("llama", {}, 32, 8, "mxfp8"),
    ("llama", {}, 16, 4, "nvfp4"),
    ("qwen2", {"tie_word_embeddings": True}, 32, 4, "affine"),
    ("qwen3", {}, 64, 8, "affine"),
    ("gemma3_text", {}, 64, 4, "affine"),
    ("qwen3_moe", {"moe_intermediate_size": 64}, 64, 4, "affine"),
    ("qwen3_moe", {"moe_intermediate_size": 64, "num_experts_per_tok": 3}, 32, 4, "mxfp4"),
]
for model_type, config in {
    "qwen3_next": quantized(qwen3_next(**WIDE_DELTA), 32, 4, overrides={
        "model.layers.0.linear_attn.in_proj_ba": {"group_size": 64, "bits": 8},
        "model.layers.0.mlp.gate": {"group_size": 64, "bits": 8},
        "model.layers.1.self_attn.q_proj": {"group_size": 32, "bits": 6},
        "model.layers.2.linear_attn.in_proj_qkvz": False,
    }),
    "qwen3_5_moe": qwen3_5("qwen3_5_moe", **DELTA_EXPERTS),
    "kimi_linear": {
        **quantized(kimi_linear(kv_lora_rank=32, moe_intermediate_size=64), 32, 4),
        "linear_attn_config": {**KIMI["linear_attn_config"], "head_dim": 32},
        "qk_nope_head_dim": 32,
        "v_head_dim": 32,
    },
}.items():
    if "text_config" in config:
        config["text_config"] = quantized({**config["text_config"], **WIDE_DELTA}, 32, 4)
        config |= {key: config["text_config"].pop(key) for key in ("quantization", "quantization_config")}
    FIXTURES[f"{model_type}_affine4_g32"] = fixture("every matrix of linear attention packed", config, run=SHORT)

MAKERS = {"llama": llama, "qwen2": qwen2, "qwen3": qwen3, "gemma3_text": gemma3, "qwen3_moe": qwen3_moe}

for family, changes, group_size, bits, mode in PACKINGS:
    FIXTURES[f"{family}_{mode}{bits if mode == 'affine' else ''}_g{group_size}"] = fixture(
        "every matrix packed", quantized(MAKERS[family](**changes), group_size, bits, mode), run=SHORT
    )
FIXTURES["llama_mixed"] = fixture(
    "per-layer overrides, two layers as published", quantized(llama(), 64, 4, overrides=OVERRIDES), run=SHORT
)
FIXTURES["qwen3_bfloat16_g64"] = fixture(
    "packed from bfloat16, so scales and biases are bfloat16", quantized(qwen3(), 64, 4), run=SHORT, dtype="bfloat16"
)
