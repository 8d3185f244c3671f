//! One module per vendor's HTTP shape. A dialect maps its wire onto neutral types and events back; none imports another.

pub mod openai;

use axum::response::Response;

use crate::ApiError;

/// An error in the shape of the dialect that owns `path`; OpenAI's where none does.
pub fn error_response(_path: &str, error: &ApiError) -> Response {
    openai::error::response(error)
}
