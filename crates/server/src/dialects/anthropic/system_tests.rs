use serde_json::json;

use super::*;

fn read(system: Value) -> Option<String> {
    super::system(&mut Fields::new("", json!({ "system": system })).unwrap()).unwrap()
}

#[test]
fn what_changes_from_call_to_call_is_left_out() {
    let billing = |mark: &str| format!("x-anthropic-billing-header: cc_version=2.1.197.{mark}; cc_entrypoint=cli;");
    let cases = [
        (json!("be brief"), Some("be brief")),
        (json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]), Some("a\n\nb")),
        (json!([{ "type": "text", "text": billing("699") }, { "type": "text", "text": "a" }]), Some("a")),
        (json!(format!("{}\nYou are a coder.\n- calm", billing("1c6"))), Some("You are a coder.\n- calm")),
        (
            json!("a\n<total_tokens>12 tokens left</total_tokens>\n<total_tokens>9 tokens left</total_tokens>"),
            Some("a"),
        ),
        (json!("a <total_tokens>12 tokens left</total_tokens> b"), Some("a b")),
        (json!("a <total_tokens>never closed"), Some("a <total_tokens>never closed")),
        (json!([{ "type": "text", "text": billing("x") }]), None),
        (json!(null), None),
        (json!([]), None),
    ];
    for (system, expected) in cases {
        assert_eq!(read(system.clone()).as_deref(), expected, "{system}");
    }
}

#[test]
fn other_blocks_are_refused_by_place() {
    let mut fields = Fields::new("", json!({ "system": [{ "type": "image" }] })).unwrap();
    let error = super::system(&mut fields).unwrap_err();
    assert_eq!(error.param().as_deref(), Some("system[0].type"));
    assert!(super::system(&mut Fields::new("", json!({ "system": 3 })).unwrap()).is_err());
}
