//! How sources are written: sizes, names, and the few places that may do dangerous things.

use super::Finding;
use super::functions::{functions, words};
use super::mask::mask;

const MAX_FILE_LINES: usize = 400;
const MAX_FUNCTION_LINES: usize = 70;

/// Files that are tables: longer than a reader wants, because their subject is. Keep this list short.
const TABLES: &[&str] = &[];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["common", "helper", "helpers", "manager", "misc", "shared", "util", "utils"];

/// A word of Rust code that only some files may hold.
struct Word {
    rule: &'static str,
    words: &'static [&'static str],
    is_allowed: fn(&str) -> bool,
    detail: &'static str,
}

const WORDS: &[Word] = &[
    Word {
        rule: "unsafe",
        words: &["unsafe"],
        is_allowed: is_mlx_door,
        detail: "only crates/models/src/mx.rs and its submodules may hold `unsafe`",
    },
    Word {
        rule: "mlx-door",
        words: &["mlx_rs", "mlx_sys"],
        is_allowed: is_mlx_door,
        detail: "only crates/models/src/mx.rs and its submodules name MLX's own crates",
    },
    Word {
        rule: "spawn",
        words: &["spawn", "spawn_blocking", "spawn_local", "spawn_scoped"],
        is_allowed: |path| is_test(path) || is_xtask(path) || ["worker.rs", "wiring.rs"].contains(&file_name(path)),
        detail: "threads, tasks and processes start in worker.rs or wiring.rs, where something joins them",
    },
    Word {
        rule: "sleep",
        words: &["sleep"],
        is_allowed: |path| !is_test(path),
        detail: "a test waits for what it tests, not for time to pass",
    },
];

/// A piece of Rust code that no file may hold.
const NEVER: &[(&str, &str, &str)] = &[
    ("ignored-test", "#[ignore", "a test runs, or is not there"),
    ("inline-tests", "mod tests {", "tests live in a sibling file: #[path = \"NAME_tests.rs\"] mod tests;"),
];

/// Broken rules of one file; `path` is relative to the root of the checkout.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = machine_paths(path, text);
    if path.ends_with(".rs") {
        let masked = mask(text);
        findings.extend(names(path));
        findings.extend(lengths(path, &masked));
        findings.extend(forbidden_words(path, &masked));
        findings.extend(never(path, &masked));
        findings.extend(dialect_imports(path, &masked));
    }
    findings
}

fn is_mlx_door(path: &str) -> bool {
    path == "crates/models/src/mx.rs" || path.starts_with("crates/models/src/mx/")
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("_tests.rs")
}

fn is_xtask(path: &str) -> bool {
    path.starts_with("crates/xtask/")
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn finding(path: &str, line: usize, rule: &'static str, detail: impl Into<String>) -> Finding {
    Finding { place: format!("{path}:{line}"), rule, detail: detail.into() }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn names(path: &str) -> Option<Finding> {
    if file_name(path) == "mod.rs" {
        return Some(finding(path, 1, "mod-rs", "a module's file is NAME.rs beside its folder NAME/"));
    }
    let name = path.trim_end_matches(".rs").split('/').find(|name| {
        EMPTY_NAMES
            .iter()
            .any(|empty| name == empty || name.strip_suffix(empty).is_some_and(|rest| rest.ends_with('_')))
    })?;
    Some(finding(path, 1, "empty-name", format!("`{name}` does not say what is inside")))
}

fn lengths(path: &str, masked: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let n_lines = masked.lines().count();
    if n_lines > MAX_FILE_LINES && !TABLES.contains(&path) {
        findings.push(finding(path, 1, "file-length", format!("{n_lines} lines; at most {MAX_FILE_LINES}")));
    }
    let long = functions(masked).into_iter().filter(|function| function.n_lines > MAX_FUNCTION_LINES);
    findings.extend(long.map(|function| {
        let detail = format!("`{}` has {} lines; at most {MAX_FUNCTION_LINES}", function.name, function.n_lines);
        finding(path, function.line, "function-length", detail)
    }));
    findings
}

fn forbidden_words(path: &str, masked: &str) -> Vec<Finding> {
    let rules: Vec<&Word> = WORDS.iter().filter(|rule| !(rule.is_allowed)(path)).collect();
    let broken = |word: &str| rules.iter().find(|rule| rule.words.contains(&word));
    let found = words(masked).filter_map(|(at, word)| Some((at, broken(word)?)));
    found.map(|(at, rule)| finding(path, line_of(masked, at), rule.rule, rule.detail)).collect()
}

fn never(path: &str, masked: &str) -> Vec<Finding> {
    let found = |&(rule, piece, detail): &(&'static str, &str, &str)| {
        masked.find(piece).map(|at| finding(path, line_of(masked, at), rule, detail))
    };
    NEVER.iter().filter_map(found).collect()
}

/// `server/src/dialects/x.rs` or `.../x/y.rs` may name its own module and what all share, not another vendor's.
fn dialect_imports(path: &str, masked: &str) -> Vec<Finding> {
    const FOLDER: &str = "crates/server/src/dialects/";
    let Some(inside) = path.strip_prefix(FOLDER) else { return Vec::new() };
    let own = inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs").trim_end_matches("_tests");
    // From `x.rs` a neighbour is `super::y`; from inside `x/`, or tests of `x`, it is `super::super::y`; from anywhere
    // `dialects::y`.
    let depth = inside.matches('/').count() + 1 + usize::from(is_test(path));
    let neighbour = "super::".repeat(depth);
    let paths = ["dialects::".to_owned(), neighbour];
    let mut findings = Vec::new();
    for start in paths {
        for (at, _) in masked.match_indices(&start) {
            let other = words(&masked[at + start.len()..]).next().map_or("", |(_, word)| word);
            let is_module = other.starts_with(|c: char| c.is_lowercase()) && !["self", "super"].contains(&other);
            if is_module && other != own && !masked[..at].ends_with("super::") {
                let detail = format!("dialect `{own}` uses `{other}`: a dialect knows only its own vendor");
                findings.push(finding(path, line_of(masked, at), "dialects", detail));
            }
        }
    }
    findings
}

/// Absolute paths of somebody's machine, in any text file.
fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    let starts = ["root", "home", "Users", "work"].map(|folder| format!("/{folder}/"));
    let line = |(line_idx, line): (usize, &str)| {
        let start = starts.iter().find(|start| {
            // `src/home/x` and `https://host/home/x` are no machine's paths.
            line.match_indices(start.as_str())
                .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || ".-_~}/".contains(c)))
        })?;
        Some(finding(path, line_idx + 1, "machine-path", format!("`{start}...` exists on one machine only")))
    };
    text.lines().enumerate().filter_map(line).collect()
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
