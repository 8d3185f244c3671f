//! Comments between the parts of a value: JSON has none, models write them.

use super::JsonValue;

/// Where in a comment the next character stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Comment {
    #[default]
    None,
    /// After a slash that may begin one.
    Slash,
    /// Up to the end of the line.
    Line,
    /// Up to `*/`.
    Block,
    /// In a block, after a star.
    Star,
}

impl JsonValue {
    /// Whether a character outside of strings belongs to a comment.
    pub(super) fn skips(&mut self, character: char) -> bool {
        self.comment = match (self.comment, character) {
            // After anything else a slash is part of a text without quotes, such as a path.
            (Comment::None, '/') if self.word.is_empty() && self.may_hold_comment() => Comment::Slash,
            (Comment::None, '#') if self.python.is_some() && self.may_hold_comment() => Comment::Line,
            (Comment::Slash, '/') => Comment::Line,
            (Comment::Slash, '*') => Comment::Block,
            (Comment::Line, '\n') | (Comment::None | Comment::Slash, _) => {
                self.comment = Comment::None;
                return false;
            }
            (Comment::Line, _) => Comment::Line,
            (Comment::Star, '/') => Comment::None,
            (Comment::Block | Comment::Star, '*') => Comment::Star,
            (Comment::Block | Comment::Star, _) => Comment::Block,
        };
        true
    }

    fn may_hold_comment(&self) -> bool {
        !self.stack.is_empty() && (self.last.is_whitespace() || matches!(self.last, ',' | '{' | '[' | '(' | '"'))
    }
}
