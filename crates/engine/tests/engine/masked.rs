//! Sequences that are held to a form, among others that are not.

use std::sync::Arc;

use tokbar_engine::{Allowed, FinishReason, MaskSource, Request, SamplingOptions, TokenBits, TokenId, TokenMask};

use crate::{Bench, drain, fake, options, request};

/// Tokens that open a form: then come 7, 8, 9 and one of 100 to 109, and all is free again. So many forms end the output.
const OPENS: TokenId = 20;

#[derive(Clone)]
struct Forms {
    /// What must come next, if a form is open.
    at: Option<usize>,
    n_left: usize,
    /// Fails where the form should end.
    is_broken: bool,
}

const FORCED: [TokenId; 3] = [7, 8, 9];

fn bits(tokens: impl Iterator<Item = TokenId>) -> Arc<TokenBits> {
    let mut words = vec![0; 500usize.div_ceil(32)];
    tokens.for_each(|token| words[token as usize / 32] |= 1 << (token % 32));
    Arc::new(TokenBits { words })
}

impl TokenMask for Forms {
    fn allowed(&mut self) -> Result<Allowed, String> {
        Ok(match self.at {
            _ if self.n_left == 0 => Allowed::Nothing,
            None => Allowed::All,
            Some(at) if at < FORCED.len() => Allowed::These(bits([FORCED[at]].into_iter())),
            Some(_) => Allowed::These(bits(100..110)),
        })
    }

    fn is_free(&self) -> bool {
        self.at.is_none() && self.n_left > 0
    }

    fn forced(&mut self) -> Vec<TokenId> {
        self.at.map_or(Vec::new(), |at| FORCED[at.min(3)..].to_vec())
    }

    fn commit(&mut self, token: TokenId) -> Result<(), String> {
        self.at = match self.at {
            None => (token < OPENS).then_some(0),
            Some(at) if at < FORCED.len() => Some(at + 1),
            Some(_) if self.is_broken => return Err("it broke".to_owned()),
            Some(_) => {
                self.n_left -= 1;
                None
            }
        };
        Ok(())
    }

    fn fork(&self) -> Box<dyn TokenMask> {
        Box::new(self.clone())
    }
}

fn held(n: u32, forms: Forms) -> Request {
    Request { mask: Some(MaskSource::new(move || Box::new(forms.clone()))), ..request(n, 1500) }
}

/// Whether tokens keep to the forms, up to their end.
fn check_kept(tokens: &[TokenId], n_forms: usize) {
    let mut forms = Forms { at: None, n_left: n_forms, is_broken: false };
    for token in tokens {
        let is_allowed = match forms.allowed().unwrap() {
            Allowed::All => true,
            Allowed::These(bits) => bits.words[*token as usize / 32] >> (token % 32) & 1 == 1,
            Allowed::Nothing => false,
        };
        assert!(is_allowed, "{token} of {tokens:?}");
        forms.commit(*token).unwrap();
    }
    assert_eq!(forms.n_left, 0, "{tokens:?}");
}

#[test]
fn forms_are_kept_and_others_are_left_alone() {
    let bench = Bench::start(fake(), options());
    let free: Vec<_> = (0..3).map(|n| request(n, 300)).collect();
    let running: Vec<_> = free.iter().map(|request| bench.submit(request)).collect();
    let held: Vec<_> = (10..16).map(|n| held(n, Forms { at: None, n_left: 5, is_broken: false })).collect();
    let held_running: Vec<_> = held.iter().map(|request| bench.submit(request)).collect();
    for (request, outputs) in free.iter().zip(running) {
        bench.check_whole(request, outputs);
    }
    for mut outputs in held_running {
        let (tokens, reason, usage) = drain(&mut outputs);
        assert_eq!((reason, usage.n_output), (FinishReason::Stop, tokens.len()));
        check_kept(&tokens, 5);
    }
    bench.check_nothing_left();
}

#[test]
fn forced_tokens_are_those_that_would_be_drawn() {
    let bench = Bench::start(fake(), options());
    // From the start inside of a form, so that no row is ever planned ahead of one.
    let jumping = held(1, Forms { at: Some(0), n_left: 1, is_broken: false });
    let sampling = SamplingOptions { n_logprobs: Some(0), ..jumping.sampling.clone() };
    let drawing = Request { sampling, ..jumping.clone() };
    let (jumped, ..) = drain(&mut bench.submit(&jumping));
    let (drawn, ..) = drain(&mut bench.submit(&drawing));
    assert_eq!((jumped.len(), &jumped), (4, &drawn));
    bench.check_nothing_left();
}

#[test]
fn a_form_that_breaks_fails_its_sequence_alone() {
    let bench = Bench::start(fake(), options());
    let (fine, broken) = (request(1, 400), held(2, Forms { at: None, n_left: 5, is_broken: true }));
    let (fine_running, mut broken_running) = (bench.submit(&fine), bench.submit(&broken));
    let (_, reason, _) = drain(&mut broken_running);
    assert_eq!(reason, FinishReason::Failed("it broke".to_owned()));
    bench.check_whole(&fine, fine_running);
    bench.check_nothing_left();
}
