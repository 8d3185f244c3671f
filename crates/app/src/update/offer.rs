//! What an offered update has to be, before any of it is fetched.
//!
//! A signature alone says that an archive was once ours. An old archive, with its holes, is so too: therefore the signed
//! part of the signature names the version (`packaging/sign-update.sh`), and that version has to be the one that is offered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Longer than any signature of minisign's, in base64.
const MAX_SIGNATURE_BYTES: usize = 4096;

/// An update that a server offers.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The version that runs.
    pub current: &'a str,
    /// The version that is offered.
    pub version: &'a str,
    /// What `latest.json` has as signature: minisign's file in base64.
    pub signature: &'a str,
}

/// Why an offer is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// Not three numbers.
    #[error("`{0}` is no version such as 1.2.3")]
    Version(String),
    /// It would be a step back, or none.
    #[error(
        "version {offered} is not newer than {current}; older versions come back only as the one kept on this machine"
    )]
    NotNewer {
        /// What is offered.
        offered: String,
        /// What runs.
        current: String,
    },
    /// The signature cannot be read.
    #[error("the signature of the update cannot be read: {0}")]
    Signature(&'static str),
    /// An archive of another version.
    #[error("the update is offered as {offered}, but it was signed as {signed}; it is not installed")]
    OtherVersion {
        /// What is offered.
        offered: String,
        /// What the signature names.
        signed: String,
    },
}

/// Whether an offer may be fetched; its signature is checked against the archive once that is there.
///
/// # Errors
/// Why it is refused.
pub fn check_offer(offer: &Offer) -> Result<(), OfferError> {
    let (current, offered) = (numbers(offer.current)?, numbers(offer.version)?);
    if offered <= current {
        return Err(OfferError::NotNewer { offered: offer.version.to_owned(), current: offer.current.to_owned() });
    }
    let signed = signed_version(offer.signature)?;
    if signed != offer.version {
        return Err(OfferError::OtherVersion { offered: offer.version.to_owned(), signed });
    }
    Ok(())
}

fn numbers(version: &str) -> Result<[u64; 3], OfferError> {
    let mut parts = version.split('.').map(|part| match part.bytes().all(|byte| byte.is_ascii_digit()) {
        true => part.parse::<u64>().ok(),
        false => None,
    });
    let numbers = [parts.next().flatten(), parts.next().flatten(), parts.next().flatten()];
    match (numbers, parts.next()) {
        ([Some(major), Some(minor), Some(patch)], None) => Ok([major, minor, patch]),
        _ => Err(OfferError::Version(version.to_owned())),
    }
}

/// The version in the trusted comment, which the signature covers.
fn signed_version(signature: &str) -> Result<String, OfferError> {
    if signature.len() > MAX_SIGNATURE_BYTES {
        return Err(OfferError::Signature("it is too long"));
    }
    let text = STANDARD.decode(signature.trim()).map_err(|_| OfferError::Signature("it is no base64"))?;
    let text = String::from_utf8(text).map_err(|_| OfferError::Signature("it is no text"))?;
    // The third line, and no other: only that one is signed.
    let line = text.lines().nth(2).and_then(|line| line.strip_prefix("trusted comment: "));
    let comment = line.ok_or(OfferError::Signature("it has no trusted comment"))?;
    let version = comment.split_whitespace().find_map(|word| word.strip_prefix("version:"));
    version.map(str::to_owned).ok_or(OfferError::Signature("it does not say which version it is for"))
}

#[cfg(test)]
#[path = "offer_tests.rs"]
mod tests;
