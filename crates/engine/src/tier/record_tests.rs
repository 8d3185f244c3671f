use proptest::prelude::*;

use super::*;

fn header(n_tokens: u32, payload: &[u8]) -> Header {
    let fingerprint = Fingerprint::of("a model");
    let start = (ChainKey::ROOT, 128);
    Header::new(Kind::Block, fingerprint, start, (0..n_tokens).collect()).sealed(payload)
}

proptest! {
    #[test]
    fn a_header_survives_its_bytes(n_tokens in 0u32..300, payload in prop::collection::vec(any::<u8>(), 0..200)) {
        let header = header(n_tokens, &payload);
        let mut bytes = header.to_bytes();
        prop_assert_eq!(bytes.len() as u64, header.n_header());
        bytes.extend(&payload);
        prop_assert_eq!(Header::from_bytes(&bytes), Ok(header.clone()));
        prop_assert!(header.is_payload(&payload));
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed(n_tokens in 0u32..80, bit in any::<prop::sample::Index>()) {
        let mut bytes = header(n_tokens, b"payload").to_bytes();
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Header::from_bytes(&bytes).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_refused(tail in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(Header::from_bytes(&tail).is_err());
        let claimed = [&MAGIC[..], &1u32.to_le_bytes(), &tail].concat();
        prop_assert!(Header::from_bytes(&claimed).is_err());
    }
}

#[test]
fn a_cut_header_asks_for_more() {
    let bytes = header(64, b"").to_bytes();
    for n in 16..bytes.len() {
        assert_eq!(Header::from_bytes(&bytes[..n]), Err(Flaw::Truncated), "{n}");
    }
}

#[test]
fn another_version_is_told_from_damage() {
    let mut bytes = header(4, b"").to_bytes();
    bytes[8] = 2;
    assert_eq!(Header::from_bytes(&bytes), Err(Flaw::Version));
}

#[test]
fn a_key_that_does_not_follow_is_refused() {
    let mut header = header(4, b"");
    header.tokens[0] += 1;
    assert_eq!(Header::from_bytes(&header.to_bytes()), Err(Flaw::Corrupt));
}

#[test]
fn keys_depend_on_everything_before() {
    let root = ChainKey::ROOT;
    let keys = [
        root.then(Kind::Block, &[1, 2]),
        root.then(Kind::Block, &[1]).then(Kind::Block, &[2]),
        root.then(Kind::Snapshot, &[1, 2]),
        root.then(Kind::Label, &[1, 2]),
        root.then(Kind::Block, &[2, 1]),
    ];
    let distinct: std::collections::HashSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len());
}
