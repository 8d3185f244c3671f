use super::pack;

/// The start of a PNG image, which is all that is read, and a mark.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
    bytes
}

#[test]
fn images_stand_by_size_with_their_lengths() {
    let icon = pack(&[png(512, 512), png(16, 16), png(48, 48), png(512, 512)]).expect("an icon");
    let (small, large) = (png(16, 16), png(512, 512));
    let length = |n: usize| (n as u32).to_be_bytes();
    let expected = [
        &b"icns"[..],
        &length(8 + 8 + small.len() + 8 + large.len()),
        b"icp4",
        &length(8 + small.len()),
        &small,
        b"ic09",
        &length(8 + large.len()),
        &large,
    ];
    assert_eq!(icon, expected.concat());
}

#[test]
fn what_makes_no_icon_is_refused() {
    for (images, cause) in [
        (vec![], "largest icon has 0"),
        (vec![png(128, 128)], "largest icon has 128"),
        (vec![png(512, 256)], "not square"),
        (vec![b"GIF89a".to_vec()], "no PNG"),
        (vec![png(512, 512)[..20].to_vec()], "ends too early"),
    ] {
        let error = pack(&images).expect_err(cause).to_string();
        assert!(error.contains(cause), "{error}");
    }
}
