//! What families with latent attention share: bounds on config.json.

use serde::Deserialize;

use super::decoder::Dims;
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::linear::Bias;
use crate::layers::mla::MlaLayout;

/// Fields of config.json.
#[derive(Clone, Debug, Deserialize)]
pub struct Latent {
    pub q_lora_rank: Option<usize>,
    pub kv_lora_rank: usize,
    pub qk_nope_head_dim: usize,
    pub qk_rope_head_dim: usize,
    pub v_head_dim: usize,
}

impl Latent {
    /// Checks every number and gives the layout that a family changes some of.
    pub fn layout(&self, file: &ConfigFile, dims: &Dims) -> LoadResult<MlaLayout> {
        let Self { q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim } = *self;
        file.check(&[
            Limit::positive("q_lora_rank", q_lora_rank.unwrap_or(1), 1 << 17),
            Limit::positive("kv_lora_rank", kv_lora_rank, 1 << 15),
            Limit::positive("qk_nope_head_dim", qk_nope_head_dim, 4096),
            Limit::positive("qk_rope_head_dim", qk_rope_head_dim, 4096),
            Limit::positive("v_head_dim", v_head_dim, 4096),
        ])?;
        Ok(MlaLayout {
            n_hidden: dims.hidden_size as i32,
            n_heads: dims.num_attention_heads as i32,
            q_lora_rank: q_lora_rank.map(|rank| rank as i32),
            kv_lora_rank: kv_lora_rank as i32,
            qk_nope_head_dim: qk_nope_head_dim as i32,
            qk_rope_head_dim: qk_rope_head_dim as i32,
            v_head_dim: v_head_dim as i32,
            bias: Bias::Absent,
            eps: dims.rms_norm_eps,
            scale: ((qk_nope_head_dim + qk_rope_head_dim) as f32).powf(-0.5) * dims.rope.stretch(),
            growth: None,
            index: None,
        })
    }
}
