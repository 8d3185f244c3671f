use std::collections::BTreeMap;

use super::*;
use crate::draw::splitmix64;

/// The slow obvious way.
fn expected(options: &Dry, tokens: &[TokenId]) -> Vec<(TokenId, f32)> {
    let start = options.last_n.map_or(0, |n| tokens.len().saturating_sub(n));
    let tokens = &tokens[start..];
    let mut longest = BTreeMap::new();
    for end in 1..tokens.len() {
        let n_run = (0..end)
            .take_while(|back| {
                let token = tokens[tokens.len() - 1 - back];
                token == tokens[end - 1 - back] && !options.breakers.contains(&token)
            })
            .count();
        if n_run >= options.allowed_length.max(1) && !options.breakers.contains(&tokens[end]) {
            let entry = longest.entry(tokens[end]).or_insert(n_run);
            *entry = n_run.max(*entry);
        }
    }
    let penalty = |n_run: usize| {
        (options.multiplier * options.base.powi((n_run - options.allowed_length) as i32)).min(PENALTY_MAX)
    };
    longest.into_iter().map(|(token, n_run)| (token, -penalty(n_run))).collect()
}

#[test]
fn penalties_equal_the_slow_ones() {
    let mut n_penalties = 0;
    for seed in 0..2000u64 {
        let number = |nth: u64, below: u64| splitmix64(splitmix64(seed) ^ nth) % below;
        let n_kinds = 1 + number(1, 4);
        let tokens: Vec<_> = (0..number(2, 60)).map(|at| number(100 + at, n_kinds) as TokenId).collect();
        let breakers = if number(3, 2) == 0 { vec![] } else { vec![0, 7] };
        let options = Dry {
            multiplier: 0.8,
            base: [1.0, 1.75, 40.0][number(4, 3) as usize],
            allowed_length: number(5, 4) as usize,
            last_n: [None, Some(20), Some(0)][number(6, 3) as usize],
            breakers: breakers.into(),
        };
        let found = penalties(&options, &tokens);
        assert_eq!(found, expected(&options, &tokens), "{options:?} on {tokens:?}");
        n_penalties += found.len();
    }
    assert!(n_penalties > 1000, "{n_penalties}");
}

#[test]
fn a_repetition_is_dearer_the_longer_it_is() {
    let options = Dry { multiplier: 1.0, base: 2.0, allowed_length: 2, last_n: None, breakers: [].into() };
    let mut tokens = vec![1, 2, 3, 4, 5, 9, 1];
    let mut found = Vec::new();
    for token in [2, 3, 4] {
        found.extend(penalties(&options, &tokens));
        tokens.push(token);
    }
    found.extend(penalties(&options, &tokens));
    assert_eq!(found, [(3, -1.0), (4, -2.0), (5, -4.0)]);
}

#[test]
fn long_texts_of_one_token_cost_linear_time_and_stay_finite() {
    let options = Dry { multiplier: 5.0, base: 4.0, allowed_length: 1, last_n: None, breakers: [].into() };
    assert_eq!(penalties(&options, &vec![3; 2_000_000]), [(3, -PENALTY_MAX)]);
}
