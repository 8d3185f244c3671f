use std::fs;
use std::path::PathBuf;

use half::{bf16, f16};
use tempfile::TempDir;

use super::*;
use crate::gguf::kind::Kind;
use crate::gguf::synthetic::{Builder, tiny, value};
use crate::safetensors::Header;

/// Imports `file` into a fresh folder with `options`.
fn imported(file: &Builder, options: &ImportOptions) -> (TempDir, PathBuf, Result<ImportReport, ImportError>) {
    let dir = tempfile::tempdir().unwrap();
    let dst = dir.path().join("out");
    let result = import(&file.write(dir.path()), &dst, options, &mut |_| ControlFlow::Continue(()));
    (dir, dst, result)
}

fn document(dst: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(dst.join(name)).unwrap()).unwrap()
}

/// Dtype, shape and floats of a float tensor.
fn floats(dst: &Path, name: &str) -> (Dtype, Vec<usize>, Vec<f32>) {
    let path = dst.join("model.safetensors");
    let header = Header::read(&path).unwrap();
    let info = &header.tensors[name];
    let bytes = &fs::read(&path).unwrap()[info.offset as usize..][..info.n_bytes as usize];
    let floats = match info.dtype {
        Dtype::F16 => bytes.as_chunks().0.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect(),
        Dtype::BF16 => bytes.as_chunks().0.iter().map(|b| bf16::from_le_bytes(*b).to_f32()).collect(),
        Dtype::F32 => bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
        other => panic!("{name} is {other}"),
    };
    (info.dtype, info.shape.clone(), floats)
}

fn check_refused(file: &Builder, expected: &str) {
    let (dir, dst, result) = imported(file, &ImportOptions::default());
    let message = result.expect_err(expected).to_string();
    assert!(message.contains(expected), "`{message}` does not say `{expected}`");
    assert!(!dst.exists());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "only the source is left after `{expected}`");
}

#[test]
fn every_architecture_and_kind_is_imported() {
    for (architecture, model_type) in
        [("llama", "llama"), ("qwen2", "qwen2"), ("qwen3", "qwen3"), ("gemma3", "gemma3_text")]
    {
        for kind in [Kind::F32, Kind::F16, Kind::BF16, Kind::Q4_0, Kind::Q4_1, Kind::Q5_0, Kind::Q5_1, Kind::Q8_0] {
            let (_dir, dst, result) = imported(&tiny(architecture, kind), &ImportOptions::default());
            let report = result.unwrap_or_else(|error| panic!("{architecture} {kind:?}: {error}"));
            assert_eq!(report.model_type, model_type);
            let header = Header::read(&dst.join("model.safetensors")).unwrap();
            let size: u64 = header.tensors.values().map(|info| info.n_bytes).sum();
            assert_eq!(report.n_bytes, size, "{architecture} {kind:?}");
            assert!(header.tensors.values().all(|info| info.offset % info.dtype.n_bytes() == 0));
            assert_eq!(document(&dst, "config.json")["model_type"], model_type);
        }
    }
}

#[test]
fn affine_kinds_keep_their_groups() {
    let file = tiny("llama", Kind::Q4_0).weights("output.weight", Kind::Q8_0, &[8, 32]);
    let (_dir, dst, result) = imported(&file, &ImportOptions::default());
    assert_eq!((result.as_ref().unwrap().n_repacked, result.unwrap().n_floats), (16, 5));
    let config = document(&dst, "config.json");
    assert_eq!(
        config["quantization"],
        json!({"group_size": 32, "bits": 4, "mode": "affine", "lm_head": {"group_size": 32, "bits": 8, "mode": "affine"}})
    );
    assert_eq!((&config["tie_word_embeddings"], &config["torch_dtype"]), (&json!(false), &json!("float16")));
    let header = Header::read(&dst.join("model.safetensors")).unwrap();
    let shape = |name: &str| (header.tensors[name].dtype, header.tensors[name].shape.clone());
    assert_eq!(shape("lm_head.weight"), (Dtype::U32, vec![8, 8]));
    assert_eq!(shape("model.layers.1.mlp.down_proj.weight"), (Dtype::U32, vec![32, 8]));
    assert_eq!(shape("model.layers.1.mlp.down_proj.scales"), (Dtype::F16, vec![32, 2]));
    assert_eq!(shape("model.layers.1.mlp.down_proj.biases"), (Dtype::F16, vec![32, 2]));
}

#[test]
fn rotary_rows_are_sorted_into_halves() {
    let (_dir, dst, result) = imported(&tiny("llama", Kind::F32), &ImportOptions::default());
    result.unwrap();
    let (.., q) = floats(&dst, "model.layers.0.self_attn.q_proj.weight");
    // Third tensor of the file. Row 3 of the second head is stored as its pair 3's first half: row 16 + 2 * 3.
    for (row, stored) in [(0, 0), (1, 2), (8, 1), (16 + 3, 16 + 6), (16 + 15, 16 + 15)] {
        let expected: Vec<f32> = (0..32).map(|i| value(stored * 32 + i + 31 * 2)).collect();
        assert_eq!(q[row * 32..][..32], expected, "row {row}");
    }
    // The same on packed rows: a permutation of rows commutes with packing.
    let (_dir, packed, result) = imported(&tiny("llama", Kind::Q8_0), &ImportOptions::default());
    result.unwrap();
    let (_dir, plain, result) = imported(&tiny("qwen3", Kind::Q8_0), &ImportOptions::default());
    result.unwrap();
    let rows = |dst: &Path| {
        let header = Header::read(&dst.join("model.safetensors")).unwrap();
        let offset = header.tensors["model.layers.0.self_attn.k_proj.weight"].offset as usize;
        fs::read(dst.join("model.safetensors")).unwrap()[offset..][..16 * 32].to_vec()
    };
    let (packed, plain) = (rows(&packed), rows(&plain));
    for row in 0..16 {
        let stored = if row < 8 { 2 * row } else { 2 * (row - 8) + 1 };
        assert_eq!(packed[row * 32..][..32], plain[stored * 32..][..32], "row {row}");
    }
}

#[test]
fn rotary_biases_are_sorted_as_their_rows() {
    let file = tiny("llama", Kind::F32).weights("blk.0.attn_k.bias", Kind::F32, &[16]);
    let (_dir, dst, result) = imported(&file, &ImportOptions::default());
    result.unwrap();
    let (_, _, bias) = floats(&dst, "model.layers.0.self_attn.k_proj.bias");
    let seed = 31 * 20;
    let expected: Vec<f32> = (0..16).step_by(2).chain((1..16).step_by(2)).map(|i| value(i + seed)).collect();
    assert_eq!(bias, expected);
    assert_eq!(document(&dst, "config.json")["attention_bias"], true);
}

#[test]
fn gemma_norms_lose_the_one_that_was_added() {
    let (_dir, dst, result) = imported(&tiny("gemma3", Kind::F32), &ImportOptions::default());
    result.unwrap();
    let (_, _, norm) = floats(&dst, "model.norm.weight");
    let expected: Vec<f32> = (0..32).map(|i| value(i + 31) - 1.0).collect();
    assert_eq!(norm, expected);
}

#[test]
fn floats_keep_the_type_of_the_matrices() {
    for (kind, dtype) in [
        (Kind::F32, Dtype::F32),
        (Kind::F16, Dtype::F16),
        (Kind::BF16, Dtype::BF16),
        (Kind::Q5_0, Dtype::F16),
        (Kind::Q4_0, Dtype::F16),
    ] {
        let (_dir, dst, result) = imported(&tiny("llama", kind), &ImportOptions::default());
        result.unwrap();
        assert_eq!(floats(&dst, "model.norm.weight").0, dtype, "{kind:?}");
    }
}

#[test]
fn weights_too_large_for_f16_widen() {
    let big = |_: &mut Vec<u64>, _: &mut u32, bytes: &mut Vec<u8>| bytes[4..8].copy_from_slice(&1e6f32.to_le_bytes());
    let (_dir, dst, result) =
        imported(&tiny("llama", Kind::Q4_0).change("output_norm.weight", big), &ImportOptions::default());
    result.unwrap();
    let (dtype, _, norm) = floats(&dst, "model.norm.weight");
    assert_eq!((dtype, norm[1], norm[2]), (Dtype::F32, 1e6, value(2 + 31)));
    assert_eq!(floats(&dst, "model.layers.1.input_layernorm.weight").0, Dtype::F16);
}

#[test]
fn quantizing_on_request_replaces_every_matrix() {
    let options = ImportOptions { quantize: Some(4), ..ImportOptions::default() };
    let (_dir, dst, result) = imported(&tiny("llama", Kind::F16), &options);
    assert_eq!(result.unwrap().n_quantized, 15);
    // Rows of 32 cannot make groups of 64.
    let config = document(&dst, "config.json");
    assert_eq!(config["quantization"]["group_size"], 32);
    assert_eq!(
        config["quantization"]["model.layers.0.mlp.down_proj"],
        json!({"group_size": 64, "bits": 4, "mode": "affine"})
    );
    let options = ImportOptions { quantize: Some(7), ..ImportOptions::default() };
    let (_dir, _, result) = imported(&tiny("llama", Kind::F16), &options);
    assert!(result.unwrap_err().to_string().contains("cannot quantize to 7 bits"));
}

#[test]
fn large_models_are_split() {
    let whole = imported(&tiny("llama", Kind::F32), &ImportOptions::default());
    let split =
        imported(&tiny("llama", Kind::F32), &ImportOptions { shard_n_bytes: 20_000, ..ImportOptions::default() });
    let n_shards = split.2.unwrap().n_shards;
    assert!(n_shards > 2);
    let index = document(&split.1, "model.safetensors.index.json");
    let mut seen = 0;
    for idx in 1..=n_shards {
        let name = format!("model-{idx:05}-of-{n_shards:05}.safetensors");
        for (tensor, info) in Header::read(&split.1.join(&name)).unwrap().tensors {
            assert_eq!(index["weight_map"][&tensor], name);
            let bytes =
                fs::read(split.1.join(&name)).unwrap()[info.offset as usize..][..info.n_bytes as usize].to_vec();
            let expected: Vec<u8> = floats(&whole.1, &tensor).2.iter().flat_map(|x| x.to_le_bytes()).collect();
            assert_eq!(bytes, expected, "{tensor}");
            seen += 1;
        }
    }
    assert_eq!(seen, index["weight_map"].as_object().unwrap().len());
}

#[test]
fn progress_ends_at_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let src = tiny("llama", Kind::Q4_1).write(dir.path());
    let mut seen: Vec<Progress> = Vec::new();
    import(&src, &dir.path().join("out"), &ImportOptions::default(), &mut |progress| {
        seen.push(progress);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(seen.is_sorted_by_key(|progress| progress.n_bytes_done));
    let last = seen.last().unwrap();
    assert_eq!(last.n_bytes_done, last.n_bytes);
}

#[test]
fn unusable_models_are_named_and_leave_nothing() {
    let good = tiny("llama", Kind::Q4_0);
    let nan = |_: &mut Vec<u64>, _: &mut u32, bytes: &mut Vec<u8>| bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    let huge = |_: &mut Vec<u64>, _: &mut u32, bytes: &mut Vec<u8>| bytes[..2].copy_from_slice(&f16::MAX.to_le_bytes());
    check_refused(&tiny("mamba", Kind::F16), "architecture `mamba`");
    check_refused(&Builder::new(), "`general.architecture` is missing");
    check_refused(&good.clone().count("llama.expert_count", 8), "a mixture of experts");
    check_refused(&good.clone().count("llama.rope.dimension_count", 8), "rotary positions on a part");
    check_refused(&good.clone().count("split.count", 3), "split GGUF (3 parts)");
    check_refused(&good.clone().without("blk.1.ffn_up.weight"), "`blk.1.ffn_up.weight` is missing");
    check_refused(&good.clone().without("token_embd.weight"), "vocabulary-only");
    check_refused(&good.clone().weights("blk.0.ssm.weight", Kind::F32, &[4]), "the tensor `blk.0.ssm.weight`");
    check_refused(
        &good.clone().change("blk.0.attn_v.weight", |dims, _, _| dims[1] = 8),
        "shape [8, 32] where [16, 32]",
    );
    check_refused(&good.clone().change("output_norm.weight", nan), "not finite numbers");
    check_refused(&good.clone().change("blk.1.ffn_up.weight", huge), "a 16-bit float cannot hold");
    check_refused(&good.clone().text("llama.rope.scaling.type", "longrope"), "`longrope` scaling");
}

#[test]
fn folders_of_others_are_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (src, dst) = (tiny("llama", Kind::Q4_0).write(dir.path()), dir.path().join("out"));
    let run = |existing| {
        import(&src, &dst, &ImportOptions { existing, ..ImportOptions::default() }, &mut |_| ControlFlow::Continue(()))
    };
    fs::create_dir(&dst).unwrap();
    run(Existing::ReplaceOurs).unwrap();
    run(Existing::ReplaceOurs).unwrap();
    fs::remove_file(dst.join(MARKER)).unwrap();
    assert!(matches!(run(Existing::ReplaceOurs), Err(ImportError::NotOurs { .. })));
    assert!(dst.join("config.json").exists());
    run(Existing::Replace).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "only the source and the result are left");
    fs::remove_file(dst.join(MARKER)).unwrap();
    fs::remove_file(dst.join("config.json")).unwrap();
    assert!(matches!(run(Existing::Replace), Err(ImportError::NotAModel { .. })));
    assert!(dst.join("tokenizer.json").exists());
    fs::write(dst.join(MARKER), "{}").unwrap();
    let inside = tiny("llama", Kind::Q4_0).write(&dst);
    let result = import(&inside, &dst, &ImportOptions::default(), &mut |_| ControlFlow::Continue(()));
    assert!(matches!(result, Err(ImportError::SourceInside { .. })) && inside.exists());
    fs::remove_dir_all(&dst).unwrap();
    fs::write(&dst, "a file").unwrap();
    assert!(matches!(run(Existing::Replace), Err(ImportError::NotAFolder { .. })));
    assert_eq!(fs::read(&dst).unwrap(), b"a file");
}

#[test]
fn leftovers_of_a_killed_import_do_not_matter() {
    let dir = tempfile::tempdir().unwrap();
    let (src, dst) = (tiny("llama", Kind::Q4_0).write(dir.path()), dir.path().join("out"));
    fs::create_dir(dir.path().join(".out.import")).unwrap();
    fs::write(dir.path().join(".out.import/model.safetensors"), "half").unwrap();
    fs::write(dir.path().join(".out.import.lock"), "").unwrap();
    import(&src, &dst, &ImportOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);

    let lock = fs::File::create(dir.path().join(".out.import.lock")).unwrap();
    lock.lock().unwrap();
    let result = import(&src, &dst, &ImportOptions::default(), &mut |_| ControlFlow::Continue(()));
    assert!(matches!(result, Err(ImportError::Busy { .. })));
}

#[test]
fn a_cancelled_import_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let src = tiny("llama", Kind::Q4_0).write(dir.path());
    let result = import(&src, &dir.path().join("out"), &ImportOptions::default(), &mut |_| ControlFlow::Break(()));
    assert!(matches!(result, Err(ImportError::Cancelled)));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn an_import_that_cannot_start_leaves_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let (dst, aside) = (dir.path().join("out"), dir.path().join(".out.replaced"));
    let result = Staging::begin(&dst, Existing::ReplaceOurs, u64::MAX);
    assert!(matches!(result, Err(ImportError::DiskFull { .. })));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);

    // Killed between the two renames of a replacement.
    fs::create_dir(&aside).unwrap();
    fs::write(aside.join(MARKER), "{}").unwrap();
    let result = Staging::begin(&dst, Existing::ReplaceOurs, u64::MAX);
    assert!(matches!(result, Err(ImportError::DiskFull { .. })));
    assert!(dst.join(MARKER).exists() && !aside.exists());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn flipped_bytes_never_panic_or_leave_anything() {
    let bytes = tiny("llama", Kind::Q4_0).build();
    let dir = tempfile::tempdir().unwrap();
    let (src, dst) = (dir.path().join("model.gguf"), dir.path().join("out"));
    let header: usize = 2600;
    for at in (0..header).step_by(7) {
        let mut copy = bytes.clone();
        copy[at] ^= 1 << (at % 8);
        fs::write(&src, &copy).unwrap();
        match import(&src, &dst, &ImportOptions::default(), &mut |_| ControlFlow::Continue(())) {
            Ok(_) => fs::remove_dir_all(&dst).unwrap(),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "byte {at}");
    }
}
