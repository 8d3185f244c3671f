use super::executable;

#[test]
fn the_program_is_the_last_one_that_cargo_names() {
    let messages = r#"{"reason":"compiler-artifact","executable":null}
not JSON
{"reason":"compiler-artifact","executable":"/t/debug/tokbar"}
{"reason":"build-finished","success":true}
"#;
    assert_eq!(executable(messages).as_deref(), Some("/t/debug/tokbar".as_ref()));
    assert_eq!(executable(""), None);
}
