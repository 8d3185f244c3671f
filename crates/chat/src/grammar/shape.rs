//! What the calls of each format look like when they are written as the family's templates write them.
//!
//! The parser's tables take much that models get wrong; a grammar lets them write only the right form.

use super::shapes::SHAPES;
use crate::ToolFormat;

/// How one checkpoint's calls are written.
#[derive(Debug)]
pub(super) struct CallShape {
    /// Opens a block of calls. It begins with one of the format's entries.
    pub begin: &'static str,
    /// One call.
    pub call: &'static [Piece],
    /// Between two calls of a block; `None`: a block has one.
    pub between: Option<&'static str>,
    /// Ends a block.
    pub end: &'static str,
    /// Between two blocks; `None`: an answer has one.
    pub again: Option<&'static str>,
    /// What a chat template of this shape contains, where a format has several.
    pub marker: &'static str,
    /// What opens a call in free text, besides `begin`.
    pub triggers: &'static [Trigger],
}

/// A text that opens a call in an answer that was free so far.
#[derive(Debug)]
pub(super) struct Trigger {
    pub on: &'static str,
    /// Whether it counts at the start of the answer only.
    pub is_fresh: bool,
    /// The rest of the call.
    pub call: &'static [Piece],
}

impl CallShape {
    /// Texts that end a value and the call, or open the next argument.
    pub fn endings(&self) -> Vec<String> {
        let of_pairs = |pairs: &PlainShape| {
            let line = if pairs.lines { "\n" } else { "" };
            [pairs.done, pairs.open].map(|next| format!("{line}{}\n{next}", pairs.close))
        };
        let of_piece = |piece: &Piece| match piece {
            Piece::Plain(pairs) => of_pairs(pairs).to_vec(),
            _ => Vec::new(),
        };
        self.pieces().flat_map(of_piece).collect()
    }

    /// Texts on both sides of strings that are not JSON's.
    pub fn quotes(&self) -> impl Iterator<Item = &'static str> {
        self.pieces().filter_map(|piece| match piece {
            Piece::Object(notation) => Some(notation.quote),
            _ => None,
        })
    }

    fn pieces(&self) -> impl Iterator<Item = &'static Piece> {
        self.call.iter().chain(self.triggers.iter().flat_map(|trigger| trigger.call))
    }
}

/// A part of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece {
    /// Just this text.
    Text(&'static str),
    /// The tool's name.
    Name,
    /// A number that counts calls.
    Index,
    /// An id.
    Id,
    /// The arguments as a JSON object.
    Json,
    /// The arguments as pairs of keys and plain text.
    Plain(&'static PlainShape),
    /// The arguments in a notation of their own.
    Object(&'static Notation),
}

/// How pairs are written, from what follows the tool's name to the end of the call.
#[derive(Debug)]
pub(super) struct PlainShape {
    /// Before a key.
    pub open: &'static str,
    /// Between a key and a text.
    pub text: &'static str,
    /// Between a key and JSON.
    pub json: &'static str,
    /// After a value.
    pub close: &'static str,
    /// Ends the call.
    pub done: &'static str,
    /// Whether values stand on lines of their own.
    pub lines: bool,
}

/// A notation of objects that is not JSON.
#[derive(Debug)]
pub(super) struct Notation {
    /// Around the arguments.
    pub brackets: (&'static str, &'static str),
    /// After an argument's name.
    pub equals: &'static str,
    /// A string, as a terminal's body.
    pub string: &'static str,
    /// On both sides of a constant string.
    pub quote: &'static str,
    /// Around nested objects' keys.
    pub key_quote: &'static str,
    pub colon: &'static str,
    pub comma: &'static str,
    /// `true`, `false` and `null`.
    pub words: [&'static str; 3],
}

/// The shape of a checkpoint's calls; `template` is its chat template. `None`: the format cannot be constrained.
pub(super) fn of(format: &ToolFormat, template: &str) -> Option<&'static CallShape> {
    let shapes = all(format);
    shapes.iter().find(|shape| !shape.marker.is_empty() && template.contains(shape.marker)).or(shapes.first())
}

/// All shapes of a format, the usual one first.
pub(super) fn all(format: &ToolFormat) -> &'static [CallShape] {
    SHAPES.iter().find(|(name, _)| *name == format.name).map_or(&[], |(_, shapes)| shapes)
}
