//! The terminals that count in text and reasoning, and where they lead.

use super::output::Region;
use crate::formats::{CallWire, Goto, ReasoningFormat, Rule, ToolFormat, loose};

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

/// Whether calls in other ways than the family's are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovery {
    On,
    Off,
}

/// Where an entry leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// Into the tool format, by its rule.
    Format,
    /// Into the machine of loose calls, by its rule.
    Loose,
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
    pub fn new(format: Option<&ToolFormat>, reasoning: Option<&ReasoningFormat>, loose: Recovery) -> Self {
        let has_loose = loose == Recovery::On;
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
        // A rule of the family's own format goes before a loose one of the same text.
        let loose = |own: &[Entry], rules: &'static [Rule]| -> Vec<Entry> {
            let is_new = |rule: &&Rule| own.iter().all(|entry| entry.rule.on != rule.on);
            rules.iter().filter(is_new).map(|rule| Entry { rule: *rule, lead: Lead::Loose }).collect()
        };
        let (mut text, mut fresh) =
            format.map_or((Vec::new(), Vec::new()), |format| (of(format.entries), of(format.fresh_entries)));
        if has_loose {
            // Bare objects and lists may hold more than the family's own.
            if format.is_some_and(|format| matches!(format.wire.call, CallWire::Object { .. })) {
                fresh.retain(|entry| loose::FRESH_ENTRIES.iter().all(|rule| rule.on != entry.rule.on));
            }
            let loose_fresh = loose(&[text.as_slice(), fresh.as_slice()].concat(), loose::FRESH_ENTRIES);
            fresh.extend(loose_fresh);
            let loose_text = loose(&text, loose::ENTRIES);
            text.extend(loose_text);
        }
        let drops = reasoning.into_iter().flat_map(|format| format.drops).map(|on| tag(on, Lead::Nowhere));
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

    /// Whether a text is one of the terminals that lead into calls.
    pub fn is_entry(&self, text: &str) -> bool {
        let leads_in = |entry: &&Entry| matches!(entry.lead, Lead::Format | Lead::Loose);
        self.text.iter().filter(leads_in).any(|entry| entry.rule.on == text)
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
