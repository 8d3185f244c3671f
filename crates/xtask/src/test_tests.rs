use super::Tally;

#[test]
fn results_of_all_test_programs_add_up() {
    let mut tally = Tally::default();
    for line in [
        "running 3 tests",
        "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.41s",
        "I say: test result: ok. 100 passed;",
        "test result: FAILED. 13 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.44s",
        "test result: ok. no numbers",
    ] {
        tally.add(line);
    }
    assert_eq!(tally, Tally { n_passed: 25, n_failed: 2, is_complete: false });
}
