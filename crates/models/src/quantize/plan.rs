//! What becomes of each tensor.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokbar_hub::safetensors::Dtype as Stored;
use tokbar_hub::shards::Slot;

use super::recipe::value;
use super::source::is_coded;
use super::{Part, PartSize, Recipe};
use crate::config::{Mode, Quantization, QuantizationConfig};
use crate::mx::{Array, Dtype, Packing};
use crate::tower;

/// Names of experts' projections, and MLX's.
const EXPERT_NAMES: &[(&str, &str)] = &[("w1", "gate_proj"), ("w2", "down_proj"), ("w3", "up_proj")];

/// What lies beside a matrix that is packed.
const COMPANIONS: &[&str] = &["scales", "biases", "scale", "weight_scale_inv"];

/// The tensors of the result.
pub struct Plan {
    /// In the order of their names.
    pub modules: Vec<Module>,
}

/// A tensor of the result, or a matrix and what unpacks it.
pub struct Module {
    /// With its last part, such as `weight`.
    pub name: String,
    /// The source's tensors: one, or one an expert.
    pub sources: Vec<String>,
    /// Of each source.
    pub shape: Vec<usize>,
    part: Part,
    quantization: Option<Quantization>,
    /// Element type of what is not packed, and of what unpacks it.
    dtype: Stored,
    n_bytes_before: u64,
}

/// A tensor of the source as if it were not packed.
struct Logical {
    shape: Vec<usize>,
    dtype: Stored,
    n_bytes: u64,
}

impl Plan {
    /// Of all tensors of a source.
    ///
    /// # Errors
    /// Names what cannot be packed.
    pub fn new(
        tensors: &BTreeMap<String, Array>,
        quantization: Option<&QuantizationConfig>,
        recipe: &Recipe,
    ) -> Result<Self, String> {
        let mut named: BTreeMap<String, Vec<(usize, String, Logical)>> = BTreeMap::new();
        for (source, array) in tensors {
            if let Some(logical) = Logical::of(source, array, tensors, quantization)? {
                let (name, at) = stacked(source).unwrap_or((source.clone(), 0));
                named.entry(name).or_default().push((at, source.clone(), logical));
            }
        }
        let modules = named.into_iter().map(|(name, sources)| Module::new(name, sources, recipe));
        let modules = modules.collect::<Result<Vec<_>, _>>()?;
        if !modules.iter().any(|module| module.quantization.is_some()) {
            return Err("it has no matrix that this recipe packs; choose smaller groups or another model".into());
        }
        Ok(Self { modules })
    }

    /// Bytes of all tensors.
    pub fn n_bytes(&self) -> u64 {
        self.modules.iter().map(Module::n_bytes).sum()
    }

    /// What each part takes.
    pub fn sizes(&self) -> BTreeMap<Part, PartSize> {
        let mut sizes: BTreeMap<Part, PartSize> = BTreeMap::new();
        for module in &self.modules {
            let size = sizes.entry(module.part).or_default();
            size.n_tensors += 1;
            size.n_params += module.n_params();
            size.n_bytes_before += module.n_bytes_before;
            size.n_bytes += module.n_bytes();
        }
        sizes
    }

    /// The modules of each file.
    pub fn shards(&self, n_bytes_max: u64) -> Vec<&[Module]> {
        let (mut shards, mut start, mut n_bytes) = (Vec::new(), 0, 0);
        for (at, module) in self.modules.iter().enumerate() {
            if at > start && n_bytes + module.n_bytes() > n_bytes_max {
                shards.push(&self.modules[start..at]);
                (start, n_bytes) = (at, 0);
            }
            n_bytes += module.n_bytes();
        }
        shards.push(&self.modules[start..]);
        shards
    }

    /// config.json with the packings, as mlx-lm reads them: one for most modules, and those of others by their paths.
    pub fn config(&self, mut config: Value, recipe: &Recipe) -> Value {
        let mut table = value(recipe.default);
        for module in &self.modules {
            let path = module.name.trim_end_matches(".weight");
            if let Some(packing) = module.quantization.filter(|packing| *packing != recipe.default) {
                table[path] = value(packing);
            }
        }
        for part in tower::CONFIGS.iter().copied() {
            if let Some(text) = config.get_mut(part).and_then(Value::as_object_mut) {
                ["quantization", "quantization_config"].iter().for_each(|name| drop(text.remove(*name)));
            }
        }
        config["quantization_config"] = table.clone();
        config["quantization"] = table;
        config
    }
}

/// The name that an expert's tensor has among those of all experts, and which expert's it is.
fn stacked(name: &str) -> Option<(String, usize)> {
    let (at, rest) = name.split_once(".experts.")?;
    let (number, rest) = rest.split_once('.')?;
    let (module, leaf) = rest.split_once('.')?;
    let ours = match module {
        // Experts without a gate.
        "up_proj" if at.ends_with(".mixer") => "fc1",
        "down_proj" if at.ends_with(".mixer") => "fc2",
        module => EXPERT_NAMES.iter().find(|(theirs, _)| *theirs == module).map_or(module, |(_, ours)| ours),
    };
    Some((format!("{at}.switch_mlp.{ours}.{leaf}"), number.parse().ok()?))
}

impl Logical {
    /// `None` = it belongs to another tensor.
    fn of(
        name: &str,
        array: &Array,
        tensors: &BTreeMap<String, Array>,
        quantization: Option<&QuantizationConfig>,
    ) -> Result<Option<Self>, String> {
        let (path, leaf) = name.rsplit_once('.').unwrap_or(("", name));
        let beside = |leaf: &str| tensors.get(&format!("{path}.{leaf}"));
        let owner = beside("weight").filter(|_| COMPANIONS.contains(&leaf));
        if owner.is_some_and(|owner| is_coded(owner.dtype())) {
            return Ok(None);
        }
        let mut shape: Vec<usize> = array.shape().iter().map(|n| *n as usize).collect();
        let companions: Vec<_> = COMPANIONS.iter().filter_map(|leaf| beside(leaf)).collect();
        let mut n_bytes = array.nbytes() as u64;
        let mut dtype = stored(array.dtype()).ok_or_else(|| format!("{name} has elements of an unknown type"))?;
        if leaf == "weight" && is_coded(array.dtype()) && !companions.is_empty() {
            n_bytes += companions.iter().map(|array| array.nbytes() as u64).sum::<u64>();
            dtype = companions[0]
                .dtype()
                .is_float()
                .then(|| stored(companions[0].dtype()))
                .flatten()
                .unwrap_or(Stored::BF16);
            let n_rows = shape.first().copied().unwrap_or(0);
            if let Some(last) = shape.last_mut() {
                *last = n_inputs(path, [n_rows, *last], array.dtype(), (&companions, quantization))?;
            }
            if array.dtype() != Dtype::Uint32 {
                dtype = Stored::BF16;
            }
        }
        Ok(Some(Self { shape, dtype, n_bytes }))
    }
}

/// Inputs of a packed matrix of so many rows, each of which takes `n` stored elements.
fn n_inputs(
    path: &str,
    [n_rows, n]: [usize; 2],
    dtype: Dtype,
    (companions, quantization): (&[&Array], Option<&QuantizationConfig>),
) -> Result<usize, String> {
    if dtype == Dtype::Uint32 {
        let path = tower::text_name(path).unwrap_or_else(|| path.to_owned());
        let packing = quantization.and_then(|quantization| quantization.of(&path));
        let packing = packing.ok_or_else(|| format!("{path} is packed, but config.json does not say how"))?;
        return Ok(n * 32 / packing.bits as usize);
    }
    // Two 4-bit floats a byte have a factor for each 32 of a row.
    let factors = companions.first().map(|factors| factors.shape()).unwrap_or_default();
    let is_fp4 = matches!(*factors, [rows, columns] if rows as usize == n_rows && columns as usize * 16 == n);
    Ok(if is_fp4 { n * 2 } else { n })
}

fn stored(dtype: Dtype) -> Option<Stored> {
    Some(match dtype {
        Dtype::Float32 => Stored::F32,
        Dtype::Float16 => Stored::F16,
        Dtype::Bfloat16 => Stored::BF16,
        Dtype::Uint8 => Stored::U8,
        Dtype::Int8 => Stored::I8,
        Dtype::Uint32 => Stored::U32,
        Dtype::Int32 => Stored::I32,
        Dtype::Int64 => Stored::I64,
        _ => return None,
    })
}

impl Module {
    fn new(name: String, mut sources: Vec<(usize, String, Logical)>, recipe: &Recipe) -> Result<Self, String> {
        sources.sort_by_key(|(at, ..)| *at);
        let Some((_, _, Logical { shape, dtype, .. })) = sources.first() else {
            return Err(format!("{name} is made from nothing"));
        };
        let is_alike = |(at, (number, _, other)): (usize, &(usize, String, Logical))| {
            *number == at && other.dtype == *dtype && other.shape == *shape
        };
        if !sources.iter().enumerate().all(is_alike) {
            return Err(format!("the experts behind {name} are not all there or not alike; download it again"));
        }
        let (shape, dtype) = (shape.clone(), *dtype);
        let is_float = matches!(dtype, Stored::F16 | Stored::BF16 | Stored::F32);
        let path = name.strip_suffix(".weight").filter(|_| is_float && shape.len() >= 2);
        let part = path.map_or(Part::Rest, Part::of);
        let n_in = shape.last().copied().unwrap_or(0);
        let splits = |packing: &Quantization| n_in > 0 && n_in.is_multiple_of(packing.group_size as usize);
        let n_bytes_before = sources.iter().map(|(_, _, logical)| logical.n_bytes).sum();
        let sources = sources.into_iter().map(|(_, source, _)| source).collect();
        Ok(Self { quantization: recipe.of(part).filter(splits), name, sources, shape, part, dtype, n_bytes_before })
    }

    /// How it is packed.
    pub fn packing(&self) -> Option<Packing> {
        let Quantization { group_size, bits, mode } = self.quantization?;
        Some(Packing { group_size, bits, mode: mode.name() })
    }

    /// What it is brought to before it is packed or kept; `None` = whole numbers stay.
    pub fn dtype(&self) -> Option<Dtype> {
        match self.dtype {
            Stored::F32 => Some(Dtype::Float32),
            Stored::F16 => Some(Dtype::Float16),
            Stored::BF16 => Some(Dtype::Bfloat16),
            _ => None,
        }
    }

    /// Bytes of its sources.
    pub fn n_bytes_before(&self) -> u64 {
        self.n_bytes_before
    }

    fn n_params(&self) -> u64 {
        self.shape.iter().map(|n| *n as u64).product::<u64>() * self.sources.len() as u64
    }

    fn n_bytes(&self) -> u64 {
        self.slots().iter().map(Slot::n_bytes).sum()
    }

    /// The tensors that it becomes.
    pub fn slots(&self) -> Vec<Slot> {
        let slot = |name: String, dtype, shape| Slot { name, dtype, shape };
        let shape = match self.sources.len() {
            1 => self.shape.clone(),
            n => [&[n], self.shape.as_slice()].concat(),
        };
        let Some(Quantization { group_size, bits, mode }) = self.quantization else {
            return vec![slot(self.name.clone(), self.dtype, shape)];
        };
        let (n_in, outer) = shape.split_last().map_or((0, shape.as_slice()), |(n_in, outer)| (*n_in, outer));
        let with_last = |last: usize| [outer, &[last]].concat();
        let path = self.name.trim_end_matches(".weight");
        let groups = with_last(n_in / group_size as usize);
        let factors = if mode == Mode::Affine { self.dtype } else { Stored::U8 };
        let mut slots = vec![
            slot(self.name.clone(), Stored::U32, with_last(n_in * bits as usize / 32)),
            slot(format!("{path}.scales"), factors, groups.clone()),
        ];
        if mode == Mode::Affine {
            slots.push(slot(format!("{path}.biases"), factors, groups));
        }
        slots
    }
}

/// The report of a result, part by part.
pub fn json_sizes(sizes: &BTreeMap<Part, PartSize>) -> Value {
    let rows = sizes.iter().map(|(part, size)| {
        json!({
            "part": part.name(),
            "tensors": size.n_tensors,
            "params": size.n_params,
            "bytes_before": size.n_bytes_before,
            "bytes": size.n_bytes,
        })
    });
    Value::Array(rows.collect())
}
