use crate::audit::sample;

#[test]
fn the_report_adds_up() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = sample::app(dir.path());
    let report = super::report(&app).expect("a report");
    let numbers: Vec<u64> = report.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
    let [parts @ .., total, compressed] = &numbers[..] else { panic!("{report}") };
    assert_eq!(parts.iter().sum::<u64>(), *total, "{report}");
    assert!(*compressed > 0, "{report}");
}
