//! Checkpoints on disk: import, scan, download. Must not know MLX or an HTTP server.

pub mod catalog;
pub mod checkpoint;
pub mod download;
pub mod fit;
pub mod gguf;
pub mod id;
pub mod kv_cost;
pub mod recommend;
pub mod resolve;
pub mod safetensors;
pub mod scan;
pub mod shards;
