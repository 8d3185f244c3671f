//! Errors as Ollama writes them: `{"error": "..."}`.

use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::{ApiError, failure};

/// What handlers return: prints itself.
#[derive(Debug)]
pub struct Failure(pub ApiError);

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        response(&self.0)
    }
}

/// The whole answer.
pub fn response(error: &ApiError) -> Response {
    failure::response(error, body(error))
}

/// The JSON body; also the last line of a stream that breaks.
pub fn body(error: &ApiError) -> Value {
    json!({ "error": error.message() })
}
