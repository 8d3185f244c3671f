//! Python methods that templates call, where minijinja's own set lacks them.

use minijinja::{
    Error, ErrorKind, State, Value,
    value::{ValueKind, from_args},
};
use minijinja_contrib::pycompat;

/// Tries our methods, then minijinja's.
pub(super) fn call(state: &mut State, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let own = match (value.kind(), value.as_str()) {
        (ValueKind::String, Some(text)) => string_method(text, method, args),
        (ValueKind::Map, _) => map_method(value, method, args),
        _ => None,
    };
    own.unwrap_or_else(|| pycompat::unknown_method_callback(state, value, method, args))
}

fn string_method(text: &str, method: &str, args: &[Value]) -> Option<Result<Value, Error>> {
    Some(match method {
        "removeprefix" => strings(args).map(|(part,)| text.strip_prefix(part).unwrap_or(text).into()),
        "removesuffix" => strings(args).map(|(part,)| text.strip_suffix(part).unwrap_or(text).into()),
        "partition" => strings(args).map(|(part,)| match text.split_once(part) {
            Some((before, after)) => list(&[before, part, after]),
            None => list(&[text, "", ""]),
        }),
        "rpartition" => strings(args).map(|(part,)| match text.rsplit_once(part) {
            Some((before, after)) => list(&[before, part, after]),
            None => list(&["", "", text]),
        }),
        "rsplit" => rsplit(text, args),
        "format" if has_long_number(text) => Err(invalid("format: a width or precision is too large")),
        "index" => strings(args).and_then(|(part,)| {
            let start = text.find(part).ok_or_else(|| invalid("substring not found"))?;
            Ok(Value::from(text[..start].chars().count()))
        }),
        "swapcase" => from_args::<()>(args).map(|()| Value::from(text.chars().map(swap_case).collect::<String>())),
        "casefold" => from_args::<()>(args).map(|()| Value::from(text.to_lowercase())),
        "isdecimal" => {
            from_args::<()>(args).map(|()| Value::from(!text.is_empty() && text.chars().all(|c| c.is_ascii_digit())))
        }
        _ => return None,
    })
}

/// Digits of the largest width that a format may ask for: what it pads is charged only once it is made.
const N_WIDTH_DIGITS_MAX: usize = 4;

/// Whether a run of digits is longer than any sensible width.
fn has_long_number(text: &str) -> bool {
    text.split(|character: char| !character.is_ascii_digit()).any(|digits| digits.len() > N_WIDTH_DIGITS_MAX)
}

fn map_method(value: &Value, method: &str, args: &[Value]) -> Option<Result<Value, Error>> {
    match method {
        "copy" => Some(from_args::<()>(args).map(|()| value.clone())),
        _ => None,
    }
}

fn strings(args: &[Value]) -> Result<(&str,), Error> {
    from_args(args)
}

/// `str.rsplit(sep, maxsplit)`.
fn rsplit(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (separator, most): (Option<&str>, Option<i64>) = from_args(args)?;
    let most = most.and_then(|most| usize::try_from(most).ok()).map_or(usize::MAX, |most| most.saturating_add(1));
    let mut parts: Vec<&str> = match separator {
        Some("") => return Err(invalid("empty separator")),
        Some(separator) => text.rsplitn(most, separator).collect(),
        None => rsplit_whitespace(text, most),
    };
    parts.reverse();
    Ok(list(&parts))
}

fn rsplit_whitespace(text: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let cut = rest.rfind(char::is_whitespace).filter(|_| parts.len() + 1 < most);
        let word_start = cut.map_or(0, |cut| cut + rest[cut..].chars().next().map_or(0, char::len_utf8));
        parts.push(&rest[word_start..]);
        rest = rest[..word_start].trim_end();
    }
    parts
}

fn swap_case(character: char) -> char {
    let swapped =
        if character.is_uppercase() { character.to_lowercase().next() } else { character.to_uppercase().next() };
    swapped.unwrap_or(character)
}

fn list(parts: &[&str]) -> Value {
    parts.iter().copied().collect()
}

fn invalid(detail: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, detail)
}
