use super::mask;

/// Checks what is left of the code, with runs of blanks shown as one.
fn check(source: &str, expected: &str) {
    let masked = mask(source);
    assert_eq!(masked.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{source}");
    assert_eq!(masked.matches('\n').count(), source.matches('\n').count(), "{source}");
    assert_eq!(masked.len(), source.len(), "{source}");
}

#[test]
fn only_code_is_left() {
    check("a // unsafe\nb", "a b");
    check("a /* unsafe /* nested */ still */ b", "a b");
    check("a /* open", "a");
    check(r#"f("unsafe \" {", x)"#, "f( , x)");
    check(r##"f(r#"raw " unsafe"#, b"x", br"y", c"z")"##, "f(r , b , br , c )");
    check("'{' '\\'' '\\u{7d}' 'é' x", "x");
    check("fn f<'a>(x: &'a str) -> &'static str {}", "fn f<'a>(x: &'a str) -> &'static str {}");
    check("for x in 'outer: r {}", "for x in 'outer: r {}");
    check("r#type = number\"s\"", "r#type = number");
    check("\"never closed", "");
    check("\"ends in a backslash\\", "");
}
