use std::path::Path;

use serde_json::{Value, json};

use super::{LoadOptions, Precision, load};
use crate::LoadError;
use crate::fixtures::{Fixture, Tensor};
use crate::golden_tests::golden_names;

type Spoil = fn(&mut Value);
type SpoilFiles = fn(&Path);

fn error(dir: &Path) -> String {
    match load(dir, &LoadOptions::default(), &mut |_| {}) {
        Ok(_) => panic!("it loads"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn impossible_configurations_are_refused_by_name() {
    let cases: &[(Spoil, &str)] = &[
        (|config| config["model_type"] = json!("mamba9"), "model_type \"mamba9\" is not supported; supported: "),
        (|config| config["model_type"] = json!(7), "it has no model_type"),
        (|config| config["hidden_size"] = json!(0), "hidden_size is 0"),
        (|config| config["hidden_size"] = json!(-48), "invalid value: integer `-48`"),
        (|config| config["hidden_size"] = json!(1_u64 << 60), "hidden_size is 1152921504606846976"),
        (|config| config["num_hidden_layers"] = json!(4_000_000_000_u64), "num_hidden_layers is 4000000000"),
        (|config| config["num_attention_heads"] = json!(0), "num_attention_heads is 0"),
        (|config| config["num_key_value_heads"] = json!(2), "3 attention heads do not share 2"),
        (|config| config["vocab_size"] = json!("many"), "invalid type: string \"many\""),
        (|config| config["rms_norm_eps"] = json!(-1.0), "rms_norm_eps is -1"),
        (|config| config["hidden_act"] = json!("sine"), "unknown variant `sine`"),
        (|config| config["rope_scaling"] = json!({"rope_type": "spiral"}), "rope type \"spiral\" is not supported"),
        (|config| config["vocab_size"] = json!(64), "[67, 48], but config.json implies [64, 48]"),
        (|config| config["num_hidden_layers"] = json!(3), "lacks tensor model.layers.2."),
        (|config| config["num_hidden_layers"] = json!(1), "tensors that llama does not use, such as model.layers.1."),
        (|config| config["quantization"] = json!({"group_size": 64, "bits": 7}), "no packing that MLX knows"),
        (
            |config| config["quantization"] = json!({"group_size": 64, "bits": 4, "mode": "int5"}),
            "unknown variant `int5`",
        ),
        (|config| config["quantization_config"] = json!({"quant_method": "gptq"}), "packed by \"gptq\" cannot be read"),
        (
            |config| {
                let weights = json!({"num_bits": 8, "type": "float", "strategy": "tensor", "symmetric": true});
                let groups = json!({"group_0": {"weights": weights}});
                config["quantization_config"] = json!({
                    "quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": groups,
                });
            },
            "packed by compressed-tensors as \"float-quantized\"",
        ),
        (
            |config| config["quantization_config"] = json!({"quant_method": "compressed-tensors"}),
            "config_groups has weights in 0 groups",
        ),
        (|config| *config = json!([1]), "it is not a JSON object"),
    ];
    let mut fixture = Fixture::read("llama");
    for (spoil, expected) in cases {
        let good = fixture.config.clone();
        spoil(&mut fixture.config);
        let dir = tempfile::tempdir().unwrap();
        fixture.write(dir.path());
        fixture.config = good;
        let error = error(dir.path());
        assert!(error.contains(expected), "expected {expected:?} in {error:?}");
    }
}

/// What is wrong with the weights, by the first tensor whose name ends so.
type SpoilTensor = (&'static str, fn(&mut Tensor), &'static str);

#[test]
fn weights_that_do_not_fit_are_refused_by_name_before_any_is_read() {
    let cases: &[SpoilTensor] = &[
        ("1.mlp.down_proj.weight", |it| it.name.push('x'), "lacks tensor model.layers.1.mlp.down_proj.weight"),
        ("model.norm.weight", |it| it.name = "model.norm.scale".into(), "lacks tensor model.norm.weight"),
        ("1.mlp.up_proj.weight", |it| it.shape[1] += 1, "tensor model.layers.1.mlp.up_proj.weight is [80, 49], but"),
        ("1.mlp.up_proj.weight", |it| it.shape = vec![80 * 48], "model.layers.1.mlp.up_proj.weight is [3840], but"),
        (
            "1.mlp.up_proj.weight",
            Tensor::doubled,
            "tensors that llama does not use, such as model.layers.1.mlp.up_proj2",
        ),
    ];
    for (name, spoil, expected) in cases {
        let mut fixture = Fixture::read("llama");
        let at = fixture.tensors.iter().position(|tensor| tensor.name.ends_with(name)).unwrap();
        let mut spoilt = fixture.tensors[at].clone();
        spoil(&mut spoilt);
        match spoilt.name.contains("proj2") {
            true => fixture.tensors.push(spoilt),
            false => fixture.tensors[at] = spoilt,
        }
        check_refused_unread(&fixture, expected);
    }
}

/// Loading ends with an error of these words, and no tensor has been read.
fn check_refused_unread(fixture: &Fixture, expected: &str) {
    let (error, n_reads) = refusal(fixture);
    assert!(error.contains(expected), "expected {expected:?} in {error:?}");
    assert_eq!(n_reads, 0, "{error}");
}

/// The error that loading ends with, and how many tensors have been read.
fn refusal(fixture: &Fixture) -> (String, usize) {
    let dir = tempfile::tempdir().unwrap();
    fixture.write(dir.path());
    let mut n_reads = 0;
    let result = load(dir.path(), &LoadOptions::default(), &mut |_| n_reads += 1);
    (result.err().map(|error| error.to_string()).unwrap_or_default(), n_reads)
}

#[test]
fn packed_weights_that_do_not_fit_are_refused_by_name_before_any_is_read() {
    let cases: &[(Spoil, &str)] = &[
        (
            |config| config["quantization"]["bits"] = json!(8),
            "tensor model.layers.0.self_attn.q_proj.weight is [128, 16], but",
        ),
        (
            |config| config["quantization"]["group_size"] = json!(32),
            "tensor model.layers.0.self_attn.q_proj.scales is [128, 2], but",
        ),
        (|config| config["quantization"]["mode"] = json!("mxfp4"), "no packing that MLX knows"),
        (
            |config| config["quantization"]["model.layers.1.mlp.up_proj"] = json!({"bits": 9}),
            "model.layers.1.mlp.up_proj",
        ),
        (
            |config| drop(config.as_object_mut().unwrap().remove("quantization")),
            "config.json has no quantization for them",
        ),
    ];
    for (spoil, expected) in cases {
        let mut fixture = Fixture::read("llama_affine4_g64");
        fixture.config.as_object_mut().unwrap().remove("quantization_config");
        spoil(&mut fixture.config);
        check_refused_unread(&fixture, expected);
    }
}

#[test]
fn damaged_files_are_refused_by_name() {
    let cases: &[(SpoilFiles, &str)] = &[
        (|dir| std::fs::remove_file(dir.join("config.json")).unwrap(), "config.json"),
        (|dir| std::fs::write(dir.join("config.json"), b"{\xff").unwrap(), "is not JSON"),
        (|dir| std::fs::remove_file(dir.join("model.safetensors")).unwrap(), "no weights in safetensors format"),
        (|dir| std::fs::write(dir.join("model.safetensors"), [0xff; 64]).unwrap(), "model.safetensors"),
        (|dir| std::fs::write(dir.join("model.safetensors"), (1_u64 << 60).to_le_bytes()).unwrap(), "header claims"),
        (
            |dir| {
                let bytes = std::fs::read(dir.join("model.safetensors")).unwrap();
                std::fs::write(dir.join("model.safetensors"), &bytes[..bytes.len() - 9]).unwrap();
            },
            "past the end",
        ),
        (|dir| write_index(dir, "model-00002-of-00002.safetensors"), "`model-00002-of-00002.safetensors` is missing"),
        (|dir| write_index(dir, "model.safetensors"), "tensor `b` is not in `model.safetensors`"),
        (|dir| write_index(dir, "../model.safetensors"), "it names no plain file"),
        (|dir| std::fs::write(dir.join("model.safetensors.index.json"), "{}").unwrap(), "no weight_map"),
        (|dir| pipe(&dir.join("model.safetensors.index.json")), "no plain file"),
        (|dir| pipe(&dir.join("generation_config.json")), "no plain file"),
    ];
    let fixture = Fixture::read("llama");
    for (spoil, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        fixture.write(dir.path());
        spoil(dir.path());
        let error = error(dir.path());
        assert!(error.contains(expected), "expected {expected:?} in {error:?}");
    }
}

impl Tensor {
    /// Becomes one that nobody knows.
    fn doubled(&mut self) {
        self.name = self.name.replace("proj", "proj2");
    }
}

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn write_index(dir: &Path, shard: &str) {
    let index = json!({"weight_map": {"model.norm.weight": "model.safetensors", "b": shard}});
    std::fs::write(dir.join("model.safetensors.index.json"), index.to_string()).unwrap();
}

#[test]
fn a_summary_says_what_was_loaded() {
    let load = |name: &str, precision| {
        let dir = tempfile::tempdir().unwrap();
        Fixture::read(name).write(dir.path());
        let mut seen = Vec::new();
        let loaded =
            load(dir.path(), &LoadOptions { precision, ..LoadOptions::default() }, &mut |progress| seen.push(progress))
                .unwrap();
        let last = seen.last().unwrap();
        assert_eq!(last.n_bytes, last.n_bytes_total, "progress reaches its end");
        (loaded.summary, loaded.info)
    };
    let (dense, info) = load("llama", Precision::Auto);
    assert_eq!((dense.family, dense.quantization, dense.dtype.as_str()), ("llama", None, "f32"));
    assert_eq!((info.n_vocab, info.n_context, info.eos), (67, 256, vec![2]));
    assert_eq!(info.weight_bytes as u64, dense.n_params * 4);
    assert_eq!(dense.notes, Vec::<String>::new());
    let (packed, info) = load("llama_affine4_g64", Precision::Published);
    assert_eq!(packed.quantization.as_deref(), Some("4-bit affine, groups of 64"));
    assert!((info.weight_bytes as u64) < packed.n_params * 4);
    let (unpacked, info) = load("llama_affine4_g64", Precision::F32);
    assert_eq!((unpacked.n_params, info.weight_bytes as u64), (packed.n_params, packed.n_params * 4));
    assert_eq!(unpacked.notes.len(), 1);
}

#[test]
fn shards_that_hold_a_tensor_twice_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    Fixture::read("llama").write(dir.path());
    std::fs::copy(dir.path().join("model.safetensors"), dir.path().join("model-2.safetensors")).unwrap();
    assert!(matches!(load(dir.path(), &LoadOptions::default(), &mut |_| {}), Err(LoadError::TensorTwice { .. })));
}

/// Networks that do not rotate anything.
const UNTURNED: &[&str] = &["granitemoehybrid_dense", "jamba", "kimi_linear", "nemotron_h"];

/// The text part's settings.
fn text(config: &mut Value) -> &mut Value {
    if config["text_config"].is_object() { &mut config["text_config"] } else { config }
}

/// The same mistakes in every family: whatever is wrong is named before any weight is read.
#[test]
fn mistakes_in_any_family_are_refused_by_name_before_any_weight_is_read() {
    let mut wrong = Vec::new();
    for name in golden_names() {
        let good = Fixture::read(&name);
        let is_matrix = |tensor: &Tensor| tensor.name.contains("layers.0.") && tensor.shape.len() == 2;
        let at = good.tensors.iter().position(is_matrix).unwrap_or_else(|| panic!("{name} has no matrix"));
        let tensor = good.tensors[at].name.clone();
        let mut check = |spoil: &dyn Fn(&mut Fixture), expected: &str| {
            let mut fixture = Fixture::read(&name);
            spoil(&mut fixture);
            let (error, n_reads) = refusal(&fixture);
            if !error.contains(expected) || n_reads > 0 {
                wrong.push(format!("{name}: expected {expected:?} in {error:?} after {n_reads} reads"));
            }
        };
        check(&|it| it.tensors[at].name = tensor.replace("layers.0.", "layers.0.un"), "layers.0.");
        check(&|it| it.tensors[at].shape[0] *= 2, "layers.0.");
        if !UNTURNED.iter().any(|unturned| name.starts_with(unturned)) {
            check(&misturned, "rope type \"spiral\" is not supported");
        }
        check(&mispacked, "unknown variant `int5`");
        let dir = tempfile::tempdir().unwrap();
        good.write(dir.path());
        let index = json!({"weight_map": {tensor: "model-00002-of-00002.safetensors"}});
        std::fs::write(dir.path().join("model.safetensors.index.json"), index.to_string()).unwrap();
        let error = error(dir.path());
        if !error.contains("`model-00002-of-00002.safetensors` is missing") {
            wrong.push(format!("{name}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn misturned(fixture: &mut Fixture) {
    for key in ["rope_scaling", "rope_parameters"] {
        let spiral = json!({"rope_type": "spiral", "rope_theta": 1000.0});
        // Of all layers, or of each kind.
        let mut of_kinds = spiral.clone();
        for kind in ["full_attention", "sliding_attention"] {
            of_kinds[kind] = spiral.clone();
        }
        text(&mut fixture.config)[key] = of_kinds;
    }
}

fn mispacked(fixture: &mut Fixture) {
    let config = fixture.config.as_object_mut().unwrap();
    config.remove("quantization_config");
    config.insert("quantization".to_owned(), json!({"group_size": 64, "bits": 4, "mode": "int5"}));
}
