use super::{Depth, Profile, wanted};

fn given(words: &[&str]) -> anyhow::Result<(Depth, Profile)> {
    wanted(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
}

#[test]
fn a_bundle_needs_the_programs() {
    assert_eq!(given(&[]).expect("nothing"), (Depth::Check, Profile::Dev));
    assert_eq!(given(&["--link"]).expect("--link"), (Depth::Link, Profile::Dev));
    assert_eq!(given(&["--bundle", "--link"]).expect("both"), (Depth::Bundle, Profile::Dev));
    assert_eq!(given(&["--bundle", "--release"]).expect("optimised"), (Depth::Bundle, Profile::Release));
    let refused = given(&["--sign"]).expect_err("unknown").to_string();
    assert!(refused.contains("`--sign`"), "{refused}");
}
