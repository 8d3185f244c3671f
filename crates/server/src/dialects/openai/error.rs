//! Errors as OpenAI writes them: `{"error": {message, type, param, code}}`.

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

/// The JSON body; also what a stream carries when it breaks.
pub fn body(error: &ApiError) -> Value {
    let (kind, code) = kind_and_code(error);
    json!({ "error": { "message": error.message(), "type": kind, "param": error.param(), "code": code } })
}

fn kind_and_code(error: &ApiError) -> (&'static str, Option<&'static str>) {
    const INVALID: &str = "invalid_request_error";
    match error {
        ApiError::Host { .. } => (INVALID, Some("host_not_allowed")),
        ApiError::Origin { .. } => (INVALID, Some("origin_not_allowed")),
        ApiError::KeyMissing | ApiError::KeyWrong => (INVALID, Some("invalid_api_key")),
        ApiError::NotFound { .. } => (INVALID, Some("unknown_url")),
        ApiError::Method { .. } => (INVALID, Some("method_not_supported")),
        ApiError::ContentType { .. } => (INVALID, Some("unsupported_content_type")),
        ApiError::BodyTooLarge { .. } => (INVALID, Some("request_too_large")),
        ApiError::BodyTimeout { .. } => (INVALID, Some("request_timeout")),
        ApiError::BodyLost { .. } => (INVALID, None),
        ApiError::NotUtf8 { .. } | ApiError::Json { .. } => (INVALID, Some("invalid_json")),
        ApiError::Invalid { .. } => (INVALID, Some("invalid_value")),
        ApiError::Unsupported { .. } => (INVALID, Some("unsupported_parameter")),
        ApiError::UnknownModel { .. } => (INVALID, Some("model_not_found")),
        ApiError::NoModel => ("server_error", Some("model_not_loaded")),
        ApiError::Prompt { .. } => (INVALID, Some("invalid_prompt")),
        ApiError::TooLong { .. } => (INVALID, Some("context_length_exceeded")),
        ApiError::QueueFull { .. } => ("rate_limit_error", Some("rate_limit_exceeded")),
        ApiError::Loading { .. } => ("server_error", Some("model_loading")),
        ApiError::NoRoom { .. } => ("server_error", Some("model_too_large")),
        ApiError::LoadFailed { .. } => ("server_error", Some("model_load_failed")),
        ApiError::ShortOfMemory { .. } => ("server_error", Some("out_of_memory")),
        ApiError::TooOften { .. } | ApiError::TooManyWrongKeys { .. } => {
            ("rate_limit_error", Some("rate_limit_exceeded"))
        }
        ApiError::Timeout { .. } => ("server_error", Some("generation_timeout")),
        ApiError::NotBuilt { .. } => (INVALID, Some("not_implemented")),
        ApiError::NotKept { .. } => (INVALID, Some("not_found")),
        ApiError::Encoding { .. } => (INVALID, Some("unsupported_content_encoding")),
        ApiError::KeyInAddress { .. } => (INVALID, Some("key_in_url")),
        ApiError::KeyScope => (INVALID, Some("insufficient_permissions")),
        ApiError::Elsewhere => (INVALID, Some("not_from_here")),
        ApiError::Cancelled => (INVALID, Some("cancelled")),
        ApiError::Wish { problem, .. } => (INVALID, Some(problem.code())),
        ApiError::Stopping => ("server_error", Some("shutting_down")),
        ApiError::EngineStopped { .. } => ("server_error", Some("model_stopped")),
        ApiError::Failed { .. } => ("server_error", Some("generation_failed")),
    }
}
