use super::*;

fn resident(state: &'static str, loaded: f64) -> Resident {
    Resident { id: "m".to_owned(), state, loaded, n_bytes: 7, ..Resident::default() }
}

fn stats(n_running: usize, n_output_tokens: u64) -> Vec<(String, Stats)> {
    vec![("m".to_owned(), Stats { n_running, n_output_tokens, ..Stats::default() })]
}

#[test]
fn a_model_is_followed_from_loading_to_leaving() {
    let (start, mut meter) = (Instant::now(), Meter::default());
    for (ms, state, stats, expected) in [
        (0, resident("loading", 0.437), Vec::new(), Phase::Loading { percent: 43 }),
        (1000, resident("ready", 1.0), stats(0, 0), Phase::Ready),
        (2000, resident("ready", 1.0), stats(1, 0), Phase::Prefill { percent: None }),
        (3000, resident("ready", 1.0), stats(1, 20), Phase::Decode { tokens_per_s: 20.0 }),
        // Too soon to tell anything else.
        (3100, resident("ready", 1.0), stats(1, 20), Phase::Decode { tokens_per_s: 20.0 }),
        (5000, resident("ready", 1.0), stats(2, 80), Phase::Decode { tokens_per_s: 30.0 }),
        (6000, resident("ready", 1.0), stats(1, 80), Phase::Prefill { percent: None }),
        (6100, resident("ready", 1.0), stats(0, 80), Phase::Ready),
        (7000, resident("leaving", 1.0), stats(0, 80), Phase::Leaving),
    ] {
        let seen = meter.observe(start + Duration::from_millis(ms), &[state], &stats);
        assert_eq!(seen[0].phase, expected, "after {ms} ms");
    }
}

#[test]
fn a_model_that_is_gone_is_forgotten() {
    let (now, mut meter) = (Instant::now(), Meter::default());
    meter.observe(now, &[resident("ready", 1.0)], &stats(1, 5));
    assert_eq!(meter.looks.len(), 1);
    assert!(meter.observe(now, &[], &[]).is_empty() && meter.looks.is_empty());
}
