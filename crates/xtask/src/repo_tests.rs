use super::program_in;

#[test]
fn the_program_is_told_from_libraries_and_tests() {
    let messages = r#"{"target":{"name":"tokbar_app"},"profile":{"test":false},"executable":null}
not JSON
{"target":{"name":"tokbar"},"profile":{"test":true},"executable":"/t/debug/deps/tokbar-1"}
{"target":{"name":"bindings"},"profile":{"test":false},"executable":"/t/debug/bindings"}
{"target":{"name":"tokbar"},"profile":{"test":false},"executable":"/t/debug/tokbar"}
{"reason":"build-finished","success":true}
"#;
    assert_eq!(program_in(messages, "tokbar").as_deref(), Some("/t/debug/tokbar".as_ref()));
    assert_eq!(program_in("{}", "tokbar"), None);
}
