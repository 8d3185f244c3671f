use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Offer, OfferError, check_offer};

/// A signature whose trusted comment is this; the keys do not matter here.
fn signature(comment: &str) -> String {
    STANDARD.encode(format!("untrusted comment: x version:9.9.9\nRUR\ntrusted comment: {comment}\nglobal\n"))
}

fn check(current: &str, version: &str, comment: &str) -> Result<(), OfferError> {
    check_offer(&Offer { current, version, signature: &signature(comment) })
}

#[test]
fn a_newer_version_signed_as_such_is_taken() {
    for (current, version) in [("1.2.3", "1.2.4"), ("1.9.0", "1.10.0"), ("0.9.9", "1.0.0")] {
        assert_eq!(check(current, version, &format!("version:{version} file:x")), Ok(()));
    }
}

#[test]
fn no_way_leads_back() {
    for (current, version) in [("1.2.3", "1.2.3"), ("1.2.3", "1.2.2"), ("1.10.0", "1.9.9"), ("2.0.0", "1.99.99")] {
        let error = check(current, version, &format!("version:{version}")).expect_err(version);
        assert!(matches!(error, OfferError::NotNewer { .. }), "{error}");
    }
}

#[test]
fn an_old_archive_under_a_new_name_is_refused() {
    let error = check("1.2.3", "1.2.4", "version:1.0.0 file:x").expect_err("an old one");
    assert_eq!(error, OfferError::OtherVersion { offered: "1.2.4".to_owned(), signed: "1.0.0".to_owned() });
    assert!(matches!(check("1.2.3", "1.2.4", "file:x"), Err(OfferError::Signature(_))));
}

#[test]
fn only_the_signed_line_counts() {
    let moved = STANDARD.encode("trusted comment: version:1.2.4\nRUR\nuntrusted comment: version:1.2.4\nglobal\n");
    let offer = Offer { current: "1.2.3", version: "1.2.4", signature: &moved };
    assert_eq!(check_offer(&offer), Err(OfferError::Signature("it has no trusted comment")));
}

#[test]
fn what_is_no_version_or_signature_is_named() {
    for version in ["", "1", "1.2", "1.2.3.4", "1.2.3-beta", "1.+2.3", "v1.2.3", "99999999999999999999.0.0"] {
        assert_eq!(check("1.2.3", version, "version:x"), Err(OfferError::Version(version.to_owned())));
    }
    let long = "A".repeat(5000);
    for signature in ["", "?", "QUJD", &long, &STANDARD.encode([0xff, 0xfe])] {
        let offer = Offer { current: "1.2.3", version: "1.2.4", signature };
        assert!(matches!(check_offer(&offer), Err(OfferError::Signature(_))), "{signature}");
    }
}
