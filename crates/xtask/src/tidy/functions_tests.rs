use super::{Function, functions};

#[test]
fn functions_reach_to_their_closing_brace() {
    let check = |source: &str, expected: &[(&str, usize, usize)]| {
        let found: Vec<_> =
            functions(source).into_iter().map(|Function { name, line, n_lines }| (name, line, n_lines)).collect();
        assert_eq!(found, expected, "{source}");
    };
    check("fn a() {}", &[("a", 1, 1)]);
    check("\npub fn a(\n) -> u32\n{\n  if x { 1 } else { 2 }\n}\n", &[("a", 2, 5)]);
    check("fn outer() {\n  fn inner() {\n  }\n}", &[("outer", 1, 4), ("inner", 2, 2)]);
    check("trait T {\n  fn a(&self);\n  fn b(&self) -> [u8; 4] {\n    [0; 4]\n  }\n}", &[("b", 3, 3)]);
    check("fn a(x: [u8; { 1 + 1 }]) -> [u8; 2] {\n}", &[("a", 1, 2)]);
    check("struct S { f: fn(u32) -> u32 }\nfn a() {}", &[("a", 2, 1)]);
    check("fn not_closed() {", &[]);
    check("let fnord = 1;", &[]);
}
