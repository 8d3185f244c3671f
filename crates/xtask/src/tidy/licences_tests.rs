use super::is_allowed;

#[test]
fn an_expression_is_allowed_if_some_choice_is() {
    let check = |expression: &str, expected: bool| assert_eq!(is_allowed(expression), expected, "{expression}");
    for expression in [
        "MIT",
        "MIT/Apache-2.0",
        "Apache-2.0 / MIT",
        "GPL-3.0 OR Apache-2.0",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "MIT AND BSD-3-Clause",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        "MIT OR GPL-3.0 AND AGPL-3.0",
    ] {
        check(expression, true);
    }
    for expression in [
        "",
        "GPL-3.0",
        "LGPL-3.0-only",
        "MIT AND GPL-3.0",
        "(MIT OR Apache-2.0) AND AGPL-3.0",
        "GPL-2.0 WITH Classpath-exception-2.0",
        "MIT WITH Surprise-exception",
        "MIT OR",
        "(MIT",
        "MIT)",
        "MIT Apache-2.0",
        "mit",
    ] {
        check(expression, false);
    }
}
