//! Which crate may use which: a crate uses only lower floors, and some know nothing of whole subjects.

use anyhow::Context;
use serde_json::Value;

use super::Finding;

/// Our crates by floor. A crate may use those of lower floors, never one of its own.
const FLOORS: &[(&str, u32)] = &[
    ("tokbar-chat", 1),
    ("tokbar-engine", 1),
    ("tokbar-hub", 1),
    ("tokbar-models", 2),
    ("tokbar-server", 2),
    ("tokbar-app", 3),
    ("tokbar-desktop", 4),
    // Tools stand beside the house: nobody uses them, and they use nobody.
    ("xtask", 0),
];

/// Crates from outside that hold a subject, and the only crates of ours that may know it.
const SUBJECTS: &[(&str, &[&str], &[&str])] = &[
    ("MLX", &["mlx-rs", "mlx-sys", "mlx-macros", "mlx-internal-macros"], &["tokbar-models"]),
    ("HTTP servers", &["axum", "hyper", "tower", "tower-http"], &["tokbar-server", "tokbar-app", "tokbar-desktop"]),
    ("text and tokens", &["tokenizers", "minijinja", "minijinja-contrib", "llguidance"], &["tokbar-chat"]),
    ("windows and trays", &["tauri", "wry", "tao"], &["tokbar-desktop"]),
];

/// One dependency: a crate of ours and what it uses.
#[derive(Debug, PartialEq)]
pub struct Edge {
    pub from: String,
    pub to: String,
    /// Used by tests only: a test may hold a crate against a peer, or against another's reading of the same files.
    pub is_dev: bool,
}

/// The dependencies of the workspace's own packages, from `cargo metadata`.
pub fn edges(metadata: &Value) -> anyhow::Result<Vec<Edge>> {
    let members = metadata["workspace_members"].as_array().context("`cargo metadata` lists no members")?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let mut edges = Vec::new();
    for package in packages.iter().filter(|package| members.contains(&package["id"])) {
        let from = package["name"].as_str().context("a package without a name")?;
        for dependency in package["dependencies"].as_array().context("a package without dependencies")? {
            let to = dependency["name"].as_str().context("a dependency without a name")?;
            edges.push(Edge { from: from.to_owned(), to: to.to_owned(), is_dev: dependency["kind"] == "dev" });
        }
    }
    Ok(edges)
}

/// Edges that break the floor plan.
pub fn check(edges: &[Edge]) -> Vec<Finding> {
    let counted = edges.iter().filter(|edge| !edge.is_dev);
    counted.filter_map(|edge| Some(finding(edge, broken_floor(edge).or_else(|| broken_subject(edge))?))).collect()
}

fn finding(edge: &Edge, detail: String) -> Finding {
    Finding { place: edge.from.clone(), rule: "floors", detail }
}

fn broken_floor(edge: &Edge) -> Option<String> {
    let floor = |name: &str| FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor);
    let Some(from) = floor(&edge.from) else { return Some("has no floor: add it to FLOORS".to_owned()) };
    let to = floor(&edge.to)?;
    (to >= from).then(|| format!("is on floor {from} and uses {} on floor {to}", edge.to))
}

fn broken_subject(edge: &Edge) -> Option<String> {
    let (subject, _, _) = SUBJECTS
        .iter()
        .find(|(_, crates, may_know)| crates.contains(&edge.to.as_str()) && !may_know.contains(&edge.from.as_str()))?;
    Some(format!("must not know {subject}, but uses {}", edge.to))
}

#[cfg(test)]
#[path = "floors_tests.rs"]
mod tests;
