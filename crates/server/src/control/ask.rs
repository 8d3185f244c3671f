//! What the handlers of the control API share: reading a query or a body, asking a part of the program, answering.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, Request};
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::body::read_body;
use crate::dialects::openai::error;
use crate::{ApiError, ServerState};

/// A part of the program that may be absent.
pub type Part<P> = Option<Arc<P>>;

/// It is done.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Done {
    /// `ok`.
    #[schemars(extend("enum" = ["ok"]))]
    pub status: &'static str,
}

/// A model, by its id.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct OfModel {
    /// Its id, a short name, or a path.
    pub model: String,
}

/// See [`Done`].
pub const DONE: Done = Done { status: "ok" };

/// Has a part do something that may take a while, off the threads that answer calls.
pub async fn ask<P, T>(
    state: &ServerState,
    part: &Part<P>,
    work: impl FnOnce(&P) -> Result<T, ApiError> + Send + 'static,
) -> Response
where
    P: ?Sized + Send + Sync + 'static,
    T: Serialize + Send + 'static,
{
    let Some(part) = part.clone() else {
        let detail = "this server was started without it; start it with `tokbar serve` or the app";
        return refuse(&ApiError::NotBuilt { path: "this part of the control API".to_owned(), detail });
    };
    answer(state.chores.run(move || work(&part)).await.and_then(|outcome| outcome))
}

/// An outcome as JSON.
pub fn answer<T: Serialize>(outcome: Result<T, ApiError>) -> Response {
    match outcome {
        Ok(value) => Json(value).into_response(),
        Err(error) => refuse(&error),
    }
}

/// A refusal in the shape that all of the control API has.
pub fn refuse(error: &ApiError) -> Response {
    error::response(error)
}

/// The parameters of an address.
///
/// # Errors
/// When one is missing or malformed.
pub fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, ApiError> {
    let wrong = |error: axum::extract::rejection::QueryRejection| {
        ApiError::invalid("query", format!("cannot be used: {}; see /control/v1/openapi.json", error.body_text()))
    };
    Query::try_from_uri(uri).map(|Query(value)| value).map_err(wrong)
}

/// The body as a value of its type.
///
/// # Errors
/// When it is none.
pub async fn read<T: DeserializeOwned>(state: &ServerState, request: Request) -> Result<T, ApiError> {
    let body = read_body(state, request).await?;
    if !body.is_object() {
        return Err(ApiError::Json { detail: "a JSON object is expected".to_owned() });
    }
    serde_json::from_value(body).map_err(|error| ApiError::invalid(field(&error), format!("cannot be used: {error}")))
}

/// The field that an error names, if it names one.
fn field(error: &serde_json::Error) -> String {
    let words = error.to_string();
    words.split('`').nth(1).filter(|_| words.contains("field")).unwrap_or("body").to_owned()
}
