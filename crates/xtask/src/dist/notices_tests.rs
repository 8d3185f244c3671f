use std::fs;

use super::{Crate, licence_texts, page};

fn named(name: &str) -> Crate {
    Crate {
        registry: "cargo",
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        licence: "MIT".to_owned(),
        repository: format!("https://example.org/{name}"),
        folder: "/registry".into(),
    }
}

#[test]
fn each_text_stands_once_with_all_whose_it_is() {
    let crates = ["one", "two", "three"].map(named);
    let texts = [vec!["Licence A".to_owned()], vec!["Licence B".to_owned(), "Licence A".to_owned()], vec![]];
    let page = page(&crates, &texts).expect("a page");
    assert_eq!(page.matches("Licence A").count(), 1, "{page}");
    assert!(page.contains("one 1.0.0, two 1.0.0\n\nLicence A\n"), "{page}");
    assert!(page.contains("three 1.0.0: MIT https://example.org/three\n"), "{page}");
    assert!(page.contains("MLX"), "{page}");
}

#[test]
fn licences_are_found_by_their_names() {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, text) in
        [("LICENSE-MIT", "a\r\nb\n"), ("licence.md", "c"), ("NOTICE", " "), ("license.rs", "fn"), ("x.txt", "d")]
    {
        fs::write(dir.path().join(name), text).expect("written");
    }
    assert_eq!(licence_texts(dir.path()).expect("texts"), ["a\nb", "c"]);
}
