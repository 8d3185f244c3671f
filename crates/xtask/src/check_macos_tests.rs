use super::{Depth, depth};

fn given(words: &[&str]) -> anyhow::Result<Depth> {
    depth(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
}

#[test]
fn a_bundle_needs_the_programs() {
    assert_eq!(given(&[]).expect("nothing"), Depth::Check);
    assert_eq!(given(&["--link"]).expect("--link"), Depth::Link);
    assert_eq!(given(&["--bundle", "--link"]).expect("both"), Depth::Bundle);
    let refused = given(&["--sign"]).expect_err("unknown").to_string();
    assert!(refused.contains("`--sign`"), "{refused}");
}
