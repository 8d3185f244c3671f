//! Lists and objects of a template, with what they take once all that they share is written out.
//!
//! Parts are shared, so a few dozen doublings make a value that no memory could hold as text. Every list or object is
//! weighed when it is made, from the weights of its parts, and none may pass the limit: what the engine does with a value
//! in one piece (compare, hash, print) is then bounded, and can be paid for before it is done.

use std::{fmt, sync::Arc};

use minijinja::{
    Error, ErrorKind, State, Value,
    value::{DynObject, Enumerator, Object, ObjectRepr, Tuple, ValueKind},
};

use super::charges;

/// Deepest nesting of lists and objects. JSON from requests has at most 128 levels.
const LEVELS_MAX: u32 = 256;
/// Weight of a value beside its text, in bytes.
pub(super) const VALUE_WEIGHT: u64 = 32;

/// A list or object that has been weighed. It is never changed.
struct Held {
    /// The list or object itself.
    inner: Value,
    size: Size,
}

/// What a value takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    /// Bytes of all text, and [`VALUE_WEIGHT`] for each value, shared ones as often as they are reached.
    pub weight: u64,
    /// Levels of nesting.
    levels: u32,
}

impl Size {
    /// Takes a part in.
    fn add(&mut self, part: Size, weight_max: u64) -> Result<(), Error> {
        self.weight = self.weight.saturating_add(part.weight);
        self.levels = self.levels.max(part.levels + 1);
        if self.weight > weight_max || self.levels > LEVELS_MAX {
            let detail = format!("one value takes more than {weight_max} bytes or {LEVELS_MAX} levels");
            return Err(Error::new(ErrorKind::OutOfFuel, detail));
        }
        Ok(())
    }
}

/// A value as the template may have it: lists and objects are weighed, and lists that would be computed anew at each look
/// are computed once.
///
/// # Errors
/// When it is heavier than `weight_max`, or holds a namespace.
pub(super) fn made(state: &State, value: Value, weight_max: u64) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        Size::default().add(Size { weight: text.len() as u64, levels: 0 }, weight_max)?;
        return Ok(value);
    }
    let Some(object) = value.as_object() else { return Ok(value) };
    let (inner, size) = match object.repr() {
        _ if object.is::<Held>() || is_alive(object) => return Ok(value),
        ObjectRepr::Seq if object.is::<Vec<Value>>() || object.is::<Tuple>() => {
            charges::pay(state, charges::length(&value) * VALUE_WEIGHT / 2)?;
            (value.clone(), weigh(&value, weight_max)?)
        }
        ObjectRepr::Seq | ObjectRepr::Iterable => computed(state, object, weight_max)?,
        ObjectRepr::Map => (value.clone(), weigh(&value, weight_max)?),
        _ => return Ok(value),
    };
    Ok(Value::from_object(Held { inner, size }))
}

/// A list or object that comes from outside: what a request may hold bounds it, and its parts are not shared.
pub(super) fn weighed(inner: Value) -> Value {
    let size = weigh(&inner, u64::MAX).unwrap_or(Size { weight: u64::MAX, levels: LEVELS_MAX });
    Value::from_object(Held { inner, size })
}

/// Weighs a value; parts that have been weighed are not looked into.
///
/// # Errors
/// As [`made`].
pub(super) fn weigh(value: &Value, weight_max: u64) -> Result<Size, Error> {
    weigh_at(value, 0, weight_max)
}

fn weigh_at(value: &Value, level: u32, weight_max: u64) -> Result<Size, Error> {
    let mut size = Size { weight: VALUE_WEIGHT + value.as_str().map_or(0, str::len) as u64, levels: 0 };
    let Some(object) = value.as_object() else { return Ok(size) };
    if let Some(held) = object.downcast_ref::<Held>() {
        return Ok(held.size);
    }
    if level > 0 && is_alive(object) {
        return Err(Error::new(ErrorKind::InvalidOperation, "a value holds a namespace or a loop"));
    }
    if level > LEVELS_MAX {
        size.add(Size { weight: 0, levels: level }, weight_max)?;
    }
    match object.repr() {
        ObjectRepr::Map => {
            for (key, item) in object.try_iter_pairs().into_iter().flatten() {
                size.add(weigh_at(&key, level + 1, weight_max)?, weight_max)?;
                size.add(weigh_at(&item, level + 1, weight_max)?, weight_max)?;
            }
        }
        ObjectRepr::Seq | ObjectRepr::Iterable => {
            for item in object.try_iter().into_iter().flatten() {
                size.add(weigh_at(&item, level + 1, weight_max)?, weight_max)?;
            }
        }
        _ => {}
    }
    Ok(size)
}

/// The items of a list that is computed at each look.
fn computed(state: &State, object: &DynObject, weight_max: u64) -> Result<(Value, Size), Error> {
    let mut size = Size { weight: VALUE_WEIGHT, levels: 0 };
    let mut items = Vec::new();
    for item in object.try_iter().into_iter().flatten() {
        charges::pay(state, if items.len() % 4 == 0 { charges::UNIT } else { 0 })?;
        if item.kind() == ValueKind::Invalid {
            return Err(Error::new(ErrorKind::InvalidOperation, item.to_string()));
        }
        size.add(weigh_at(&item, 1, weight_max)?, weight_max)?;
        items.push(item);
    }
    Ok((Value::from(items), size))
}

/// Whether an object is one of the engine's that change, so that what is in it now says nothing of later.
pub(super) fn is_alive(object: &DynObject) -> bool {
    ["::Namespace", "::Loop"].iter().any(|name| object.type_name().ends_with(name))
}

impl Held {
    fn object(&self) -> Option<&DynObject> {
        self.inner.as_object()
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.inner, f)
    }
}

impl Object for Held {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        self.object().map_or(ObjectRepr::Plain, DynObject::repr)
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.object()?.get_value(key)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.object()?.get_value_by_str(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.object().map_or(Enumerator::NonEnumerable, DynObject::enumerate)
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        self.object()?.enumerator_len()
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.inner.is_true()
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        self.inner.call(state, args)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object().map_or(Ok(()), |object| object.render(f))
    }
}
