//! Model families on MLX: the only crate that knows tensors. Implements `tokbar_engine::Backend`. Must not know text or HTTP.
