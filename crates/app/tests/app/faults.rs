//! The page of faults names tests and lines of the checklist that are there.

use std::fs;
use std::path::Path;

#[test]
fn every_fault_names_what_holds_it_off() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (page, checklist) = (read("docs/faults.md"), read("packaging/mac-checklist.md"));
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| fault");
    let mut n_rows = 0;
    for row in page.lines().filter(is_row) {
        let proof = row.split('|').nth(2).expect(row);
        let (tests, line) = proof.split_once("checklist:").unwrap_or((proof, ""));
        let mut source = String::new();
        for word in tests.split('`').skip(1).step_by(2) {
            if word.ends_with(".rs") {
                source = read(word);
            } else {
                assert!(source.contains(&format!("fn {word}()")), "{word} is not there: {row}");
            }
        }
        let line = line.trim();
        assert!(line.is_empty() || checklist.contains(line), "the checklist has no {line:?}");
        assert!(!source.is_empty() || !line.is_empty(), "nothing holds it off: {row}");
        n_rows += 1;
    }
    assert!(n_rows >= 30, "{n_rows}");
}
