//! The events that one push gives: pieces of the same kind are joined.

use crate::Event;

/// Where text goes that is not a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Region {
    Text,
    Reasoning,
}

/// Collects events.
#[derive(Debug, Default)]
pub(super) struct Output {
    events: Vec<Event>,
}

impl Output {
    pub fn text(&mut self, region: Region, text: &str) {
        if text.is_empty() {
            return;
        }
        match (region, self.events.last_mut()) {
            (Region::Text, Some(Event::Text(last))) | (Region::Reasoning, Some(Event::Reasoning(last))) => {
                last.push_str(text);
            }
            (Region::Text, _) => self.events.push(Event::Text(text.to_owned())),
            (Region::Reasoning, _) => self.events.push(Event::Reasoning(text.to_owned())),
        }
    }

    pub fn arguments(&mut self, index: usize, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.events.last_mut() {
            Some(Event::ToolArgs { index: last, json }) if *last == index => json.push_str(text),
            _ => self.events.push(Event::ToolArgs { index, json: text.to_owned() }),
        }
    }

    pub fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}
