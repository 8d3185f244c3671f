"""What the goldens of late families with experts cover: see fixtures.py."""

from fixtures import EXPERTS, GROUPED, GROWING, LATENT, LLAMA3, STRETCHED, base, fixture


def llama4(**changes):
    chunks = {"attention_chunk_size": 6, "no_rope_layers": [1, 1, 1, 0], "use_qk_norm": True, "num_hidden_layers": 4}
    growth = {"attn_temperature_tuning": 4, "floor_scale": 8, "attn_scale": 0.5}
    experts = {"num_local_experts": 5, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "intermediate_size_mlp": 72}
    changes = {"attention_bias": False, "intermediate_size": 32, "rope_scaling": LLAMA3, **GROUPED, **chunks, **growth, **experts, **changes}
    return base("llama4_text", **changes)


def llama4_tower(**changes):
    return {"model_type": "llama4", "vision_config": {"hidden_size": 4}, "text_config": llama4(**changes)}


DENSE = {
    "num_local_experts": 0,
    "interleave_moe_layer_step": 0,
    "no_rope_layers": [1, 1],
    "num_hidden_layers": 2,
    "tie_word_embeddings": True,
    "attention_chunk_size": 256,
    "attn_temperature_tuning": False,
    "rope_scaling": None,
}

INDEXED = {"q_lora_rank": 20, "index_n_heads": 9, "index_head_dim": 20, "index_topk": 7}
LONG = {"lengths": [6, 9, 40], "n_decode": 4}
MISTRAL4_ROPE = {**GROWING, "mscale": 1.0, "mscale_all_dim": 0.7, "rope_theta": 1000.0}

COMPRESSED = {
    "intermediate_size": None,
    "rms_norm_eps": 1e-6,
    "num_key_value_heads": 1,
    "num_attention_heads": 4,
    "head_dim": 16,
    "qk_rope_head_dim": 4,
    "q_lora_rank": 12,
    "o_groups": 2,
    "o_lora_rank": 8,
    "num_hidden_layers": 4,
    "compress_ratios": [0, 4, 128, 4, 0],
    "num_nextn_predict_layers": 1,
    "compress_rate_hca": 8,
    "compress_rope_theta": 500.0,
    "sliding_window": 6,
    "index_n_heads": 9,
    "index_head_dim": 8,
    "index_topk": 3,
    "hc_mult": 3,
    "hc_sinkhorn_iters": 5,
    "hc_eps": 1e-6,
    "num_hash_layers": 1,
    "n_routed_experts": 6,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 16,
    "scoring_func": "sqrtsoftplus",
    "norm_topk_prob": True,
    "routed_scaling_factor": 1.5,
    "swiglu_limit": 0.3,
    "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 32, "beta_slow": 1},
}

FIXTURES = {
    "deepseek_v4": fixture(
        "by transformers: windows beside groups of tokens pooled into one key each, some picked by an indexer; several residual "
        "streams; a layer whose experts follow from the token; a head that predicts the token after the next",
        base("deepseek_v4", **COMPRESSED),
        run=LONG,
        unlike=[
            {"index_topk": 40},
            {"sliding_window": 7},
            {"swiglu_limit": 10.0},
            {"hc_sinkhorn_iters": 1},
            {"compress_rope_theta": 10000.0},
            {"rope_scaling": None},
            {"routed_scaling_factor": 1.0},
        ],
    ),
    "deepseek_v4_published": fixture(
        "by transformers: projections as 8-bit floats with a power of 2 for each block, experts as 4-bit floats with one for each 32",
        base(
            "deepseek_v4",
            **{**COMPRESSED, "moe_intermediate_size": 32, "n_routed_experts": 3, "num_hidden_layers": 2, "compress_ratios": [128, 4, 0]},
            hidden_size=160,
            quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0", "expert_dtype": "fp4"},
        ),
        run={"lengths": [4, 6, 17], "n_decode": 2},
    ),
    "deepseek_v32": fixture(
        "an indexer of small heads picks the positions that a query reads: more than there are, by one token, by many at once; also in a "
        "head that predicts the token after the next",
        base("deepseek_v32", **LATENT, **INDEXED, rope_scaling=STRETCHED, num_nextn_predict_layers=1),
        run=LONG,
        unlike=[{"index_topk": 40}, {"index_topk": 6}, {"indexer_rope_interleave": True}],
    ),
    "glm_moe_dsa": fixture(
        "an indexer that rotates pairs of neighbours, RoPE settings where transformers 5 keeps them",
        base(
            "glm_moe_dsa",
            **{**LATENT, "n_group": 1, "topk_group": 1},
            **INDEXED,
            num_nextn_predict_layers=1,
            rope_theta=None,
            rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
            topk_method="noaux_tc",
            scoring_func="sigmoid",
            attention_bias=False,
        ),
        run=LONG,
        unlike=[{"index_topk": 40}, {"indexer_rope_interleave": False}],
    ),
    "mistral4": fixture(
        "latent attention with queries that grow with their position, softmax routing in groups by their two best, experts in one "
        "tensor a projection",
        base("mistral4", **LATENT, q_lora_rank=20, rope_theta=None, rope_parameters=MISTRAL4_ROPE, topk_method="greedy"),
        run=EXPERTS,
        unlike=[
            {"rope_parameters": {**MISTRAL4_ROPE, "llama_4_scaling_beta": 0.0}},
            {"topk_group": 4},
            {"rope_interleave": False},
            {"rope_parameters": {**MISTRAL4_ROPE, "mscale_all_dim": 0.0}},
        ],
    ),
    "llama4": fixture(
        "the text part of a checkpoint for images: attention inside chunks, a layer that does not rotate and whose queries grow, "
        "one expert a token, whose input is weighed, beside one for all",
        llama4_tower(),
        run={"lengths": [5, 9, 70], "n_decode": 9},
        unlike=[
            {"text_config": llama4(attention_chunk_size=60)},
            {"text_config": llama4(attn_temperature_tuning=0)},
            {"text_config": llama4(use_qk_norm=False)},
            {"text_config": llama4(rope_scaling={"rope_type": "default"})},
        ],
    ),
    "llama4_text": fixture("a dense checkpoint that rotates in every layer, as MobileLLM-R1 is", llama4(**DENSE)),
}
