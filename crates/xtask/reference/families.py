"""Names, shapes and kinds of each family's tensors, as its checkpoints on disk have them."""


def head_dim(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def dense(config, norms, norm_kind, biases):
    """A decoder of attention and gated MLP blocks. `biases` names the projections that have one."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    q = config["num_attention_heads"] * head_dim(config)
    kv = config.get("num_key_value_heads", config["num_attention_heads"]) * head_dim(config)
    shapes = {
        "self_attn.q_proj": [q, hidden],
        "self_attn.k_proj": [kv, hidden],
        "self_attn.v_proj": [kv, hidden],
        "self_attn.o_proj": [hidden, q],
        "mlp.gate_proj": [inner, hidden],
        "mlp.up_proj": [inner, hidden],
        "mlp.down_proj": [hidden, inner],
    }
    out = [("model.embed_tokens.weight", [config["vocab_size"], hidden], "matrix")]
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for name, shape in shapes.items():
            out.append((f"{at}{name}.weight", shape, "matrix"))
            if name in biases:
                out.append((f"{at}{name}.bias", shape[:1], "bias"))
        for name in norms:
            length = head_dim(config) if name.startswith("self_attn.") else hidden
            out.append((f"{at}{name}.weight", [length], norm_kind))
    out.append(("model.norm.weight", [hidden], norm_kind))
    if not config["tie_word_embeddings"]:
        out.append(("lm_head.weight", [config["vocab_size"], hidden], "matrix"))
    return out


PRE_NORMS = ["input_layernorm", "post_attention_layernorm"]
HEAD_NORMS = ["self_attn.q_norm", "self_attn.k_norm"]
ATTENTION = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]
MLP = ["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]


def llama(config):
    biases = []
    if config.get("attention_bias"):
        biases += ATTENTION + ["self_attn.o_proj"]
    if config.get("mlp_bias"):
        biases += MLP
    return dense(config, PRE_NORMS, "norm", biases)


def qwen2(config):
    return dense(config, PRE_NORMS, "norm", ATTENTION)


def qwen3(config):
    return dense(config, PRE_NORMS + HEAD_NORMS, "norm", [])


def gemma3_text(config):
    norms = PRE_NORMS + ["pre_feedforward_layernorm", "post_feedforward_layernorm"] + HEAD_NORMS
    return dense(config, norms, "norm_zero", [])


FAMILIES = {
    "gemma3_text": gemma3_text,
    "llama": llama,
    "mistral": llama,
    "qwen2": qwen2,
    "qwen3": qwen3,
}


def tensors(config):
    """[(name, shape, kind)] of the checkpoint that `config` describes."""
    return FAMILIES[config["model_type"]](config)
