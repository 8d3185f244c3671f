use std::sync::Arc;

use tokbar_engine::{DraftAsk, SamplingOptions, SequenceId, TokenId};

use super::{HeadAsk, HeadDrafter, Recent, n_catch_up};
use crate::cache::{Layout, SequenceCache};
use crate::draft::N_CATCH_UP_MAX;
use crate::families::Model;
use crate::fixtures::{Fixture, uniforms};
use crate::load::{LoadOptions, load};
use crate::mx::{self, Array};
use crate::pass::{Pass, PassRow};

fn model(name: &str) -> Box<dyn Model> {
    let dir = tempfile::tempdir().unwrap();
    Fixture::read(name).write(dir.path());
    load(dir.path(), &LoadOptions::default(), &mut |_| {}).unwrap().model
}

fn tokens(name: &str, n: usize) -> Vec<TokenId> {
    uniforms(name).take(n).map(|u| (u * 67.0) as u32).collect()
}

/// What the network makes of all tokens.
fn hidden(model: &dyn Model, tokens: &[TokenId]) -> Array {
    let mut cache = SequenceCache::new(&Layout::new(&model.sizes().caches, None));
    let len = tokens.len();
    let row = PassRow { start: 0, len, offset: 0, n_total: len, n_sure: len, cache: &mut cache };
    model.hidden(&Array::from_slice(tokens, &[len as i32]), &mut Pass::new(vec![row])).unwrap()
}

fn recent(model: &dyn Model, tokens: &[TokenId]) -> Recent {
    let mut recent = Recent::new(0, model.predictor().map_or(0, n_catch_up));
    recent.push(hidden(model, &tokens[..tokens.len() - 1]));
    recent
}

#[test]
fn a_head_that_followed_drafts_as_one_that_starts_anew() {
    for name in ["qwen3_next", "qwen3_5", "deepseek_v3", "deepseek_v32", "deepseek_v4", "glm4_moe", "glm4_moe_lite"] {
        let model = model(name);
        let head = model.predictor().unwrap();
        let mut numbers = uniforms(&format!("head {name}"));
        let mut below = |n: usize| (numbers.next().unwrap() * n as f32) as usize;
        let mut texts = [tokens("a", 3), tokens("b", 70), tokens("c", 9)];
        let warm = SamplingOptions { temperature: 0.9, top_k: 20, ..SamplingOptions::default() };
        let samplings = [SamplingOptions::default(), warm.clone(), warm].map(Arc::new);
        let mut following = HeadDrafter::default();
        for turn in 0..20 {
            let n_drafts = below(5);
            let chosen: Vec<usize> = (0..3).filter(|_| below(3) > 0).collect();
            let recents: Vec<Recent> = chosen.iter().map(|at| recent(&*model, &texts[*at])).collect();
            let asks: Vec<DraftAsk<'_>> = chosen
                .iter()
                .map(|&at| DraftAsk {
                    sequence: SequenceId(at as u64),
                    tokens: &texts[at],
                    uniforms: uniforms("draws").skip(texts[at].len()).take(n_drafts).collect(),
                })
                .collect();
            let asked = || {
                let all = asks.iter().zip(&chosen).zip(&recents);
                let asked =
                    all.map(|((ask, at), recent)| HeadAsk { ask, sampling: Arc::clone(&samplings[*at]), recent });
                asked.collect::<Vec<_>>()
            };
            let drafts = following.draft(head, &asked(), 67).unwrap();
            for (ask, draft) in asked().into_iter().zip(&drafts) {
                let alone = HeadDrafter::default().draft(head, std::slice::from_ref(&ask), 67).unwrap();
                assert_eq!((&alone[0], draft.len()), (draft, n_drafts), "{name}: turn {turn}");
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
fn a_head_may_come_in_a_folder_by_itself() {
    let heads = [
        ("deepseek_v3", "model.layers.3."),
        ("deepseek_v32", "model.layers.3."),
        ("deepseek_v4", "mtp."),
        ("qwen3_next", "mtp."),
    ];
    for (name, head) in heads {
        let whole = Fixture::read(name);
        let (mut network, mut alone) = (Fixture::read(name), Fixture::read(name));
        network.tensors.retain(|tensor| !tensor.name.starts_with(head));
        alone.tensors.retain(|tensor| tensor.name.starts_with(head));
        assert!(!alone.tensors.is_empty() && network.tensors.len() < whole.tensors.len(), "{name}");
        let dir = tempfile::tempdir().unwrap();
        network.write(dir.path());
        let load = || load(dir.path(), &LoadOptions::default(), &mut |_| {}).unwrap().model;
        assert!(load().predictor().is_none(), "{name}");
        std::fs::create_dir(dir.path().join("mtp")).unwrap();
        alone.write(&dir.path().join("mtp"));
        let off = crate::golden_tests::head_error(&*load(), &whole.sequences[0], whole.head.as_ref().unwrap());
        assert!(off < whole.tolerance, "{name}: off by {off}");
    }
}

fn rename(fixture: &mut Fixture, from: &str, to: &str) {
    let tensor = fixture.tensors.iter_mut().find(|tensor| tensor.name == from).unwrap();
    tensor.name = to.to_owned();
}

/// DeepSeek V4 as some save it, and heads that are not this one.
#[test]
fn a_head_is_taken_or_left_as_a_whole() {
    let load = |change: fn(&mut Fixture)| {
        let dir = tempfile::tempdir().unwrap();
        let mut fixture = Fixture::read("deepseek_v4");
        change(&mut fixture);
        fixture.write(dir.path());
        load(dir.path(), &LoadOptions::default(), &mut |_| {}).unwrap().model.predictor().is_some()
    };
    assert!(load(|_| {}));
    assert!(load(|fixture| rename(fixture, "mtp.0.emb.tok_emb.weight", "mtp.0.embed.weight")));
    assert!(!load(|fixture| rename(fixture, "mtp.0.e_proj.weight", "mtp.0.main_proj.weight")));
    assert!(!load(|fixture| fixture.config["compress_ratios"][4] = 4.into()));
}

#[test]
fn what_is_kept_for_the_head_follows_the_sequence() {
    let array = |from: usize, n: usize| {
        let values: Vec<f32> = (from..from + n).map(|position| position as f32).collect();
        Array::from_slice(&values, &[n as i32, 1])
    };
    let mut recent = Recent::new(10, N_CATCH_UP_MAX);
    let (mut end, mut numbers) = (10, uniforms("recent"));
    for _ in 0..200 {
        let n = 1 + (numbers.next().unwrap() * 90.0) as usize;
        recent.push(array(end, n));
        end += n;
        end -= ((numbers.next().unwrap() * 8.0) as usize).min(n - 1);
        recent.cut_back(end);
        assert_eq!(recent.end(), end);
        let n_held = end - recent.start;
        assert!(n_held <= N_CATCH_UP_MAX + 100 && n_held >= (end - 10).min(N_CATCH_UP_MAX - 8), "{n_held}");
        let first = recent.start + (numbers.next().unwrap() * n_held as f32) as usize;
        let held = mx::to_f32(&recent.from(first).unwrap()).unwrap();
        assert_eq!(held, (first..end).map(|position| position as f32).collect::<Vec<_>>());
    }
}
