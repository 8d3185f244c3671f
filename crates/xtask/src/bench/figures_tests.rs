use super::*;

fn figures(decode: f64) -> Figures {
    Figures([decode, 100.0, 10.0, 1.0, 512.0])
}

#[test]
fn figures_are_read_by_name_and_scaled() {
    let text = r#"{"n_prompt": 5, "peak_rss_bytes": 536870912, "load_s": 1, "itl_p95_ms": 10, "prefill_tps": 100, "decode_tps": 7.5}"#;
    assert_eq!(Figures::read(text).expect("complete"), figures(7.5));
}

#[test]
fn a_missing_figure_is_named() {
    let error = format!("{:#}", Figures::read(r#"{"decode_tps": 1.0}"#).expect_err("incomplete"));
    assert!(error.contains("prefill_tps"), "{error}");
}

#[test]
fn ratios_are_taken_within_pairs() {
    // The medians of both sides are equal, but within each pair one side is twice the other.
    let pairs = [[figures(10.0), figures(20.0)], [figures(20.0), figures(10.0)], [figures(40.0), figures(20.0)]];
    let text = table(&pairs);
    let line = text.lines().nth(1).expect("a line for decode");
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>(),
        ["decode,", "tok/s", "20.00", "20.00", "2.000", "(0.500", "to", "2.000)", "above", "1"]
    );
}

#[test]
fn an_even_number_of_pairs_has_a_median_between() {
    let spread = Spread::of([4.0, 1.0, 2.0, 3.0].into_iter());
    assert_eq!((spread.median, spread.least, spread.most), (2.5, 1.0, 4.0));
}
