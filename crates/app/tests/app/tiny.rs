//! A model that takes no time and says "the of the of", with the real tokenizer and chat template.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::testbed::smollm2;

const N_LAYERS: usize = 2;
const HIDDEN: usize = 64;
const HEAD_DIM: usize = 32;
const N_KV: usize = 32;
const N_VOCAB: usize = 49_152;

/// A folder with the model, gone when the value is.
pub fn tiny_model() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the model");
    for name in ["tokenizer.json", "tokenizer_config.json"] {
        fs::copy(smollm2().join(name), folder.path().join(name)).expect("SmolLM2 has a tokenizer");
    }
    let config = json!({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": N_VOCAB, "hidden_size": HIDDEN,
        "intermediate_size": HIDDEN, "num_hidden_layers": N_LAYERS, "num_attention_heads": HIDDEN / HEAD_DIM,
        "num_key_value_heads": N_KV / HEAD_DIM, "head_dim": HEAD_DIM, "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false, "hidden_act": "silu",
        "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32"
    });
    fs::write(folder.path().join("config.json"), config.to_string()).expect("a place for the configuration");
    let tokenizer = fs::read_to_string(folder.path().join("tokenizer.json")).expect("a tokenizer");
    let tokenizer: Value = serde_json::from_str(&tokenizer).expect("JSON");
    // In GPT-2's alphabet a line end and a space before a word have letters of their own.
    let ids =
        ["\u{10a}", "\u{120}the", "\u{120}of"].map(|token| tokenizer["model"]["vocab"][token].as_u64().expect(token));
    write_weights(&folder.path().join("model.safetensors"), ids.map(|id| id as usize));
    folder
}

/// Attention and MLP add nothing to a token's own vector. The head knows that the first word follows the line end, with which
/// every prompt ends, and the second word; and that the second follows the first.
fn write_weights(path: &Path, [line_end, first, second]: [usize; 3]) {
    let mut tensors: Vec<(String, Vec<usize>, Fill)> = vec![
        ("model.embed_tokens.weight".to_owned(), vec![N_VOCAB, HIDDEN], Fill::Drawn),
        ("model.norm.weight".to_owned(), vec![HIDDEN], Fill::Ones),
        ("lm_head.weight".to_owned(), vec![N_VOCAB, HIDDEN], Fill::Zeros),
    ];
    for layer in 0..N_LAYERS {
        let mut add = |name: &str, shape: &[usize], fill: Fill| {
            tensors.push((format!("model.layers.{layer}.{name}.weight"), shape.to_vec(), fill));
        };
        for norm in ["input_layernorm", "post_attention_layernorm"] {
            add(norm, &[HIDDEN], Fill::Ones);
        }
        add("self_attn.q_proj", &[HIDDEN, HIDDEN], Fill::Drawn);
        add("self_attn.k_proj", &[N_KV, HIDDEN], Fill::Drawn);
        add("self_attn.v_proj", &[N_KV, HIDDEN], Fill::Drawn);
        add("self_attn.o_proj", &[HIDDEN, HIDDEN], Fill::Zeros);
        add("mlp.gate_proj", &[HIDDEN, HIDDEN], Fill::Drawn);
        add("mlp.up_proj", &[HIDDEN, HIDDEN], Fill::Drawn);
        add("mlp.down_proj", &[HIDDEN, HIDDEN], Fill::Zeros);
    }
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, shape, fill) in tensors {
        let start = data.len();
        let mut state = start as u32 | 1;
        data.extend((0..shape.iter().product()).flat_map(|_| fill.next(&mut state).to_le_bytes()));
        header.insert(name, json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]}));
    }
    let row = |base: usize, id: usize| base + id * HIDDEN * 4..base + (id + 1) * HIDDEN * 4;
    let head = header["lm_head.weight"]["data_offsets"][0].as_u64().expect("an offset") as usize;
    let floats = |bytes: &[u8]| -> Vec<f32> {
        bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect()
    };
    let [after_line_end, after_first, after_second] = [line_end, first, second].map(|id| floats(&data[row(0, id)]));
    let to_first = after_line_end.iter().zip(&after_second).flat_map(|(a, b)| (a + b).to_le_bytes());
    data.splice(row(head, first), to_first.collect::<Vec<u8>>());
    data.splice(row(head, second), after_first.iter().flat_map(|a| a.to_le_bytes()).collect::<Vec<u8>>());
    let header = Value::Object(header).to_string();
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
    fs::write(path, file).expect("a place for the weights");
}

#[derive(Clone, Copy)]
enum Fill {
    Ones,
    Zeros,
    Drawn,
}

impl Fill {
    fn next(self, state: &mut u32) -> f32 {
        match self {
            Self::Ones => 1.0,
            Self::Zeros => 0.0,
            Self::Drawn => {
                *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (*state >> 8) as f32 / (1 << 23) as f32 - 1.0
            }
        }
    }
}
