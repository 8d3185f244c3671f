"""What the goldens of late families with experts cover: see fixtures.py."""

from fixtures import EXPERTS, GROUPED, LLAMA3, base, fixture


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

FIXTURES = {
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
