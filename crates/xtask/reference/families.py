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

    out = dense(config, PRE_NORMS + HEAD_NORMS, "norm", ATTENTION if config["attention_bias"] else [], mlp=mlp)
    # A head that predicts the token after the next, which the decoder drops.
    return out + [(f"model.layers.{config['num_hidden_layers']}.eh_proj.weight", [config["hidden_size"]] * 2, "matrix")]


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


def text_tower(config):
    """A checkpoint with a part for images, of which one tensor stands for all."""
    text = {"model_type": "gemma3_text", "tie_word_embeddings": True, **config["text_config"]}
    named = [("language_model." + name, shape, kind) for name, shape, kind in tensors({**config, **text})]
    return named + [("vision_tower.encoder.weight", [4, 4], "matrix")]


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

    return dense(config, PRE_NORMS, "norm", [], mlp=layer, joined="attention by mlp")


def gpt_oss(config):
    """As published: gate and up rows alternate in one tensor."""

    def mlp(config, layer):
        hidden, n, inner = config["hidden_size"], config["num_local_experts"], config["intermediate_size"]
        out = [("self_attn.sinks", [config["num_attention_heads"]], "bias")]
        out += [("mlp.router.weight", [n, hidden], "matrix"), ("mlp.router.bias", [n], "bias")]
        for name, shape in {"gate_proj": [n, inner, hidden], "up_proj": [n, inner, hidden], "down_proj": [n, hidden, inner]}.items():
            out += [(f"mlp.experts.{name}.weight", shape, "matrix"), (f"mlp.experts.{name}.bias", shape[:2], "bias")]
        return out

    return dense(config, PRE_NORMS, "norm", ATTENTION + ["self_attn.o_proj"], mlp=mlp)


def gemma2(config):
    norms = PRE_NORMS + ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
    return dense(config, norms, "norm_zero", [])


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
        hidden, n = config["hidden_size"], config.get("num_experts", 0)
        if n == 0 or index in config.get("mlp_only_layers", []):
            return out + gated("mlp", hidden, config["intermediate_size"])
        out += [("mlp.gate.weight", [n, hidden], "matrix"), ("mlp.shared_expert_gate.weight", [1, hidden], "matrix")]
        return out + gated("mlp.shared_expert", hidden, config["shared_expert_intermediate_size"]) + experts(config)

    sizes = {"intermediate_size": None, **config}
    out = dense(sizes, PRE_NORMS, "norm_zero" if published else "norm", [], mlp=layer, joined="attention by mlp")
    # A head that predicts the token after the next, which the decoder drops.
    return out + [("mtp.fc.weight", [config["hidden_size"], 2 * config["hidden_size"]], "matrix")] * bool(published)


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
        for name, shape, kind in latent_attention(config):
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
        return out + apart("mlp", n, hidden, inner)

    out = dense(config, PRE_NORMS, "norm", [], mlp=layer, joined="attention by mlp")
    return [(name.replace("embed_tokens", "word_embeddings"), shape, kind) for name, shape, kind in out]


FAMILIES = {
    **families_gemma.FAMILIES,
    **families_sparse.FAMILIES,
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "deepseek_v32": deepseek,
    "gemma2": gemma2,
    "glm4_moe_lite": deepseek,
    "glm_moe_dsa": deepseek,
    "gpt_oss": gpt_oss,
    "bailing_hybrid": bailing_hybrid,
    "bailing_moe": bailing_moe,
    "cohere2": cohere2,
    "ernie4_5": ernie4_5,
    "ernie4_5_moe": ernie4_5_moe,
    "exaone4": exaone4,
    "gemma3": text_tower,
    "gemma3_text": gemma3_text,
    "glm4": glm4,
    "glm4_moe": glm4_moe,
    "granite": llama,
    "kimi_linear": kimi_linear,
    "llama": llama,
    "minimax": minimax,
    "ministral3": llama,
    "mistral": llama,
    "mistral3": text_tower,
    "mistral4": deepseek,
    "mixtral": mixtral,
    "olmo2": olmo,
    "olmo3": olmo,
    "phi": phi,
    "phi3": phi3,
    "qwen2": qwen2,
    "qwen2_moe": qwen2_moe,
    "qwen3": qwen3,
    "qwen3_5": qwen3_5,
    "qwen3_5_moe": qwen3_5,
    "qwen3_moe": qwen3_moe,
    "qwen3_next": qwen3_next,
    "seed_oss": seed_oss,
    "smollm3": llama,
}


def tensors(config):
    """[(name, shape, kind)] of the checkpoint that `config` describes."""
    return FAMILIES[config["model_type"]](config)
