use std::path::Path;

use crate::cache::KvQuantization;
use crate::fixtures::Fixture;
use crate::load::{LoadOptions, Precision, load};

fn fingerprint(dir: &Path, options: &LoadOptions) -> String {
    load(dir, options, &mut |_| {}).unwrap().info.fingerprint
}

#[test]
fn equal_checkpoints_are_equal_and_others_are_not() {
    let fixture = Fixture::read("llama_affine4_g64");
    let write = |fixture: &Fixture| {
        let dir = tempfile::tempdir().unwrap();
        fixture.write(dir.path());
        dir
    };
    let dir = write(&fixture);
    let options = LoadOptions::default();
    let own = fingerprint(dir.path(), &options);
    assert_eq!(own.len(), 32);
    assert_eq!(fingerprint(write(&fixture).path(), &options), own, "the same in another folder");
    let packed = |bits, min_length| Some(KvQuantization { bits, min_length });
    let others = [
        LoadOptions { precision: Precision::Published, ..options.clone() },
        LoadOptions { kv_quantization: packed(8, 0), ..options.clone() },
        LoadOptions { kv_quantization: packed(4, 0), ..options.clone() },
        LoadOptions { kv_quantization: packed(8, 1), ..options.clone() },
    ];
    let mut all: Vec<_> = others.iter().map(|options| fingerprint(dir.path(), options)).collect();
    let mut stretched = Fixture::read("llama_affine4_g64");
    stretched.config["rope_theta"] = serde_json::json!(777.0);
    all.push(fingerprint(write(&stretched).path(), &options));
    let path = dir.path().join("model.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    all.push(fingerprint(dir.path(), &options));
    all.push(own);
    let n = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), n, "{all:?}");
}
