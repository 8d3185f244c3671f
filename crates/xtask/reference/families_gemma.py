"""Names, shapes and kinds of the tensors of Gemma 3n and 4, as their checkpoints on disk have them."""

BLOCK_NORMS = ["input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"]


def matrices(at, shapes):
    return [(f"{at}{name}.weight", shape, "matrix") for name, shape in shapes.items()]


def norms(at, names, length):
    return [(f"{at}{name}.weight", [length], "norm") for name in names]


def per_layer_tables(config):
    """The tables of each token's vectors for each layer, where there are any."""
    inner, hidden = config.get("hidden_size_per_layer_input"), config["hidden_size"]
    if not inner:
        return []
    width = config["num_hidden_layers"] * inner
    shapes = {"embed_tokens_per_layer": [config["vocab_size_per_layer_input"], width], "per_layer_model_projection": [width, hidden]}
    return matrices("model.", shapes) + norms("model.", ["per_layer_projection_norm"], inner)


def per_layer_block(config, at):
    inner, hidden = config.get("hidden_size_per_layer_input"), config["hidden_size"]
    if not inner:
        return []
    shapes = {"per_layer_input_gate": [inner, hidden], "per_layer_projection": [hidden, inner]}
    return matrices(at, shapes) + norms(at, ["post_per_layer_input_norm"], hidden)


def attention(config, at, head_dim, kv_heads, has_values=True):
    hidden, q = config["hidden_size"], config["num_attention_heads"] * head_dim
    kv = kv_heads * head_dim
    shapes = {"q_proj": [q, hidden], "k_proj": [kv, hidden], "v_proj": [kv, hidden], "o_proj": [hidden, q]}
    if not has_values:
        del shapes["v_proj"]
    return matrices(f"{at}self_attn.", shapes) + norms(f"{at}self_attn.", ["q_norm", "k_norm"], head_dim)


def gated(config, at, inner):
    hidden = config["hidden_size"]
    return matrices(f"{at}mlp.", {"gate_proj": [inner, hidden], "up_proj": [inner, hidden], "down_proj": [hidden, inner]})


def gemma4_text(config):
    """Layers that read another's keys and values still carry projections for them."""
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    out = [("model.embed_tokens.weight", [config["vocab_size"], hidden], "matrix"), *per_layer_tables(config)]
    for layer in range(layers):
        at = f"model.layers.{layer}."
        is_global = config["layer_types"][layer] == "full_attention"
        one = is_global and config["attention_k_eq_v"]
        kv_heads = config["num_global_key_value_heads"] if one else config["num_key_value_heads"]
        out += attention(config, at, config["global_head_dim"] if is_global else config["head_dim"], kv_heads, not one)
        is_shared = layer >= layers - config["num_kv_shared_layers"]
        out += gated(config, at, config["intermediate_size"] * (2 if is_shared and config["use_double_wide_mlp"] else 1))
        out += norms(at, BLOCK_NORMS, hidden) + per_layer_block(config, at)
        out.append((f"{at}layer_scalar", [1], "norm"))
        if config.get("enable_moe_block"):
            n, inner = config["num_experts"], config["moe_intermediate_size"]
            out += norms(at, ["post_feedforward_layernorm_1", "pre_feedforward_layernorm_2", "post_feedforward_layernorm_2"], hidden)
            out += matrices(at, {"router.proj": [n, hidden]})
            out += [(f"{at}router.scale", [hidden], "norm"), (f"{at}router.per_expert_scale", [n], "norm")]
            out.append((f"{at}experts.gate_up_proj", [n, 2 * inner, hidden], "matrix"))
            out.append((f"{at}experts.down_proj", [n, hidden, inner], "matrix"))
    return out + norms("model.", ["norm"], hidden)


def gemma3n_text(config):
    hidden, n = config["hidden_size"], config["altup_num_inputs"]
    out = [("model.embed_tokens.weight", [config["vocab_size"], hidden], "matrix"), *per_layer_tables(config)]
    for name in ["altup_projections", "altup_unembed_projections"]:
        out += matrices("model.", {f"{name}.{index}": [hidden, hidden] for index in range(n - 1)})
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        out += attention(config, at, config["head_dim"], config["num_key_value_heads"])
        out += gated(config, at, config["intermediate_size"][layer])
        out += norms(at, BLOCK_NORMS, hidden) + per_layer_block(config, at)
        altup = {"correction_coefs": [n, n], "prediction_coefs": [n * n, n], "modality_router": [n, hidden]}
        out += matrices(f"{at}altup.", altup) + norms(f"{at}altup.", ["router_norm"], hidden)
        out.append((f"{at}altup.correct_output_scale", [hidden], "norm"))
        rank = config["laurel_rank"]
        out += matrices(f"{at}laurel.", {"linear_left": [rank, hidden], "linear_right": [hidden, rank]})
        out += norms(f"{at}laurel.", ["post_laurel_norm"], hidden)
    return out + norms("model.", ["norm"], hidden)


def tower(text):
    """A checkpoint with parts for images and sound, of which one tensor each stands for all."""

    def tensors(config):
        inner = text({**config, **config["text_config"]})
        named = [(name.replace("model.", "model.language_model.", 1), shape, kind) for name, shape, kind in inner]
        return [*named, ("model.vision_tower.encoder.weight", [4, 4], "matrix"), ("model.audio_tower.encoder.weight", [4, 4], "matrix")]

    return tensors


FAMILIES = {
    "gemma3n": tower(gemma3n_text),
    "gemma4": tower(gemma4_text),
    "gemma4_text": gemma4_text,
}
