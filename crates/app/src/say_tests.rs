use anyhow::anyhow;

use super::cause;

fn check(error: &anyhow::Error, expected: &str) {
    assert_eq!(cause(error), expected);
}

#[test]
fn every_cause_is_told_once() {
    check(&anyhow!("no model"), "no model");
    check(&anyhow!("no file").context("cannot load tiny"), "cannot load tiny: no file");
    check(&anyhow!("no file").context("cannot read a: no file").context("sorry"), "sorry: cannot read a: no file");
}
