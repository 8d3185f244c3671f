use super::*;

const TTFT: Metric = Metric { name: "TTFT", unit: "ms", better: Better::Lower };

fn sample(case: &str, value: f64) -> Sample {
    Sample { case: case.to_owned(), metric: TTFT, value }
}

pub fn two_targets() -> Results {
    let mut results = Results::new("2026-01-01T00:00:00Z".to_owned(), 7);
    for name in ["ours", "theirs"] {
        results.targets.push(TargetInfo { name: name.to_owned(), model: "m".to_owned(), notes: Vec::new() });
    }
    for (ours, theirs) in [(10.0, 20.0), (30.0, 30.0), (12.0, 36.0)] {
        results.add("prefix", "ours", vec![sample("exact", ours), sample("branch", 5.0)]);
        results.add("prefix", "theirs", vec![sample("exact", theirs)]);
    }
    results
}

#[test]
fn runs_of_one_figure_become_one_row() {
    let results = two_targets();
    let rows = results.rows();
    let heads: Vec<&str> = rows.iter().map(|row| row.head.case.as_str()).collect();
    assert_eq!(heads, ["exact", "branch"]);
    assert_eq!((rows[0].median(0), rows[0].median(1), rows[0].ratio(1)), (Some(12.0), Some(30.0), Some(0.5)));
    assert_eq!(rows[0].is_ahead(1), Some(true));
    assert_eq!((rows[1].median(1), rows[1].ratio(1), rows[1].is_ahead(1)), (None, None, None));
}

#[test]
fn saved_results_are_read_as_they_were() {
    let results = two_targets();
    let text = serde_json::to_string(&results).expect("JSON");
    assert_eq!(Results::parse(&text).expect("the same format"), results);
}

#[test]
fn other_formats_are_refused() {
    let newer = Results { format: FORMAT + 1, ..two_targets() };
    let text = serde_json::to_string(&newer).expect("JSON");
    let error = format!("{:#}", Results::parse(&text).expect_err("a newer format"));
    assert!(error.contains("its format is 2"), "{error}");
    assert!(Results::parse("{}").is_err());
}
