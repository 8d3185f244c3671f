//! Which part of a network is packed how.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::QuantizeError;
use crate::config::{Mode, Quantization};

/// Elements that may share a scale in affine packings.
const GROUP_SIZES: [i32; 3] = [32, 64, 128];

/// What a tensor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Token ids to vectors.
    Embeddings,
    /// Attention, and what stands in its place.
    Attention,
    /// Feed-forward that all tokens take.
    Mlp,
    /// Experts that all tokens take.
    Shared,
    /// Experts that few tokens take.
    Experts,
    /// Vectors to logits.
    Head,
    /// Norms, routers, filters and vision: never packed.
    Rest,
}

/// A packing, and the parts that have another.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Of most parts.
    pub(super) default: Quantization,
    /// Bits of others; `None` = as they are.
    parts: BTreeMap<Part, Option<i32>>,
}

impl Part {
    /// Those that can be packed, with their names.
    pub const NAMED: &[(&'static str, Self)] = &[
        ("attention", Self::Attention),
        ("embeddings", Self::Embeddings),
        ("experts", Self::Experts),
        ("head", Self::Head),
        ("mlp", Self::Mlp),
        ("shared", Self::Shared),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, part)| *part == self).map_or("rest", |(name, _)| name)
    }

    /// Of the module at `path`.
    pub(super) fn of(path: &str) -> Self {
        let last = path.rsplit('.').next().unwrap_or(path);
        let has = |words: &[&str]| words.iter().any(|word| path.contains(word));
        let is_router = ["gate", "router", "shared_expert_gate"].contains(&last) || has(&[".router."]);
        if is_router || has(&["norm", "conv", "vision", "visual", "audio", "projector"]) {
            Self::Rest
        } else if has(&["embed_tokens", "embeddings", ".wte"]) || path == "embed" {
            Self::Embeddings
        } else if last == "lm_head" || path == "head" {
            Self::Head
        } else if has(&["shared"]) {
            Self::Shared
        } else if has(&[".switch_mlp.", ".experts."]) {
            Self::Experts
        } else if has(&["attn", "attention", "mamba", "mixer"]) {
            Self::Attention
        } else {
            Self::Mlp
        }
    }
}

impl Recipe {
    /// One packing for all; `group_size` as the mode has it where it is left out.
    ///
    /// # Errors
    /// When MLX does not know the packing.
    pub fn new(bits: i32, group_size: Option<i32>, mode: &str) -> Result<Self, QuantizeError> {
        let group_size = group_size.unwrap_or(match mode {
            "mxfp4" | "mxfp8" => 32,
            "nvfp4" => 16,
            _ => 64,
        });
        let value = json!({"group_size": group_size, "bits": bits, "mode": mode});
        let default = Quantization::parse("the recipe", &value).map_err(QuantizeError::Recipe)?;
        if default.mode == Mode::Affine && !GROUP_SIZES.contains(&group_size) {
            return Err(QuantizeError::Recipe(format!(
                "groups of {group_size} are not multiplied; take 32, 64 or 128"
            )));
        }
        Ok(Self { default, parts: BTreeMap::new() })
    }

    /// Gives a part other bits, affine; `None` leaves it as it is.
    ///
    /// # Errors
    /// When MLX does not know the packing.
    pub fn with(mut self, part: Part, bits: Option<i32>) -> Result<Self, QuantizeError> {
        self.parts.insert(part, bits);
        match self.of(part) {
            Some(packing) => {
                Quantization::parse("the recipe", &value(packing)).map_err(QuantizeError::Recipe)?;
                Ok(self)
            }
            None => Ok(self),
        }
    }

    pub(super) fn of(&self, part: Part) -> Option<Quantization> {
        match (part, self.parts.get(&part)) {
            (Part::Rest, _) => None,
            (_, None) => Some(self.default),
            (_, Some(bits)) => bits.map(|bits| match self.default.mode {
                Mode::Affine => Quantization { bits, ..self.default },
                _ => Quantization { bits, group_size: 64, mode: Mode::Affine },
            }),
        }
    }
}

/// As config.json has it.
pub(super) fn value(packing: Quantization) -> Value {
    let Quantization { group_size, bits, mode } = packing;
    let mode = mode.name().to_string_lossy();
    json!({"group_size": group_size, "bits": bits, "mode": mode})
}
