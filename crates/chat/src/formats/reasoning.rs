//! How families mark reasoning.

/// Pairs of tags around reasoning. Whether the prompt has opened it already is told by the prompt's tail.
#[derive(Debug, PartialEq, Eq)]
pub struct ReasoningFormat {
    /// What `--reasoning-parser` takes.
    pub name: &'static str,
    aliases: &'static [&'static str],
    /// Any of these in a chat template tells the format.
    detect: &'static [&'static str],
    /// Starts reasoning.
    pub(crate) open: &'static str,
    /// Ends reasoning.
    pub(crate) close: &'static str,
    /// Other pairs that mark it as well.
    more: &'static [(&'static str, &'static str)],
    /// Marks of the answer, which are never text.
    pub(crate) drops: &'static [&'static str],
    /// Whether what ends reasoning is the beginning of the answer.
    pub(crate) keeps_close: bool,
}

/// What formats have in common.
const PLAIN: ReasoningFormat = ReasoningFormat {
    name: "",
    aliases: &[],
    detect: &[],
    open: "",
    close: "",
    more: &[],
    drops: &[],
    keeps_close: false,
};

/// Every reasoning format; detection takes the first that a template tells of, so `<think>` comes last.
const FORMATS: [ReasoningFormat; 12] = [
    ReasoningFormat {
        name: "cohere_command4",
        aliases: &["north"],
        detect: &["<|END_THINKING|>"],
        open: "<|START_THINKING|>",
        close: "<|END_THINKING|>",
        ..PLAIN
    },
    ReasoningFormat {
        name: "gemma4",
        detect: &["<channel|>"],
        open: "<|channel>thought",
        close: "<channel|>",
        ..PLAIN
    },
    ReasoningFormat {
        name: "hy_v3",
        aliases: &["hy3"],
        detect: &["</think:opensource>", "</think{}>"],
        open: "<think:opensource>",
        close: "</think:opensource>",
        ..PLAIN
    },
    ReasoningFormat {
        name: "mistral",
        aliases: &["magistral"],
        detect: &["[/THINK]"],
        open: "[THINK]",
        close: "[/THINK]",
        ..PLAIN
    },
    ReasoningFormat {
        name: "seed_oss",
        aliases: &["seed"],
        detect: &["</seed:think>"],
        open: "<seed:think>",
        close: "</seed:think>",
        ..PLAIN
    },
    ReasoningFormat {
        name: "kimi_k3",
        detect: &["<|kimi_image_placeholder|>"],
        open: "<|open|>think<|sep|>",
        close: "<|close|>think<|sep|>",
        ..PLAIN
    },
    ReasoningFormat { name: "minimax_m3", detect: &["</mm:think>"], open: "<mm:think>", close: "</mm:think>", ..PLAIN },
    ReasoningFormat {
        name: "k2_horizon",
        detect: &["</ifm|think"],
        open: "<ifm|think>",
        close: "</ifm|think>",
        more: &[("<ifm|think_fast>", "</ifm|think_fast>"), ("<ifm|think_faster>", "</ifm|think_faster>")],
        ..PLAIN
    },
    ReasoningFormat {
        name: "apertus",
        detect: &["<|inner_suffix|>"],
        open: "<|inner_prefix|>",
        close: "<|inner_suffix|>",
        ..PLAIN
    },
    ReasoningFormat {
        name: "apriel",
        detect: &["[BEGIN FINAL RESPONSE]"],
        open: "Here are my reasoning steps:",
        close: "[BEGIN FINAL RESPONSE]",
        drops: &["[END FINAL RESPONSE]"],
        ..PLAIN
    },
    ReasoningFormat {
        name: "ui_tars",
        aliases: &["ui-tars"],
        detect: &["Thought: ...\nAction:", "Thought: ...\\nAction:"],
        open: "Thought:",
        close: "Action:",
        more: &[("Reflection:", "Action:"), ("Action_Summary:", "Action:")],
        keeps_close: true,
        ..PLAIN
    },
    ReasoningFormat {
        name: "qwen3",
        aliases: &[
            "deepseek_r1",
            "deepseek_r1_distill",
            "deepseek_v4",
            "glm4",
            "glm5",
            "minimax",
            "think",
            "vibethinker",
        ],
        detect: &["</think>"],
        open: "<think>",
        close: "</think>",
        ..PLAIN
    },
];

impl ReasoningFormat {
    /// The format that a template tells of, and the text that tells it.
    pub(super) fn detect(template: &str) -> Option<(&'static Self, &'static str)> {
        FORMATS.iter().find_map(|format| {
            let marker = format.detect.iter().find(|marker| template.contains(**marker))?;
            Some((format, *marker))
        })
    }

    pub(super) fn by_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name || format.aliases.contains(&name))
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().map(|format| format.name)
    }

    /// All pairs of tags.
    pub(crate) fn tags(&self) -> Vec<(&'static str, &'static str)> {
        std::iter::once((self.open, self.close)).chain(self.more.iter().copied()).collect()
    }

    /// All texts with a meaning.
    pub(crate) fn terminals(&self) -> impl Iterator<Item = &'static str> {
        self.tags().into_iter().flat_map(|(open, close)| [open, close]).chain(self.drops.iter().copied())
    }

    /// Whether a prompt that ends so has opened reasoning.
    pub(crate) fn is_open_after(&self, prompt_tail: &str) -> bool {
        let tail = prompt_tail.trim_end();
        self.tags().iter().any(|(open, _)| tail.ends_with(open))
    }
}
