//! Dialects over HTTP: the only crate that knows vendor field names. Must not know KV caches or MLX.
