//! Options of `quantize`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tokbar_models::Part;

use crate::size;

/// Options of `quantize`.
#[derive(Debug, Args)]
pub struct QuantizeArgs {
    /// A model folder: floats of 32 or 16 bits, fp8 or mxfp4.
    pub model: PathBuf,

    /// Where the packed model goes; the folder appears when it is whole.
    #[arg(required_unless_present = "dry_run")]
    pub folder: Option<PathBuf>,

    /// Bits of a weight.
    #[arg(long, value_name = "BITS", default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=8))]
    pub bits: u8,

    /// Weights that share a scale; as the mode has it by default, 64 for affine.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(16..=128))]
    pub group_size: Option<u16>,

    /// How weights are written.
    #[arg(long, value_enum, default_value_t = ModeArg::Affine)]
    pub mode: ModeArg,

    /// Other bits for a part, such as experts=2, or keep to leave it as it is; parts are attention, embeddings, experts, head, mlp
    /// and shared. May be given several times.
    #[arg(long = "part", value_name = "PART=BITS", value_parser = part)]
    pub parts: Vec<(Part, Option<i32>)>,

    /// Say what the result takes, from config.json alone, and write nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// With --dry-run: say whether a Mac with this much memory, such as 64GiB, holds it.
    #[arg(long, value_name = "SIZE", value_parser = size::parse, requires = "dry_run")]
    pub memory: Option<u64>,

    /// Replace the folder if it is there.
    #[arg(long)]
    pub force: bool,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// How weights are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum ModeArg {
    Affine,
    Mxfp4,
    Mxfp8,
    Nvfp4,
}

impl QuantizeArgs {
    /// Bits of a weight; modes other than affine have theirs.
    pub fn bits_of_mode(&self) -> u8 {
        match self.mode {
            ModeArg::Affine => self.bits,
            ModeArg::Mxfp4 | ModeArg::Nvfp4 => 4,
            ModeArg::Mxfp8 => 8,
        }
    }
}

impl ModeArg {
    /// MLX's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Affine => "affine",
            Self::Mxfp4 => "mxfp4",
            Self::Mxfp8 => "mxfp8",
            Self::Nvfp4 => "nvfp4",
        }
    }
}

fn part(text: &str) -> Result<(Part, Option<i32>), String> {
    let known = || Part::NAMED.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let (name, bits) = text.split_once('=').ok_or("write PART=BITS, such as experts=2")?;
    let part = Part::NAMED.iter().find(|(known, _)| *known == name).map(|(_, part)| *part);
    let part = part.ok_or_else(|| format!("there is no part {name:?}; there are {}", known()))?;
    match bits {
        "keep" => Ok((part, None)),
        bits => match bits.parse() {
            Ok(bits) => Ok((part, Some(bits))),
            Err(_) => Err(format!("{bits:?} is no number of bits; write 2 to 8, or keep")),
        },
    }
}
