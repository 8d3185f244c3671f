use serde_json::json;

use super::findings;

#[test]
fn all_but_names_of_machines_count() {
    let said = json!([
        [{ "file": "a.yml", "line": 3, "kind": "runner-label", "message": "unknown" }],
        [],
        [{ "file": "b.yml", "line": 7, "kind": "syntax-check", "message": "unexpected key" }],
    ]);
    assert_eq!(findings(&said).expect("findings"), ["b.yml:7: unexpected key"]);
    assert!(findings(&json!("broken")).is_err());
}

#[test]
fn every_script_that_a_workflow_calls_is_there_and_every_secret_is_explained() {
    let root = crate::repo::root().expect("a checkout");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect(path);
    let explained = read("packaging/README.md");
    let mut n_calls = 0;
    for workflow in ["release.yml", "test.yml"] {
        let text = read(&format!(".github/workflows/{workflow}"));
        for (at, _) in text.match_indices("packaging/") {
            let path = text[at..].split([' ', '"', '\n']).next().expect("a path");
            assert!(root.join(path).is_file(), "{workflow} calls {path}");
            n_calls += 1;
        }
        for (at, start) in text.match_indices("secrets.") {
            let name = text[at + start.len()..].split(' ').next().expect("a name");
            assert!(explained.contains(&format!("`{name}`")), "packaging/README.md does not say what {name} is");
        }
    }
    assert!(n_calls >= 6, "{n_calls}");
}
