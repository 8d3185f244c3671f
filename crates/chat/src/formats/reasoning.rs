//! How families mark reasoning.

/// A pair of tags around reasoning. Whether the prompt has opened it already is told by the prompt's tail.
#[derive(Debug, PartialEq, Eq)]
pub struct ReasoningFormat {
    /// What `--reasoning-parser` takes.
    pub name: &'static str,
    aliases: &'static [&'static str],
    /// Starts reasoning.
    pub(crate) open: &'static str,
    /// Ends reasoning.
    pub(crate) close: &'static str,
}

/// Every reasoning format; detection takes the first whose tags both stand in the template, so `<think>` comes last.
const FORMATS: [ReasoningFormat; 6] = [
    ReasoningFormat {
        name: "cohere_command4",
        aliases: &["north"],
        open: "<|START_THINKING|>",
        close: "<|END_THINKING|>",
    },
    ReasoningFormat { name: "gemma4", aliases: &[], open: "<|channel>thought", close: "<channel|>" },
    ReasoningFormat { name: "hy_v3", aliases: &["hy3"], open: "<think:opensource>", close: "</think:opensource>" },
    ReasoningFormat { name: "mistral", aliases: &["magistral"], open: "[THINK]", close: "[/THINK]" },
    ReasoningFormat { name: "seed_oss", aliases: &["seed"], open: "<seed:think>", close: "</seed:think>" },
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
        open: "<think>",
        close: "</think>",
    },
];

impl ReasoningFormat {
    pub(super) fn detect(template: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| template.contains(format.close))
    }

    pub(super) fn by_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name || format.aliases.contains(&name))
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().map(|format| format.name)
    }

    /// Whether a prompt that ends so has opened reasoning.
    pub(crate) fn is_open_after(&self, prompt_tail: &str) -> bool {
        prompt_tail.trim_end().ends_with(self.open)
    }
}
