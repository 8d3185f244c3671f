//! What is packed here loads, and gives the logits that the reference gives for what it packs itself.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use tokbar_hub::gguf::Existing;

use super::{Part, PartSize, QuantizeError, Recipe, quantize, sizes_by_config};
use crate::fixtures::Fixture;
use crate::golden_tests::{golden_names, largest_errors};

/// The golden's checkpoint before MLX packed it.
fn original(name: &str) -> Fixture {
    let mut fixture = Fixture::read(name);
    for key in ["quantization", "quantization_config"] {
        if fixture.config[key]["quant_method"].is_null() {
            fixture.config.as_object_mut().unwrap().remove(key);
        }
    }
    fixture.tensors.iter_mut().for_each(|tensor| tensor.quantize = None);
    fixture
}

fn affine(bits: i32) -> Recipe {
    Recipe::new(bits, Some(32), "affine").unwrap()
}

fn packed(name: &str, recipe: &Recipe, target: &Path) -> Result<BTreeMap<Part, PartSize>, QuantizeError> {
    packed_of(&original(name), recipe, target)
}

fn packed_of(fixture: &Fixture, recipe: &Recipe, target: &Path) -> Result<BTreeMap<Part, PartSize>, QuantizeError> {
    let source = tempfile::tempdir().unwrap();
    fixture.write(source.path());
    std::fs::write(source.path().join("tokenizer.json"), "{}").unwrap();
    std::fs::write(source.path().join("notes.bin"), "no").unwrap();
    quantize(source.path(), target, recipe, Existing::ReplaceOurs, &mut |_, _| ControlFlow::Continue(()))
}

#[test]
fn logits_are_those_of_the_reference_on_its_own_packing() {
    let cases = [
        ("llama_affine2_g32", 2, 32, "affine"),
        ("llama_affine4_g64", 4, 64, "affine"),
        ("llama_affine6_g32", 6, 32, "affine"),
        ("llama_mxfp8_g32", 8, 32, "mxfp8"),
        ("llama_nvfp4_g16", 4, 16, "nvfp4"),
        ("qwen3_bfloat16_g64", 4, 64, "affine"),
    ];
    for (name, bits, group_size, mode) in cases {
        let target = tempfile::tempdir().unwrap();
        packed(name, &Recipe::new(bits, Some(group_size), mode).unwrap(), target.path()).unwrap();
        let fixture = Fixture::read(name);
        let off = largest_errors(&fixture, target.path()).unwrap();
        assert!(off <= fixture.tolerance, "{name} is off by {off}");
        assert!(target.path().join("tokenizer.json").is_file() && !target.path().join("notes.bin").exists());
    }
}

/// Every family, each of its layouts: what was packed has a place in its network, and eight bits change little.
#[test]
fn what_any_family_publishes_can_be_packed() {
    let mut wrong = Vec::new();
    let is_packed = |name: &String| {
        let config = Fixture::read(name).config.to_string();
        config.contains("\"quantization\"") || config.contains("pack-quantized")
    };
    for name in golden_names().into_iter().filter(|name| !is_packed(name)) {
        let target = tempfile::tempdir().unwrap();
        match packed(&name, &affine(8), target.path()) {
            // Nothing in it splits into groups of 32.
            Err(QuantizeError::Source { detail, .. }) if detail.contains("no matrix") => continue,
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(_) => match largest_errors(&original(&name), target.path()) {
                // Where a token takes other experts, much changes.
                Ok(off) if off < largest_logit(&name) * if has_experts(&name) { 1.0 } else { 0.2 } => {}
                Ok(off) => wrong.push(format!("{name} is off by {off}")),
                Err(error) => wrong.push(format!("{name}: {error}")),
            },
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn has_experts(name: &str) -> bool {
    Fixture::read(name)
        .tensors
        .iter()
        .any(|tensor| tensor.name.contains("experts") || tensor.name.contains("switch_mlp"))
}

fn largest_logit(name: &str) -> f32 {
    let fixture = Fixture::read(name);
    let logits = fixture.sequences.iter().flat_map(|sequence| sequence.prefill.values());
    logits.map(f32::abs).fold(0.0, f32::max)
}

#[test]
fn parts_can_be_packed_otherwise_and_their_bytes_are_counted() {
    let recipe = affine(6).with(Part::Experts, Some(2)).unwrap().with(Part::Head, None).unwrap();
    let target = tempfile::tempdir().unwrap();
    let sizes = packed("qwen3_moe_affine4_g64", &recipe, target.path()).unwrap();
    let file = std::fs::metadata(target.path().join("model.safetensors")).unwrap().len();
    let n_bytes: u64 = sizes.values().map(|size| size.n_bytes).sum();
    assert!(file > n_bytes && file < n_bytes + 20_000, "{file} {n_bytes}");
    // Two f32 for each 32 elements of 2 bits.
    let experts = sizes[&Part::Experts];
    assert_eq!(experts.n_bytes, experts.n_params / 4 + experts.n_params / 32 * 8);
    let config: serde_json::Value =
        serde_json::from_slice(&std::fs::read(target.path().join("config.json")).unwrap()).unwrap();
    let table = &config["quantization"];
    assert_eq!((table["bits"].as_i64(), table["group_size"].as_i64()), (Some(6), Some(32)));
    let others: Vec<&String> = table.as_object().unwrap().keys().filter(|key| key.contains('.')).collect();
    assert!(!others.is_empty() && others.iter().all(|path| path.contains(".switch_mlp.")), "{others:?}");
    assert!(largest_errors(&original("qwen3_moe_affine4_g64"), target.path()).unwrap().is_finite());
}

#[test]
fn config_alone_tells_what_the_result_takes() {
    let names = ["llama_affine4_g64", "qwen3_moe_affine4_g64", "deepseek_v4_published", "qwen3_next_affine4_g32"];
    for name in names.into_iter().chain(["kimi_linear_affine4_g32", "minimax_fp8", "mistral4_fp8"]) {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut fixture = original(name);
        // A head that predicts several tokens is no part of the network.
        fixture.tensors.retain(|tensor| !tensor.name.starts_with("mtp."));
        std::fs::write(source.path().join("config.json"), fixture.config.to_string()).unwrap();
        let n_params = |sizes: &BTreeMap<Part, PartSize>, part| sizes.get(&part).map_or(0, |size| size.n_params);
        let told = sizes_by_config(source.path(), &affine(4)).unwrap();
        let made = packed_of(&fixture, &affine(4), target.path()).unwrap();
        let known = [Part::Embeddings, Part::Experts, Part::Head];
        for part in known {
            assert_eq!(n_params(&told, part), n_params(&made, part), "{name}: {part:?}");
        }
        let all = |sizes: &BTreeMap<Part, PartSize>| sizes.values().map(|size| size.n_params).sum::<u64>() as f64;
        assert!((0.7..1.1).contains(&(all(&told) / all(&made))), "{name}: {told:?} {made:?}");
    }
}

#[test]
fn whoever_is_refused_or_stops_leaves_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let (source, target) = (parent.path().join("source"), parent.path().join("target"));
    std::fs::create_dir(&source).unwrap();
    let entries = || std::fs::read_dir(parent.path()).unwrap().count();
    original("llama_affine4_g64").write(&source);
    let mut n_told = 0;
    let stopped = quantize(&source, &target, &affine(4), Existing::ReplaceOurs, &mut |_, _| {
        n_told += 1;
        assert!(!target.exists(), "it shows before it is whole");
        if n_told == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(stopped.unwrap_err().to_string().contains("cancelled") && n_told == 3);
    assert_eq!(entries(), 1);

    let refusal = |source: &Path, target: &Path, recipe: &Recipe| {
        let refused = quantize(source, target, recipe, Existing::ReplaceOurs, &mut |_, _| ControlFlow::Continue(()));
        refused.unwrap_err().to_string()
    };
    let inside = refusal(&source, parent.path(), &affine(4));
    assert!(inside.contains("Choose another destination"), "{inside}");
    let nothing = Part::NAMED.iter().fold(affine(4), |recipe, (_, part)| recipe.with(*part, None).unwrap());
    assert!(refusal(&source, &target, &nothing).contains("no matrix"));
    let mut cut = std::fs::read(source.join("model.safetensors")).unwrap();
    cut.truncate(cut.len() - 10);
    std::fs::write(source.join("model.safetensors"), cut).unwrap();
    assert!(refusal(&source, &target, &affine(4)).contains("truncated"));
    Fixture::read("llama_affine4_g64").write(&source);
    assert!(refusal(&source, &target, &affine(4)).contains("packed already, in 4 bits; take the original"));
    Fixture::read("kimi_k2_int4").write(&source);
    assert!(refusal(&source, &target, &affine(4)).contains("packed already, in 4 bits"));
    assert_eq!(entries(), 1);
    assert!(Recipe::new(4, Some(16), "affine").unwrap_err().to_string().contains("take 32, 64 or 128"));
    assert!(Recipe::new(7, None, "affine").is_err() && Recipe::new(4, None, "mxfp8").is_err());
}
