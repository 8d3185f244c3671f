//! Fill-in-the-middle: code models continue between a given beginning and end.

/// The tokens of a fill-in-the-middle prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fim {
    /// Stands before the beginning.
    pub prefix: u32,
    /// Stands before the end.
    pub suffix: u32,
    /// Asks for the middle; families without it expect the end first.
    pub middle: Option<u32>,
}

/// How families name the three tokens: prefix, suffix, middle.
const NAMES: [[&str; 3]; 8] = [
    ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"],
    ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"],
    ["<fim-prefix>", "<fim-suffix>", "<fim-middle>"],
    ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"],
    ["<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"],
    ["▁<PRE>", "▁<SUF>", "▁<MID>"],
    ["<PRE>", "<SUF>", "<MID>"],
    ["[PREFIX]", "[SUFFIX]", "[MIDDLE]"],
];

impl Fim {
    /// Finds the tokens of the first family whose names the vocabulary has.
    pub(crate) fn find(id: impl Fn(&str) -> Option<u32>) -> Option<Self> {
        NAMES.iter().find_map(|[prefix, suffix, middle]| {
            let (prefix, suffix, middle_id) = (id(prefix)?, id(suffix)?, id(middle));
            // Codestral's vocabulary lists [MIDDLE], but the model was trained without it.
            let middle = middle_id.filter(|_| *middle != "[MIDDLE]");
            Some(Self { prefix, suffix, middle })
        })
    }

    /// The prompt that asks for what stands between `prefix` and `suffix` (token ids without special tokens).
    pub fn prompt(&self, prefix: &[u32], suffix: &[u32]) -> Vec<u32> {
        match self.middle {
            Some(middle) => [&[self.prefix], prefix, &[self.suffix], suffix, &[middle]].concat(),
            None => [&[self.suffix], suffix, &[self.prefix], prefix].concat(),
        }
    }
}

#[cfg(test)]
#[path = "fim_tests.rs"]
mod tests;
