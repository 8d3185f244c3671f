//! What families are built from.

pub mod attention;
pub mod decays;
pub mod delta_net;
pub mod delta_rule;
pub mod embedding;
pub mod gated_conv;
pub mod gated_delta;
pub mod kimi_delta;
pub mod lightning;
pub mod linear;
pub mod mla;
pub mod mlp;
pub mod moe;
pub mod norm;
pub mod per_head;
pub mod pooled;
pub mod recurrent;
pub mod rope;
pub mod selective;
pub mod self_attention;
pub mod short_conv;
pub mod ssm;
pub mod streams;
