use serde_json::json;

use super::{Outcome, of_playwright, of_vitest};

#[test]
fn reports_are_counted_and_retries_and_skips_are_failures() {
    let report = json!({ "numPassedTests": 12, "numFailedTests": 1, "numTotalTests": 13 });
    assert_eq!(of_vitest(&report), Some(Outcome { n_passed: 12, n_failed: 1 }));
    let report = json!({ "stats": { "expected": 30, "unexpected": 1, "flaky": 2, "skipped": 3 } });
    assert_eq!(of_playwright(&report), Some(Outcome { n_passed: 30, n_failed: 6 }));
    assert_eq!(of_playwright(&json!({ "errors": [] })), None);
}
