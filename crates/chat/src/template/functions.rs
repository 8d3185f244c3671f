//! Functions that Hugging Face gives to chat templates.

use jiff::{Zoned, fmt::strtime::BrokenDownTime};
use minijinja::{Error, ErrorKind, Value, value::ValueKind};

/// What a template said when it refused a conversation.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Raised(pub String);

/// `raise_exception(message)`.
pub(super) fn raise_exception(message: String) -> Result<String, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, "raised by the template").with_source(Raised(message)))
}

/// `strftime_now(format)`, with the directives of C's `strftime`.
pub(super) fn strftime(now: &Zoned, format: &str) -> Result<String, Error> {
    BrokenDownTime::from(now)
        .to_string(format)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, format!("strftime_now({format:?}): {error}")))
}

/// `value is iterable`: in Python strings are, and `none` is not.
pub(super) fn is_iterable(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Undefined | ValueKind::String | ValueKind::Seq | ValueKind::Iterable | ValueKind::Map
    )
}

/// `value is sequence`: in Python whatever has a length and items, so strings and mappings too.
pub(super) fn is_sequence(value: &Value) -> bool {
    is_iterable(value)
}
