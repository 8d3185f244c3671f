//! What filters, tests and methods of a template cost beyond what the engine charges for them: it counts what they make,
//! and one step for what they look at, however large that is.

use minijinja::{Error, ErrorKind, State, Value, value::ValueKind};

use super::held::{VALUE_WEIGHT, is_alive, weigh};

/// Weight that one step of work pays for, in bytes.
pub(super) const UNIT: u64 = 32;
/// Filters that compare what they get with one another; each value is compared about so often.
const SORTING: [&str; 6] = ["dictsort", "groupby", "max", "min", "sort", "unique"];
const N_COMPARISONS: u64 = 16;
/// Filters that look at each item and not into it.
const LISTING: [&str; 6] = ["batch", "items", "list", "reverse", "slice", "sum"];
/// Work for a part of a text that is cut.
const PART_WEIGHT: u64 = 64;

/// Charges for work on `weight` bytes.
///
/// # Errors
/// When the work limit is reached.
pub(super) fn pay(state: &State, weight: u64) -> Result<(), Error> {
    state.consume_fuel(weight / UNIT)
}

/// Items or characters; 0 for what has none.
pub(super) fn length(value: &Value) -> u64 {
    match value.as_str() {
        Some(text) => text.len() as u64,
        None => value.len().unwrap_or(0) as u64,
    }
}

/// The weight that a filter looks at.
///
/// # Errors
/// When one of its arguments is too heavy.
pub(super) fn of_filter(name: &str, args: &[Value], weight_max: u64) -> Result<u64, Error> {
    let Some((first, rest)) = args.split_first() else { return Ok(0) };
    let inner = rest.first().and_then(Value::as_str);
    match (name, inner) {
        ("map", Some(inner)) => each(first, |item| of_filter(inner, &call_with(item, &rest[1..]), weight_max)),
        ("select" | "reject", Some(inner)) => {
            each(first, |item| of_test(inner, &call_with(item, &rest[1..]), weight_max))
        }
        ("selectattr" | "rejectattr", _) => Ok(length(first).saturating_mul(weights(rest, weight_max)?)),
        ("join", _) => {
            let joiner = rest.first().map_or(0, length);
            Ok(weights(args, weight_max)?.saturating_add(length(first).saturating_mul(joiner)))
        }
        _ if SORTING.contains(&name) => Ok(weights(args, weight_max)?.saturating_mul(N_COMPARISONS)),
        _ if LISTING.contains(&name) => {
            Ok(length(first).saturating_mul(VALUE_WEIGHT).saturating_add(weights(rest, weight_max)?))
        }
        _ if first.as_str().is_some() => weights(rest, weight_max),
        _ => weights(args, weight_max),
    }
}

/// The weight that a test looks at.
///
/// # Errors
/// As [`of_filter`].
pub(super) fn of_test(name: &str, args: &[Value], weight_max: u64) -> Result<u64, Error> {
    let (Some(left), Some(right)) = (args.first(), args.get(1)) else { return weights(args, weight_max) };
    let (left_weight, right_weight) = (weigh(left, weight_max)?.weight, weigh(right, weight_max)?.weight);
    Ok(match (name, right.kind()) {
        ("in", ValueKind::Map) => left_weight,
        ("in", ValueKind::Seq | ValueKind::Iterable) => right_weight.min(length(right).saturating_mul(left_weight)),
        ("in", _) => left_weight.saturating_add(right_weight),
        _ => left_weight.min(right_weight),
    })
}

/// The weight that a method looks at, its receiver being the first of `args`.
///
/// # Errors
/// As [`of_filter`], and when the text that it makes would be too heavy.
pub(super) fn of_method(name: &str, args: &[Value], weight_max: u64) -> Result<u64, Error> {
    let Some((receiver, rest)) = args.split_first() else { return Ok(0) };
    let looked_at = weights(rest, weight_max)?;
    if let Some(text) = receiver.as_str() {
        let (work, made) = of_text_method(name, text, rest, looked_at);
        if made > weight_max {
            return Err(Error::new(
                ErrorKind::OutOfFuel,
                format!("{name} makes a text of more than {weight_max} bytes"),
            ));
        }
        return Ok(looked_at.saturating_add(work));
    }
    match receiver.as_object() {
        Some(object) if is_alive(object) && name == "cycle" && rest.is_empty() => {
            Err(Error::new(ErrorKind::MissingArgument, "loop.cycle has nothing to choose from"))
        }
        Some(_) if receiver.kind() != ValueKind::Map => {
            Ok(looked_at.saturating_add(weigh(receiver, weight_max)?.weight))
        }
        _ => Ok(looked_at),
    }
}

/// Work and the length of the result.
fn of_text_method(name: &str, text: &str, args: &[Value], args_weight: u64) -> (u64, u64) {
    let length_of = |idx: usize| args.get(idx).map_or(0, length);
    let times = |part: &str| text.matches(part).count() as u64;
    match (name, args.first()) {
        ("replace", Some(old)) => {
            let n_found = old.as_str().map_or(0, times);
            (0, (text.len() as u64).saturating_add(n_found.saturating_mul(length_of(1))))
        }
        ("join", Some(_)) => (0, length_of(0).saturating_mul(text.len() as u64).saturating_add(args_weight)),
        ("split" | "rsplit", Some(separator)) if separator.as_str().is_some() => {
            (separator.as_str().map_or(0, times).saturating_mul(PART_WEIGHT), 0)
        }
        ("split" | "rsplit" | "splitlines", _) => (text.split_whitespace().count() as u64 * PART_WEIGHT, 0),
        ("format", _) => {
            let digits = text.split(|character: char| !character.is_ascii_digit());
            let widths = digits.filter_map(|digits| digits.parse::<u64>().ok()).fold(0, u64::saturating_add);
            (0, times("{").saturating_mul(args_weight).saturating_add(widths).saturating_add(text.len() as u64))
        }
        _ => (0, 0),
    }
}

/// What each item costs, together.
fn each(items: &Value, cost: impl Fn(Value) -> Result<u64, Error>) -> Result<u64, Error> {
    let mut sum = 0_u64;
    for item in items.try_iter()? {
        sum = sum.saturating_add(VALUE_WEIGHT).saturating_add(cost(item)?);
    }
    Ok(sum)
}

fn call_with(item: Value, rest: &[Value]) -> Vec<Value> {
    std::iter::once(item).chain(rest.iter().cloned()).collect()
}

fn weights(values: &[Value], weight_max: u64) -> Result<u64, Error> {
    values.iter().try_fold(0, |sum: u64, value| Ok(sum.saturating_add(weigh(value, weight_max)?.weight)))
}
