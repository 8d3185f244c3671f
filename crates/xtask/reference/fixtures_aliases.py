"""One golden for each `model_type` that shares another's network: see fixtures.py."""

from fixtures import EXPERTS, LATENT, MORE, SHORT, base, fixture, llama, qwen2, qwen3, qwen3_moe
from fixtures_gemma import gemma4, inside

MROPE = {"type": "mrope", "mrope_section": [2, 3, 3]}


def named(model_type, config):
    return {**config, "model_type": model_type}


def around(model_type, text, **outside):
    """`text` as the text part of a checkpoint for images."""
    left_out = ("architectures",)
    inner = {key: value for key, value in text.items() if key not in left_out}
    return {"model_type": model_type, "vision_config": {"hidden_size": 4}, "text_config": inner, **outside}


def nameless(model_type, text):
    """A text part that does not say what it is."""
    inner = {key: value for key, value in text.items() if key not in ("model_type", "architectures")}
    return {"model_type": model_type, "vision_config": {"hidden_size": 4}, "text_config": inner}


def kimi():
    return base("kimi_k2", **{**LATENT, "n_group": 1, "topk_group": 1, "n_shared_experts": 1}, q_lora_rank=20)


def unified():
    config = inside(gemma4(num_hidden_layers=3, num_kv_shared_layers=0))
    return {**config, "model_type": "gemma4_unified", "text_config": {**config["text_config"], "model_type": "gemma4_unified_text"}}


GROUPED = llama(num_attention_heads=6, num_key_value_heads=2, head_dim=8)
SPOKEN = "the text part of a checkpoint for images that does not say what it is"
EMBEDDED = "the text part of a checkpoint for images"

FIXTURES = {
    "bailing_moe_v2": fixture(
        "an alias of bailing_moe",
        named("bailing_moe_v2", MORE["bailing_moe"]["config"]),
        run=SHORT,
        reference={"model_type": "bailing_moe"},
    ),
    "gemma4_unified": fixture("the text part of a checkpoint that takes images without an encoder", unified(), run=SHORT),
    "iquestcoder": fixture("an alias of llama", named("iquestcoder", GROUPED), run=SHORT),
    "joyai_llm_flash": fixture("an alias of deepseek_v3", named("joyai_llm_flash", kimi()), run=EXPERTS),
    "kimi_k2": fixture("an alias of deepseek_v3, one group of experts", kimi(), run=EXPERTS),
    "kimi_k25": fixture(EMBEDDED, around("kimi_k25", kimi()), run=SHORT),
    "llava": fixture(SPOKEN, nameless("llava", GROUPED), run=SHORT, reference={"text_config": GROUPED}),
    "minimax_m2": fixture("an alias of minimax", named("minimax_m2", MORE["minimax"]["config"]), run=SHORT),
    "mistral3_plain": fixture(SPOKEN, nameless("mistral3", GROUPED), run=SHORT, reference={"text_config": GROUPED}),
    "qwen2_5_vl": fixture(EMBEDDED, around("qwen2_5_vl", named("qwen2_5_vl_text", qwen2(rope_scaling=MROPE))), run=SHORT),
    "qwen2_vl": fixture(
        "a checkpoint for images whose text part has no settings of its own, positions in three parts",
        {**named("qwen2_vl", qwen2(rope_scaling=MROPE)), "vision_config": {"hidden_size": 4}},
        run=SHORT,
        unlike=[{"rope_theta": 100.0}],
    ),
    "qwen2_vl_text": fixture(EMBEDDED, around("qwen2_vl", named("qwen2_vl_text", qwen2(tie_word_embeddings=True))), run=SHORT),
    "qwen3_vl": fixture(EMBEDDED, around("qwen3_vl", named("qwen3_vl_text", qwen3(rope_scaling={**MROPE, "mrope_section": [4, 4, 4]}))), run=SHORT),
    "qwen3_vl_moe": fixture(
        "the text part of a checkpoint for images, experts in one tensor a projection, inputs before outputs",
        around("qwen3_vl_moe", named("qwen3_vl_moe_text", qwen3_moe(rope_scaling=MROPE, tie_word_embeddings=False))),
        run=EXPERTS,
    ),
    "xverse": fixture("an alias of llama", named("xverse", GROUPED), run=SHORT),
}
