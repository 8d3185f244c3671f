//! `tokbar bench compare`: saved results side by side.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::output;
use super::results::Results;
use crate::cli::CompareArgs;

/// Reads the files, prints one table, and writes what was asked for.
pub fn run(args: &CompareArgs) -> Result<()> {
    let files = args.files.iter().map(|path| Ok((stem(path), Results::read(path)?))).collect::<Result<Vec<_>>>()?;
    output::write(&merged(files), &args.output)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// All targets of all files; a name that comes twice gets its file's name, and if need be a number, beside it.
fn merged(files: Vec<(String, Results)>) -> Results {
    let mut all: Option<Results> = None;
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (stem, mut results) in files {
        for idx in 0..results.targets.len() {
            let old = results.targets[idx].name.clone();
            let new = free_name(&old, &stem, &taken);
            taken.insert(new.clone());
            for series in results.series.iter_mut().filter(|series| series.target == old) {
                series.target.clone_from(&new);
            }
            results.targets[idx].name = new;
        }
        match &mut all {
            None => all = Some(results),
            Some(all) => {
                all.targets.extend(results.targets);
                all.series.extend(results.series);
            }
        }
    }
    all.unwrap_or_else(|| Results::new(String::new(), 0))
}

fn free_name(name: &str, stem: &str, taken: &BTreeSet<String>) -> String {
    let with_stem = format!("{name} ({stem})");
    let numbered = (2..).map(|n| format!("{name} ({stem} {n})"));
    let mut names = [name.to_owned(), with_stem].into_iter().chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
