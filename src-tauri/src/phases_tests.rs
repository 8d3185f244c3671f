use super::*;

fn resident(state: ResidentState, loaded: f64) -> Resident {
    Resident { id: "m".to_owned(), state, loaded, n_bytes: 7, ..Resident::default() }
}

fn call(model: &str, state: CallState, part: Option<f64>) -> RunningCall {
    RunningCall {
        id: "1".to_owned(),
        kind: "Chat".to_owned(),
        client: "curl".to_owned(),
        model: model.to_owned(),
        state,
        n_sequences: 1,
        n_prompt: 10,
        n_computed: 5,
        n_cached: 0,
        n_output: 0,
        part,
        left_s: None,
        tokens_per_s: None,
        age_s: 1.0,
    }
}

#[test]
fn a_model_does_what_its_most_advanced_call_does() {
    use CallState::{Decode, Prefill, Waiting};
    use ResidentState::{Leaving, Loading, Ready};
    let stats = [("m".to_owned(), Stats { decode_tokens_per_s: 20.5, ..Stats::default() })];
    let (decode, other) = (call("m", Decode, None), call("n", Decode, None));
    let prefill = call("m", Prefill, Some(0.609));
    for (resident, calls, expected) in [
        (resident(Loading, 0.437), vec![], Phase::Loading { percent: 43 }),
        (resident(Ready, 1.0), vec![], Phase::Ready),
        (resident(Ready, 1.0), vec![other.clone()], Phase::Ready),
        (resident(Ready, 1.0), vec![call("m", Waiting, None)], Phase::Ready),
        (resident(Ready, 1.0), vec![other, prefill.clone()], Phase::Prefill { percent: Some(60) }),
        (resident(Ready, 1.0), vec![call("m", Prefill, None)], Phase::Prefill { percent: None }),
        (resident(Ready, 1.0), vec![prefill, decode.clone()], Phase::Decode { tokens_per_s: 20.5 }),
        (resident(Leaving, 1.0), vec![decode], Phase::Leaving),
    ] {
        let seen = phases(&[resident], &calls, &stats);
        assert_eq!(seen, [Loaded { name: "m".to_owned(), n_bytes: 7, is_pinned: false, phase: expected }]);
    }
}
