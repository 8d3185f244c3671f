use super::{Lookup, N_CANDIDATES, N_GRAM, N_MATCH_MAX, N_WINDOW};
use crate::TokenId;
use crate::draft::Drafter;
use crate::draw::splitmix64;

/// The longest match the obvious way, the newest among equals: what followed it and its length.
fn obvious(tokens: &[TokenId], n_max: usize) -> Option<(Vec<TokenId>, usize)> {
    let last = tokens.len() - 1;
    let n_equal = |end: usize| {
        (0..=end.min(N_MATCH_MAX - 1)).take_while(|back| tokens[end - back] == tokens[last - back]).count()
    };
    let (end, n_match) = (0..last).map(|end| (end, n_equal(end))).max_by_key(|(end, n)| (*n, *end))?;
    let following = |i: usize| tokens[end + 1 + i % (last - end)];
    (n_match >= N_GRAM).then(|| ((0..n_max).map(following).collect(), n_match))
}

#[test]
fn a_draft_is_what_followed_the_longest_match() {
    for (n_tokens, n_vocab) in [(120, 2), (200, 3), (300, 8), (400, 40)] {
        let mut lookup = Lookup::default();
        let mut tokens: Vec<TokenId> = Vec::new();
        let mut n_equal = 0;
        for at in 0..n_tokens {
            let random = splitmix64(at ^ n_vocab << 32);
            // Copies a run from before now and then.
            let copied = tokens.len().checked_sub(17 + at as usize / 60 % 7).filter(|_| at / 20 % 3 == 1);
            tokens.push(copied.map_or((random % n_vocab) as TokenId, |from| tokens[from]));
            let draft = lookup.draft(&tokens, 5);
            let (expected, n_match) = obvious(&tokens, 5).unwrap_or_default();
            assert!(draft.evidence <= n_match, "at {at} of {n_vocab}: {draft:?}, {n_match} match");
            n_equal += usize::from(draft.evidence == n_match);
            if draft.evidence == n_match && n_match > 0 && n_match < N_MATCH_MAX {
                assert_eq!(draft.tokens, expected, "at {at} of {n_vocab}");
            }
        }
        // Chains are followed only so far: with few tokens every n-gram is everywhere.
        let enough = if n_vocab > 3 { n_tokens } else { n_tokens * 8 / 10 };
        assert!(n_equal >= enough as usize, "{n_equal} of {n_tokens} are longest");
    }
}

fn check(reference: &[TokenId], tokens: &[TokenId], expected: &[TokenId]) {
    assert_eq!(Lookup::new(reference, 3).draft(tokens, 4).tokens, expected, "{tokens:?}");
}

#[test]
fn drafts_go_on_as_the_text_did() {
    check(&[], &[], &[]);
    check(&[], &[1], &[]);
    check(&[], &[1, 2, 3, 4], &[]);
    check(&[], &[1, 2, 3, 9, 1, 2], &[3, 9, 1, 2]);
    check(&[], &[7, 7, 7], &[7, 7, 7, 7]);
    check(&[], &[5, 6, 5, 6], &[5, 6, 5, 6]);
    // The newest of equally long matches.
    check(&[], &[1, 2, 3, 1, 2, 4, 1, 2], &[4, 1, 2, 4]);
    // The longest, though a shorter one is newer.
    check(&[], &[8, 1, 2, 3, 9, 1, 2, 4, 8, 1, 2], &[3, 9, 1, 2]);
}

#[test]
fn a_reference_is_looked_up_too() {
    let reference = [10, 11, 12, 13, 14, 15];
    // Where the output begins, it may repeat the reference from its beginning.
    check(&reference, &[1, 2, 3], &[10, 11, 12, 13]);
    check(&reference, &[1, 2, 3, 11, 12], &[13, 14, 15]);
    check(&reference, &[1, 2, 3, 14, 15], &[]);
    // The seam is no text.
    check(&reference, &[16, 17, 3, 4, 15, 16], &[]);
}

#[test]
fn a_followed_match_is_kept_though_its_n_grams_are_everywhere() {
    let line: Vec<TokenId> = vec![1, 2];
    let mut tokens: Vec<TokenId> = (100..140).flat_map(|unique| [1, 2, unique]).collect();
    tokens.extend((0..3 * N_CANDIDATES).flat_map(|_| line.clone()));
    tokens.push(99);
    let mut lookup = Lookup::default();
    // Rewrites the beginning: after each unique token, only the followed match knows the next.
    tokens.extend([1, 2, 100]);
    assert_eq!(lookup.draft(&tokens, 3).tokens, [1, 2, 101]);
    tokens.extend([1, 2]);
    assert_eq!(lookup.draft(&tokens, 3).tokens, [101, 1, 2]);
}

#[test]
fn memory_is_bounded_and_what_lies_too_far_back_is_forgotten() {
    let mut lookup = Lookup::default();
    let mut tokens: Vec<TokenId> = vec![5, 6, 7];
    tokens.extend((0..2 * N_WINDOW as TokenId + 10).map(|i| 1000 + i));
    lookup.draft(&tokens, 1);
    tokens.extend([5, 6]);
    assert_eq!(lookup.draft(&tokens, 1).tokens, []);
    assert_eq!(lookup.chains.len(), N_WINDOW);
    assert!(lookup.heads.len() <= 2 * N_WINDOW, "{}", lookup.heads.len());
    tokens.extend([1000 + 2 * N_WINDOW as TokenId, 1001 + 2 * N_WINDOW as TokenId]);
    assert_eq!(lookup.draft(&tokens, 2).tokens, [1002, 1003].map(|i| i + 2 * N_WINDOW as TokenId));
}
