//! Functions that Hugging Face gives to chat templates.

use jiff::{Zoned, fmt::strtime::BrokenDownTime};
use minijinja::{
    Error, ErrorKind, Value,
    value::{Kwargs, ValueKind},
};

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

/// Longest text that `indent` makes.
const INDENTED_BYTES_MAX: usize = 16 << 20;

/// `text | indent(width=4, first=false, blank=false)` as in Jinja2, which keeps a line break at the end.
pub(super) fn indent(
    text: &str,
    width: Option<usize>,
    first: Option<bool>,
    blank: Option<bool>,
    kwargs: Kwargs,
) -> Result<String, Error> {
    let named = |name: &str, value: Option<bool>| match value {
        Some(value) => Ok(value),
        None => kwargs.get::<Option<bool>>(name).map(Option::unwrap_or_default),
    };
    let width = width.map_or_else(|| kwargs.get::<Option<usize>>("width"), |width| Ok(Some(width)))?.unwrap_or(4);
    let (first, blank) = (named("first", first)?, named("blank", blank)?);
    kwargs.assert_all_used()?;
    let n_lines = text.split('\n').count();
    if n_lines.saturating_mul(width).saturating_add(text.len()) > INDENTED_BYTES_MAX {
        return Err(Error::new(ErrorKind::InvalidOperation, format!("indent({width}) of {n_lines} lines is too long")));
    }
    let space = " ".repeat(width);
    let line = |(idx, line): (usize, &str)| {
        let is_indented = if idx == 0 { first } else { blank || !line.is_empty() };
        if is_indented { format!("{space}{line}") } else { line.to_owned() }
    };
    Ok(text.split('\n').enumerate().map(line).collect::<Vec<_>>().join("\n"))
}
