//! `cargo xtask clients`: the vendors' own clients, which the tests run, in environments of exact versions.

use anyhow::bail;

use crate::python::Dependencies;
use crate::{npm, python, repo};

/// What the Python clients in the tests use, with all that they need.
const PYTHON_CLIENTS: &str = include_str!("clients/python.txt");

/// What the Node clients in the tests use, with all that they need.
const NODE_CLIENTS: &[npm::Package] = &[
    npm::Package {
        spec: "@anthropic-ai/sdk@1.15.0",
        integrity: "sha512-N6noVzTApqN4S7XQvaxjDJtoxlDj36lAdj1DfDmh4puzUJjVlR7cYPLJa8Ch2pRaBhRd3of/4a5apg8Wn52g0A==",
    },
    npm::Package {
        spec: "@opentelemetry/api@1.10.0",
        integrity: "sha512-lMkyes8iHrG+mk6WH7X70MdCLI2RS0FwNBY1PyQ8UemaijE2m5mv5A0Niy3HtbYTFrgkUEQjFMXmSAk2hQDuPQ==",
    },
    npm::Package {
        spec: "@stablelib/base64@1.0.1",
        integrity: "sha512-1bnPQqSxSuc3Ii6MhBysoWCg58j97aUjuCSZrGSmDxNqtytIi0k8utUenAwTZN4V5mXXYGsVUI9zeBqy+jBOSQ==",
    },
    npm::Package {
        spec: "fast-sha256@1.3.0",
        integrity: "sha512-n11RGP/lrWEFI/bWdygLxhI+pVeo1ZYIVwvvPkW7azl/rOy+F3HYRZ2K5zeE9mmkhQppyv9sQFx0JM9UabnpPQ==",
    },
    npm::Package {
        spec: "openai@6.49.0",
        integrity: "sha512-aYCc0C6L864eR6WSYIwQGyXriw/nIyZx0ObvhzOEVuk0zoBDpynjSbrionWI7q65B5H8jJX0DXR9snEzM6bfPg==",
    },
    npm::Package {
        spec: "standardwebhooks@1.1.1",
        integrity: "sha512-bCbX9ZEyFkWPsRz7Bl3NuQUJohmwGSev/yhr7vhaGPlc4AfIrspIRa6cPTBuI1ItmrTDJ4d/S2hCsfe4+vQGnQ==",
    },
];

/// Installs them under `.testkit`; `cargo xtask test` does so, too.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        bail!("`clients` takes no arguments");
    }
    ensure()
}

/// Environments under the names that the tests know.
pub fn ensure() -> anyhow::Result<()> {
    let testkit = repo::testkit()?;
    python::environment(&testkit.join("sdk-python"), PYTHON_CLIENTS, Dependencies::Resolved)?;
    npm::environment(&testkit.join("sdk-node"), NODE_CLIENTS)
}
