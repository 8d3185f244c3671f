//! What the page of models says that neither the table of families nor the goldens know.

/// A family's checkpoints.
pub struct Entry {
    /// `model_type`.
    pub family: &'static str,
    /// Some that people run.
    pub checkpoints: &'static str,
    /// Public chat templates of them, whose formats the tests of the chat crate know.
    pub templates: &'static [&'static str],
}

const fn entry(family: &'static str, checkpoints: &'static str, templates: &'static [&'static str]) -> Entry {
    Entry { family, checkpoints, templates }
}

/// By family.
#[rustfmt::skip] // A table: one row per line.
pub const CATALOGUE: &[Entry] = &[
    entry("bailing_hybrid", "Ling 2.5, Ring 2.5", &[]),
    entry("bailing_moe", "Ling 2.0, Ring 2.0", &[]),
    entry("bailing_moe_linear", "Ling-linear 2.0, Ring-linear 2.0", &[]),
    entry("cohere2", "Command R7B, Command A", &["CohereForAI-c4ai-command-r7b-12-2024-tool_use"]),
    entry("deepseek_v2", "DeepSeek V2, V2-Lite, Coder-V2", &[]),
    entry("deepseek_v3", "DeepSeek V3, R1, V3.1; Kimi K2, K2.5", &["llama-cpp-deepseek-r1", "deepseek-ai-DeepSeek-V3.1", "Kimi-K2-Instruct", "Kimi-K2-Thinking"]),
    entry("deepseek_v32", "DeepSeek V3.2; GLM-5", &["deepseek-ai-DeepSeek-V3.2"]),
    entry("deepseek_v4", "DeepSeek V4, V4 Flash", &["deepseek-ai-DeepSeek-V4"]),
    entry("ernie4_5", "ERNIE 4.5 0.3B", &[]),
    entry("ernie4_5_moe", "ERNIE 4.5 21B-A3B, 300B-A47B", &[]),
    entry("exaone4", "EXAONE 4.0 1.2B, 32B", &[]),
    entry("falcon_h1", "Falcon-H1", &[]),
    entry("gemma2", "Gemma 2 2B, 9B, 27B", &["google-gemma-2-2b-it"]),
    entry("gemma3_text", "Gemma 3 270M, 1B, 4B, 12B, 27B", &[]),
    entry("gemma3n", "Gemma 3n E2B, E4B", &[]),
    entry("gemma4_text", "Gemma 4 E2B, E4B, 26B-A4B, 31B", &["google-gemma-4-31B-it"]),
    entry("glm4", "GLM-4 9B, 32B", &[]),
    entry("glm4_moe", "GLM-4.5-Air, 4.5, 4.6, 4.7", &["GLM-4.6"]),
    entry("glm4_moe_lite", "GLM-4.7-Flash", &["GLM-4.7-Flash"]),
    entry("gpt_oss", "gpt-oss-20b, gpt-oss-120b", &["openai-gpt-oss-120b"]),
    entry("granite", "Granite 3.x", &["ibm-granite-granite-3.3-2B-Instruct"]),
    entry("granitemoehybrid", "Granite 4.x", &["ibm-granite-granite-4.0"]),
    entry("jamba", "Jamba", &[]),
    entry("kimi_linear", "Kimi-Linear-48B-A3B", &[]),
    entry("lfm2", "LFM2, LFM2.5", &["LFM2.5-Instruct"]),
    entry("lfm2_moe", "LFM2-8B-A1B", &["LFM2-8B-A1B"]),
    entry("llama", "Llama 2, 3.x; Mistral 7B, Nemo, Small 3.x; Hermes 3; SmolLM2", &["meta-llama-Llama-3.1-8B-Instruct", "NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "Mistral-Small-3.2-24B-Instruct-2506"]),
    entry("llama4_text", "Llama 4 Scout, Maverick; MobileLLM-R1", &[]),
    entry("minimax", "MiniMax M2, M2.5", &["MiniMax-M2"]),
    entry("ministral3", "Ministral 3, Devstral Small 2", &["mistralai-Ministral-3-14B-Reasoning-2512"]),
    entry("mistral4", "Mistral Small 4", &[]),
    entry("mixtral", "Mixtral 8x7B, 8x22B", &[]),
    entry("nemotron_h", "Nemotron Nano 2, 3", &["NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]),
    entry("olmo2", "OLMo 2", &[]),
    entry("olmo3", "Olmo 3", &[]),
    entry("olmo_hybrid", "Olmo Hybrid 7B", &[]),
    entry("phi", "Phi-1, 1.5, 2", &[]),
    entry("phi3", "Phi-3, 3.5, 4, 4-mini", &["microsoft-Phi-3.5-mini-instruct"]),
    entry("qwen2", "Qwen2, Qwen2.5, QwQ; Qwen2-VL, Qwen2.5-VL", &["Qwen-Qwen2.5-7B-Instruct", "Qwen-QwQ-32B"]),
    entry("qwen2_moe", "Qwen1.5-MoE, Qwen2-57B-A14B", &[]),
    entry("qwen3", "Qwen3 0.6B to 32B; Qwen3-VL", &["Qwen-Qwen3-0.6B"]),
    entry("qwen3_5", "Qwen3.5 4B, 9B, 27B", &["Qwen3.5-4B"]),
    entry("qwen3_5_moe", "Qwen3.5 35B-A3B, 122B-A10B", &["Qwen3.5-4B"]),
    entry("qwen3_moe", "Qwen3-30B-A3B, 235B-A22B, Coder; Qwen3-VL", &["Qwen-Qwen3-0.6B", "Qwen3-Coder"]),
    entry("qwen3_next", "Qwen3-Next, Qwen3-Coder-Next", &["Qwen3-Coder"]),
    entry("seed_oss", "Seed-OSS-36B", &["ByteDance-Seed-OSS"]),
    entry("smollm3", "SmolLM3-3B", &["HuggingFaceTB-SmolLM3-3B"]),
];

/// What is asked for and does not run here, with the reason.
pub const ABSENT: &[(&str, &str)] = &[
    (
        "deepseek_v41",
        "mlx-lm 0.32.2 has it without its n-gram memory; its layers read keys that others pooled and round them to 4 bits, which V4 does not",
    ),
    ("falcon_mamba", "no layer attends; only hybrids are served"),
    (
        "glm_moe_dsa with shared indexers",
        "mlx-lm 0.32.2 has an indexer in every layer, so nothing tells whether sharing is right",
    ),
    (
        "deepseek_v4's heads of several stages",
        "their stages read what the network's layers made (`mtp.0.main_proj`), which no reference here has; their tensors are skipped",
    ),
    (
        "minimax_m2's head that predicts several tokens",
        "config.json of M2 to M2.7 counts three of them, but their makers publish no tensor of any",
    ),
    ("phi-msft", "mlx-lm reads it as Phixtral, a mixture of Phi-2 by third parties"),
];
