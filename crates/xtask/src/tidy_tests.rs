#[test]
fn this_checkout_is_tidy() {
    let findings = super::findings().expect("cargo and git answer");
    let list: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
    assert!(findings.is_empty(), "\n{list}");
}
