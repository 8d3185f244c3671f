"""Hybrids as narrow as they can be, with layers in the proportions that their checkpoints have: what long prompts are timed on.
Their goldens are prompts of many chunks; see fixtures.py."""

from fixtures import base, falcon_h1, fixture, granitemoehybrid, jamba, kimi_linear, lfm2, nemotron_h, qwen3_5, qwen3_next

# Nine chunks of 64 tokens, the last one not full.
RUN = {"lengths": [3, 70, 520], "n_decode": 2}
NARROW = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}
# Of families that divide the hidden size.
HEADLESS = {key: value for key, value in NARROW.items() if key != "head_dim"}
DELTA = {
    "num_hidden_layers": 4,
    "full_attention_interval": 4,
    "linear_num_key_heads": 1,
    "linear_num_value_heads": 1,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 1, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16}
LATENT = {"kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8}
MAMBA = {"mamba_n_heads": 1, "mamba_d_head": 16, "mamba_d_state": 8}
BAILING = {
    "num_experts": 4,
    "num_experts_per_tok": 1,
    "num_shared_experts": 1,
    "moe_intermediate_size": 16,
    "first_k_dense_replace": 1,
    "routed_scaling_factor": 1.0,
}
RING = {**NARROW, **BAILING, **LATENT, "q_lora_rank": 8, "head_dim": 16, "n_group": 1, "topk_group": 1}
KIMI = {
    "num_hidden_layers": 4,
    "linear_attn_config": {"kda_layers": [1, 2, 3], "full_attn_layers": [4], "num_heads": 1, "head_dim": 8, "short_conv_kernel_size": 4},
    "model_max_length": 8192,
    "num_experts": 4,
    "num_experts_per_token": 1,
    "num_expert_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 16,
    "num_shared_experts": 1,
}

CONFIGS = {
    "bailing_hybrid": base("bailing_hybrid", **RING, num_hidden_layers=8, layer_group_size=8, group_norm_size=1, use_qkv_bias=False, use_bias=False),
    "bailing_moe_linear": base(
        "bailing_moe_linear", **HEADLESS, **BAILING, num_hidden_layers=5, layer_group_size=5, group_norm_size=1, norm_topk_prob=True, use_qk_norm=True
    ),
    "bailing_moe_v3": base(
        "bailing_hybrid",
        architectures=["BailingMoeV3ForCausalLM"],
        **RING,
        num_hidden_layers=4,
        layer_group_size=4,
        moe_shared_expert_intermediate_size=16,
        short_conv_kernel_size=4,
        kda_lower_bound=-2.0,
    ),
    "falcon_h1": falcon_h1(**NARROW, **MAMBA, mamba_d_ssm=16),
    "granitemoehybrid": granitemoehybrid(
        **HEADLESS,
        **MAMBA,
        num_hidden_layers=10,
        layer_types=["mamba"] * 5 + ["attention"] + ["mamba"] * 4,
        position_embedding_type="nope",
        num_local_experts=4,
        num_experts_per_tok=1,
        shared_intermediate_size=16,
        time_step_limit=[0.001, 100.0],
    ),
    "jamba": jamba(**HEADLESS, num_hidden_layers=8, attn_layer_period=8, attn_layer_offset=4, num_experts=4, num_experts_per_tok=1, mamba_d_state=4),
    "kimi_linear": kimi_linear(**NARROW, **LATENT, **KIMI, published=True),
    "lfm2": lfm2(**HEADLESS, block_dim=16, block_ff_dim=24, num_hidden_layers=8, full_attn_idxs=[2, 5, 7]),
    "lfm2_moe": lfm2(
        "lfm2_moe",
        **HEADLESS,
        block_dim=16,
        num_hidden_layers=4,
        layer_types=["conv", "conv", "full_attention", "conv"],
        num_dense_layers=1,
        num_experts=4,
        num_experts_per_tok=1,
        moe_intermediate_size=16,
        norm_topk_prob=True,
        use_expert_bias=True,
        routed_scaling_factor=1.0,
    ),
    "nemotron_h": nemotron_h(
        **{**NARROW, "tie_word_embeddings": False},
        hybrid_override_pattern="MEMEM*EME",
        mamba_num_heads=1,
        mamba_head_dim=16,
        n_groups=1,
        ssm_state_size=8,
        n_routed_experts=4,
        num_experts_per_tok=1,
        moe_intermediate_size=16,
        moe_shared_expert_intermediate_size=16,
    ),
    "olmo_hybrid": base(
        "olmo_hybrid", **NARROW, **{**DELTA, "full_attention_interval": None}, linear_conv_kernel_dim=4, linear_allow_neg_eigval=True, attention_bias=False
    ),
    "qwen3_5": qwen3_5("qwen3_5", **NARROW, **DELTA, published=True),
    "qwen3_5_moe": qwen3_5("qwen3_5_moe", **{**NARROW, "intermediate_size": None}, **DELTA, **EXPERTS, norm_topk_prob=True, published=True),
    "qwen3_next": qwen3_next(**NARROW, **DELTA, **EXPERTS, mlp_only_layers=[], published=True),
}

FIXTURES = {f"long/{name}": fixture("a prompt of many chunks through narrow layers", config, run=RUN) for name, config in CONFIGS.items()}
