use super::*;

const GIB: u64 = 1 << 30;

/// A Mac with what the system and a browser take of it.
fn mac(memory_gb: u64) -> Machine {
    Machine::mac(memory_gb * GIB, 3 * GIB)
}

fn names(memory_gb: u64, can_run: &dyn Fn(&Entry) -> bool) -> [Option<String>; 2] {
    let catalog = Catalog::built_in();
    let Recommendation { smart, fast } = recommend(&catalog, &mac(memory_gb), can_run);
    [smart, fast].map(|entry| entry.map(|entry| entry.aliases.first().unwrap_or(&entry.name).clone()))
}

#[test]
fn every_mac_gets_what_its_tier_says() {
    let check = |memory_gb: u64, smart: &str, fast: &str| {
        assert_eq!(names(memory_gb, &|_| true), [smart, fast].map(|name| Some(name.to_owned())), "{memory_gb} GB");
    };
    check(8, "lfm2.5-2.6b", "lfm2.5-1b");
    check(16, "qwen3.5-4b", "lfm2.5-1b");
    check(18, "qwen3.5-9b", "qwen3.5-4b");
    check(24, "bonsai-27b", "qwen3.5-4b");
    check(32, "qwen3.8-27b", "qwen3.5-4b");
    for memory_gb in [48, 64, 96, 128, 192, 256, 512] {
        check(memory_gb, "qwen3.8-27b", "qwen3.6-35b");
    }
}

#[test]
fn what_was_measured_passes_the_gates_where_it_is_advised() {
    let catalog = Catalog::built_in();
    for tier in &catalog.tiers {
        let smart = catalog.find(&tier.smart).unwrap();
        assert!(smart.measured.is_some() && gates(smart, tier.memory_gb as f64), "{tier:?}");
    }
    let check = |name: &str, memory_gb: f64, expected: bool| {
        assert_eq!(gates(catalog.find(name).unwrap(), memory_gb), expected, "{name} on {memory_gb} GB");
    };
    check("qwen3.5-4b", 8.0, false);
    check("qwen3.5-9b", 16.0, false);
    check("gemma-4-12b", 18.0, false);
    check("gemma-4-26b", 24.0, false);
    check("qwen3.6-27b", 64.0, false);
    check("qwen3.5-35b", 64.0, false);
    check("qwen3-8b", 8.0, true);
}

#[test]
fn a_build_that_lacks_a_family_advises_another_that_fits() {
    let known = ["llama", "qwen3", "qwen3_moe", "gemma3_text", "phi3", "gpt_oss", "glm4_moe"];
    let can_run = |entry: &Entry| entry.family.as_deref().is_some_and(|family| known.contains(&family));
    for memory_gb in [8, 16, 18, 24, 32, 36, 48, 64, 96, 128, 192, 256, 512] {
        let [smart, fast] = names(memory_gb, &can_run).map(|name| name.expect("something runs on every Mac"));
        assert_ne!(smart, fast, "{memory_gb} GB");
        let catalog = Catalog::built_in();
        for entry in [smart, fast].map(|name| catalog.find(&name).unwrap().clone()) {
            assert!(can_run(&entry) && fits(&entry, &mac(memory_gb)), "{memory_gb} GB: {}", entry.name);
        }
    }
    assert_eq!(names(16, &|_| false), [None, None]);
}

#[test]
fn a_machine_that_is_full_is_advised_less() {
    let catalog = Catalog::built_in();
    let full = Machine { n_free_bytes: 4 * GIB, ..mac(64) };
    let smart = recommend(&catalog, &full, &|_| true).smart.unwrap();
    assert!(smart.weight_bytes().unwrap() < 3 * GIB, "{}", smart.name);
}
