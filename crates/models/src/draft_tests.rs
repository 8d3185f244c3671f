use std::sync::Arc;

use tokbar_engine::{DraftAsk, SamplingOptions, SequenceId, TokenId};

use super::{DraftModel, N_CATCH_UP_MAX};
use crate::fixtures::{Fixture, uniforms};
use crate::load::{LoadOptions, load};

fn drafter(name: &str) -> DraftModel {
    let dir = tempfile::tempdir().unwrap();
    Fixture::read(name).write(dir.path());
    DraftModel::new(load(dir.path(), &LoadOptions::default(), &mut |_| {}).unwrap().model)
}

fn tokens(name: &str, n: usize) -> Vec<TokenId> {
    uniforms(name).take(n).map(|u| (u * 67.0) as u32).collect()
}

fn ask(id: u64, tokens: &[TokenId], n: usize) -> DraftAsk<'_> {
    DraftAsk { sequence: SequenceId(id), tokens, uniforms: uniforms("draws").skip(tokens.len()).take(n).collect() }
}

#[test]
fn a_drafter_that_followed_drafts_as_one_that_starts_anew() {
    for name in ["llama_gqa", "mistral_window", "qwen3_next"] {
        let mut following = drafter(name);
        let mut numbers = uniforms(&format!("followed {name}"));
        let mut below = |n: usize| (numbers.next().unwrap() * n as f32) as usize;
        let mut texts = [tokens("a", 3), tokens("b", 70), tokens("c", 9)];
        let warm = SamplingOptions { temperature: 0.9, top_k: 20, ..SamplingOptions::default() };
        let samplings = [SamplingOptions::default(), warm.clone(), warm].map(Arc::new);
        for turn in 0..25 {
            let n_drafts = below(6);
            let chosen: Vec<usize> = (0..3).filter(|_| below(3) > 0).collect();
            let asks: Vec<_> = chosen.iter().map(|&at| ask(at as u64, &texts[at], n_drafts)).collect();
            let own: Vec<_> = chosen.iter().map(|&at| Arc::clone(&samplings[at])).collect();
            let drafts = following.draft(&asks, &own).unwrap();
            for ((ask, sampling), draft) in asks.iter().zip(&own).zip(&drafts) {
                let layout = following.layout.clone();
                let mut fresh = DraftModel { followers: Default::default(), layout, ..following };
                let alone = fresh.draft(std::slice::from_ref(ask), std::slice::from_ref(sampling)).unwrap();
                assert_eq!(&alone[0], draft, "{name}: turn {turn}, {:?}", ask.sequence);
                following.model = fresh.model;
            }
            drop(asks);
            for (at, draft) in chosen.into_iter().zip(drafts) {
                // As many as the model liked, and its own choice.
                texts[at].extend(draft.iter().take(below(draft.len() + 2)));
                texts[at].push(below(67) as TokenId);
            }
        }
    }
}

#[test]
fn what_lies_far_back_is_not_computed() {
    let mut drafter = drafter("mistral_window");
    let text = tokens("far", 2 * N_CATCH_UP_MAX + 40);
    let greedy = [Arc::new(SamplingOptions::default())];
    for n_known in [N_CATCH_UP_MAX + 20, N_CATCH_UP_MAX + 30, 2 * N_CATCH_UP_MAX + 40] {
        assert_eq!(drafter.draft(&[ask(1, &text[..n_known], 3)], &greedy).unwrap()[0].len(), 3);
    }
    let follower = &drafter.followers[&SequenceId(1)];
    assert_eq!(follower.start + follower.tokens.len(), text.len() + 2);
    assert!(follower.tokens.len() < 2 * N_CATCH_UP_MAX);
    drafter.close(SequenceId(1));
    assert!(drafter.followers.is_empty());
}

#[test]
fn sequences_that_cannot_be_followed_get_no_drafts() {
    let mut drafter = drafter("llama");
    drafter.n_context = 20;
    let greedy = || Arc::new(SamplingOptions::default());
    let (unknown, good) = (vec![1, 67, 2], tokens("good", 30));
    let asks = [ask(1, &unknown, 3), ask(2, &good, 20), ask(3, &good, 3)];
    let drafts = drafter.draft(&asks, &[greedy(), greedy(), greedy()]).unwrap();
    assert_eq!(drafts.iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 3]);
    assert_eq!(drafter.draft(&[], &[]).unwrap(), Vec::<Vec<TokenId>>::new());
    assert_eq!(drafter.draft(&asks[..1], &[greedy()]).unwrap(), [Vec::<TokenId>::new()]);
}
