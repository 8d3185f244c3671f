use super::*;

fn vocab<'a>(tokens: &'a [&'a str]) -> impl Fn(&str) -> Option<u32> + 'a {
    |token| tokens.iter().position(|known| *known == token).map(|idx| idx as u32)
}

#[test]
fn families_are_told_by_their_tokens() {
    let cases: [(&[&str], Option<&[u32]>); 5] = [
        (&["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"], Some(&[0, 10, 2, 20, 1])),
        (&["<｜fim▁hole｜>", "<｜fim▁begin｜>", "<｜fim▁end｜>"], Some(&[1, 10, 0, 20, 2])),
        (&["[PREFIX]", "[MIDDLE]", "[SUFFIX]"], Some(&[2, 20, 0, 10])),
        (&["<|fim_prefix|>"], None),
        (&[], None),
    ];
    for (tokens, expected) in cases {
        let prompt = Fim::find(vocab(tokens)).map(|fim| fim.prompt(&[10], &[20]));
        assert_eq!(prompt.as_deref(), expected, "{tokens:?}");
    }
}
