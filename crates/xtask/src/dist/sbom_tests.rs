use super::{Crate, bill};

#[test]
fn the_bill_names_crates_and_mlx_with_its_hash() {
    let found = Crate {
        registry: "cargo",
        name: "one".to_owned(),
        version: "1.2.3".to_owned(),
        licence: "MIT/Apache-2.0".to_owned(),
        repository: String::new(),
        folder: "/registry".into(),
    };
    let bill = bill("0.9.0", &[found]);
    assert_eq!(bill["metadata"]["component"]["version"], "0.9.0");
    assert_eq!(bill["components"][0]["purl"], "pkg:cargo/one@1.2.3");
    assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
    assert_eq!(bill["components"][1]["name"], "mlx-metal");
    assert_eq!(bill["components"][1]["hashes"][0]["content"].as_str().map(str::len), Some(64));
}
