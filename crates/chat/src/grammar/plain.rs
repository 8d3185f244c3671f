//! Arguments as pairs of keys and plain text. Strings are written as they are: quoting them would change what the tool gets.

use llguidance::regex_to_lark;
use serde_json::Value;

use super::lark::{Lark, Spacing, any_of, escaped, literal};
use super::members::Members;
use super::schema::{TextRule, text_rule};
use super::shape::PlainShape;
use crate::ToolFormat;
use crate::formats::Body;

/// Names of members that the schema does not declare.
const OTHER_KEY: &str = "/[A-Za-z_][A-Za-z0-9_.-]{0,63}/";

/// Blanks that may stand between tags, in texts and where they are written.
const BLANKS: &str = "[ \\t\\r\\n]*";
const FEW_BLANKS: &str = "[ \\t\\r\\n]{0,8}";

/// Bytes of a tag that tell it from other text.
const TAG_BYTES: usize = 5;

/// From what follows the tool's name to the end of the call. `format` tells what the parser takes for a value's end.
pub(super) fn arguments(lark: &mut Lark, (format, shape): (&ToolFormat, &PlainShape), schema: &Value) -> String {
    let members = Members::of(schema);
    let done = literal(shape.done);
    if !members.can_have_any() {
        return done;
    }
    let mut pairs = Pairs::new(lark, (format, shape), &members);
    let keys = pairs.lark.name("k");
    let mut alternatives = Vec::new();
    for (idx, (name, value)) in members.declared.iter().enumerate() {
        let (between, rule) = pairs.value(value, schema, &keys);
        let key = literal(&format!("{name}{between}"));
        alternatives.push(format!("{key} {rule}::set_bit({idx}) %if bit_clear({idx})"));
    }
    if let Some(others) = &members.others {
        let (between, rule) = pairs.value(others, schema, &keys);
        alternatives.push(format!("{OTHER_KEY} {} {rule}::_", literal(between)));
    }
    pairs.lark.define(&format!("{keys}::_"), &alternatives.join(" | "));
    let first = pairs.lark.name("a");
    let (complete, more) = (members.if_complete(), members.if_more());
    let body = format!("{} {keys}::_{more} | {done}{complete}", literal(shape.open));
    pairs.lark.define(&format!("{first}::_"), &body);
    format!("{first}::0")
}

struct Pairs<'a, 'm> {
    lark: &'a mut Lark,
    shape: &'a PlainShape,
    /// What ends a value with another pair after it, and what ends the last one: names of terminals.
    more: String,
    done: String,
    if_complete: String,
    if_more: String,
    /// A terminal of texts in which the parser sees no end.
    text: String,
    /// Rules by what they admit.
    made: Vec<(TextRule, String)>,
    members: &'a Members<'m>,
}

impl<'a, 'm> Pairs<'a, 'm> {
    fn new(lark: &'a mut Lark, (format, shape): (&ToolFormat, &'a PlainShape), members: &'a Members<'m>) -> Self {
        let line = if shape.lines { "\\n?" } else { "" };
        let ending = |next: &str| format!("/{line}{}{FEW_BLANKS}{}/", escaped(shape.close), escaped(next));
        let more = lark.terminal(&ending(shape.open));
        let done = lark.terminal(&ending(shape.done));
        let any = "/(?s:.*)/";
        let text = lark.terminal(&format!("{any} & ~({any} /({})/ {any})", ends(format).join("|")));
        let (if_complete, if_more) = (members.if_complete(), members.if_more());
        Self { lark, shape, more, done, if_complete, if_more, text, made: Vec::new(), members }
    }

    /// What stands between key and value, and the rule of the value with what follows it.
    fn value(&mut self, value: &Value, root: &Value, keys: &str) -> (&'a str, String) {
        let rule = text_rule(value, root);
        if rule == TextRule::Json {
            let json = self.lark.json(&with_definitions(value, root), Spacing::Line);
            let (more, done) = (self.more.clone(), self.done.clone());
            return (self.shape.json, self.ending((format!("{json} {more}"), format!("{json} {done}")), keys));
        }
        if let Some((_, made)) = self.made.iter().find(|(made, _)| *made == rule) {
            return (self.shape.text, made.clone());
        }
        let body = match &rule {
            TextRule::OneOf(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| escaped(text)).collect();
                format!("/({})/", texts.join("|"))
            }
            TextRule::Pattern(pattern) => format!("({} & {})", whole(pattern), self.text),
            TextRule::Any | TextRule::Json => self.text.clone(),
        };
        // A text ends where its closer stands before another tag: so it may hold the closer itself.
        let lazy = |lark: &mut Lark, end: &str| {
            let name = lark.name("t");
            lark.define(&format!("{name}[lazy]"), &format!("{body} {end}"));
            name
        };
        let (more, done) = (lazy(self.lark, &self.more), lazy(self.lark, &self.done));
        let made = self.ending((more, done), keys);
        self.made.push((rule, made.clone()));
        (self.shape.text, made)
    }

    fn ending(&mut self, (more, done): (String, String), keys: &str) -> String {
        let name = self.lark.name("v");
        let body = match self.members.can_have_any() {
            true => format!("{more} {keys}::_{} | {done}{}", self.if_more, self.if_complete),
            false => done,
        };
        self.lark.define(&format!("{name}::_"), &body);
        name
    }
}

/// Regular expressions of what ends a value for the parser: a closer with one of the tags that must follow it. Only the
/// beginning of such a tag is taken, so that a model that cannot end here is turned away early.
fn ends(format: &ToolFormat) -> Vec<String> {
    let of_values = format.states.iter().filter(|state| matches!(state.body, Body::Value(_)));
    let ends = of_values.flat_map(|state| state.rules).map(|rule| {
        let head = |tag: &&str| {
            let n = (TAG_BYTES..=tag.len()).find(|n| tag.is_char_boundary(*n)).unwrap_or(tag.len());
            escaped(&tag[..n])
        };
        let next: Vec<String> = rule.before.iter().map(head).collect();
        format!("{}{BLANKS}({})", escaped(rule.on), next.join("|"))
    });
    let mut ends: Vec<String> = ends.collect();
    ends.sort();
    ends.dedup();
    ends
}

/// A part of a schema with the whole's definitions.
pub(super) fn with_definitions(part: &Value, root: &Value) -> Value {
    let mut part = part.clone();
    if let (Some(map), Some(definitions)) = (part.as_object_mut(), root.get("$defs")) {
        map.insert("$defs".to_owned(), definitions.clone());
    }
    part
}

/// A terminal for texts in which a pattern of JSON Schema, which looks for a match anywhere, finds one.
fn whole(pattern: &str) -> String {
    let (anchored, inner) = pattern.strip_prefix('^').map_or((false, pattern), |inner| (true, inner));
    let inner_end = inner.strip_suffix('$').filter(|rest| !rest.ends_with('\\'));
    let (ends, inner) = inner_end.map_or((false, inner), |inner| (true, inner));
    if inner.contains('|') && (anchored || ends) && !inner.starts_with('(') {
        return "/(?s:.*)/".to_owned();
    }
    let any = |is_bound: bool| if is_bound { "" } else { "(?s:.*)" };
    any_of(&[format!("/{}({}){}/", any(anchored), regex_to_lark(inner, "dw"), any(ends))])
}
