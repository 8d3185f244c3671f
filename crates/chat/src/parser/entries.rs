//! The terminals that count in text and reasoning, and where they lead.

use super::output::Region;
use crate::formats::{Goto, ReasoningFormat, Rule, ToolFormat};

/// Terminals that count in text and reasoning.
#[derive(Debug)]
pub(super) struct Entries {
    text: Vec<Entry>,
    fresh_text: Vec<Entry>,
    reasoning: Vec<Entry>,
    fresh_reasoning: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub rule: Rule,
    pub lead: Lead,
}

/// Where an entry leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// Into the tool format, by its rule.
    Format,
    /// From text to reasoning.
    Reasoning,
    /// From reasoning to text.
    Answer,
    /// Nowhere: a tag that the prompt has written already.
    Nowhere,
}

/// Whether only whitespace stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    Fresh,
    Stale,
}

impl Entries {
    pub fn new(format: Option<&ToolFormat>, reasoning: Option<&ReasoningFormat>) -> Self {
        let of =
            |rules: &[Rule]| rules.iter().map(|rule| Entry { rule: *rule, lead: Lead::Format }).collect::<Vec<_>>();
        let tag = |on, lead| Entry { rule: Rule::new(on, Goto::Back), lead };
        let tags: Vec<_> = reasoning.map(ReasoningFormat::tags).unwrap_or_default();
        let close = |on| {
            let entry = tag(on, Lead::Answer);
            if reasoning.is_some_and(|format| format.keeps_close) {
                Entry { rule: entry.rule.peeks(), ..entry }
            } else {
                entry
            }
        };
        let drops = reasoning.into_iter().flat_map(|format| format.drops).map(|on| tag(on, Lead::Nowhere));
        let (text, fresh) =
            format.map_or((Vec::new(), Vec::new()), |format| (of(format.entries), of(format.fresh_entries)));
        let opening = tags.iter().flat_map(|(on, off)| [tag(on, Lead::Reasoning), tag(off, Lead::Nowhere)]);
        let opening: Vec<_> = opening
            .filter(|entry| !(entry.lead == Lead::Nowhere && reasoning.is_some_and(|format| format.keeps_close)))
            .collect();
        let reopening = tags.iter().flat_map(|(on, off)| [tag(on, Lead::Nowhere), close(off)]);
        let closing = tags.iter().map(|(_, off)| close(off));
        let text: Vec<_> = text.into_iter().chain(drops).collect();
        Self {
            fresh_text: text.iter().copied().chain(fresh).chain(opening).collect(),
            fresh_reasoning: text.iter().copied().chain(reopening).collect(),
            reasoning: text.iter().copied().chain(closing).collect(),
            text,
        }
    }

    pub fn of(&self, region: Region, freshness: Freshness) -> &[Entry] {
        match (region, freshness) {
            (Region::Text, Freshness::Fresh) => &self.fresh_text,
            (Region::Text, Freshness::Stale) => &self.text,
            (Region::Reasoning, Freshness::Fresh) => &self.fresh_reasoning,
            (Region::Reasoning, Freshness::Stale) => &self.reasoning,
        }
    }
}
