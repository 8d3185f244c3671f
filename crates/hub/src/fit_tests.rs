use super::*;
use crate::catalog::Catalog;

fn demand(name: &str) -> Demand {
    Catalog::built_in().find(name).unwrap().demand().unwrap()
}

fn on_mac(name: &str, memory_gb: u64, n_context: u64) -> Fit {
    // What macOS and the usual programs hold of a machine of this size.
    let used = (memory_gb * GIB / 4).min(6 * GIB);
    fit(&demand(name), n_context, &Machine::mac(memory_gb * GIB, used), &Unloaded::default())
}

#[test]
fn macs_hold_what_their_owners_say() {
    use Verdict::{Fits, Tight, TooBig};
    let table = [
        ("lfm2.5-1b", 8, Fits),
        ("lfm2.5-2.6b", 8, Fits),
        ("llama-3.1-8b", 8, TooBig),
        ("qwen3.5-9b", 8, TooBig),
        ("qwen3.5-4b", 16, Fits),
        ("qwen3.5-9b", 16, Fits),
        ("qwen3-8b", 16, Fits),
        ("gpt-oss-20b", 16, TooBig),
        ("gpt-oss-20b", 24, Fits),
        ("bonsai-27b", 24, Fits),
        ("qwen3.5-27b", 24, Tight),
        ("qwen3.8-27b", 32, Fits),
        ("qwen3-coder-30b", 24, TooBig),
        ("qwen3-coder-30b", 32, Fits),
        ("qwen3.6-35b", 24, TooBig),
        ("qwen3.6-35b", 32, Tight),
        ("qwen3.6-35b", 36, Fits),
        ("qwen3.6-35b", 48, Fits),
        ("glm-4.5-air", 64, TooBig),
        ("glm-4.5-air", 96, Fits),
        ("gpt-oss-120b", 64, TooBig),
        ("gpt-oss-120b", 96, Fits),
        ("gpt-oss-120b", 128, Fits),
        ("deepseek-v4-flash", 96, TooBig),
        ("deepseek-v4-flash", 128, Tight),
        ("deepseek-v4-flash", 192, Fits),
        ("minimax-m2.5", 128, TooBig),
        ("minimax-m2.5", 192, Fits),
        ("minimax-m2.5", 256, Fits),
        ("minimax-m2.5", 512, Fits),
    ];
    let wrong: Vec<_> = table
        .into_iter()
        .map(|(name, memory_gb, expected)| (name, memory_gb, expected, on_mac(name, memory_gb, 8192)))
        .filter(|(_, _, expected, fit)| fit.verdict != *expected)
        .map(|(name, memory_gb, expected, fit)| format!("{name} on {memory_gb} GB, not {expected:?}: {}", fit.words))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_longer_context_needs_more_and_the_longest_fits() {
    for entry in Catalog::built_in().models {
        let Some(demand) = entry.demand() else { continue };
        for memory_gb in [8, 16, 32, 64, 128, 512] {
            let machine = Machine::mac(memory_gb * GIB, 4 * GIB);
            let available = machine.available(0);
            let Some(longest) = longest(&demand, available) else {
                assert!(demand.at(N_CONTEXT_LEAST).n_bytes() > available, "{} {memory_gb}", entry.name);
                continue;
            };
            assert!(demand.at(longest).n_bytes() <= available, "{} {memory_gb}", entry.name);
            let is_all = demand.n_context.unwrap_or(1 << 20) <= longest;
            assert!(
                is_all || demand.at(longest + 2 * CONTEXT_GRAIN).n_bytes() > available,
                "{} {memory_gb}",
                entry.name
            );
        }
        let needs: Vec<_> = [0, 1, 2048, 8192, 32_768, 1 << 20].map(|n| demand.at(n).n_bytes()).to_vec();
        assert!(needs.is_sorted(), "{}: {needs:?}", entry.name);
    }
}

#[test]
fn what_is_unloaded_first_counts_as_free() {
    let machine =
        Machine { n_bytes: 32 * GIB, n_free_bytes: 6 * GIB, n_gpu_bytes: Some(21 * GIB), n_gpu_used_bytes: 16 * GIB };
    let alone = fit(&demand("qwen3-8b"), 8192, &machine, &Unloaded::default());
    assert_eq!(alone.verdict, Verdict::TooBig, "{}", alone.words);
    let unloaded = Unloaded { names: vec!["gpt-oss-20b".to_owned()], n_bytes: 14 * GIB };
    let after = fit(&demand("qwen3-8b"), 8192, &machine, &unloaded);
    assert_eq!(after.verdict, Verdict::Fits, "{}", after.words);
    assert!(after.words.contains("free after unloading gpt-oss-20b"), "{}", after.words);
}

#[test]
fn drafters_count() {
    let both = demand("qwen3-8b").with_drafter(demand("qwen3-0.6b"));
    let sum = demand("qwen3-8b").at(4096).n_bytes() + demand("qwen3-0.6b").at(4096).n_array_bytes();
    assert_eq!(both.at(4096).n_bytes(), sum);
    let machine = Machine::mac(16 * GIB, 4 * GIB);
    assert!(fit(&both, 4096, &machine, &Unloaded::default()).words.contains("for the draft model"));
}

#[test]
fn the_sum_is_said_in_words() {
    let big = on_mac("llama-3.1-8b", 16, 131_072);
    assert_eq!(big.verdict, Verdict::TooBig);
    let longest = big.n_context_max.unwrap();
    assert!((8192..131_072).contains(&longest), "{longest}");
    let expected = format!(
        "at 128k of context; {} free: too big; try {}k of context",
        gigabytes(big.n_available_bytes),
        longest / 1024
    );
    assert!(big.words.ends_with(&expected), "{} / {expected}", big.words);
    let hopeless = on_mac("glm-4.5-air", 16, 8192);
    assert_eq!(hopeless.n_context_max, None);
    assert!(hopeless.words.contains("a smaller model or fewer bits"), "{}", hopeless.words);
}

#[test]
fn numbers_beyond_reason_are_too_big_and_no_more() {
    let huge = Demand { n_weight_bytes: u64::MAX, n_row_bytes: u64::MAX, ..Demand::default() };
    let fit = fit(&huge, u64::MAX, &Machine::mac(8 * GIB, 9 * GIB), &Unloaded::default());
    assert_eq!((fit.verdict, fit.n_context_max), (Verdict::TooBig, None));
}
