"""Original layouts of late families, as their makers publish them: see fixtures.py."""

from fixtures import EXPERTS, GROUPED, GROWING, LATENT, MORE, SHORT, base, fixture
from fixtures_sparse import MISTRAL4_ROPE

STATIC = {
    "quant_method": "fp8",
    "activation_scheme": "static",
    "modules_to_not_convert": ["model.vision_tower", "model.multi_modal_projector", "lm_head"],
    "weight_block_size": None,
}
CENTRED = {
    "quant_method": "compressed-tensors",
    "format": "pack-quantized",
    "quantization_status": "compressed",
    "config_groups": {
        "group_0": {
            "input_activations": None,
            "output_activations": None,
            "targets": ["Linear"],
            "weights": {
                "actorder": None,
                "block_structure": None,
                "dynamic": False,
                "group_size": 32,
                "num_bits": 4,
                "observer": "minmax",
                "strategy": "group",
                "symmetric": True,
                "type": "int",
            },
        }
    },
    "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"],
}
INT4 = {**LATENT, "n_group": 1, "topk_group": 1, "n_shared_experts": 1, "n_routed_experts": 4, "moe_intermediate_size": 32, "q_lora_rank": 20}


def tower(text):
    return {"model_type": "mistral3", "vision_config": {"hidden_size": 4}, "text_config": text, "quantization_config": STATIC}


GPT_OSS = {**MORE["gpt_oss"]["config"], "hidden_size": 64, "intermediate_size": 96, "num_local_experts": 4, "num_hidden_layers": 2}

FIXTURES = {
    "gpt_oss_mxfp4": fixture(
        "as gpt-oss is published: experts as blocks of 4-bit floats, gate and up rows in turn",
        {
            **GPT_OSS,
            "layer_types": ["sliding_attention", "full_attention"],
            "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]},
        },
        run=EXPERTS,
    ),
    "mistral3_fp8": fixture(
        "as Devstral Small 2 and Ministral 3 are published: projections as 8-bit floats with one factor each, and factors of inputs",
        tower(base("ministral3", **GROUPED, rope_theta=None, rope_parameters=GROWING, tie_word_embeddings=False)),
        run=SHORT,
    ),
    "mistral4_fp8": fixture(
        "as Mistral Small 4 is published: 8-bit floats with one factor a projection, or one an expert where all are one tensor",
        tower(base("mistral4", **LATENT, q_lora_rank=20, rope_theta=None, rope_parameters=MISTRAL4_ROPE, topk_method="greedy")),
        run=SHORT,
    ),
    "kimi_k2_int4": fixture(
        "as Kimi K2 Thinking is published: experts as 4-bit integers with a factor for each 32 of a row",
        base("kimi_k2", **INT4, hidden_size=64, quantization_config=CENTRED),
        run=EXPERTS,
    ),
}
