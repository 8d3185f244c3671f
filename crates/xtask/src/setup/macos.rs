//! macOS on Apple silicon: Apple's command line tools, the Metal compiler and what the Brewfile lists.

use std::process::Command;

use anyhow::bail;

use crate::stages::Stages;
use crate::{repo, shell};

/// A tool that only Apple's installers bring, and how to get it.
struct AppleTool {
    check: &'static [&'static str],
    missing: &'static str,
}

const APPLE_TOOLS: &[AppleTool] = &[
    AppleTool {
        check: &["xcode-select", "--print-path"],
        missing: "Apple's command line tools are missing. Install Xcode from the App Store, then run: xcode-select --install",
    },
    AppleTool {
        check: &["xcrun", "--sdk", "macosx", "metal", "--version"],
        missing: "the Metal compiler is missing. Install Xcode, then run: xcodebuild -downloadComponent MetalToolchain",
    },
    AppleTool { check: &["brew", "--version"], missing: "Homebrew is missing: see https://brew.sh" },
];

/// Checks Apple's tools and installs what the Brewfile lists.
pub fn prepare(stages: &Stages) -> anyhow::Result<()> {
    for tool in APPLE_TOOLS {
        if !shell::succeeds(Command::new(tool.check[0]).args(&tool.check[1..])) {
            bail!("{}", tool.missing);
        }
    }
    let brewfile = repo::root()?.join("Brewfile");
    let bundle = |words: &[&str]| {
        let mut brew = Command::new("brew");
        brew.args(["bundle"]).args(words).arg("--file").arg(&brewfile);
        brew
    };
    if shell::succeeds(&mut bundle(&["check", "--no-upgrade"])) {
        return Ok(());
    }
    stages.run("brew bundle", || shell::capture(&mut bundle(&["install", "--no-upgrade"])).map(drop))
}
