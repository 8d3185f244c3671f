//! Forms by chance for random traffic: what may come next is a hash of all that came before.

use std::sync::Arc;

use crate::draw::splitmix64;
use crate::{Dry, MaskSource, TokenBits, TokenId, TokenMask};

/// Tokens that the forms know.
const N_VOCAB: TokenId = 30;

#[derive(Clone)]
struct HashForm {
    state: u64,
    /// Tokens until it is complete.
    n_left: usize,
    /// Tokens that end a sequence: none of them is ever forced.
    stops: Vec<TokenId>,
}

/// A form that is complete after `n_tokens`.
pub fn form(seed: u64, n_tokens: usize, stops: &[TokenId]) -> MaskSource {
    let form = HashForm { state: splitmix64(seed), n_left: n_tokens, stops: stops.to_vec() };
    MaskSource::new(move || Box::new(form.clone()))
}

/// Penalties that bite on short outputs of few kinds of tokens.
pub fn dry() -> Dry {
    Dry { multiplier: 1.0, base: 1.5, allowed_length: 1, last_n: Some(20), breakers: [3, 4].into() }
}

impl HashForm {
    fn is_allowed(&self, token: TokenId) -> bool {
        let choice = self.state >> 8;
        match self.state % 8 {
            0 | 1 => true,
            2..=4 => token == self.forced_token(),
            _ => token == self.forced_token() || splitmix64(choice ^ u64::from(token)).is_multiple_of(3),
        }
    }

    fn forced_token(&self) -> TokenId {
        let first = (self.state >> 8) as TokenId % N_VOCAB;
        (0..N_VOCAB).map(|n| (first + n) % N_VOCAB).find(|token| !self.stops.contains(token)).unwrap()
    }

    fn is_forced(&self) -> bool {
        (2..=4).contains(&(self.state % 8)) && self.n_left > 0
    }
}

impl TokenMask for HashForm {
    fn allowed(&mut self) -> Result<Option<Arc<TokenBits>>, String> {
        if self.state % 8 < 2 {
            return Ok(None);
        }
        let bits = (0..N_VOCAB).filter(|token| self.is_allowed(*token)).fold(0, |bits, token| bits | 1 << token);
        Ok(Some(Arc::new(TokenBits { words: vec![bits] })))
    }

    fn forced(&mut self) -> Vec<TokenId> {
        let (mut along, mut forced) = (self.clone(), Vec::new());
        while along.is_forced() {
            let token = along.forced_token();
            along.commit(token).unwrap();
            forced.push(token);
        }
        forced
    }

    fn commit(&mut self, token: TokenId) -> Result<(), String> {
        if self.n_left == 0 || !self.is_allowed(token) {
            return Err(format!("{token} is not allowed"));
        }
        self.n_left -= 1;
        self.state = splitmix64(self.state ^ u64::from(token));
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.n_left == 0
    }

    fn n_fitting(&mut self, tokens: &[TokenId]) -> usize {
        let mut along = self.clone();
        tokens.iter().take_while(|token| along.commit(**token).is_ok()).count()
    }

    fn fork(&self) -> Box<dyn TokenMask> {
        Box::new(self.clone())
    }
}
