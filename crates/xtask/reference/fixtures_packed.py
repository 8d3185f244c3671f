"""Hybrids as MLX conversions keep them, every matrix in 4 bits: see fixtures.py."""

from fixtures import (
    BAILING,
    CHUNKS,
    OLMO_HYBRID,
    RING_LINEAR,
    WIDE_DELTA,
    base,
    falcon_h1,
    fixture,
    granitemoehybrid,
    jamba,
    lfm2,
    nemotron_h,
    quantized,
    qwen3_5,
)

WIDE = {"q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 32, "v_head_dim": 32, "moe_intermediate_size": 32}
PACKED_HEADS = {"mamba_n_heads": 4, "mamba_d_head": 16}


def packed(config, overrides=None):
    return quantized({**config, "is_converted": True}, 32, 4, overrides=overrides)


def bailing(config, **changes):
    # mlx-lm takes the router's projection by another name, unpacked only.
    routers = {f"model.layers.{layer}.mlp.gate": False for layer in range(config["num_hidden_layers"])}
    return {**packed(config, routers), **changes}


def qwen3_5_packed():
    config = qwen3_5("qwen3_5", **WIDE_DELTA, tie_word_embeddings=True)
    text = quantized({**config["text_config"], **WIDE_DELTA}, 32, 4)
    tables = {key: text.pop(key) for key in ("quantization", "quantization_config")}
    return {**config, "text_config": text, **tables}


CONFIGS = {
    "bailing_hybrid": bailing(base("bailing_hybrid", **{**BAILING, **WIDE}, group_norm_size=4, use_qkv_bias=False, use_bias=False), num_key_value_heads=4),
    "bailing_moe_linear": bailing(base("bailing_moe_linear", **{**RING_LINEAR, "moe_intermediate_size": 32}), head_dim=32),
    "bailing_moe_v3": bailing(
        base("bailing_hybrid", architectures=["BailingMoeV3ForCausalLM"], **{**BAILING, **WIDE}, short_conv_kernel_size=4, kda_lower_bound=-2.0),
        num_key_value_heads=4,
    ),
    "falcon_h1": packed(falcon_h1(**PACKED_HEADS, mamba_d_ssm=64, rope_theta=10000.0)),
    "granitemoehybrid": packed(
        granitemoehybrid(
            **PACKED_HEADS,
            layer_types=["mamba", "attention", "mamba"],
            position_embedding_type="rope",
            num_local_experts=5,
            num_experts_per_tok=2,
            shared_intermediate_size=64,
            time_step_limit=[0.001, 100.0],
        )
    ),
    "granitemoehybrid_dense": packed(
        granitemoehybrid(**PACKED_HEADS, layer_types=["mamba", "attention", "mamba"], position_embedding_type="nope", num_local_experts=0, shared_intermediate_size=256, time_step_limit=[0.001, 100.0])
    ),
    "jamba": packed(jamba(mamba_dt_rank=32)),
    "lfm2": packed(lfm2(block_dim=128, block_ff_dim=256, full_attn_idxs=[1])),
    "lfm2_moe": packed(
        lfm2(
            "lfm2_moe",
            block_dim=128,
            layer_types=["conv", "full_attention", "conv"],
            num_dense_layers=1,
            num_experts=6,
            num_experts_per_tok=2,
            moe_intermediate_size=32,
            norm_topk_prob=True,
            use_expert_bias=True,
            routed_scaling_factor=1.5,
        )
    ),
    "nemotron_h": packed(
        # mlx-lm never packs the router.
        overrides={"backbone.layers.4.mixer.gate": False},
        config=nemotron_h(
            hybrid_override_pattern="M*-ME",
            mamba_num_heads=4,
            mamba_head_dim=16,
            moe_intermediate_size=32,
            moe_shared_expert_intermediate_size=64,
            time_step_limit=[0.6, 0.8],
        ),
    ),
    "olmo_hybrid": quantized(base("olmo_hybrid", **{**OLMO_HYBRID, "linear_value_head_dim": 16}, rope_theta=500.0), 32, 4),
    "qwen3_5": qwen3_5_packed(),
}

FIXTURES = {f"{name}_affine4_g32": fixture("every matrix packed, as MLX conversions have it", config, run=CHUNKS) for name, config in CONFIGS.items()}
