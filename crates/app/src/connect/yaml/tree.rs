//! The nodes of a YAML document with where they stand in the text.

use anyhow::{Result, bail};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Number, Value};

use crate::connect::path::Step;

/// Deepest nesting that is read.
const N_LEVELS_MAX: usize = 64;

/// A node. Places are bytes of the text.
#[derive(Debug)]
pub struct Node {
    pub start: usize,
    /// After its last sign; of lists and objects in block style, after the last node in it.
    pub end: usize,
    pub shape: Shape,
}

#[derive(Debug)]
pub enum Shape {
    Scalar(Value),
    List(Vec<Node>),
    Object(Vec<(Node, Node)>),
}

impl Node {
    pub fn value(&self) -> Value {
        match &self.shape {
            Shape::Scalar(value) => value.clone(),
            Shape::List(items) => items.iter().map(Self::value).collect(),
            Shape::Object(pairs) => {
                let pair = |(key, value): &(Self, Self)| (key.name().unwrap_or_default().to_owned(), value.value());
                Value::Object(pairs.iter().map(pair).collect::<Map<_, _>>())
            }
        }
    }

    /// The field of an object: its name and value.
    pub fn field(&self, key: &str) -> Option<(&Self, &Self)> {
        let Shape::Object(pairs) = &self.shape else { return None };
        pairs.iter().find(|(name, _)| name.name() == Some(key)).map(|(name, value)| (name, value))
    }

    /// Whether it is the item that a step names.
    pub fn is(&self, step: &Step) -> bool {
        let Step::Item { field, value } = step else { return false };
        self.field(field).and_then(|(_, node)| node.name()) == Some(value)
    }

    pub fn has_item(&self, step: &Step) -> bool {
        matches!(&self.shape, Shape::List(items) if items.iter().any(|item| item.is(step)))
    }

    /// Whether nothing is written where it stands.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// After its last sign: line ends and blanks behind it are not part of it.
    pub fn end(&self, text: &str) -> usize {
        let own = text.get(self.start..self.end).unwrap_or_default();
        self.start + own.trim_end().len()
    }

    fn name(&self) -> Option<&str> {
        match &self.shape {
            Shape::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }
}

/// A list or object that is being read.
struct Open {
    start: usize,
    is_flow: bool,
    shape: Shape,
    key: Option<Node>,
}

/// The one document of a text, if it has any.
///
/// # Errors
/// When it is broken, has several documents, or repeats parts of itself by name.
pub fn read(text: &str) -> Result<Option<Node>> {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let place = |index: usize| places.get(index).copied().unwrap_or(text.len());
    let mut open: Vec<Open> = Vec::new();
    let (mut root, mut n_documents) = (None, 0);
    for event in Parser::new_from_str(text) {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => bail!("it is no valid YAML: {}, in line {}", error.info(), error.marker().line()),
        };
        let Span { start, end } = span;
        let (start, end) = (place(start.index()), place(end.index()));
        let is_flow = text[start..].starts_with(['[', '{']);
        let done = match event {
            Event::DocumentStart(_) => {
                n_documents += 1;
                None
            }
            Event::Alias(_) => bail!("it repeats parts of itself by name, which is not edited here"),
            Event::Scalar(_, _, _, Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
                bail!("it has tags, which are not edited here")
            }
            Event::Scalar(content, style, _, _) => {
                Some(Node { start, end: end.max(start), shape: Shape::Scalar(scalar(&content, style)) })
            }
            Event::SequenceStart(..) => {
                open.push(Open { start, is_flow, shape: Shape::List(Vec::new()), key: None });
                None
            }
            Event::MappingStart(..) => {
                open.push(Open { start, is_flow, shape: Shape::Object(Vec::new()), key: None });
                None
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(|open| open.close(end)),
            _ => None,
        };
        if open.len() > N_LEVELS_MAX || n_documents > 1 {
            bail!("it is nested too deeply or has several documents");
        }
        if let Some(node) = done {
            match open.last_mut() {
                Some(holder) => holder.add(node)?,
                None => root = Some(node),
            }
        }
    }
    // A document of nothing but comments is one empty value.
    Ok(root.filter(|node| !matches!(node.shape, Shape::Scalar(Value::Null))))
}

impl Open {
    fn add(&mut self, node: Node) -> Result<()> {
        match &mut self.shape {
            Shape::List(items) => items.push(node),
            Shape::Object(pairs) => match self.key.take() {
                Some(key) => pairs.push((key, node)),
                None if node.name().is_none() => bail!("a name in it is no text"),
                None if pairs.iter().any(|(key, _)| key.name() == node.name()) => {
                    bail!("{:?} stands in it twice", node.name().unwrap_or_default())
                }
                None => self.key = Some(node),
            },
            Shape::Scalar(_) => {}
        }
        Ok(())
    }

    fn close(self, end: usize) -> Node {
        let last = match &self.shape {
            Shape::List(items) => items.last().map(|node| node.end),
            Shape::Object(pairs) => pairs.last().map(|(key, value)| value.end.max(key.end)),
            Shape::Scalar(_) => None,
        };
        let end = if self.is_flow { end } else { last.unwrap_or(self.start) };
        Node { start: self.start, end, shape: self.shape }
    }
}

fn scalar(content: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return content.into();
    }
    match content {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => match (content.parse::<i64>(), content.parse::<f64>()) {
            (Ok(whole), _) => whole.into(),
            (_, Ok(number)) if content.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) => {
                Number::from_f64(number).map_or_else(|| content.into(), Value::Number)
            }
            _ => content.into(),
        },
    }
}
