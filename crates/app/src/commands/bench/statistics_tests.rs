use super::*;

#[test]
fn percentiles_are_values_that_occurred() {
    let values = [5.0, 1.0, 4.0, 2.0, 3.0];
    for (q, expected) in [(0.0, 1.0), (0.2, 1.0), (0.5, 3.0), (0.95, 5.0), (1.0, 5.0)] {
        assert_eq!(percentile(&values, q), Some(expected), "{q}");
    }
    assert_eq!(percentile(&[], 0.5), None);
}

#[test]
fn an_even_number_of_values_has_its_median_between() {
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median(&[7.0]), Some(7.0));
    assert_eq!(median(&[]), None);
}

#[test]
fn ratios_are_taken_within_pairs() {
    // The medians are equal, but two of three pairs say 2.
    assert_eq!(ratio(&[20.0, 10.0, 40.0], &[10.0, 20.0, 20.0]), Some(2.0));
    assert_eq!(ratio(&[30.0], &[10.0, 20.0]), Some(2.0));
    assert_eq!(ratio(&[30.0], &[0.0]), None);
    assert_eq!(ratio(&[], &[]), None);
}

#[test]
fn nothing_has_a_rate_in_no_time() {
    assert_eq!(rate(10, 0.0), None);
    assert_eq!(rate(10, 4.0), Some(2.5));
}
