//! Arguments that are not written as an object.

use super::super::{OutputParser, Step, call::Arguments, json_call, json_value::JsonValue, scan::More};
use super::{Progress, RAW_MAX, push_while};
use crate::formats::Goto;

/// Written where a call has no arguments.
const NULL: &str = "null";

impl OutputParser {
    /// Gives up what was begun; a tag after a call that nothing follows was meant to close it, and is no text.
    pub(in super::super) fn reject_at_end(&mut self) {
        if self.call.n_calls > 0 && self.entries.is_entry(self.call.raw.trim()) {
            self.call.raw.clear();
        }
        self.reject();
    }

    /// Arguments that are no object: `null` for none, and an object as JSON text in a string.
    pub(super) fn wrapped_arguments(&mut self, (done, open): (Goto, char), text: &str, more: More) -> Option<Step> {
        if let Arguments::Text(value, held) = &mut self.call.arguments {
            let (n, progress) = push_while(text, |character| value.push(character, held));
            let unwrapped = (progress == Progress::Done).then(|| json_call::unwrapped(held));
            let is_too_long = held.len() > RAW_MAX;
            self.call.note(&text[..n]);
            return Some(match unwrapped {
                Some(Some(object)) => {
                    self.open_call();
                    self.call.emit(&mut self.output, &object);
                    self.complete(done, n)
                }
                None if progress == Progress::More && !is_too_long => Step::Read(n),
                _ => {
                    self.go(Goto::Reject);
                    Step::Read(n)
                }
            });
        }
        let is_json = open == '{';
        if is_json && text.starts_with('"') {
            self.call.arguments = Arguments::Text(JsonValue::default(), String::new());
            return Some(Step::Read(0));
        }
        if is_json && text.starts_with(NULL) {
            self.open_call();
            self.call.emit(&mut self.output, "{}");
            return Some(self.complete(done, NULL.len()));
        }
        (is_json && more == More::Coming && !text.is_empty() && NULL.starts_with(text)).then_some(Step::Wait)
    }
}
