//! Sequences that are held to a form, among others that are not.

use std::sync::Arc;

use tokbar_engine::{Dry, FinishReason, MaskSource, Request, SamplingOptions, TokenBits, TokenId, TokenMask};

use crate::{Bench, drain, fake, options, request};

/// Some tokens open a form: then come 7, 8, 9 and one of 100 to 109, and all is free again. So many forms end the output.
#[derive(Clone)]
struct Forms {
    /// Tokens below it open one.
    opens: TokenId,
    /// What must come next, if a form is open.
    at: Option<usize>,
    n_left: usize,
    /// Fails where the form should end.
    is_broken: bool,
}

const FORCED: [TokenId; 3] = [7, 8, 9];

impl Forms {
    fn is_allowed(&self, token: TokenId) -> bool {
        match self.at {
            None => true,
            Some(at) if at < FORCED.len() => token == FORCED[at],
            Some(_) => (100..110).contains(&token),
        }
    }
}

impl TokenMask for Forms {
    fn allowed(&mut self) -> Result<Option<Arc<TokenBits>>, String> {
        if self.at.is_none() {
            return Ok(None);
        }
        let mut words = vec![0; 500usize.div_ceil(32)];
        let allowed = (0..500).filter(|token| self.is_allowed(*token));
        allowed.for_each(|token| words[token as usize / 32] |= 1 << (token % 32));
        Ok(Some(Arc::new(TokenBits { words })))
    }

    fn forced(&mut self) -> Vec<TokenId> {
        self.at.map_or(Vec::new(), |at| FORCED[at.min(3)..].to_vec())
    }

    fn commit(&mut self, token: TokenId) -> Result<(), String> {
        if !self.is_allowed(token) {
            return Err(format!("{token} is not allowed"));
        }
        self.at = match self.at {
            None => (token < self.opens).then_some(0),
            Some(at) if at < FORCED.len() => Some(at + 1),
            Some(_) if self.is_broken => return Err("it broke".to_owned()),
            Some(_) => {
                self.n_left -= 1;
                None
            }
        };
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.n_left == 0
    }

    fn n_fitting(&mut self, tokens: &[TokenId]) -> usize {
        let mut along = self.clone();
        tokens.iter().take_while(|token| !along.is_complete() && along.commit(**token).is_ok()).count()
    }

    fn fork(&self) -> Box<dyn TokenMask> {
        Box::new(self.clone())
    }
}

fn held(n: u32, forms: Forms) -> Request {
    Request { mask: Some(MaskSource::new(move || Box::new(forms.clone()))), ..request(n, 1500) }
}

#[test]
fn forms_are_kept_and_others_are_left_alone() {
    let bench = Bench::start(fake(), options());
    let free: Vec<_> = (0..3).map(|n| request(n, 300)).collect();
    let held: Vec<_> = (10..16).map(|n| held(n, Forms { opens: 20, at: None, n_left: 5, is_broken: false })).collect();
    let running: Vec<_> = free.iter().chain(&held).map(|request| (request, bench.submit(request))).collect();
    for (request, outputs) in running {
        bench.check_whole(request, outputs);
    }
    bench.check_nothing_left();
}

#[test]
fn forced_tokens_are_those_that_would_be_drawn() {
    let bench = Bench::start(fake(), options());
    let jumping = held(1, Forms { opens: 20, at: Some(0), n_left: 1, is_broken: false });
    let sampling = SamplingOptions { n_logprobs: Some(0), ..jumping.sampling.clone() };
    let drawing = Request { sampling, ..jumping.clone() };
    let (jumped, ..) = drain(&mut bench.submit(&jumping));
    let (drawn, ..) = drain(&mut bench.submit(&drawing));
    assert_eq!((jumped.len(), &jumped), (4, &drawn));
    bench.check_nothing_left();
}

#[test]
fn forced_tokens_cost_no_step_of_their_own() {
    let bench = Bench::start(fake(), options());
    // Every token opens a form: of five, three are forced.
    let request = held(3, Forms { opens: 500, at: Some(0), n_left: 100, is_broken: false });
    let (tokens, reason, _) = drain(&mut bench.submit(&request));
    assert_eq!(reason, FinishReason::Stop);
    let n_forced = tokens.windows(3).filter(|tokens| *tokens == FORCED).count() * 3;
    let n_submits = bench.probe.seen().n_submits;
    assert!(
        n_forced == 300 && n_submits < tokens.len() - n_forced / 2,
        "{n_submits} steps for {} tokens",
        tokens.len()
    );
    bench.check_nothing_left();
}

#[test]
fn penalties_count_forced_tokens_as_they_count_drawn_ones() {
    let bench = Bench::start(fake(), options());
    let mut request = held(4, Forms { opens: 20, at: None, n_left: 6, is_broken: false });
    request.sampling.presence_penalty = 0.5;
    bench.check_whole(&request, bench.submit(&request));
    bench.check_nothing_left();
}

#[test]
fn repetitions_are_penalised_by_what_came_just_before() {
    let bench = Bench::start(fake(), options());
    let dry = Dry { multiplier: 1.0, base: 2.0, allowed_length: 1, last_n: None, breakers: [5].into() };
    let mut requests: Vec<_> = (0..3).map(|n| request(n, 300)).collect();
    requests.iter_mut().for_each(|request| request.sampling.dry = Some(dry.clone()));
    let running: Vec<_> = requests.iter().map(|request| (request, bench.submit(request))).collect();
    for (request, outputs) in running {
        bench.check_whole(request, outputs);
    }
    bench.check_nothing_left();
}

#[test]
fn a_form_that_breaks_fails_its_sequence_alone() {
    let bench = Bench::start(fake(), options());
    let (fine, broken) = (request(1, 400), held(2, Forms { opens: 20, at: None, n_left: 5, is_broken: true }));
    let (fine_running, mut broken_running) = (bench.submit(&fine), bench.submit(&broken));
    let (_, reason, _) = drain(&mut broken_running);
    assert_eq!(reason, FinishReason::Failed("it broke".to_owned()));
    bench.check_whole(&fine, fine_running);
    bench.check_nothing_left();
}
