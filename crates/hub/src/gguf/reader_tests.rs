use super::*;
use crate::gguf::synthetic::{Builder, tiny};

fn parse(bytes: &[u8]) -> Result<(Metadata, BTreeMap<String, Tensor>), ImportError> {
    HeaderReader::new(bytes, bytes.len() as u64).read().map_err(|error| error.at(Path::new("m.gguf")))
}

fn check_refused(bytes: &[u8], expected: &str) {
    let message = parse(bytes).expect_err(expected).to_string();
    assert!(message.contains(expected), "`{message}` does not say `{expected}`");
}

#[test]
fn keys_and_tensors_are_read() {
    for version in [2, 3] {
        let file = tiny("llama", Kind::Q4_0).version(version).key("i", 11, &(-5i64).to_le_bytes());
        let (metadata, tensors) = parse(&file.build()).unwrap();
        assert_eq!(metadata.text("general.architecture").unwrap(), Some("llama"));
        assert_eq!(metadata.count("llama.context_length").unwrap(), Some(128));
        assert_eq!(metadata.count("absent").unwrap(), None);
        assert_eq!(metadata.0["i"], Value::Signed(-5));
        assert!(metadata.count("i").is_err() && metadata.text("i").is_err());
        assert_eq!(metadata.texts("tokenizer.ggml.merges").unwrap().unwrap().len(), 3);
        let gate = &tensors["blk.1.ffn_gate.weight"];
        assert_eq!((gate.shape.as_slice(), gate.kind, gate.n_bytes), (&[64, 32][..], Kind::Q4_0, 64 * 18));
        assert_eq!((gate.row_len(), gate.n_rows(), gate.row_n_bytes()), (32, 64, 18));
    }
}

#[test]
fn bad_headers_are_named() {
    let good = tiny("llama", Kind::F16);
    check_refused(b"", "does not start with the letters GGUF");
    check_refused(b"GGML\x03\0\0\0", "does not start with the letters GGUF");
    check_refused(b"GGUF\x01\0\0\0", "its version is 1");
    check_refused(b"GGUF\0\0\0\x03", "big-endian");
    check_refused(b"GGUF\x03\0\0\0", "ends inside tensors");
    check_refused(&good.clone().count("general.name", 1).build(), "`general.name` appears twice");
    check_refused(&good.clone().key("k", 13, &[]).build(), "`k` has the unknown type 13");
    check_refused(&good.clone().key("k", 8, &[1, 0, 0, 0, 0, 0, 0, 0, 0xff]).build(), "not UTF-8");
    check_refused(&good.clone().count("general.alignment", 24).build(), "alignment 24");
    check_refused(&good.clone().count("general.alignment", 0).build(), "alignment 0");
    check_refused(&good.clone().weights("output_norm.weight", Kind::F32, &[32]).build(), "appears twice");
}

#[test]
fn hostile_sizes_are_refused_before_allocation() {
    let counts = |n_tensors: u64, n_keys: u64| {
        [b"GGUF\x03\0\0\0".to_vec(), n_tensors.to_le_bytes().to_vec(), n_keys.to_le_bytes().to_vec()].concat()
    };
    check_refused(&counts(u64::MAX, 0), "18446744073709551615 tensors");
    check_refused(&counts(0, u64::MAX), "18446744073709551615 metadata keys");
    check_refused(&counts(1 << 17, 1 << 16), "ends inside a metadata key");
    check_refused(&Builder::new().key("k", 8, &u64::MAX.to_le_bytes()).build(), "ends inside a metadata value");
    let array = |number: u32, n: u64| [number.to_le_bytes().to_vec(), n.to_le_bytes().to_vec()].concat();
    check_refused(&Builder::new().key("k", 9, &array(8, u64::MAX)).build(), "array elements");
    check_refused(&Builder::new().key("k", 9, &array(0, 1 << 22)).build(), "ends inside an array");
    let nested: Vec<u8> = (0..1000).flat_map(|_| array(9, 1)).collect();
    check_refused(&Builder::new().key("k", 9, &nested).build(), "unknown type 9");
}

#[test]
fn what_is_no_plain_file_is_refused_unopened() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe.gguf");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), dir.path()] {
        assert!(Gguf::open(path).unwrap_err().to_string().contains("does not start with the letters GGUF"));
    }
}

#[test]
fn tensors_must_fit_the_file() {
    let good = tiny("llama", Kind::F16);
    let name = "token_embd.weight";
    let changed = |change: fn(&mut Vec<u64>, &mut u32, &mut Vec<u8>)| good.clone().change(name, change).build();
    check_refused(&changed(|dims, _, _| dims[1] = 12), "overlap");
    check_refused(&changed(|dims, _, _| dims[1] = u64::MAX), "size of tensor `token_embd.weight`");
    check_refused(&changed(|dims, _, _| dims[1] = 0), "size of tensor `token_embd.weight`");
    check_refused(&changed(|dims, _, _| dims.clear()), "size of tensor `token_embd.weight`");
    check_refused(&changed(|dims, _, _| *dims = vec![1; 5]), "5 dimensions of a tensor");
    check_refused(&changed(|dims, kind, _| (dims[0], *kind) = (33, 2)), "size of tensor `token_embd.weight`");
    check_refused(&changed(|_, kind, _| *kind = 20), "stored as IQ4_NL");
    check_refused(&changed(|_, kind, _| *kind = 999), "stored as number 999");
    let bytes = good.build();
    check_refused(&bytes[..bytes.len() - 64], "past the end of the file");
}

#[test]
fn every_prefix_is_refused_and_every_flip_survived() {
    let bytes = tiny("qwen2", Kind::Q8_0).build();
    let (_, tensors) = parse(&bytes).unwrap();
    let data_start = tensors.values().map(|tensor| tensor.offset).min().unwrap() as usize;
    let end = tensors.values().map(|tensor| tensor.offset + tensor.n_bytes).max().unwrap() as usize;
    for n in 0..end {
        assert!(parse(&bytes[..n]).is_err(), "{n} bytes were accepted");
    }
    for at in 0..data_start {
        for flip in [1, 0x80, 0xff] {
            let mut copy = bytes.clone();
            copy[at] ^= flip;
            if let Ok((_, tensors)) = parse(&copy) {
                assert!(tensors.values().all(|tensor| tensor.offset + tensor.n_bytes <= copy.len() as u64));
            }
        }
    }
}
