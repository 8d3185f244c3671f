//! How clients are run with settings of their own.

use super::LLM_FOLDER;
use crate::connect::Target;

/// How a client is run with settings of its own.
#[derive(Debug)]
pub struct Launch {
    /// The program.
    pub program: &'static str,
    /// Variables that name its folders, relative to the temporary one.
    pub folders: &'static [(&'static str, &'static str)],
    /// Variables that it needs besides.
    pub variables: fn(&Target) -> Vec<(&'static str, String)>,
    /// Variables of others that would lead it elsewhere.
    pub unset: &'static [&'static str],
    /// Arguments before those of the person.
    pub arguments: fn(&Target) -> Vec<String>,
    /// Files that a first start would ask a person about.
    pub seeds: &'static [(&'static str, &'static str)],
}

/// For clients that know no folder of their own: a home with nothing in it.
const HOME: &[(&str, &str)] = &[
    ("HOME", ""),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];

pub const AIDER: Launch = Launch {
    program: "aider",
    folders: HOME,
    variables: no_variables,
    unset: &["OPENAI_API_BASE", "OPENAI_API_KEY"],
    arguments: no_arguments,
    seeds: &[],
};

pub const CLAUDE_CODE: Launch = Launch {
    program: "claude",
    folders: &[("CLAUDE_CONFIG_DIR", ".claude")],
    variables: no_variables,
    unset: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"],
    arguments: no_arguments,
    seeds: &[(".claude/.claude.json", r#"{"hasCompletedOnboarding": true}"#)],
};

pub const CLINE: Launch = Launch {
    program: "cline",
    folders: &[("CLINE_DIR", ".cline")],
    // Otherwise it leaves a program of its own running behind.
    variables: |_| vec![("CLINE_SESSION_BACKEND_MODE", "local".to_owned()), ("CLINE_NO_AUTO_UPDATE", "1".to_owned())],
    unset: &["CLINE_DATA_DIR", "CLINE_PROVIDER_SETTINGS_PATH", "CLINE_PROVIDER", "CLINE_MODEL", "CLINE_API_KEY"],
    arguments: no_arguments,
    seeds: &[],
};

pub const CODEX: Launch = Launch {
    program: "codex",
    folders: &[("CODEX_HOME", ".codex")],
    variables: key_variable,
    unset: &["OPENAI_BASE_URL"],
    arguments: no_arguments,
    seeds: &[],
};

pub const CONTINUE: Launch = Launch {
    program: "cn",
    folders: &[("CONTINUE_GLOBAL_DIR", ".continue")],
    variables: no_variables,
    unset: &[],
    arguments: no_arguments,
    seeds: &[],
};

pub const GOOSE: Launch = Launch {
    program: "goose",
    folders: HOME,
    variables: key_variable,
    unset: &["GOOSE_PROVIDER", "GOOSE_MODEL"],
    arguments: no_arguments,
    seeds: &[],
};

pub const LLM: Launch = Launch {
    program: "llm",
    folders: &[("LLM_USER_PATH", LLM_FOLDER)],
    variables: no_variables,
    unset: &[],
    arguments: no_arguments,
    seeds: &[],
};

pub const OPENCLAW: Launch = Launch {
    program: "openclaw",
    folders: HOME,
    variables: no_variables,
    unset: &["OPENCLAW_CONFIG_PATH", "OPENCLAW_HOME", "OPENCLAW_STATE_DIR"],
    arguments: no_arguments,
    seeds: &[],
};

pub const OPENCODE: Launch = Launch {
    program: "opencode",
    folders: &[
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_CACHE_HOME", ".cache"),
    ],
    variables: |_| {
        vec![("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()), ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned())]
    },
    unset: &["OPENCODE_CONFIG"],
    arguments: no_arguments,
    seeds: &[],
};

pub const PI: Launch = Launch {
    program: "pi",
    folders: &[("PI_CODING_AGENT_DIR", ".pi/agent")],
    variables: |_| vec![("PI_OFFLINE", "1".to_owned())],
    unset: &[],
    arguments: no_arguments,
    seeds: &[],
};

pub const QWEN_CODE: Launch = Launch {
    program: "qwen",
    folders: HOME,
    variables: no_variables,
    unset: &["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"],
    arguments: no_arguments,
    seeds: &[],
};

fn no_variables(_: &Target) -> Vec<(&'static str, String)> {
    Vec::new()
}

fn no_arguments(_: &Target) -> Vec<String> {
    Vec::new()
}

fn key_variable(target: &Target) -> Vec<(&'static str, String)> {
    vec![("TOKBAR_API_KEY", target.key_or_any().to_owned())]
}
