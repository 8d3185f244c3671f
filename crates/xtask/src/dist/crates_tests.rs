use serde_json::json;

use super::{Crate, reachable};

fn names(crates: &[Crate]) -> Vec<&str> {
    crates.iter().map(|found| found.name.as_str()).collect()
}

#[test]
fn only_what_is_compiled_into_the_programs_counts() {
    let package = |name: &str, source: Option<&str>| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT", "source": source, "manifest_path": format!("/registry/{name}/Cargo.toml") });
    let dependency = |name: &str, kinds: &[Option<&str>]| {
        let kinds: Vec<_> = kinds.iter().map(|kind| json!({ "kind": kind })).collect();
        json!({ "pkg": name, "dep_kinds": kinds })
    };
    let metadata = json!({
        "packages": [
            package("tokbar-app", None), package("xtask", None), package("direct", Some("r")), package("deep", Some("r")),
            package("for-tests", Some("r")), package("for-builds", Some("r")), package("both", Some("r")), package("of-xtask", Some("r")),
        ],
        "resolve": { "nodes": [
            { "id": "tokbar-app", "deps": [
                dependency("direct", &[None]), dependency("for-tests", &[Some("dev")]),
                dependency("for-builds", &[Some("build")]), dependency("both", &[Some("build"), None]),
            ] },
            { "id": "direct", "deps": [dependency("deep", &[None]), dependency("direct", &[None])] },
            { "id": "xtask", "deps": [dependency("of-xtask", &[None])] },
        ] },
    });
    let crates = reachable(&metadata).expect("crates");
    assert_eq!(names(&crates), ["both", "deep", "direct"]);
    assert_eq!(crates[0].folder.to_str(), Some("/registry/both"));
}

#[test]
fn the_real_list_has_what_is_known_to_be_shipped() {
    let crates = super::shipped().expect("crates");
    let names = names(&crates);
    for name in ["mlx-rs", "mlx-sys", "axum", "tokenizers"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    for name in ["proptest", "bindgen", "jsonschema"] {
        assert!(!names.contains(&name), "{name} is not shipped");
    }
}

#[test]
fn the_pages_packages_are_listed_with_their_licences() {
    let pages = crate::dist::pages::shipped().expect("`cargo xtask ui` has been run");
    for name in ["dompurify", "marked", "svelte"] {
        let found = pages.iter().find(|found| found.name == name).expect(name);
        assert!(!found.version.is_empty() && !found.licence.is_empty(), "{found:?}");
    }
    assert!(!names(&pages).contains(&"vite"), "what builds pages is not in them");
}
