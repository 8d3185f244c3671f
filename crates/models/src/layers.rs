//! What families are built from.

pub mod attention;
pub mod embedding;
pub mod linear;
pub mod mla;
pub mod mlp;
pub mod moe;
pub mod norm;
pub mod rope;
pub mod self_attention;
