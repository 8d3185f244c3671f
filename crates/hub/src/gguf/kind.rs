//! Tensor kinds of a GGUF file: how many weights one block holds and how many bytes it takes.
//!
//! Source: the `ggml_type` enumeration and block structs of the ggml library.

/// Weights in one block of the K-quants.
pub const K_BLOCK: usize = 256;

/// A tensor kind that can be imported.
#[allow(missing_docs, non_camel_case_types)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    F32,
    F16,
    BF16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
}

/// Number in the file, kind, weights per block, bytes per block.
const KINDS: [(u32, Kind, usize, usize); 13] = [
    (0, Kind::F32, 1, 4),
    (1, Kind::F16, 1, 2),
    (2, Kind::Q4_0, 32, 18),
    (3, Kind::Q4_1, 32, 20),
    (6, Kind::Q5_0, 32, 22),
    (7, Kind::Q5_1, 32, 24),
    (8, Kind::Q8_0, 32, 34),
    (10, Kind::Q2_K, K_BLOCK, 84),
    (11, Kind::Q3_K, K_BLOCK, 110),
    (12, Kind::Q4_K, K_BLOCK, 144),
    (13, Kind::Q5_K, K_BLOCK, 176),
    (14, Kind::Q6_K, K_BLOCK, 210),
    (30, Kind::BF16, 1, 2),
];

/// Kinds that exist but cannot be imported, so that the error can name them.
const OTHER_KINDS: [(u32, &str); 22] = [
    (9, "Q8_1"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (24, "I8"),
    (25, "I16"),
    (26, "I32"),
    (27, "I64"),
    (28, "F64"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (39, "MXFP4"),
    (40, "NVFP4"),
    (4, "Q4_2"),
    (5, "Q4_3"),
];

impl Kind {
    /// The kind numbered `number` in a file; the name of an unsupported one, or its number, as the error.
    pub fn from_number(number: u32) -> Result<Self, String> {
        if let Some(row) = KINDS.iter().find(|row| row.0 == number) {
            return Ok(row.1);
        }
        let other = OTHER_KINDS.iter().find(|row| row.0 == number);
        Err(other.map_or_else(|| format!("number {number}"), |row| row.1.to_owned()))
    }

    /// The number a file stores for this kind.
    pub fn number(self) -> u32 {
        self.row().0
    }

    /// Weights in one block.
    pub fn block_len(self) -> usize {
        self.row().2
    }

    /// Bytes of one block.
    pub fn block_n_bytes(self) -> usize {
        self.row().3
    }

    /// Whether weights are stored one by one as floats.
    pub fn is_float(self) -> bool {
        self.block_len() == 1
    }

    fn row(self) -> &'static (u32, Kind, usize, usize) {
        KINDS.iter().find(|row| row.1 == self).expect("every kind has a row")
    }
}
