"""Names, shapes and kinds of each family's tensors, as its checkpoints on disk have them."""

import families_gemma
import families_sparse


def head_dim(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def dense(config, norms, norm_kind, biases, joined=False, mlp=None, heads_norm=False):
    """A decoder of attention and gated MLP blocks. `biases` names the projections that have one. `joined`: the checkpoint
    keeps projections of one input together. `mlp(config, layer)`: [(name, shape, kind)] in place of the MLP's tensors, and of attention's if `joined` says so."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    q = config["num_attention_heads"] * head_dim(config)
    kv = config.get("num_key_value_heads", config["num_attention_heads"]) * head_dim(config)
    attention = {"self_attn.q_proj": [q, hidden], "self_attn.k_proj": [kv, hidden], "self_attn.v_proj": [kv, hidden]}
    feed_forward = {"mlp.gate_proj": [inner, hidden], "mlp.up_proj": [inner, hidden]}
    if joined in (True, "attention"):
        attention = {"self_attn.qkv_proj": [q + 2 * kv, hidden]}
    if joined in (True, "mlp"):
        feed_forward = {"mlp.gate_up_proj": [2 * inner, hidden]}
    shapes = {} if joined == "attention by mlp" else {**attention, "self_attn.o_proj": [hidden, q]}
    feed_forward["mlp.down_proj"] = [hidden, inner]
    lengths = {"self_attn.q_norm": q, "self_attn.k_norm": kv} if heads_norm else {}
    out = [("model.embed_tokens.weight", [config["vocab_size"], hidden], "matrix")]
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        other = mlp(config, layer) if mlp else None
        for name, shape in {**shapes, **({} if other else feed_forward)}.items():
            out.append((f"{at}{name}.weight", shape, "matrix"))
            if name in biases:
                out.append((f"{at}{name}.bias", shape[:1], "bias"))
        out += [(f"{at}{name}", shape, kind) for name, shape, kind in other or []]
        for name in norms:
            length = lengths.get(name, head_dim(config) if name.startswith("self_attn.") else hidden)
            out.append((f"{at}{name}.weight", [length], norm_kind))
    out.append(("model.norm.weight", [hidden], norm_kind))
    if not config["tie_word_embeddings"]:
        out.append(("lm_head.weight", [config["vocab_size"], hidden], "matrix"))
    return out


def gated(at, hidden, inner):
    """A gated MLP below `at`."""
    shapes = {"gate_proj": [inner, hidden], "up_proj": [inner, hidden], "down_proj": [hidden, inner]}
    return [(f"{at}.{name}.weight", shape, "matrix") for name, shape in shapes.items()]


def stacked(at, n, hidden, inner):
    """Experts as MLX conversions keep them: one tensor a projection."""
    return [(f"{at}.switch_mlp{name[1:]}", [n, *shape], kind) for name, shape, kind in gated("x", hidden, inner)]


def apart(at, n, hidden, inner, names=None):
    """Experts as Hugging Face keeps them: each its own tensors."""
    out = []
    for expert in range(n):
        for name, shape, kind in gated(f"{at}.experts.{expert}", hidden, inner):
            stem = name.split(".")[-2]
            out.append((name.replace(f".{stem}.", f".{names[stem]}.") if names else name, shape, kind))
    return out


PRE_NORMS = ["input_layernorm", "post_attention_layernorm"]
POST_NORMS = ["post_attention_layernorm", "post_feedforward_layernorm"]
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


def qwen3_moe(config):
    def mlp(config, layer):
        sparse = layer not in config["mlp_only_layers"] and (layer + 1) % config["decoder_sparse_step"] == 0
        if not sparse:
            return None
        hidden, n = config["hidden_size"], config["num_experts"]
        gate = [("mlp.gate.weight", [n, hidden], "matrix")]
        return gate + stacked("mlp", n, hidden, config["moe_intermediate_size"])

    return dense(config, PRE_NORMS + HEAD_NORMS, "norm", [], mlp=mlp)


def qwen3_vl_moe_text(config):
    """Experts in one tensor a projection, inputs before outputs."""
    hidden, n, inner = config["hidden_size"], config["num_experts"], config["moe_intermediate_size"]
    shapes = {"gate_proj": None, "up_proj": ("experts.gate_up_proj", [n, hidden, 2 * inner]), "down_proj": ("experts.down_proj", [n, inner, hidden])}

    def fused(entry):
        name, _, kind = entry
        stem, _, rest = name.partition("switch_mlp.")
        if not rest:
            return [entry]
        made = shapes[rest.removesuffix(".weight")]
        return [(stem + made[0], made[1], kind)] if made else []

    return [made for entry in qwen3_moe(config) for made in fused(entry)]


def qwen2_moe(config):
    def mlp(config, layer):
        hidden, n = config["hidden_size"], config["num_experts"]
        out = [("mlp.gate.weight", [n, hidden], "matrix"), ("mlp.shared_expert_gate.weight", [1, hidden], "matrix")]
        out += gated("mlp.shared_expert", hidden, config["shared_expert_intermediate_size"])
        return out + apart("mlp", n, hidden, config["moe_intermediate_size"])

    return dense(config, PRE_NORMS, "norm", ATTENTION, mlp=mlp)


W123 = {"gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}


def mixtral(config):
    def mlp(config, layer):
        hidden, n = config["hidden_size"], config["num_local_experts"]
        gate = [("block_sparse_moe.gate.weight", [n, hidden], "matrix")]
        return gate + apart("block_sparse_moe", n, hidden, config["intermediate_size"], W123)

    return dense(config, PRE_NORMS, "norm", [], mlp=mlp)


def minimax(config):
    def mlp(config, layer):
        n = config["num_local_experts"]
        return mixtral_like(config) + [("block_sparse_moe.e_score_correction_bias", [n], "bias")]

    def mixtral_like(config):
        hidden, n = config["hidden_size"], config["num_local_experts"]
        gate = [("block_sparse_moe.gate.weight", [n, hidden], "matrix")]
        return gate + apart("block_sparse_moe", n, hidden, config["intermediate_size"], W123)

    return dense(config, PRE_NORMS + HEAD_NORMS, "norm", [], mlp=mlp, heads_norm=True)


def glm4_moe(config):
    def mlp(config, layer):
        if layer < config["first_k_dense_replace"]:
            return None
        hidden, n, inner = config["hidden_size"], config["n_routed_experts"], config["moe_intermediate_size"]
        out = [("mlp.gate.weight", [n, hidden], "matrix"), ("mlp.gate.e_score_correction_bias", [n], "bias")]
        out += gated("mlp.shared_experts", hidden, inner * config["n_shared_experts"])
        return out + apart("mlp", n, hidden, inner)

    return next_layer(
        config, lambda config: dense(config, PRE_NORMS + HEAD_NORMS, "norm", ATTENTION if config["attention_bias"] else [], mlp=mlp)
    )


def next_layer(config, family):
    """The family's tensors with, where config.json counts it, a head that predicts the token after the next: one more layer, with
    tensors of its own and copies of what is around the blocks."""
    n, hidden, vocab = config["num_hidden_layers"], config["hidden_size"], config["vocab_size"]
    if not config.get("num_nextn_predict_layers"):
        return family(config)
    at = f"model.layers.{n}."
    own = [("enorm", "norm"), ("hnorm", "norm"), ("shared_head.norm", "norm")]
    out = [(f"{at}{name}.weight", [hidden], kind) for name, kind in own]
    out += [(f"{at}eh_proj.weight", [hidden, 2 * hidden], "matrix")]
    out += [(f"{at}{name}.weight", [vocab, hidden], "matrix") for name in ("embed_tokens", "shared_head.head")]
    return family({**config, "num_hidden_layers": n + 1}) + out


def seed_oss(config):
    return dense(config, PRE_NORMS, "norm", ATTENTION if config["attention_bias"] else [])


def olmo(config):
    return dense(config, POST_NORMS + HEAD_NORMS, "norm", [], heads_norm=True)


def exaone4(config):
    return dense(config, POST_NORMS + HEAD_NORMS, "norm", [])


def glm4(config):
    norms = ["input_layernorm", "post_self_attn_layernorm", "post_attention_layernorm", "post_mlp_layernorm"]
    return dense(config, norms, "norm", ATTENTION if config["attention_bias"] else [], joined="mlp")


def phi3(config):
    return dense(config, PRE_NORMS, "norm", [], joined=True)


def phi(config):
    """Layer norms, which have biases, and an ungated MLP."""
    hidden, inner, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    names = {"self_attn.q_proj": [hidden, hidden], "self_attn.k_proj": None, "self_attn.v_proj": None, "self_attn.dense": [hidden, hidden]}
    kv = config["num_key_value_heads"] * head_dim(config)
    shapes = {name: shape or [kv, hidden] for name, shape in names.items()} | {"mlp.fc1": [inner, hidden], "mlp.fc2": [hidden, inner]}
    out = [("model.embed_tokens.weight", [vocab, hidden], "matrix")]
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        out += [(f"{at}{name}.weight", shape, "matrix") for name, shape in shapes.items()]
        out += [(f"{at}{name}.bias", shape[:1], "bias") for name, shape in shapes.items()]
        out += [(f"{at}input_layernorm.weight", [hidden], "norm"), (f"{at}input_layernorm.bias", [hidden], "bias")]
    out += [("model.final_layernorm.weight", [hidden], "norm"), ("model.final_layernorm.bias", [hidden], "bias")]
    return out + [("lm_head.weight", [vocab, hidden], "matrix"), ("lm_head.bias", [vocab], "bias")]


def ernie4_5(config):
    return dense(config, PRE_NORMS, "norm", ATTENTION + ["self_attn.o_proj"] + MLP if config["use_bias"] else [])


def ernie4_5_moe(config):
    def mlp(config, layer):
        if layer < config["moe_layer_start_index"]:
            return None
        hidden, n, inner = config["hidden_size"], config["moe_num_experts"], config["moe_intermediate_size"]
        out = [("mlp.gate.weight", [n, hidden], "matrix"), ("mlp.moe_statics.e_score_correction_bias", [1, n], "bias")]
        out += gated("mlp.shared_experts", hidden, inner * config["moe_num_shared_experts"])
        return out + apart("mlp", n, hidden, inner)

    return dense(config, PRE_NORMS, "norm", [], mlp=mlp)


def cohere2(config):
    return dense(config, ["input_layernorm"], "norm", [])


# The family of the text part, what its names start with in place of `model.`, and what of the rest stands for all.
TOWERS = {
    "gemma3": ("gemma3_text", "language_model.model.", "vision_tower.encoder.weight"),
    "kimi_k25": ("kimi_k2", "language_model.model.", "vision_tower.encoder.weight"),
    "llava": ("llama", "language_model.model.", "vision_tower.encoder.weight"),
    "mistral3": ("llama", "language_model.model.", "vision_tower.encoder.weight"),
    "qwen2_5_vl": ("qwen2", "model.language_model.", "model.visual.encoder.weight"),
    "qwen2_vl": ("qwen2", "model.", "visual.encoder.weight"),
    "qwen3_vl": ("qwen3", "model.language_model.", "model.visual.encoder.weight"),
    "qwen3_vl_moe": ("qwen3_vl_moe_text", "model.language_model.", "model.visual.encoder.weight"),
}


def text_tower(config):
    """A checkpoint with a part for images, of which one tensor stands for all."""
    family, prefix, other = TOWERS[config["model_type"]]
    text = {"tie_word_embeddings": True, **config.get("text_config", config)}
    family = text["model_type"] if text.get("model_type") in ("ministral3", "mistral4") else family

    def renamed(name):
        if name.startswith("model."):
            return prefix + name.removeprefix("model.")
        return prefix.removesuffix("model.") + name if prefix.startswith("language_model.") else name

    named = [(renamed(name), shape, kind) for name, shape, kind in tensors({**config, **text, "model_type": family})]
    return [*named, (other, [4, 4], "matrix")]


def bailing_moe(config):
    def mlp(config, layer):
        if layer < config["first_k_dense_replace"]:
            return None
        hidden, n, inner = config["hidden_size"], config["num_experts"], config["moe_intermediate_size"]
        out = [("mlp.gate.weight", [n, hidden], "matrix"), ("mlp.gate.expert_bias", [n], "bias")]
        out += gated("mlp.shared_experts", hidden, inner * config["num_shared_experts"])
        return out + apart("mlp", n, hidden, inner)

    names = {
        "self_attn.qkv_proj": "attention.query_key_value",
        "self_attn.o_proj": "attention.dense",
        "self_attn.q_norm": "attention.query_layernorm",
        "self_attn.k_norm": "attention.key_layernorm",
        "embed_tokens": "word_embeddings",
    }

    def renamed(name):
        for ours, theirs in names.items():
            name = name.replace(ours, theirs)
        return name

    out = dense(config, PRE_NORMS + HEAD_NORMS, "norm", ["self_attn.qkv_proj"], joined="attention", mlp=mlp)
    return [(renamed(name), shape, kind) for name, shape, kind in out]


def latent_attention(config, heads="kv_b_proj"):
    """Latent attention's tensors below a layer, with the heads' matrices in one or apart as MLX conversions keep them."""
    hidden, n, kv, rope = (config[name] for name in ("hidden_size", "num_attention_heads", "kv_lora_rank", "qk_rope_head_dim"))
    nope, value, q_lora = config["qk_nope_head_dim"], config["v_head_dim"], config.get("q_lora_rank")
    query = n * (nope + rope)
    shapes = {"kv_a_proj_with_mqa": [kv + rope, hidden], "o_proj": [hidden, n * value]}
    norms = {"kv_a_layernorm": [kv]}
    if q_lora:
        shapes |= {"q_a_proj": [q_lora, hidden], "q_b_proj": [query, q_lora]}
        norms["q_a_layernorm"] = [q_lora]
    else:
        shapes["q_proj"] = [query, hidden]
    if heads == "kv_b_proj":
        shapes["kv_b_proj"] = [n * (nope + value), kv]
    else:
        shapes |= {"embed_q": [n, kv, nope], "unembed_out": [n, value, kv]}
    out = [(f"self_attn.{name}.weight", shape, "matrix") for name, shape in shapes.items()]
    return out + [(f"self_attn.{name}.weight", shape, "norm") for name, shape in norms.items()]


def indexer(config):
    """What picks the positions that a query reads, where the family has it."""
    if "index_topk" not in config:
        return []
    n, head_dim, hidden = config["index_n_heads"], config["index_head_dim"], config["hidden_size"]
    shapes = {"wq_b": [n * head_dim, config["q_lora_rank"]], "wk": [head_dim, hidden], "weights_proj": [n, hidden]}
    out = [(f"self_attn.indexer.{name}.weight", shape, "matrix") for name, shape in shapes.items()]
    return [*out, ("self_attn.indexer.k_norm.weight", [head_dim], "norm"), ("self_attn.indexer.k_norm.bias", [head_dim], "bias")]


def deepseek(config):
    def layer(config, index):
        hidden, n, inner = config["hidden_size"], config["n_routed_experts"], config["moe_intermediate_size"]
        out = latent_attention(config, "apart" if config.get("heads_apart") else "kv_b_proj") + indexer(config)
        if index < config["first_k_dense_replace"]:
            return out + gated("mlp", hidden, config["intermediate_size"])
        out.append(("mlp.gate.weight", [n, hidden], "matrix"))
        if config["model_type"] not in ("deepseek_v2", "mistral4"):
            out.append(("mlp.gate.e_score_correction_bias", [n], "bias"))
        out += gated("mlp.shared_experts", hidden, inner * config["n_shared_experts"])
        if config["model_type"] == "mistral4":
            down = ("mlp.experts.down_proj", [n, hidden, inner], "matrix")
            return [*out, ("mlp.experts.gate_up_proj", [n, 2 * inner, hidden], "matrix"), down]
        return out + apart("mlp", n, hidden, inner)

    return next_layer(config, lambda config: dense(config, PRE_NORMS, "norm", [], mlp=layer, joined="attention by mlp"))


def gpt_oss(config):
    """As converted, or as published: gate and up rows alternate in one tensor, each 32 of a row a block."""
    is_published = "quantization_config" in config

    def mlp(config, layer):
        hidden, n, inner = config["hidden_size"], config["num_local_experts"], config["intermediate_size"]
        out = [("self_attn.sinks", [config["num_attention_heads"]], "bias")]
        out += [("mlp.router.weight", [n, hidden], "matrix"), ("mlp.router.bias", [n], "bias")]
        if is_published:
            for name, shape in {"gate_up_proj": [n, 2 * inner, hidden], "down_proj": [n, hidden, inner]}.items():
                out += [(f"mlp.experts.{name}", shape, "matrix"), (f"mlp.experts.{name}_bias", shape[:2], "bias")]
            return out
        for name, shape in {"gate_proj": [n, inner, hidden], "up_proj": [n, inner, hidden], "down_proj": [n, hidden, inner]}.items():
            out += [(f"mlp.experts.{name}.weight", shape, "matrix"), (f"mlp.experts.{name}.bias", shape[:2], "bias")]
        return out

    return dense(config, PRE_NORMS, "norm", ATTENTION + ["self_attn.o_proj"], mlp=mlp)


def gemma2(config):
    norms = PRE_NORMS + ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
    return dense(config, norms, "norm_zero", [])


def state_space(config, names, biases=(), norm=True, filters="published"):
    """Mamba 2's tensors. `names`: of the config's heads, head size, groups, state size and taps. `biases`: which have one."""
    heads, size, groups, state, taps = [config[name] for name in names]
    hidden, inner = config["hidden_size"], heads * size
    mixed = inner + 2 * groups * state
    conv = [mixed, 1, taps] if filters == "published" else [mixed, taps, 1]
    shapes = {"in_proj": [inner + mixed + heads, hidden], "conv1d": conv, "out_proj": [hidden, inner]}
    out = [(f"{name}.weight", shape, "matrix") for name, shape in shapes.items()]
    out += [(f"{name}.bias", shapes[name][:1], "bias") for name in biases]
    out += [("A_log", [heads], "decay"), ("D", [heads], "norm"), ("dt_bias", [heads], "bias")]
    return out + ([("norm.weight", [inner], "norm")] if norm else [])


def attention(config, biases=False):
    """Attention's tensors."""
    hidden, q = config["hidden_size"], config["num_attention_heads"] * head_dim(config)
    kv = config["num_key_value_heads"] * head_dim(config)
    shapes = {"q_proj": [q, hidden], "k_proj": [kv, hidden], "v_proj": [kv, hidden], "o_proj": [hidden, q]}
    out = [(f"{name}.weight", shape, "matrix") for name, shape in shapes.items()]
    return out + ([(f"{name}.bias", shape[:1], "bias") for name, shape in shapes.items()] if biases else [])


def plain(at, hidden, inner, bias=False):
    """A feed-forward part without a gate below `at`."""
    shapes = {"up_proj": [inner, hidden], "down_proj": [hidden, inner]}
    out = [(f"{at}{name}.weight", shape, "matrix") for name, shape in shapes.items()]
    return out + ([(f"{at}{name}.bias", shape[:1], "bias") for name, shape in shapes.items()] if bias else [])


def below(at, tensors):
    return [(f"{at}.{name}", shape, kind) for name, shape, kind in tensors]


def ends(config, embedding, norm):
    """What is around the layers, under the family's names."""
    vocab, hidden = config["vocab_size"], config["hidden_size"]
    out = [(f"{embedding}.weight", [vocab, hidden], "matrix"), (f"{norm}.weight", [hidden], "norm")]
    return out + ([] if config["tie_word_embeddings"] else [("lm_head.weight", [vocab, hidden], "matrix")])


def nemotron_h(config):
    hidden, has_bias = config["hidden_size"], config["mlp_bias"]
    names = ["mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel"]

    def experts():
        n, inner = config["n_routed_experts"], config["moe_intermediate_size"]
        latent = config.get("moe_latent_size")
        out = [("gate.weight", [n, hidden], "matrix"), ("gate.e_score_correction_bias", [n], "bias")]
        if config.get("is_converted"):
            shapes = {"fc1": [n, inner, latent or hidden], "fc2": [n, latent or hidden, inner]}
            out += [(f"switch_mlp.{name}.weight", shape, "matrix") for name, shape in shapes.items()]
        for expert in [] if config.get("is_converted") else range(n):
            out += plain(f"experts.{expert}.", latent or hidden, inner)
        if latent:
            shapes = {"fc1_latent_proj": [latent, hidden], "fc2_latent_proj": [hidden, latent]}
            out += [(f"{name}.weight", shape, "matrix") for name, shape in shapes.items()]
            out += [(f"{name}.bias", shape[:1], "bias") for name, shape in shapes.items()] if has_bias else []
        return out + plain("shared_experts.", hidden, config["moe_shared_expert_intermediate_size"], has_bias)

    biases = ["conv1d"] * config["use_conv_bias"] + ["in_proj", "out_proj"] * config["mamba_proj_bias"]
    parts = {
        "M": lambda: state_space(config, names, biases),
        "*": lambda: attention(config, config["attention_bias"]),
        "-": lambda: plain("", hidden, config["intermediate_size"], has_bias),
        "E": experts,
    }
    words = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}
    kinds = config.get("hybrid_override_pattern") or [words[word] for word in config["layers_block_type"]]
    out = ends(config, "backbone.embeddings", "backbone.norm_f")
    for layer, kind in enumerate(kinds):
        at = f"backbone.layers.{layer}"
        out += below(f"{at}.mixer", parts[kind]()) + [(f"{at}.norm.weight", [hidden], "norm")]
    # A head that predicts the token after the next, which the decoder drops.
    return out + [("mtp.layers.0.eh_proj.weight", [hidden, hidden], "matrix")]


def granitemoehybrid(config):
    """As published: gate and up joined."""
    hidden, inner, n = config["hidden_size"], config["intermediate_size"], config.get("num_local_experts")
    names = ["mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv"]
    biases = ["conv1d"] * config.get("mamba_conv_bias", True) + ["in_proj", "out_proj"] * config.get("mamba_proj_bias", False)
    shared = config["shared_intermediate_size"]
    out = ends(config, "model.embed_tokens", "model.norm")
    for layer, kind in enumerate(config["layer_types"]):
        at = f"model.layers.{layer}"
        if kind == "mamba":
            out += below(f"{at}.mamba", state_space(config, names, biases))
        else:
            out += below(f"{at}.self_attn", attention(config, config["attention_bias"]))
        if config.get("is_converted") and not n:
            out += below(at, gated("mlp", hidden, shared) + [(f"{name}.weight", [hidden], "norm") for name in PRE_NORMS])
            continue
        joined = {"shared_mlp.input_linear": [2 * shared, hidden], "shared_mlp.output_linear": [hidden, shared]}
        if n:
            joined["block_sparse_moe.input_linear"] = [n, 2 * inner, hidden]
            joined["block_sparse_moe.output_linear"] = [n, hidden, inner]
            joined["block_sparse_moe.router.layer"] = [n, hidden]
        if config.get("is_converted"):
            joined = {name: shape for name, shape in joined.items() if "block_sparse_moe.input" not in name and "block_sparse_moe.output" not in name}
            out += below(at, stacked("block_sparse_moe", n, hidden, inner))
        out += [(f"{at}.{name}.weight", shape, "matrix") for name, shape in joined.items()]
        out += [(f"{at}.{name}.weight", [hidden], "norm") for name in PRE_NORMS]
    return out


def falcon_h1(config):
    hidden = config["hidden_size"]
    names = ["mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv"]
    biases = ["conv1d"] * config["mamba_conv_bias"] + ["in_proj"] * config["mamba_proj_bias"]
    biases += ["out_proj"] * config["projectors_bias"]
    filters = "converted" if config.get("is_converted") else "published"
    out = ends(config, "model.embed_tokens", "model.final_layernorm")
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        out += below(f"{at}.mamba", state_space(config, names, biases, config["mamba_rms_norm"], filters))
        out += below(f"{at}.self_attn", attention(config, config["attention_bias"]))
        feed_forward = gated("feed_forward", hidden, config["intermediate_size"])
        out += below(at, feed_forward)
        if config["mlp_bias"]:
            out += [(f"{at}.{name.removesuffix('weight')}bias", shape[:1], "bias") for name, shape, _ in feed_forward]
        out += [(f"{at}.{name}.weight", [hidden], "norm") for name in ("input_layernorm", "pre_ff_layernorm")]
    return out


def jamba(config):
    hidden, n = config["hidden_size"], config["num_experts"]
    inner, state, taps = hidden * config["mamba_expand"], config["mamba_d_state"], config["mamba_d_conv"]
    rank = -(-hidden // 16) if config["mamba_dt_rank"] == "auto" else config["mamba_dt_rank"]
    kinds = config.get("layers_block_type")

    def mamba():
        shapes = {"in_proj": [2 * inner, hidden], "conv1d": [inner, 1, taps], "x_proj": [rank + 2 * state, inner]}
        shapes |= {"dt_proj": [inner, rank], "out_proj": [hidden, inner]}
        biases = ["dt_proj"] + ["conv1d"] * config["mamba_conv_bias"] + ["in_proj", "out_proj"] * config["mamba_proj_bias"]
        out = [(f"{name}.weight", shape, "matrix") for name, shape in shapes.items()]
        out += [(f"{name}.bias", shapes[name][:1], "bias") for name in biases]
        norms = {"dt": rank, "b": state, "c": state}
        out += [(f"{name}_layernorm.weight", [size], "norm") for name, size in norms.items()]
        return out + [("A_log", [inner, state], "decay"), ("D", [inner], "norm")]

    out = ends(config, "model.embed_tokens", "model.final_layernorm")
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        attends = kinds[layer] == "attention" if kinds else layer % config["attn_layer_period"] == config["attn_layer_offset"]
        out += below(f"{at}.self_attn", attention(config)) if attends else below(f"{at}.mamba", mamba())
        if n > 1 and layer % config["expert_layer_period"] == config["expert_layer_offset"]:
            out.append((f"{at}.feed_forward.router.weight", [n, hidden], "matrix"))
            out += apart(f"{at}.feed_forward", n, hidden, config["intermediate_size"])
        else:
            out += gated(f"{at}.feed_forward", hidden, config["intermediate_size"])
        out += [(f"{at}.{name}.weight", [hidden], "norm") for name in ("input_layernorm", "pre_ff_layernorm")]
    return out


def lfm2(config):
    """As published: short names for the MLP, a convolution where a layer does not attend."""
    hidden, taps, bias = config["hidden_size"], config["conv_L_cache"], config["conv_bias"]
    q, kv = [n * head_dim(config) for n in (config["num_attention_heads"], config["num_key_value_heads"])]
    inner = config.get("block_ff_dim") or config["intermediate_size"]
    if config.get("block_auto_adjust_ff_dim"):
        inner = int(config["block_ffn_dim_multiplier"] * int(2 * inner / 3))
        inner = -(-inner // config["block_multiple_of"]) * config["block_multiple_of"]

    def names(layer):
        attends = layer in config["full_attn_idxs"] if "full_attn_idxs" in config else config["layer_types"][layer] == "full_attention"
        if attends:
            shapes = {"q_proj": [q, hidden], "k_proj": [kv, hidden], "v_proj": [kv, hidden], "out_proj": [hidden, q]}
            out = [(f"self_attn.{name}.weight", shape, "matrix") for name, shape in shapes.items()]
            return out + [(f"self_attn.{name}_layernorm.weight", [head_dim(config)], "norm") for name in "qk"]
        shapes = {"in_proj": [3 * hidden, hidden], "out_proj": [hidden, hidden], "conv": [hidden, 1, taps]}
        out = [(f"conv.{name}.weight", shape, "matrix") for name, shape in shapes.items()]
        return out + ([(f"conv.{name}.bias", shape[:1], "bias") for name, shape in shapes.items()] if bias else [])

    def feed_forward(layer):
        if config["model_type"] == "lfm2" or layer < config["num_dense_layers"]:
            dense = gated("feed_forward", hidden, inner)
            return dense if config.get("is_converted") and config["model_type"] != "lfm2" else renamed(dense)
        n = config["num_experts"]
        out = [("feed_forward.gate.weight", [n, hidden], "matrix")]
        if config["use_expert_bias"]:
            out.append(("feed_forward.expert_bias", [n], "bias"))
        if config.get("is_converted"):
            return out + stacked("feed_forward", n, hidden, config["moe_intermediate_size"])
        return out + apart("feed_forward", n, hidden, config["moe_intermediate_size"], W123)

    def renamed(tensors):
        return [(".".join(W123.get(part, part) for part in name.split(".")), shape, kind) for name, shape, kind in tensors]

    out = [("model.embed_tokens.weight", [config["vocab_size"], hidden], "matrix"), ("model.embedding_norm.weight", [hidden], "norm")]
    for layer in range(config["num_hidden_layers"]):
        parts = names(layer) + feed_forward(layer) + [(f"{name}_norm.weight", [hidden], "norm") for name in ("operator", "ffn")]
        out += [(f"model.layers.{layer}.{name}", shape, kind) for name, shape, kind in parts]
    return out


def delta_net(config, fused):
    """Linear attention's tensors below a layer, its inward projections in two or in four."""
    hidden, published = config["hidden_size"], config.get("published")
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    heads, taps = config["linear_num_value_heads"], config["linear_conv_kernel_dim"]
    values = heads * config["linear_value_head_dim"]
    if fused:
        inward = {"in_proj_qkvz": 2 * keys + 2 * values, "in_proj_ba": 2 * heads}
    else:
        inward = {"in_proj_qkv": 2 * keys + values, "in_proj_z": values, "in_proj_b": heads, "in_proj_a": heads}
    out = [(f"{name}.weight", [rows, hidden], "matrix") for name, rows in inward.items()]
    filters = [2 * keys + values, 1, taps] if published else [2 * keys + values, taps, 1]
    out += [("conv1d.weight", filters, "matrix"), ("A_log", [heads], "decay"), ("dt_bias", [heads], "bias")]
    out += [("norm.weight", [config["linear_value_head_dim"]], "norm"), ("out_proj.weight", [hidden, values], "matrix")]
    return [(f"linear_attn.{name}", shape, kind) for name, shape, kind in out]


def gated_attention(config):
    """Attention's tensors below a layer, queries with a gate for each."""
    hidden, size = config["hidden_size"], head_dim(config)
    q, kv = config["num_attention_heads"] * size, config["num_key_value_heads"] * size
    out = []
    for name, rows, columns in [("q", 2 * q, hidden), ("k", kv, hidden), ("v", kv, hidden), ("o", hidden, q)]:
        out.append((f"self_attn.{name}_proj.weight", [rows, columns], "matrix"))
        if config.get("attention_bias"):
            out.append((f"self_attn.{name}_proj.bias", [rows], "bias"))
    kind = "norm_zero" if config.get("published") else "norm"
    return out + [(f"{name}.weight", [size], kind) for name in HEAD_NORMS]


def olmo_hybrid(config):
    """Linear attention, normed before its parts, and attention, normed after them."""
    hidden, size, heads = config["hidden_size"], head_dim(config), config["linear_num_value_heads"]
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    values, taps = heads * config["linear_value_head_dim"], config["linear_conv_kernel_dim"]
    q, kv = config["num_attention_heads"] * size, config["num_key_value_heads"] * size

    def linear():
        rows = {"q": keys, "k": keys, "v": values, "a": heads, "b": heads, "g": values}
        out = [(f"{name}_proj.weight", [n, hidden], "matrix") for name, n in rows.items()]
        out += [(f"{name}_conv1d.weight", [rows[name], 1, taps], "matrix") for name in "qkv"]
        out += [("A_log", [heads], "decay"), ("dt_bias", [heads], "bias"), ("o_norm.weight", [config["linear_value_head_dim"]], "norm")]
        return below("linear_attn", [*out, ("o_proj.weight", [hidden, values], "matrix")])

    def softmax():
        norms = [(f"{name}_norm.weight", [n], "norm") for name, n in {"q": q, "k": kv}.items()]
        return below("self_attn", attention(config, config["attention_bias"]) + norms)

    out = ends(config, "model.embed_tokens", "model.norm")
    kinds = config.get("layer_types") or ["full_attention" if layer % 4 == 3 else "linear_attention" for layer in range(config["num_hidden_layers"])]
    for layer, kind in enumerate(kinds):
        parts, norms = (linear(), PRE_NORMS) if kind == "linear_attention" else (softmax(), POST_NORMS)
        parts += gated("mlp", hidden, config["intermediate_size"]) + [(f"{name}.weight", [hidden], "norm") for name in norms]
        out += below(f"model.layers.{layer}", parts)
    return out


def bailing_moe_linear(config):
    """Lightning attention, and attention as Ling has it."""
    hidden, heads, size = config["hidden_size"], config["num_attention_heads"], head_dim(config)
    n, kv = heads * size, config["num_key_value_heads"] * size

    def mixer(attends):
        rows = n + 2 * kv if attends else 3 * n
        out = [("query_key_value.weight", [rows, hidden], "matrix"), ("dense.weight", [hidden, n], "matrix")]
        out += [("query_key_value.bias", [rows], "bias")] * config.get("use_qkv_bias", False)
        if config.get("use_qk_norm"):
            out += [(f"{name}_layernorm.weight", [size], "norm") for name in ("query", "key")]
        return out if attends else [*out, ("g_proj.weight", [n, hidden], "matrix"), ("g_norm.weight", [n], "norm")]

    def layer(config, index):
        layers, group = config["num_hidden_layers"], config["layer_group_size"]
        out = below("attention", mixer((index + 1) % group == 0 or index >= layers // group * group))
        if index < config["first_k_dense_replace"]:
            return out + gated("mlp", hidden, config["intermediate_size"])
        experts, inner = config["num_experts"], config["moe_intermediate_size"]
        out.append(("mlp.gate.weight", [experts, hidden], "matrix"))
        out += [("mlp.gate.expert_bias", [experts], "bias")] * config.get("moe_router_enable_expert_bias", False)
        out += gated("mlp.shared_experts", hidden, (config.get("moe_shared_expert_intermediate_size") or inner) * config["num_shared_experts"])
        return out + apart("mlp", experts, hidden, inner)

    out = dense(config, PRE_NORMS, "norm", [], mlp=layer, joined="attention by mlp")
    return [(name.replace("embed_tokens", "word_embeddings"), shape, kind) for name, shape, kind in out]


def qwen3_next(config):
    is_next, published = config["model_type"] == "qwen3_next", config.get("published")

    def experts(config):
        hidden, n, inner = config["hidden_size"], config["num_experts"], config["moe_intermediate_size"]
        if not published:
            return stacked("mlp", n, hidden, inner)
        if is_next:
            return apart("mlp", n, hidden, inner)
        shapes = {"gate_up_proj": [n, 2 * inner, hidden], "down_proj": [n, hidden, inner]}
        return [(f"mlp.experts.{name}", shape, "matrix") for name, shape in shapes.items()]

    def layer(config, index):
        attends = (index + 1) % config["full_attention_interval"] == 0
        out = gated_attention(config) if attends else delta_net(config, fused=is_next)
        return out + mlp(config, config.get("num_experts", 0) if index not in config.get("mlp_only_layers", []) else 0)

    def mlp(config, n):
        hidden = config["hidden_size"]
        if n == 0:
            return gated("mlp", hidden, config["intermediate_size"])
        out = [("mlp.gate.weight", [n, hidden], "matrix"), ("mlp.shared_expert_gate.weight", [1, hidden], "matrix")]
        return out + gated("mlp.shared_expert", hidden, config["shared_expert_intermediate_size"]) + experts(config)

    def head(config):
        """The head that predicts the token after the next, which MLX conversions leave out."""
        hidden = config["hidden_size"]
        out = [("fc.weight", [hidden, 2 * hidden], "matrix")]
        norms = ["pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm", *(f"layers.0.{name}" for name in PRE_NORMS)]
        out += [(f"{name}.weight", [hidden], "norm_zero") for name in norms]
        block = gated_attention(config) + mlp(config, config.get("num_experts", 0))
        return [(f"mtp.{name}", *rest) for name, *rest in out + [(f"layers.0.{name}", *rest) for name, *rest in block]]

    sizes = {"intermediate_size": None, **config}
    out = dense(sizes, PRE_NORMS, "norm_zero" if published else "norm", [], mlp=layer, joined="attention by mlp")
    return out + (head(config) if published else [])


def qwen3_5(config):
    """The text part of a checkpoint for images, as published or as an MLX conversion names it."""
    text = {**config, **config["text_config"]}

    def named(name):
        if not text.get("published"):
            return "language_model." + name
        return name.replace("model.", "model.language_model.", 1) if name.startswith("model.") else name

    out = [(named(name), shape, kind) for name, shape, kind in qwen3_next(text)]
    return out + [("model.visual.patch_embed.proj.weight", [4, 4], "matrix")] * bool(text.get("published"))


def kimi_linear(config):
    published, linear = config.get("published"), config["linear_attn_config"]

    def kimi_delta(config):
        hidden, heads, size = config["hidden_size"], linear["num_heads"], linear["head_dim"]
        n, taps = heads * size, linear["short_conv_kernel_size"]
        shapes = {f"{name}_proj": [n, hidden] for name in "qkv"} | {"b_proj": [heads, hidden], "o_proj": [hidden, n]}
        shapes |= {"f_a_proj": [size, hidden], "f_b_proj": [n, size], "g_a_proj": [size, hidden], "g_b_proj": [n, size]}
        out = [(f"{name}.weight", shape, "matrix") for name, shape in shapes.items()]
        for name in "qkv":
            out.append((f"{name}_conv1d.weight", [n, 1, taps], "matrix") if published else (f"{name}_conv.conv.weight", [n, taps, 1], "matrix"))
        out += [("A_log", [1, 1, heads, 1], "decay"), ("dt_bias", [n], "bias"), ("o_norm.weight", [size], "norm")]
        return [(f"self_attn.{name}", shape, kind) for name, shape, kind in out]

    def layer(config, index):
        out = kimi_delta(config) if index + 1 in linear["kda_layers"] else latent_attention(config, "kv_b_proj" if published else "apart")
        hidden, n, inner = config["hidden_size"], config["num_experts"], config["moe_intermediate_size"]
        if index < config["first_k_dense_replace"]:
            return out + gated("mlp", hidden, config["intermediate_size"])
        at = "block_sparse_moe" if published else "mlp"
        bias = "gate.e_score_correction_bias" if published else "e_score_correction_bias"
        out += [(f"{at}.gate.weight", [n, hidden], "matrix"), (f"{at}.{bias}", [n], "bias")]
        out += gated(f"{at}.shared_experts", hidden, inner * config["num_shared_experts"])
        return out + (apart(at, n, hidden, inner, W123) if published else stacked(at, n, hidden, inner))

    return dense(config, PRE_NORMS, "norm", [], mlp=layer, joined="attention by mlp")


def bailing_hybrid(config):
    """Lightning attention, or in the third generation Kimi Delta Attention, and latent attention."""
    is_third = "BailingMoeV3ForCausalLM" in config.get("architectures", [])
    hidden, heads, size = config["hidden_size"], config["num_attention_heads"], config["head_dim"]
    n = heads * size

    def lightning():
        shapes = {"query_key_value": [3 * n, hidden], "g_proj": [n, hidden], "dense": [hidden, n]}
        out = [(f"{name}.weight", shape, "matrix") for name, shape in shapes.items()]
        out += [("query_key_value.bias", [3 * n], "bias")] * config["use_qkv_bias"]
        norms = {"g_norm": n, "query_layernorm": size, "key_layernorm": size}
        return out + [(f"{name}.weight", [length], "norm") for name, length in norms.items()]

    def kimi_delta():
        shapes = {f"{name}_proj": [n, hidden] for name in "qkvfg"} | {"b_proj": [heads, hidden], "o_proj": [hidden, n]}
        out = [(f"{name}.weight", shape, "matrix") for name, shape in shapes.items()]
        out += [(f"{name}_conv1d.weight", [n, 1, config["short_conv_kernel_size"]], "matrix") for name in "qkv"]
        return out + [("A_log", [heads], "decay"), ("dt_bias", [n], "bias"), ("o_norm.weight", [size], "norm")]

    def latent():
        out = [("g_proj.weight", [heads, hidden], "matrix")] * is_third
        for name, shape, kind in latent_attention(config, "apart" if config.get("is_converted") else "kv_b_proj"):
            name = name.removeprefix("self_attn.").replace("o_proj", "dense")
            out.append((name, shape, kind))
            if config.get("use_qkv_bias") and any(part in name for part in ("q_a_proj", "kv_a_proj", "dense")):
                out.append((name.replace(".weight", ".bias"), shape[:1], "bias"))
        return out

    def layer(config, index):
        layers, group = config["num_hidden_layers"], config["layer_group_size"]
        is_global = (index + 1) % group == 0 or index >= layers // group * group
        out = latent() if is_global else kimi_delta() if is_third else lightning()
        out = [(f"attention.{name}", shape, kind) for name, shape, kind in out]
        n, inner = config["num_experts"], config["moe_intermediate_size"]
        if index < config["first_k_dense_replace"]:
            return out + gated("mlp", hidden, config["intermediate_size"])
        out += [("mlp.gate.weight", [n, hidden], "matrix"), ("mlp.gate.expert_bias", [n], "bias")]
        out += gated("mlp.shared_experts", hidden, config.get("moe_shared_expert_intermediate_size", inner) * config["num_shared_experts"])
        return out + (stacked if config.get("is_converted") else apart)("mlp", n, hidden, inner)

    out = dense(config, PRE_NORMS, "norm", [], mlp=layer, joined="attention by mlp")
    return [(name.replace("embed_tokens", "word_embeddings"), shape, kind) for name, shape, kind in out]


FAMILIES = {
    **families_gemma.FAMILIES,
    **families_sparse.FAMILIES,
    **dict.fromkeys(TOWERS, text_tower),
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "deepseek_v32": deepseek,
    "falcon_h1": falcon_h1,
    "gemma2": gemma2,
    "glm4_moe_lite": deepseek,
    "glm_moe_dsa": deepseek,
    "gpt_oss": gpt_oss,
    "bailing_hybrid": bailing_hybrid,
    "bailing_moe": bailing_moe,
    "bailing_moe_linear": bailing_moe_linear,
    "bailing_moe_v2": bailing_moe,
    "cohere2": cohere2,
    "ernie4_5": ernie4_5,
    "ernie4_5_moe": ernie4_5_moe,
    "exaone4": exaone4,
    "gemma3_text": gemma3_text,
    "glm4": glm4,
    "glm4_moe": glm4_moe,
    "granite": llama,
    "granitemoehybrid": granitemoehybrid,
    "jamba": jamba,
    "kimi_linear": kimi_linear,
    "lfm2": lfm2,
    "lfm2_moe": lfm2,
    "iquestcoder": llama,
    "joyai_llm_flash": deepseek,
    "kimi_k2": deepseek,
    "llama": llama,
    "minimax": minimax,
    "minimax_m2": minimax,
    "ministral3": llama,
    "mistral": llama,
    "mistral4": deepseek,
    "mixtral": mixtral,
    "nemotron_h": nemotron_h,
    "olmo2": olmo,
    "olmo3": olmo,
    "olmo_hybrid": olmo_hybrid,
    "phi": phi,
    "phi3": phi3,
    "qwen2": qwen2,
    "qwen2_moe": qwen2_moe,
    "qwen3": qwen3,
    "qwen3_5": qwen3_5,
    "qwen3_5_moe": qwen3_5,
    "qwen3_moe": qwen3_moe,
    "qwen3_next": qwen3_next,
    "qwen3_vl_moe_text": qwen3_vl_moe_text,
    "seed_oss": seed_oss,
    "smollm3": llama,
    "xverse": llama,
}


def tensors(config):
    """[(name, shape, kind)] of the checkpoint that `config` describes."""
    return FAMILIES[config["model_type"]](config)
