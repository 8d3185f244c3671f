//! config.json: reading it safely, and the parts that every family shares. Field names are the file's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{LoadError, LoadResult, tower};

/// What to do about packings that are not read.
const CONVERT: &str = "use an MLX conversion of this checkpoint, or the original";

/// Most bytes of a JSON file that is no tokenizer.
const N_JSON_MAX: u64 = 16 << 20;

/// A checkpoint's config.json.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    path: PathBuf,
    /// Of the text part, where the checkpoint has several.
    value: Value,
    has_other_parts: bool,
}

impl ConfigFile {
    /// Reads `config.json` of a checkpoint.
    ///
    /// # Errors
    /// When it is missing, too long, or no JSON object.
    pub fn read(dir: &Path) -> LoadResult<Self> {
        let path = dir.join("config.json");
        let value = read_json(&path)?;
        let text = tower::config(&value);
        let config = Self { path, has_other_parts: text.is_some(), value: text.unwrap_or(value) };
        if config.value.is_object() { Ok(config) } else { Err(config.error("it is not a JSON object")) }
    }

    /// Whether the checkpoint also has parts that see or hear, which are not loaded.
    pub fn has_other_parts(&self) -> bool {
        self.has_other_parts
    }

    /// Its content, whatever its layout.
    pub fn text(&self) -> String {
        self.value.to_string()
    }

    /// A field that is set.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// The architecture's name.
    pub fn model_type(&self) -> LoadResult<&str> {
        self.value.get("model_type").and_then(Value::as_str).ok_or_else(|| self.error("it has no model_type"))
    }

    /// The file with values for fields that it leaves out.
    pub fn with_defaults(&self, defaults: &[(&str, Value)]) -> Self {
        let mut file = self.clone();
        for (name, default) in defaults {
            let fields = file.value.as_object_mut();
            if let Some(fields) = fields.filter(|fields| fields.get(*name).is_none_or(Value::is_null)) {
                fields.insert((*name).to_owned(), default.clone());
            }
        }
        file
    }

    /// The file with another value in a field.
    pub fn with(&self, name: &str, value: Value) -> Self {
        let mut file = self.clone();
        file.value.as_object_mut().map(|fields| fields.insert(name.to_owned(), value));
        file
    }

    /// The file with the first of `names` that it has as its only name for that value.
    pub fn with_one_name(&self, names: &[&str]) -> Self {
        let mut file = self.clone();
        if let Some(fields) = file.value.as_object_mut() {
            let values: Vec<_> = names.iter().map(|name| fields.remove(*name)).collect();
            let value = values.into_iter().flatten().find(|value| !value.is_null());
            fields.extend(names.first().map(|name| (*name).to_owned()).zip(value));
        }
        file
    }

    /// The family's own view of the file.
    pub fn parse<T: DeserializeOwned>(&self) -> LoadResult<T> {
        T::deserialize(&self.value).map_err(|error| self.error(&error.to_string()))
    }

    /// An error about this file.
    pub fn error(&self, detail: &str) -> LoadError {
        LoadError::Config { path: self.path.clone(), detail: detail.to_owned() }
    }

    /// Checks that each number lies in its range.
    pub fn check(&self, limits: &[Limit]) -> LoadResult<()> {
        match limits.iter().find(|limit| !(limit.low..=limit.high).contains(&limit.value)) {
            Some(Limit { name, value, low, high }) => {
                Err(self.error(&format!("{name} is {value}, but must be between {low} and {high}")))
            }
            None => Ok(()),
        }
    }

    /// Tokens that end a sequence, from config.json and generation_config.json.
    pub fn eos(&self) -> LoadResult<Vec<u32>> {
        let path = self.path.with_file_name("generation_config.json");
        let generation = if path.exists() { read_json(&path)? } else { Value::Null };
        let mut eos = Vec::new();
        for value in [self.value.get("eos_token_id"), generation.get("eos_token_id")].into_iter().flatten() {
            let ids = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            eos.extend(ids.iter().filter_map(Value::as_u64).filter_map(|id| u32::try_from(id).ok()));
        }
        eos.sort_unstable();
        eos.dedup();
        Ok(eos)
    }

    /// How the weights are packed, if they are.
    pub fn quantization(&self) -> LoadResult<Option<QuantizationConfig>> {
        let foreign = self.value.get("quantization_config");
        let Some(value) = self.value.get("quantization").or(foreign).filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        let method = value.get("quant_method").and_then(Value::as_str);
        if method == Some("fp8") {
            // Each matrix has its scales beside it.
            return Ok(None);
        }
        if method == Some("mxfp4") {
            let default = Quantization { group_size: 32, bits: 4, mode: Mode::Mxfp4 };
            return Ok(Some(QuantizationConfig { default, layers: BTreeMap::new() }));
        }
        if method == Some("compressed-tensors") {
            return QuantizationConfig::compressed(value).map(Some).map_err(|detail| self.error(&detail));
        }
        if let Some(method) = method {
            let detail = format!("weights packed by {method:.40?} cannot be read; {CONVERT}");
            return Err(self.error(&detail));
        }
        QuantizationConfig::parse(value).map(Some).map_err(|detail| self.error(&detail))
    }
}

/// A number of config.json and its range.
pub struct Limit {
    /// The field.
    pub name: &'static str,
    /// As read.
    pub value: usize,
    /// Lowest value allowed.
    pub low: usize,
    /// Highest value allowed.
    pub high: usize,
}

impl Limit {
    /// A range of 1 to `high`.
    pub fn positive(name: &'static str, value: usize, high: usize) -> Self {
        Self { name, value, low: 1, high }
    }
}

/// How a matrix is packed (`bits`, `group_size` and `mode` as MLX names them).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Quantization {
    /// Elements that share a scale.
    pub group_size: i32,
    /// Bits an element.
    pub bits: i32,
    /// How elements and scales are read.
    #[serde(default)]
    pub mode: Mode,
}

/// MLX's packings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Integers with a scale and a bias per group.
    #[default]
    Affine,
    /// The same whose bias puts zero in the middle, and which is therefore not stored; only originals have it.
    #[serde(skip)]
    Centred,
    /// OCP microscaling, 4-bit floats.
    Mxfp4,
    /// OCP microscaling, 8-bit floats.
    Mxfp8,
    /// NVIDIA's 4-bit floats.
    Nvfp4,
}

impl Mode {
    /// Whether groups have a bias.
    pub fn has_biases(self) -> bool {
        matches!(self, Self::Affine | Self::Centred)
    }

    /// MLX's name of it.
    pub fn name(self) -> &'static std::ffi::CStr {
        match self {
            Self::Affine | Self::Centred => c"affine",
            Self::Mxfp4 => c"mxfp4",
            Self::Mxfp8 => c"mxfp8",
            Self::Nvfp4 => c"nvfp4",
        }
    }
}

/// The default packing and its exceptions, by module path; `None` = not packed.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizationConfig {
    default: Quantization,
    layers: BTreeMap<String, Option<Quantization>>,
}

impl QuantizationConfig {
    /// The same packing for all.
    pub fn of_all(default: Quantization) -> Self {
        Self { default, layers: BTreeMap::new() }
    }

    /// How the module at `path` is packed.
    pub fn of(&self, path: &str) -> Option<Quantization> {
        self.layers.get(path).copied().unwrap_or(Some(self.default))
    }

    /// Follows a renaming of tensors; `None` drops one.
    pub fn rename(&mut self, rename: impl Fn(&str) -> Option<String>) {
        let renamed = |path: String| Some(rename(&format!("{path}.weight"))?.strip_suffix(".weight")?.to_owned());
        let layers = std::mem::take(&mut self.layers);
        self.layers = layers.into_iter().filter_map(|(path, packing)| Some((renamed(path)?, packing))).collect();
    }

    /// Follows modules that were taken apart: `split` gives the paths that one becomes.
    pub fn split(&mut self, split: impl Fn(&str) -> Option<Vec<String>>) {
        let parts = |(path, packing): (String, _)| {
            let paths = split(&path).unwrap_or_else(|| vec![path]);
            paths.into_iter().map(move |path| (path, packing))
        };
        self.layers = std::mem::take(&mut self.layers).into_iter().flat_map(parts).collect();
    }

    /// The packing of most modules.
    pub fn default_packing(&self) -> Quantization {
        self.default
    }

    /// As the library compressed-tensors describes 4-bit integers, eight a word, with a scale for each group of a row.
    fn compressed(value: &Value) -> Result<Self, String> {
        let groups = value.get("config_groups").and_then(Value::as_object).into_iter().flatten();
        let weights: Vec<&Value> = groups.filter_map(|(_, group)| group.get("weights")).collect();
        let [weights] = weights.as_slice() else {
            let n = weights.len();
            return Err(format!("config_groups has weights in {n} groups, but only one can be read; {CONVERT}"));
        };
        let has = |name: &str, wanted: &Value| weights.get(name).unwrap_or(&Value::Null) == wanted;
        let is_known = value.get("format").and_then(Value::as_str) == Some("pack-quantized")
            && has("type", &"int".into())
            && has("num_bits", &4.into())
            && has("strategy", &"group".into())
            && has("symmetric", &true.into())
            && has("actorder", &Value::Null);
        let group_size = weights.get("group_size").and_then(Value::as_i64);
        match group_size.filter(|n| is_known && (1..=1024).contains(n)) {
            Some(n) => Ok(Self::of_all(Quantization { group_size: n as i32, bits: 4, mode: Mode::Centred })),
            None => {
                let format = value.get("format").unwrap_or(&Value::Null).to_string();
                let weights = weights.to_string();
                let how = format!("{format:.60} {weights:.300}");
                Err(format!("weights packed by compressed-tensors as {how} cannot be read; {CONVERT}"))
            }
        }
    }

    fn parse(value: &Value) -> Result<Self, String> {
        let object = value.as_object().ok_or("quantization is not an object")?;
        let default = Quantization::parse("quantization", value)?;
        let mut layers = BTreeMap::new();
        for (path, value) in object {
            let packing = match value {
                Value::Bool(false) => None,
                Value::Bool(true) => Some(default),
                Value::Object(_) => Some(Quantization::parse(path, value)?),
                _ => continue,
            };
            layers.extend(tower::text_name(path).map(|path| (path, packing)));
        }
        Ok(Self { default, layers })
    }
}

impl Quantization {
    /// Reads one; `path` is what an error names.
    pub fn parse(path: &str, value: &Value) -> Result<Self, String> {
        let this = Self::deserialize(value).map_err(|error| format!("{path:.200}: {error}"))?;
        let Self { group_size, bits, mode } = this;
        let is_known = match mode {
            Mode::Affine | Mode::Centred => [2, 3, 4, 5, 6, 8].contains(&bits) && (1..=1024).contains(&group_size),
            Mode::Mxfp4 => (group_size, bits) == (32, 4),
            Mode::Mxfp8 => (group_size, bits) == (32, 8),
            Mode::Nvfp4 => (group_size, bits) == (16, 4),
        };
        if is_known { Ok(this) } else { Err(format!("{path:.200}: {this:?} is no packing that MLX knows")) }
    }
}

/// Reads a JSON file of bounded length.
pub fn read_json(path: &Path) -> LoadResult<Value> {
    let unreadable = |source| LoadError::Read { path: path.to_owned(), source };
    let malformed = |detail| LoadError::Config { path: path.to_owned(), detail };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    // Before opening: a pipe would block until somebody writes to it.
    if !metadata.is_file() {
        return Err(unreadable(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no plain file")));
    }
    let n_bytes = metadata.len();
    if n_bytes > N_JSON_MAX {
        return Err(malformed(format!("{n_bytes} bytes are more than the {N_JSON_MAX} allowed")));
    }
    let text = std::fs::read(path).map_err(unreadable)?;
    let parsed = serde_json::from_slice(&text).or_else(|error| {
        // Python writes numbers that JSON does not have.
        std::str::from_utf8(&text).ok().and_then(finite).map_or(Err(error), |text| serde_json::from_str(&text))
    });
    parsed.map_err(|error| malformed(format!("it is not JSON: {error}")))
}

/// JSON with `Infinity` as the largest number and `NaN` as null; `None` when there is neither outside of strings.
fn finite(text: &str) -> Option<String> {
    let (mut out, mut rest, mut n_found) = (String::with_capacity(text.len()), text, 0);
    while let Some(at) = rest.find(['"', 'I', 'N']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let known = [("Infinity", "1.7976931348623157e308"), ("NaN", "null")];
        if let Some((name, value)) = known.into_iter().find(|(name, _)| from.starts_with(name)) {
            out.push_str(value);
            n_found += 1;
            rest = &from[name.len()..];
            continue;
        }
        let len = if from.starts_with('"') { string_len(from) } else { 1 };
        out.push_str(&from[..len]);
        rest = &from[len..];
    }
    out.push_str(rest);
    (n_found > 0).then_some(out)
}

/// Bytes of the string that `text` starts with, quotes included.
fn string_len(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
