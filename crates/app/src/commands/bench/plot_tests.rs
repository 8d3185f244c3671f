use super::super::results::tests::two_targets;
use super::*;

#[test]
fn a_picture_names_targets_cases_and_figures_and_has_a_bar_for_each_value() {
    let picture = svg(&two_targets()).expect("a picture");
    for part in ["<svg", "ours", "theirs", "exact", "branch", "prefix: TTFT (ms), lower is better", "</svg>"] {
        assert!(picture.contains(part), "{part}");
    }
    // Two squares of the legend, and three values.
    let filled = |colour: &str| picture.matches(&format!("fill=\"{colour}\"")).count();
    assert_eq!((filled("#0072B2"), filled("#E69F00")), (3, 2));
}

#[test]
fn nothing_measured_is_an_empty_picture() {
    assert!(svg(&Results::new(String::new(), 0)).expect("a picture").contains("</svg>"));
}

#[test]
fn long_names_of_cases_are_cut() {
    assert_eq!(short("edit at the middle"), "edit at the middle");
    assert_eq!(short("4096 tokens arrive at 4 streams"), "4096 tokens arrive at\u{2026}");
}
