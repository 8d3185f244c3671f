use super::*;

fn parse(line: &str) -> anyhow::Result<Options> {
    Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

#[test]
fn options_and_models_are_read_in_any_order() {
    let expected =
        Options { pairs: 3, prompt_tokens: vec![16, 32], output_tokens: 8, models: vec!["a".into(), "b".into()] };
    let got = parse("a --pairs 3 --prompt-tokens 16,32 b --output-tokens 8");
    assert_eq!(got.expect("a good line"), expected);
}

#[test]
fn bad_lines_name_the_option() {
    for (line, part) in [
        ("--pairs", "--pairs needs a value"),
        ("--pairs x", "--pairs needs a whole number, not `x`"),
        ("--output-tokens 0", "--output-tokens must be at least 1"),
        ("--prompt-tokens 5,", "--prompt-tokens needs a whole number, not ``"),
        ("--quick", "no option --quick"),
    ] {
        let error = format!("{:#}", parse(line).expect_err(line));
        assert!(error.contains(part), "{line}: {error}");
    }
}
