use serde_json::json;

use super::*;

fn entry(name: &str, repo: &str, aliases: &[&str]) -> Value {
    json!({"name": name, "aliases": aliases, "repo": repo, "quantization": {"bits": 4}})
}

fn read(models: &[Value]) -> Result<Catalog, CatalogError> {
    Catalog::read(json!({"models": models}).to_string().as_bytes())
}

#[test]
fn the_built_in_list_is_sound() {
    let catalog = Catalog::built_in();
    assert!(catalog.models.len() >= 40);
    for entry in &catalog.models {
        let what = &entry.name;
        assert!(!entry.capabilities.is_empty(), "{what}");
        assert!(entry.config.is_empty() || entry.kv().is_some(), "{what}: its sizes tell no cost");
        assert!(entry.tool_format.is_none() || entry.capabilities.iter().any(|can| can == "tools"), "{what}");
    }
    for tier in &catalog.tiers {
        assert!(catalog.find(&tier.smart).is_some() && catalog.find(&tier.fast).is_some(), "{tier:?}");
    }
}

#[test]
fn kv_costs_are_those_of_the_published_sizes() {
    let catalog = Catalog::built_in();
    let check = |name: &str, expected: u64| {
        assert_eq!(catalog.find(name).unwrap().kv().unwrap().n_bytes_per_token, expected, "{name}");
    };
    check("llama-3.2-1b", 32_768);
    check("llama-3.1-8b", 131_072);
    check("qwen3-0.6b", 114_688);
    check("qwen3-8b", 147_456);
    check("qwen3-coder-30b", 98_304);
    check("qwen3.5-9b", 32_768);
    check("qwen3.5-27b", 65_536);
    check("gpt-oss-20b", 24_576);
    check("glm-4.5-air", 188_416);
    check("glm-4.7-flash", 54_144);
    check("gemma3-270m", 3072);
}

/// What is known of each model that people ask for; `lacks` is what nobody has published.
#[test]
fn the_models_that_people_ask_for_are_there_with_what_is_known() {
    let catalog = Catalog::built_in();
    let check = |name: &str, lacks: &[&str]| {
        let entry = catalog.find(name).unwrap_or_else(|| panic!("{name} is missing"));
        let has = [
            ("size", entry.weight_bytes().is_some()),
            ("family", entry.family.is_some()),
            ("context", entry.n_context.is_some()),
            ("state", entry.kv().is_some_and(|kv| kv.n_bytes(1000) > 0)),
        ];
        let missing: Vec<&str> = has.iter().filter(|(_, is_there)| !is_there).map(|(what, _)| *what).collect();
        assert_eq!(missing, lacks, "{name}");
        assert!(HubId::parse(&entry.id()).is_some() && !entry.capabilities.is_empty(), "{name}");
        assert!(entry.notes.iter().all(|note| note.text.len() > 10 && note.source.len() > 5), "{name}");
        assert!(entry.measured.iter().all(|measured| measured.source.len() > 5), "{name}");
        assert!(entry.mtp_repo.iter().all(|repo| is_repository(repo)), "{name}");
    };
    for name in [
        "qwen3.5-4b",
        "qwen3.5-9b",
        "qwen3.5-27b",
        "qwen3.5-35b",
        "qwen3.6-27b",
        "qwen3.6-35b",
        "qwen3-coder",
        "gpt-oss-20b",
        "gpt-oss-120b",
        "glm-4.5-air",
        "glm-4.7-flash",
        "minimax",
        "kimi-linear",
        "devstral",
        "devstral-2",
        "mistral-small",
        "gemma3-270m",
        "gemma3-27b",
        "gemma-4-e2b",
        "gemma-4-26b",
        "gemma-4-31b",
        "phi-4-mini",
        "llama-3.2-1b",
        "llama-3.2-3b",
        "hermes-3-8b",
        "lfm2.5-1b",
        "lfm2.5-2.6b",
        "lfm2.5-8b",
        "smollm2",
        "smollm2-135m",
        "smollm3",
    ] {
        check(name, &[]);
    }
    check("qwen3.8-27b", &["family", "context", "state"]);
    check("gemma-4-12b", &["context", "state"]);
    check("deepseek-v4-flash", &["state"]);
    assert_eq!(catalog.find("lfm2.5-2.6b").unwrap().id(), "LiquidAI/LFM2.5-2.6B-MLX/4bit");
    assert_eq!(catalog.of_id("LiquidAI/LFM2.5-2.6B-MLX/4bit").unwrap().name, "lfm2.5-2.6b-4bit");
    assert!(catalog.of_id("LiquidAI/LFM2.5-2.6B-MLX").is_none());
    assert!(catalog.models.iter().filter(|entry| entry.mtp_repo.is_some()).count() >= 5);
    assert!(catalog.models.iter().filter(|entry| entry.measured.is_some() || !entry.notes.is_empty()).count() >= 15);
}

/// What was measured holds the weights and about a third of a gigabyte of another program's own.
#[test]
fn sizes_agree_with_what_was_measured() {
    let mut n_checked = 0;
    for entry in Catalog::built_in().models {
        let (Some(_), Some(measured)) = (entry.n_params, &entry.measured) else { continue };
        let predicted = entry.weight_bytes().unwrap() as f64 / 1e9;
        let difference = (predicted + 0.2 - measured.idle_gb).abs();
        assert!(difference < 0.1 * measured.idle_gb + 0.15, "{}: {predicted} and {}", entry.name, measured.idle_gb);
        n_checked += 1;
    }
    assert!(n_checked >= 5);
}

#[test]
fn names_are_found_in_any_case() {
    let catalog = Catalog::built_in();
    let repo = |name: &str| catalog.find(name).map(|entry| entry.repo.as_str());
    assert_eq!(repo("qwen3.5-9b"), Some("mlx-community/Qwen3.5-9B-4bit"));
    assert_eq!(repo("Qwen3.5-9B-4bit"), Some("mlx-community/Qwen3.5-9B-4bit"));
    assert_eq!(repo("qwen3.5-9"), None);
    assert_eq!(catalog.of_id("mlx-community/Qwen3-8B-4bit").unwrap().name, "qwen3-8b-4bit");
}

#[test]
fn a_persons_entries_replace_and_take_over() {
    let base = read(&[entry("a-4bit", "o/a", &["a"]), entry("b-4bit", "o/b", &["b"])]).unwrap();
    let own = read(&[entry("a-4bit", "me/a", &[]), entry("mine", "me/mine", &["b"])]).unwrap();
    let both = base.with(own);
    let repo = |name: &str| both.find(name).map(|entry| entry.repo.as_str());
    assert_eq!((repo("a-4bit"), repo("a")), (Some("me/a"), None));
    assert_eq!((repo("b"), repo("b-4bit"), repo("mine")), (Some("me/mine"), Some("o/b"), Some("me/mine")));
}

#[test]
fn damaged_lists_are_refused_with_the_entry() {
    let check = |models: &[Value], expected: &str| {
        let error = read(models).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(&[entry("a", "../etc", &[])], "no id of a model");
    check(&[entry("a b", "o/a", &[])], "is no name");
    check(&[entry("a", "o/a", &[]), entry("A", "o/b", &[])], "there twice");
    let mut many_bits = entry("a", "o/a", &[]);
    many_bits["quantization"]["bits_per_weight"] = json!(1e300);
    check(&[many_bits], "bits are none");
    let mut unknown = entry("a", "o/a", &[]);
    unknown["sizee"] = json!(1);
    check(&[unknown], "unknown field");
    assert!(Catalog::read(b"[]").is_err() && Catalog::read(b"{").is_err());
}
