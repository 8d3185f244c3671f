use super::super::results::tests::two_targets;
use super::*;

#[test]
fn a_table_has_columns_ratios_and_a_verdict() {
    let mut results = two_targets();
    results.targets[1].notes.push("it is slow".to_owned());
    let expected = "
prefix
  case    figure    ours  theirs  ours / it  better
  exact   TTFT, ms  12.0    30.0      0.50x  lower
  branch  TTFT, ms  5.00       -          -  lower

ours is ahead of theirs in 1 of 1 rows

note: theirs: it is slow
";
    assert_eq!(text(&results), expected);
}

#[test]
fn rows_in_which_the_first_is_not_ahead_are_named() {
    let mut results = two_targets();
    results.targets.swap(0, 1);
    assert!(text(&results).contains("in 0 of 1 rows; not in prefix exact: TTFT"), "{}", text(&results));
}

#[test]
fn numbers_keep_three_digits() {
    for (value, expected) in [(1234.5, "1234"), (99.94, "99.9"), (1.0, "1.00"), (0.0512, "0.051"), (0.0, "0")] {
        assert_eq!(number(value), expected);
    }
}
