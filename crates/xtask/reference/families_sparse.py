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


def deepseek_v4(config):
    """As published: short names, each expert its own tensors."""
    hidden, head_dim, rank = config["hidden_size"], config["head_dim"], config["q_lora_rank"]
    heads, index = config["num_attention_heads"], config["index_head_dim"]
    n, inner, streams = config["n_routed_experts"], config["moe_intermediate_size"], config["hc_mult"]
    groups, o_rank = config["o_groups"], config["o_lora_rank"]
    rates = {4: 4, 128: config.get("compress_rate_hca", 128)}
    n_mix = (2 + streams) * streams

    def compressor(at, width, size, rate):
        return [
            *matrices(at, {"wkv": [width, hidden], "wgate": [width, hidden]}),
            (f"{at}ape", [rate, width], "matrix"),
            (f"{at}norm.weight", [size], "norm"),
        ]

    def block(at, ratio, is_hashed):
        attn, ffn = f"{at}attn.", f"{at}ffn."
        out = matrices(attn, {"wq_a": [rank, hidden], "wq_b": [heads * head_dim, rank], "wkv": [head_dim, hidden]})
        out += matrices(attn, {"wo_a": [groups * o_rank, heads * head_dim // groups], "wo_b": [hidden, groups * o_rank]})
        out += [(f"{attn}q_norm.weight", [rank], "norm"), (f"{attn}kv_norm.weight", [head_dim], "norm"), (f"{attn}attn_sink", [heads], "bias")]
        if ratio:
            twice = 2 if ratio == 4 else 1
            out += compressor(f"{attn}compressor.", twice * head_dim, head_dim, rates[ratio])
        if ratio == 4:
            out += compressor(f"{attn}indexer.compressor.", 2 * index, index, rates[ratio])
            n_index = config["index_n_heads"]
            out += matrices(f"{attn}indexer.", {"wq_b": [n_index * index, rank], "weights_proj": [n_index, hidden]})
        for part in ("attn", "ffn"):
            out += [(f"{at}{part}_norm.weight", [hidden], "norm"), (f"{at}hc_{part}_fn", [n_mix, streams * hidden], "matrix")]
            out += [(f"{at}hc_{part}_base", [n_mix], "bias"), (f"{at}hc_{part}_scale", [3], "norm")]
        out += matrices(ffn, {"gate": [n, hidden]})
        if is_hashed:
            out.append((f"{ffn}gate.tid2eid", [config["vocab_size"], config["num_experts_per_tok"]], f"below {n}"))
        else:
            out.append((f"{ffn}gate.bias", [n], "bias"))
        for expert in [*(f"experts.{i}" for i in range(n)), "shared_experts"]:
            out += matrices(f"{ffn}{expert}.", {"w1": [inner, hidden], "w2": [hidden, inner], "w3": [inner, hidden]})
        return out

    def collapse(at):
        return [(f"{at}hc_head_fn", [streams, streams * hidden], "matrix"), (f"{at}hc_head_base", [streams], "bias"), (f"{at}hc_head_scale", [1], "norm")]

    def head():
        """The head that predicts the token after the next, with its copies of what is around the blocks."""
        vocab = config["vocab_size"]
        out = matrices("mtp.0.", {"e_proj": [hidden, hidden], "h_proj": [hidden, hidden], "emb.tok_emb": [vocab, hidden], "head": [vocab, hidden]})
        out += [(f"mtp.0.{name}.weight", [hidden], "norm") for name in ("enorm", "hnorm", "norm")]
        return out + collapse("mtp.0.") + block("mtp.0.", 0, False)

    out = [("embed.weight", [config["vocab_size"], hidden], "matrix"), ("norm.weight", [hidden], "norm")]
    out += [("head.weight", [config["vocab_size"], hidden], "matrix"), *collapse("")]
    for layer, ratio in enumerate(config["compress_ratios"][: config["num_hidden_layers"]]):
        out += block(f"layers.{layer}.", ratio, layer < config["num_hash_layers"])
    return out + (head() if config.get("num_nextn_predict_layers") else [])


def tower(text):
    """A checkpoint with a part for images, of which one tensor stands for all."""

    def tensors(config):
        named = [("language_model." + name, shape, kind) for name, shape, kind in text(config["text_config"])]
        return [*named, ("vision_model.encoder.weight", [4, 4], "matrix"), ("multi_modal_projector.linear_1.weight", [4, 4], "matrix")]

    return tensors


FAMILIES = {
    "deepseek_v4": deepseek_v4,
    "llama4": tower(llama4_text),
    "llama4_text": llama4_text,
}
