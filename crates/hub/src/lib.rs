//! Checkpoints on disk: import, scan, download. Must not know MLX or an HTTP server.

pub mod checkpoint;
pub mod download;
pub mod gguf;
pub mod resolve;
pub mod safetensors;
pub mod scan;
pub mod shards;
