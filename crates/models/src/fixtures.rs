//! Tiny checkpoints for tests: weights that follow from their names, as `tests/golden/README.md` says.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::Mode;
use crate::mx::{self, Array, Dtype, Packing};

/// Goldens of networks with layers that keep a state, one a family or layout.
pub const RECURRENT: &[&str] = &[
    "bailing_hybrid",
    "bailing_moe_linear",
    "bailing_moe_v3",
    "deepseek_v4",
    "falcon_h1",
    "granitemoehybrid",
    "jamba",
    "kimi_linear",
    "lfm2",
    "lfm2_moe",
    "nemotron_h",
    "olmo_hybrid",
    "qwen3_5",
    "qwen3_5_moe",
    "qwen3_next",
];

/// A file of `tests/golden`.
#[derive(Deserialize)]
pub struct Fixture {
    pub config: Value,
    #[serde(default = "f32_name")]
    pub dtype: String,
    pub tolerance: f32,
    pub tensors: Vec<Tensor>,
    pub sequences: Vec<Sequence>,
    /// What the head that predicts says after each token of the first sequence but the last.
    pub head: Option<Numbers>,
}

fn f32_name() -> String {
    "float32".into()
}

/// A tensor of the recipe.
#[derive(Clone, Deserialize)]
pub struct Tensor {
    pub name: String,
    pub shape: Vec<i32>,
    pub kind: String,
    pub quantize: Option<Quantize>,
    /// Kept as 8-bit floats with a factor for each matrix, or each block of 128 by 128 where the config gives a size.
    #[serde(default)]
    pub fp8: bool,
    /// Kept as 4-bit floats with a power of 2 for each 32 of a row, two a byte.
    #[serde(default)]
    pub fp4: bool,
    /// Kept as 4-bit integers with a factor for each 32 of a row, eight a word.
    #[serde(default)]
    pub int4: bool,
    /// Kept as 4-bit floats, sixteen bytes for each 32 of a row.
    #[serde(default)]
    pub blocks: bool,
}

#[derive(Clone, Deserialize)]
pub struct Quantize {
    group_size: i32,
    bits: i32,
    mode: Mode,
}

/// Token ids and the logits that the reference gives for them.
#[derive(Deserialize)]
pub struct Sequence {
    pub prompt: Vec<u32>,
    pub prefill: Numbers,
    pub continuation: Vec<u32>,
    pub decode: Numbers,
}

/// An array in base64.
#[derive(Deserialize)]
pub struct Numbers {
    pub shape: Vec<usize>,
    f32: String,
}

impl Numbers {
    pub fn values(&self) -> Vec<f32> {
        let bytes = base64::engine::general_purpose::STANDARD.decode(&self.f32).unwrap();
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
}

pub fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

impl Fixture {
    pub fn read(name: &str) -> Self {
        let text = std::fs::read(golden_dir().join(format!("{name}.json"))).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Writes config.json and model.safetensors.
    pub fn write(&self, dir: &Path) {
        std::fs::write(dir.join("config.json"), self.config.to_string()).unwrap();
        let dtype = match self.dtype.as_str() {
            "float32" => Dtype::Float32,
            "float16" => Dtype::Float16,
            "bfloat16" => Dtype::Bfloat16,
            other => panic!("dtype {other}"),
        };
        let mut stored = Vec::new();
        for tensor in &self.tensors {
            let array = tensor.dense();
            let array = if array.dtype() == Dtype::Float32 { mx::cast(&array, dtype).unwrap() } else { array };
            let published = &self.config["quantization_config"];
            if tensor.blocks {
                stored.extend(blocks(&tensor.name, &array));
                continue;
            }
            if tensor.int4 {
                stored.extend(int4(&tensor.name, &array));
                continue;
            }
            if tensor.fp8 && published["weight_block_size"].is_null() {
                stored.extend(fp8_whole(&tensor.name, &array));
                continue;
            }
            if tensor.fp8 || tensor.fp4 {
                let has_powers = published["scale_fmt"] == "ue8m0";
                let path = tensor.name.strip_suffix(".weight").unwrap();
                let (weight, factors) = if tensor.fp4 { fp4(&array) } else { fp8(&array, has_powers) };
                stored.push((tensor.name.clone(), weight));
                stored.push((format!("{path}.{}", if has_powers { "scale" } else { "weight_scale_inv" }), factors));
                continue;
            }
            match &tensor.quantize {
                None => stored.push((tensor.name.clone(), array)),
                Some(Quantize { group_size, bits, mode }) => {
                    let packing = Packing { group_size: *group_size, bits: *bits, mode: mode.name() };
                    let packed = mx::quantize(&array, packing).unwrap();
                    let path = tensor.name.strip_suffix(".weight").unwrap();
                    stored.push((tensor.name.clone(), packed.weight));
                    stored.push((format!("{path}.scales"), packed.scales));
                    stored.extend(packed.biases.map(|biases| (format!("{path}.biases"), biases)));
                }
            }
        }
        std::fs::write(dir.join("model.safetensors"), safetensors(&stored)).unwrap();
    }
}

/// 4-bit floats, two a byte, and exponents.
fn fp4(matrix: &Array) -> (Array, Array) {
    let packed = mx::quantize(matrix, Packing { group_size: 32, bits: 4, mode: c"mxfp4" }).unwrap();
    (mx::view(&packed.weight, Dtype::Uint8).unwrap(), packed.scales)
}

/// 4-bit floats, sixteen bytes for each 32 of a row, and exponents.
fn blocks(name: &str, matrices: &Array) -> Vec<(String, Array)> {
    let packed = mx::quantize(matrices, Packing { group_size: 32, bits: 4, mode: c"mxfp4" }).unwrap();
    let shape = [packed.scales.shape(), &[16]].concat();
    let bytes = mx::reshape(&mx::view(&packed.weight, Dtype::Uint8).unwrap(), &shape).unwrap();
    vec![(format!("{name}_blocks"), bytes), (format!("{name}_scales"), packed.scales)]
}

/// 4-bit integers, eight a word from the lowest bits on, and the factor of each 32 of a row: its largest magnitude over 7.
fn int4(name: &str, matrix: &Array) -> Vec<(String, Array)> {
    let [n_out, n_in] = [matrix.dim(0), matrix.dim(1)];
    let values = mx::to_f32(&mx::cast(matrix, Dtype::Float32).unwrap()).unwrap();
    let largest = |group: &[f32]| group.iter().fold(0.0_f32, |a, b| a.max(b.abs()));
    let factors: Vec<f32> = values.chunks(32).map(|group| largest(group) / 7.0).collect();
    let element = |(i, value): (usize, &f32)| ((value / factors[i / 32]).round_ties_even() as i32 + 8) as u32;
    let elements: Vec<u32> = values.iter().enumerate().map(element).collect();
    let word = |eight: &[u32]| eight.iter().rev().fold(0_u32, |word, element| word << 4 | element) as i32;
    let words: Vec<i32> = elements.chunks(8).map(word).collect();
    vec![
        (format!("{name}_packed"), Array::from_slice(&words, &[n_out, n_in / 8])),
        (format!("{name}_scale"), Array::from_slice(&factors, &[n_out, n_in / 32])),
        (format!("{name}_shape"), Array::from_slice(&[n_out, n_in], &[2])),
    ]
}

/// 8-bit floats and the factor of each matrix: its largest magnitude over 448; and factors of inputs, which are not read.
fn fp8_whole(name: &str, matrices: &Array) -> Vec<(String, Array)> {
    let shape = matrices.shape();
    let n_each = (shape[shape.len() - 2] * shape[shape.len() - 1]) as usize;
    let values = mx::to_f32(&mx::cast(matrices, Dtype::Float32).unwrap()).unwrap();
    let largest = |matrix: &[f32]| matrix.iter().fold(0.0_f32, |a, b| a.max(b.abs()));
    let factors: Vec<f32> = values.chunks(n_each).map(|matrix| largest(matrix) / 448.0).collect();
    let scaled: Vec<f32> = values.iter().enumerate().map(|(i, value)| value / factors[i / n_each]).collect();
    let n = factors.len() as i32;
    let [of_weights, of_inputs]: [&[i32]; 2] = if shape.len() == 3 { [&[n, 1, 1], &[n]] } else { [&[], &[]] };
    let path = name.strip_suffix(".weight").map_or(format!("{name}_"), |path| format!("{path}."));
    vec![
        (name.to_owned(), mx::to_fp8(&Array::from_slice(&scaled, shape)).unwrap()),
        (format!("{name}_scale_inv"), Array::from_slice(&factors, of_weights)),
        (format!("{path}activation_scale"), Array::from_slice(&vec![1.0_f32; n as usize], of_inputs)),
    ]
}

/// 8-bit floats and the factor of each block: its largest magnitude over 448, or the exponent of the power of 2 that is no smaller.
fn fp8(matrix: &Array, has_powers: bool) -> (Array, Array) {
    let (n_out, n_in) = (matrix.dim(0) as usize, matrix.dim(1) as usize);
    let values = mx::to_f32(&mx::cast(matrix, Dtype::Float32).unwrap()).unwrap();
    let n_columns = n_in.div_ceil(128);
    let mut factors = vec![0.0_f32; n_out.div_ceil(128) * n_columns];
    for (i, value) in values.iter().enumerate() {
        let factor = &mut factors[i / n_in / 128 * n_columns + i % n_in / 128];
        *factor = factor.max(value.abs() / 448.0);
    }
    if has_powers {
        factors.iter_mut().for_each(|factor| *factor = factor.log2().ceil().exp2());
    }
    let scaled: Vec<f32> = values
        .iter()
        .enumerate()
        .map(|(i, value)| value / factors[i / n_in / 128 * n_columns + i % n_in / 128])
        .collect();
    let weight = mx::to_fp8(&Array::from_slice(&scaled, &[n_out as i32, n_in as i32])).unwrap();
    let shape = [n_out.div_ceil(128) as i32, n_columns as i32];
    if has_powers {
        let exponents: Vec<u8> = factors.iter().map(|factor| (factor.to_bits() >> 23) as u8).collect();
        return (weight, Array::from_slice(&exponents, &shape));
    }
    (weight, Array::from_slice(&factors, &shape))
}

impl Tensor {
    pub fn dense(&self) -> Array {
        let n: i32 = self.shape.iter().product();
        if let Some(below) = self.kind.strip_prefix("below ") {
            let below: f32 = below.parse().unwrap();
            let ids: Vec<i32> = uniforms(&self.name).take(n as usize).map(|u| (u * below) as i32).collect();
            return Array::from_slice(&ids, &self.shape);
        }
        let scale = 2.0 / (*self.shape.last().unwrap() as f32).sqrt();
        let value = |u: f32| match self.kind.as_str() {
            "matrix" => (u - 0.5) * scale,
            "norm" => 1.0 + 0.2 * (u - 0.5),
            "norm_zero" | "bias" => 0.2 * (u - 0.5),
            "decay" => -1.0 - 4.0 * u,
            other => panic!("kind {other}"),
        };
        let values: Vec<f32> = uniforms(&self.name).take(n as usize).map(value).collect();
        Array::from_slice(&values, &self.shape)
    }
}

/// Numbers in `[0, 1)` that follow from a name.
pub fn uniforms(name: &str) -> impl Iterator<Item = f32> + use<> {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    let mut state = hash;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / 16_777_216.0
    })
}

/// A safetensors file of evaluated arrays.
fn safetensors(arrays: &[(String, Array)]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, array) in arrays {
        let start = data.len();
        data.extend(bytes(array));
        let dtype = match array.dtype() {
            Dtype::Float32 => "F32",
            Dtype::Float16 => "F16",
            Dtype::Bfloat16 => "BF16",
            Dtype::Uint32 => "U32",
            Dtype::Int32 => "I32",
            Dtype::Uint8 => "U8",
            other => panic!("{other:?}"),
        };
        header
            .insert(name.clone(), json!({"dtype": dtype, "shape": array.shape(), "data_offsets": [start, data.len()]}));
    }
    let mut header = Value::Object(header).to_string();
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

fn bytes(array: &Array) -> Vec<u8> {
    match array.item_size() {
        1 => mx::to_u32(array).unwrap().iter().map(|v| *v as u8).collect(),
        2 => mx::to_u32(&array.view_dtype(Dtype::Uint16).unwrap())
            .unwrap()
            .iter()
            .flat_map(|v| (*v as u16).to_le_bytes())
            .collect(),
        _ => mx::to_u32(&array.view_dtype(Dtype::Uint32).unwrap())
            .unwrap()
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect(),
    }
}
