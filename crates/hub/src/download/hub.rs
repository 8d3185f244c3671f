//! The Hub over HTTP: which address to ask, and what its refusals mean.

use std::time::Duration;

use ureq::http::Response;
use ureq::http::header::{CONTENT_RANGE, RETRY_AFTER};
use ureq::{Body, BodyReader};

use super::DownloadOptions;
use super::client::{Client, Endpoint, Span, escaped};
use super::error::DownloadError;
use crate::id::HubId;

/// Largest answer about a model that is read, in bytes.
const N_LISTING_BYTES_MAX: u64 = 32 << 20;

/// One repository of the Hub.
pub struct Hub {
    id: String,
    revision: String,
    client: Client,
}

/// What a server sends of a file.
pub enum Reply {
    /// From the first byte on, whatever was asked for.
    Whole(BodyReader<'static>),
    /// From the byte asked for on.
    Rest(BodyReader<'static>),
    /// The file has no such byte.
    OutOfRange,
}

impl Hub {
    /// Checks what was given. Connects to nothing yet.
    pub fn new(id: &HubId<'_>, options: &DownloadOptions, endpoint: &Endpoint<'_>) -> Result<Self, DownloadError> {
        let revision = options.revision.clone().unwrap_or_else(|| "main".to_owned());
        if !is_revision(&revision) {
            return Err(DownloadError::BadRevision { revision });
        }
        Ok(Self { id: id.repository.to_owned(), revision, client: Client::new(endpoint, &options.patience)? })
    }

    /// The server.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Address of the Hub, without a slash at its end.
    pub fn endpoint(&self) -> &str {
        self.client.endpoint()
    }

    /// Branch, tag or commit that was asked for.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The Hub's JSON about the model: its commit, and name, size and hash of every file.
    pub fn listing(&self) -> Result<Vec<u8>, DownloadError> {
        let url = format!("{}/api/models/{}/revision/{}?blobs=true", self.endpoint(), self.id, self.revision);
        let response = self.client.get(&url, Span::ALL)?;
        if response.status() != 200 {
            return Err(self.refusal(&response));
        }
        self.client.read(response, N_LISTING_BYTES_MAX)
    }

    /// The file `name`, if possible only `span` of it.
    pub fn file(&self, commit: &str, name: &str, span: Span) -> Result<Reply, DownloadError> {
        let name_in_url = name.split('/').map(escaped).collect::<Vec<_>>().join("/");
        let url = format!("{}/{}/resolve/{commit}/{name_in_url}", self.endpoint(), self.id);
        let response = self.client.get(&url, span)?;
        match response.status().as_u16() {
            200 => Ok(Reply::Whole(response.into_body().into_reader())),
            206 if starts_at(&response, span.start) => Ok(Reply::Rest(response.into_body().into_reader())),
            // A piece that was not asked for: nothing is known about where it belongs.
            206 | 416 => Ok(Reply::OutOfRange),
            404 => Err(DownloadError::bad_answer(self.endpoint(), format!("`{name}` is listed but not there"))),
            _ => Err(self.refusal(&response)),
        }
    }

    /// The Hub tells gated from absent by a header; a mirror may have nothing but the status.
    fn refusal(&self, response: &Response<Body>) -> DownloadError {
        let id = self.id.clone();
        let endpoint = self.endpoint().to_owned();
        let link = format!("{endpoint}/{id}");
        let code = response.headers().get("x-error-code").and_then(|code| code.to_str().ok());
        match (code, response.status().as_u16()) {
            (Some("GatedRepo"), _) => DownloadError::Gated { id, link },
            (Some("RevisionNotFound"), _) => {
                DownloadError::NoSuchRevision { id, revision: self.revision.clone(), link }
            }
            (Some("RepoNotFound"), _) | (_, 404) => DownloadError::NoSuchModel { id, endpoint },
            (_, 403) => DownloadError::Gated { id, link },
            (_, 401) => DownloadError::Hidden { id, link },
            (_, status) => DownloadError::Refused { endpoint, status, retry_after: retry_after(response) },
        }
    }
}

/// Branches may hold slashes, but those could lead out of the cache.
fn is_revision(revision: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=128).contains(&revision.len()) && revision.chars().all(plain) && !revision.starts_with(['.', '-'])
}

/// How long a server wants to be left alone, if it says so in seconds.
fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn starts_at(response: &Response<Body>, start: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    let first = range.and_then(|range| range.strip_prefix("bytes ")?.split_once('-')?.0.trim().parse().ok());
    first == Some(start)
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
