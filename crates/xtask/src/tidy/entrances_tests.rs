use super::{EXPECTED, check};
use crate::repo::TextFile;

/// A checkout with all entrances and one crate, changed by `edit`.
fn findings(edit: impl Fn(&mut Vec<TextFile>)) -> Vec<String> {
    let text = |path: &str| match path {
        "README.md" => "# Tokbar\n\n    cargo xtask run\n    cargo xtask test\n",
        "crates/README.md" => "| 1 | [engine](engine) | schedules |",
        _ => "",
    };
    let paths = EXPECTED.iter().copied().chain(["crates/engine/Cargo.toml"]);
    let mut files: Vec<TextFile> =
        paths.map(|path| TextFile { path: path.to_owned(), text: text(path).to_owned() }).collect();
    edit(&mut files);
    check(&files).iter().map(ToString::to_string).collect()
}

#[test]
fn entrances_are_there_and_the_map_is_whole() {
    assert!(findings(|_| {}).is_empty());
    for path in EXPECTED {
        let found = findings(|files| files.retain(|file| file.path != *path));
        assert!(found.iter().any(|line| line.starts_with(&format!("{path}: is not there"))), "{found:?}");
    }
    let found =
        findings(|files| files.push(TextFile { path: "crates/new/Cargo.toml".to_owned(), text: String::new() }));
    assert_eq!(found, ["crates/README.md: says nothing of the crate `new` [entrances]"]);
    let found = findings(|files| {
        for file in files.iter_mut().filter(|file| file.path == "README.md") {
            file.text = format!("{}{}", "\n".repeat(20), file.text);
        }
    });
    assert_eq!(found.len(), 2, "{found:?}");
}
