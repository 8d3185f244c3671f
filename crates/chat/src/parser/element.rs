//! Arguments as nested elements, `<a><item>1</item></a>` with a token before each tag, as a JSON object.

use serde_json::Value;

use super::{
    json_value::{push_escaped, quoted},
    plain::typed,
    scan::More,
    schema::{self, ValueKind},
};

/// Deepest nesting followed; deeper tags are text.
const DEPTH_MAX: usize = 64;
/// Longest tag.
const TAG_MAX: usize = 256;
/// Longest value held until its type is known; longer ones become strings.
const HELD_MAX: usize = 1 << 20;
/// Most blanks between a closer and the next tag.
const BLANKS_MAX: usize = 64;
/// The name of an array's elements.
const ITEM: &str = "item";

/// Follows the elements of one call.
#[derive(Clone, Debug)]
pub(super) struct ElementValue {
    before_tags: &'static str,
    schema: Value,
    /// Open elements, outermost first.
    stack: Vec<Element>,
    n_members: usize,
}

#[derive(Clone, Debug)]
struct Element {
    name: String,
    schema: Value,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    /// Text of what may be anything.
    Held {
        text: String,
        kind: ValueKind,
    },
    /// A string that goes out as it comes.
    Text,
    Object {
        n_members: usize,
    },
    Array {
        n_members: usize,
    },
}

impl ElementValue {
    /// `schema` is that of the whole arguments.
    pub fn new(before_tags: &'static str, schema: Value) -> Self {
        Self { before_tags, schema, stack: Vec::new(), n_members: 0 }
    }

    /// Reads from the start of `text`, which is not empty; `None` when more text must come first.
    pub fn read(&mut self, text: &str, more: More, out: &mut String) -> Option<usize> {
        if let Some(rest) = text.strip_prefix(self.before_tags) {
            return match tag(rest, more) {
                Tag::Open(name, n) if self.can_open() => {
                    self.open(name, out);
                    Some(self.before_tags.len() + n)
                }
                Tag::Close(name, n) if self.closes(name) => match self.is_end(&rest[n..], more)? {
                    true => {
                        self.close(out);
                        Some(self.before_tags.len() + n)
                    }
                    false => {
                        self.text(self.before_tags, out);
                        Some(self.before_tags.len())
                    }
                },
                Tag::Unfinished => None,
                Tag::Open(..) | Tag::Close(..) | Tag::None => {
                    self.text(self.before_tags, out);
                    Some(self.before_tags.len())
                }
            };
        }
        if more == More::Coming && self.before_tags.starts_with(text) {
            return None;
        }
        let n_first = text.chars().next().map_or(0, char::len_utf8);
        let begin = self.before_tags.chars().next().unwrap_or('<');
        let n = text[n_first..].find(begin).map_or(text.len(), |at| n_first + at);
        self.text(&text[..n], out);
        Some(n)
    }

    /// Appends whatever makes the elements so far a complete object.
    pub fn complete(&mut self, out: &mut String) {
        while !self.stack.is_empty() {
            self.close(out);
        }
        out.push_str(if self.n_members == 0 { "{}" } else { "}" });
    }

    /// Strings have no elements, and neither has a value that has begun as text.
    fn can_open(&self) -> bool {
        match self.stack.last().map(|element| &element.content) {
            None | Some(Content::Object { .. } | Content::Array { .. }) => self.stack.len() < DEPTH_MAX,
            Some(Content::Held { text, .. }) => text.trim().is_empty() && self.stack.len() < DEPTH_MAX,
            Some(Content::Text) => false,
        }
    }

    fn closes(&self, name: &str) -> bool {
        self.stack.last().is_some_and(|element| element.name == name)
    }

    /// Whether a closer with `after` behind it is one: a string may hold its own, the real one stands before another tag.
    /// `None` when more text must come first.
    fn is_end(&self, after: &str, more: More) -> Option<bool> {
        if !matches!(self.stack.last(), Some(Element { content: Content::Text, .. })) {
            return Some(true);
        }
        let blanks = after.len() - after.trim_start().len();
        let after = &after[blanks..];
        match more {
            More::Coming if blanks <= BLANKS_MAX && after.len() < self.before_tags.len() => {
                if self.before_tags.starts_with(after) { None } else { Some(false) }
            }
            _ => Some(after.is_empty() || after.starts_with(self.before_tags)),
        }
    }

    fn text(&mut self, text: &str, out: &mut String) {
        let Some(element) = self.stack.last_mut() else { return };
        match &mut element.content {
            Content::Text => push_escaped(out, text),
            Content::Held { text: held, .. } => {
                held.push_str(text);
                if held.len() > HELD_MAX {
                    out.push('"');
                    push_escaped(out, held);
                    element.content = Content::Text;
                }
            }
            // Whitespace between elements.
            Content::Object { .. } | Content::Array { .. } => {}
        }
    }

    fn open(&mut self, name: &str, out: &mut String) {
        let parent = self.stack.last_mut();
        let root = &self.schema;
        let own = match parent {
            None => {
                out.push_str(if self.n_members == 0 { "{" } else { ", " });
                self.n_members += 1;
                out.push_str(&quoted(name));
                out.push_str(": ");
                schema::member(root, root, Some(name))
            }
            Some(parent) => {
                parent.nest(name, root, out);
                let key = matches!(parent.content, Content::Object { .. }).then_some(name);
                schema::member(&parent.schema, root, key)
            }
        };
        let own = own.cloned().unwrap_or_default();
        let content = match schema::kind_of(&own, root) {
            ValueKind::Text => {
                out.push('"');
                Content::Text
            }
            kind => Content::Held { text: String::new(), kind },
        };
        self.stack.push(Element { name: name.to_owned(), schema: own, content });
    }

    fn close(&mut self, out: &mut String) {
        let Some(element) = self.stack.pop() else { return };
        match element.content {
            Content::Text => out.push('"'),
            // Nothing at all is an empty list or object where the schema wants one.
            Content::Held { text, kind } if text.trim().is_empty() && kind == ValueKind::Json => {
                out.push_str(match (schema::is_array(&element.schema, &self.schema), element.schema.get("type")) {
                    (true, _) => "[]",
                    (false, Some(name)) if name == "object" => "{}",
                    _ => "null",
                });
            }
            Content::Held { text, .. } => out.push_str(&typed(&text)),
            Content::Object { .. } => out.push('}'),
            Content::Array { .. } => out.push(']'),
        }
    }
}

impl Element {
    /// Begins a member, and with the first one the object or array.
    fn nest(&mut self, name: &str, root: &Value, out: &mut String) {
        if let Content::Held { .. } = self.content {
            let has_key = schema::member(&self.schema, root, Some(name)).is_some();
            let is_array = name == ITEM && !has_key || schema::is_array(&self.schema, root);
            out.push(if is_array { '[' } else { '{' });
            self.content = if is_array { Content::Array { n_members: 0 } } else { Content::Object { n_members: 0 } };
        }
        let (Content::Object { n_members } | Content::Array { n_members }) = &mut self.content else { return };
        if *n_members > 0 {
            out.push_str(", ");
        }
        *n_members += 1;
        if matches!(self.content, Content::Object { .. }) {
            out.push_str(&quoted(name));
            out.push_str(": ");
        }
    }
}

/// A tag at the start of a text, and its length.
enum Tag<'a> {
    Open(&'a str, usize),
    Close(&'a str, usize),
    Unfinished,
    None,
}

fn tag(text: &str, more: More) -> Tag<'_> {
    if text.is_empty() && more == More::Coming {
        return Tag::Unfinished;
    }
    let Some(rest) = text.strip_prefix('<') else { return Tag::None };
    let Some(end) = rest.bytes().take(TAG_MAX).position(|byte| byte == b'>') else {
        return if more == More::Coming && rest.len() < TAG_MAX { Tag::Unfinished } else { Tag::None };
    };
    match rest[..end].strip_prefix('/') {
        Some(name) => Tag::Close(name, end + 2),
        None if end == 0 => Tag::None,
        None => Tag::Open(&rest[..end], end + 2),
    }
}
