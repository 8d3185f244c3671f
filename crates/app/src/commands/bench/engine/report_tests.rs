use super::*;

fn stream(times_ms: &[u64]) -> Stream {
    Stream { token_times: times_ms.iter().map(|&ms| Duration::from_millis(ms)).collect() }
}

fn report(n_prompt: usize, streams: Vec<Stream>) -> Report {
    let workload = Workload { prompt: vec![0; n_prompt], n_output: 0, n_streams: streams.len(), mask: None };
    let pair = Pair { free: Run { streams }, held: None };
    Report::new(&workload, &[pair], Duration::from_secs(2), 1 << 30)
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-9, "{got} is not {expected}");
}

#[test]
fn one_stream_is_measured_from_its_own_tokens() {
    let report = report(100, vec![stream(&[500, 600, 700, 1000])]);
    close(report.ttft_s, 0.5);
    close(report.prefill_tps, 200.0);
    close(report.decode_tps, 6.0);
    close(report.itl_p50_ms, 100.0);
    close(report.itl_p95_ms, 300.0);
    close(report.load_s, 2.0);
}

#[test]
fn streams_together_count_all_tokens_over_the_whole_span() {
    let report = report(100, vec![stream(&[500, 1000]), stream(&[1000, 1500])]);
    close(report.prefill_tps, 200.0);
    close(report.decode_tps, 2.0);
}

#[test]
fn a_single_token_has_no_decode_rate() {
    close(report(10, vec![stream(&[500])]).decode_tps, 0.0);
}

#[test]
fn a_form_costs_what_its_runs_are_slower_than_the_free_ones_before_them() {
    let run = |times: &[u64]| Run { streams: vec![stream(times)] };
    let pairs = [
        Pair { free: run(&[100, 200, 300]), held: Some(run(&[100, 300, 500])) },
        Pair { free: run(&[100, 200]), held: Some(run(&[100, 200])) },
        Pair { free: run(&[100, 300]), held: Some(run(&[100, 350])) },
    ];
    let workload = Workload { prompt: vec![0; 10], n_output: 0, n_streams: 1, mask: None };
    let held = Report::new(&workload, &pairs, Duration::from_secs(2), 1 << 30).held.unwrap();
    close(held.ratio, 0.8);
    close(held.decode_tps, 5.0);
}

#[test]
fn percentiles_take_the_nearest_rank() {
    for (q, expected) in [(0.5, 2.0), (0.95, 4.0), (0.01, 1.0)] {
        close(percentile(vec![4.0, 1.0, 3.0, 2.0], q), expected);
    }
    close(percentile(Vec::new(), 0.5), 0.0);
}
