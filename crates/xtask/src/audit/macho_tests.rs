use super::{MachO, Signature, is_macho, read};
use crate::audit::sample;

#[test]
fn reads_what_a_loader_reads() {
    let macho = read(&sample::program().bytes()).expect("a program");
    let expected = MachO {
        is_arm64: true,
        min_macos: Some((14, 0)),
        dylibs: vec!["/usr/lib/libSystem.B.dylib".to_owned(), "@rpath/libmlx.dylib".to_owned()],
        id: None,
        rpaths: vec!["@executable_path/../Frameworks".to_owned()],
        signature: Some(Signature { is_ad_hoc: true, has_hardened_runtime: true, entitlements: String::new() }),
    };
    assert_eq!(macho, expected);
    assert_eq!(read(&sample::library().bytes()).expect("a library").id.as_deref(), Some("@rpath/libmlx.dylib"));
}

#[test]
fn reads_entitlements() {
    let mut program = sample::program();
    program.entitlements = Some("<plist><dict/></plist>");
    let signature = read(&program.bytes()).expect("a program").signature.expect("signed");
    assert_eq!(signature.entitlements, "<plist><dict/></plist>");
}

#[test]
fn a_file_that_ends_anywhere_is_an_error_or_less() {
    let whole = sample::program().bytes();
    for n_bytes in 0..whole.len() {
        if let Ok(macho) = read(&whole[..n_bytes]) {
            panic!("{n_bytes} of {} bytes are a program: {macho:?}", whole.len());
        }
    }
}

#[test]
fn a_file_with_any_byte_turned_does_not_panic() {
    let whole = sample::program().bytes();
    for at in 0..whole.len() {
        for mask in [0xff, 0x80, 0x01] {
            let mut turned = whole.clone();
            turned[at] ^= mask;
            // What is read does not matter here.
            drop(read(&turned));
        }
    }
}

#[test]
fn other_kinds_of_files_are_named() {
    for (bytes, cause) in [
        (&b"\xca\xfe\xba\xbe\0\0\0\x02"[..], "several processors"),
        (b"\x7fELF\x02\x01\x01\0", "no 64-bit Mach-O"),
        (b"#!", "ends too early"),
    ] {
        let error = read(bytes).expect_err(cause).to_string();
        assert!(error.contains(cause), "{error}");
    }
    assert!(is_macho(b"\xca\xfe\xba\xbe"));
    assert!(!is_macho(b"#!/bin/sh"));
}
