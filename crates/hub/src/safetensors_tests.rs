use std::fs;

use super::*;

fn parse(json: &str, n_data: u64) -> Result<Header, Problem> {
    Header::parse(json.as_bytes(), 8 + json.len() as u64 + n_data)
}

fn check_refused(json: &str, n_data: u64, expected: &str) {
    let problem = parse(json, n_data).expect_err(json).to_string();
    assert!(problem.contains(expected), "{json}: `{problem}` does not say `{expected}`");
}

#[test]
fn a_good_header_gives_absolute_offsets() {
    let json = r#"{"__metadata__":{"format":"mlx"},"b":{"dtype":"F16","shape":[2,3],"data_offsets":[4,16]},
        "a":{"dtype":"U32","shape":[],"data_offsets":[0,4]},"empty":{"dtype":"F32","shape":[0,9],"data_offsets":[4,4]}}   "#;
    let header = parse(json, 16).unwrap();
    let start = 8 + json.len() as u64;
    assert_eq!(header.metadata["format"], "mlx");
    assert_eq!(header.tensors.len(), 3);
    let b = &header.tensors["b"];
    assert_eq!((b.dtype, b.shape.as_slice(), b.offset, b.n_bytes), (Dtype::F16, &[2, 3][..], start + 4, 12));
    assert_eq!(b.n_elements(), 6);
    assert_eq!(header.tensors["empty"].n_bytes, 0);
}

#[test]
fn bad_headers_are_named() {
    let at = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"w":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    check_refused("[1]", 0, "not valid JSON");
    check_refused("{", 0, "not valid JSON");
    check_refused(&at("F12", "[1]", "[0,4]"), 4, "F12");
    check_refused(&at("F32", "[-1]", "[0,4]"), 4, "not valid JSON");
    check_refused(&at("F32", "[1]", "[0,4,8]"), 8, "not valid JSON");
    check_refused(&at("F32", "[2]", "[0,4]"), 4, "needs 8 bytes");
    check_refused(&at("F32", "[2]", "[8,0]"), 8, "overflows");
    check_refused(&at("F32", "[4294967296,4294967296]", "[0,4]"), 4, "overflows");
    check_refused(&at("F32", "[2]", "[0,8]"), 4, "4 bytes past the end");
    check_refused(&at("U8", "[18446744073709551615]", "[0,18446744073709551615]"), 4, "overflows");
    check_refused(&at("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]"), 4, "17 dimensions");
    let entry = r#""w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}"#;
    check_refused(&format!("{{{entry},{entry}}}"), 4, "appears twice");
    check_refused(&format!(r#"{{{entry},"v":{{"dtype":"U8","shape":[2],"data_offsets":[3,5]}}}}"#), 5, "overlap");
}

#[test]
fn hostile_lengths_are_refused_before_allocation() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.safetensors");
    let check = |bytes: &[u8], expected: &str| {
        fs::write(&path, bytes).unwrap();
        let message = Header::read(&path).unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("model.safetensors"), "{message}");
    };
    check(b"short", "ends after 5 bytes");
    check(&(1u64 << 60).to_le_bytes(), "more than the 100000000 allowed");
    check(&64u64.to_le_bytes(), "but the file has 8");
    fs::remove_file(&path).unwrap();
    assert!(Header::read(&path).unwrap_err().to_string().starts_with("cannot read"));
}

#[test]
fn every_prefix_and_every_flipped_byte_is_survived() {
    let json = br#"{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"U8","shape":[3],"data_offsets":[16,19]}}"#;
    for n in 0..json.len() {
        assert!(Header::parse(&json[..n], 8 + n as u64 + 19).is_err());
    }
    for i in 0..json.len() {
        for bit in 0..8 {
            let mut copy = json.to_vec();
            copy[i] ^= 1 << bit;
            if let Ok(header) = Header::parse(&copy, 8 + copy.len() as u64 + 19) {
                assert!(header.tensors.values().all(|info| info.offset + info.n_bytes <= header.file_n_bytes));
            }
        }
    }
}
