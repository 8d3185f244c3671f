"""Names, shapes and kinds of the tensors of late families with experts, as their checkpoints on disk have them."""

PRE_NORMS = ["input_layernorm", "post_attention_layernorm"]


def matrices(at, shapes):
    return [(f"{at}{name}.weight", shape, "matrix") for name, shape in shapes.items()]


def gated(at, hidden, inner):
    return matrices(at, {"gate_proj": [inner, hidden], "up_proj": [inner, hidden], "down_proj": [hidden, inner]})


def ends(config):
    """What is around the blocks."""
    hidden, vocab = config["hidden_size"], config["vocab_size"]
    out = [("model.embed_tokens.weight", [vocab, hidden], "matrix"), ("model.norm.weight", [hidden], "norm")]
    return out if config["tie_word_embeddings"] else [*out, ("lm_head.weight", [vocab, hidden], "matrix")]


def llama4_text(config):
    """Gate and up columns of all experts are one tensor, inputs before outputs."""
    hidden, head_dim = config["hidden_size"], config["head_dim"]
    q, kv = config["num_attention_heads"] * head_dim, config["num_key_value_heads"] * head_dim
    n, inner = config.get("num_local_experts", 0), config["intermediate_size"]
    out = ends(config)
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        out += matrices(f"{at}self_attn.", {"q_proj": [q, hidden], "k_proj": [kv, hidden], "v_proj": [kv, hidden], "o_proj": [hidden, q]})
        out += [(f"{at}{name}.weight", [hidden], "norm") for name in PRE_NORMS]
        if n and (layer + 1) % config["interleave_moe_layer_step"] == 0:
            out += matrices(f"{at}feed_forward.", {"router": [n, hidden]})
            out += gated(f"{at}feed_forward.shared_expert.", hidden, inner)
            out.append((f"{at}feed_forward.experts.gate_up_proj", [n, hidden, 2 * inner], "matrix"))
            out.append((f"{at}feed_forward.experts.down_proj", [n, inner, hidden], "matrix"))
        else:
            out += gated(f"{at}feed_forward.", hidden, config["intermediate_size_mlp"])
    return out


def tower(text):
    """A checkpoint with a part for images, of which one tensor stands for all."""

    def tensors(config):
        named = [("language_model." + name, shape, kind) for name, shape, kind in text(config["text_config"])]
        return [*named, ("vision_model.encoder.weight", [4, 4], "matrix"), ("multi_modal_projector.linear_1.weight", [4, 4], "matrix")]

    return tensors


FAMILIES = {
    "llama4": tower(llama4_text),
    "llama4_text": llama4_text,
}
