//! `tojson` as transformers defines it: Python's `json.dumps` with `ensure_ascii=False`, nothing escaped for HTML, keys
//! in their order.

use minijinja::{
    Error, ErrorKind, State, Value,
    value::{Kwargs, ValueKind},
};

/// Levels of nested lists and mappings.
const DEPTH_MAX: usize = 200;

/// `value|tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false)`.
pub(super) fn tojson(
    state: &State,
    value: &Value,
    ensure_ascii: Option<bool>,
    indent: Option<Value>,
    kwargs: Kwargs,
) -> Result<String, Error> {
    let ensure_ascii = kwargs.get::<Option<bool>>("ensure_ascii")?.or(ensure_ascii).unwrap_or(false);
    let indent = kwargs.get::<Option<Value>>("indent")?.or(indent);
    let separators = kwargs.get::<Option<Vec<String>>>("separators")?;
    let sort_keys = kwargs.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    kwargs.assert_all_used()?;
    let indent = indent.map(indent_text).transpose()?.flatten();
    let (item, key) = separators_text(separators, indent.is_some())?;
    let style = Style { ensure_ascii, indent, item, key, sort_keys };
    let mut writer = Writer { state, style: &style, out: String::new(), n_charged: 0 };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct Style {
    ensure_ascii: bool,
    /// One level of indentation; `None` writes all on one line.
    indent: Option<String>,
    item: String,
    key: String,
    sort_keys: bool,
}

/// A number of spaces or the text itself; `none` and `false` mean one line.
fn indent_text(indent: Value) -> Result<Option<String>, Error> {
    if let Some(text) = indent.as_str() {
        return Ok(Some(text.to_owned()));
    }
    if indent.is_none() || indent.is_undefined() {
        return Ok(None);
    }
    match i64::try_from(indent) {
        Ok(n) if n <= 64 => Ok(Some(" ".repeat(n.max(0) as usize))),
        _ => Err(invalid("tojson: indent must be a string or a number up to 64")),
    }
}

fn separators_text(separators: Option<Vec<String>>, indented: bool) -> Result<(String, String), Error> {
    match separators.map(<[String; 2]>::try_from) {
        Some(Ok([item, key])) => Ok((item, key)),
        Some(Err(_)) => Err(invalid("tojson: separators must be a pair of strings")),
        None if indented => Ok((",".to_owned(), ": ".to_owned())),
        None => Ok((", ".to_owned(), ": ".to_owned())),
    }
}

fn invalid(detail: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, detail)
}

struct Writer<'a, 'state> {
    state: &'a State<'state, 'state>,
    style: &'a Style,
    out: String,
    n_charged: usize,
}

impl Writer<'_, '_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > DEPTH_MAX {
            return Err(invalid(format!("tojson: more than {DEPTH_MAX} levels")));
        }
        self.charge()?;
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => push_number(&mut self.out, value),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => self.list(value, depth)?,
            ValueKind::Map => self.mapping(value, depth)?,
            kind => return Err(invalid(format!("tojson: a value of type {kind} is not JSON"))),
        }
        Ok(())
    }

    /// Shared parts of a value are written again and again, so the text can outgrow what the template built.
    fn charge(&mut self) -> Result<(), Error> {
        let n_new = self.out.len() - self.n_charged;
        self.n_charged = self.out.len();
        self.state.consume_fuel(1 + n_new as u64 / 64)
    }

    fn list(&mut self, list: &Value, depth: usize) -> Result<(), Error> {
        self.out.push('[');
        let mut n = 0;
        for item in list.try_iter()? {
            self.separate(n, depth + 1);
            self.value(&item, depth + 1)?;
            n += 1;
        }
        self.close(']', n, depth);
        Ok(())
    }

    fn mapping(&mut self, mapping: &Value, depth: usize) -> Result<(), Error> {
        let mut keys: Vec<_> = mapping.try_iter()?.collect();
        if self.style.sort_keys {
            keys.sort();
        }
        self.out.push('{');
        for (idx, key) in keys.iter().enumerate() {
            self.separate(idx, depth + 1);
            self.key(key)?;
            self.out.push_str(&self.style.key);
            self.value(&mapping.get_item(key)?, depth + 1)?;
        }
        self.close('}', keys.len(), depth);
        Ok(())
    }

    /// Keys become strings, as in Python.
    fn key(&mut self, key: &Value) -> Result<(), Error> {
        let mut text = String::new();
        match key.kind() {
            ValueKind::String => text.push_str(key.as_str().unwrap_or_default()),
            ValueKind::None => text.push_str("null"),
            ValueKind::Bool => text.push_str(if key.is_true() { "true" } else { "false" }),
            ValueKind::Number => push_number(&mut text, key),
            kind => return Err(invalid(format!("tojson: a key of type {kind} is not JSON"))),
        }
        self.string(&text);
        Ok(())
    }

    fn separate(&mut self, idx: usize, depth: usize) {
        if idx > 0 {
            self.out.push_str(&self.style.item);
        }
        self.line(depth);
    }

    fn close(&mut self, bracket: char, n_items: usize, depth: usize) {
        if n_items > 0 {
            self.line(depth);
        }
        self.out.push(bracket);
    }

    fn line(&mut self, depth: usize) {
        if let Some(indent) = &self.style.indent {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(indent.as_str(), depth));
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                '\0'..'\u{20}' => push_escape(&mut self.out, character),
                '\u{7f}'.. if self.style.ensure_ascii => push_escape(&mut self.out, character),
                _ => self.out.push(character),
            }
        }
        self.out.push('"');
    }
}

fn push_escape(out: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        out.push_str(&format!("\\u{unit:04x}"));
    }
}

fn push_number(out: &mut String, number: &Value) {
    if number.is_integer() {
        out.push_str(&number.to_string());
    } else {
        out.push_str(&float_repr(f64::try_from(number.clone()).unwrap_or(f64::NAN)));
    }
}

/// Python's `repr` of a float: shortest digits, exponents below -4 and from 16 on.
fn float_repr(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>().unwrap_or(0) {
        -4..16 => format!("{number:?}"),
        exponent => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
