use super::*;

fn call(state: CallState, part: Option<f64>) -> RunningCall {
    RunningCall {
        id: "req_1".to_owned(),
        kind: "Chat".to_owned(),
        client: "curl".to_owned(),
        model: "org/Tiny-1B".to_owned(),
        state,
        n_sequences: 1,
        n_prompt: 100,
        n_computed: 60,
        n_cached: 0,
        n_output: 0,
        part,
        left_s: Some(2.0),
        tokens_per_s: None,
        age_s: 1.0,
    }
}

fn check(look: &Look<'_>, kind: StateKind, words: &str) {
    let state = look.state();
    assert_eq!((state.kind, state.words.as_str()), (kind, words));
}

#[test]
fn the_word_is_what_matters_most() {
    let model = |state: ResidentState, loaded: f64| Resident {
        id: "org/Tiny-1B".to_owned(),
        state,
        loaded,
        ..Resident::default()
    };
    let of = |models: Vec<Resident>| Census { models, ..Census::default() };
    let (empty, ready) = (Census::default(), of(vec![model(ResidentState::Ready, 1.0)]));
    let loading = of(vec![model(ResidentState::Ready, 1.0), model(ResidentState::Loading, 0.431)]);
    let leaving = of(vec![model(ResidentState::Leaving, 1.0)]);
    let (prefill, decode) = (call(CallState::Prefill, Some(0.6)), call(CallState::Decode, None));
    let both = [prefill.clone(), decode];
    let look = |census, calls| Look { census, calls, is_refusing: false, decode_tps: 107.6 };
    check(&look(&empty, &[]), StateKind::Stopped, "Stopped");
    check(&look(&ready, &[]), StateKind::Ready, "Tiny-1B");
    check(&look(&loading, &[]), StateKind::Loading, "Loading 43 %");
    check(&look(&leaving, &[]), StateKind::Leaving, "Unloading Tiny-1B");
    check(&look(&ready, std::slice::from_ref(&prefill)), StateKind::Prefill, "Prefill 60 %");
    check(&look(&loading, &both), StateKind::Generating, "Tiny-1B · 108 tok/s");
    check(&Look { is_refusing: true, ..look(&ready, &[]) }, StateKind::Refusing, "Short of memory");
}
