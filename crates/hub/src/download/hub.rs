//! The Hub over HTTP: which address to ask, and what its refusals mean.

use std::time::Duration;

use ureq::config::RedirectAuthHeaders;
use ureq::http::header::{AUTHORIZATION, CONTENT_RANGE, HeaderValue, RANGE};
use ureq::http::{Response, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, BodyReader};

use super::error::DownloadError;
use super::{DownloadOptions, Patience};
use crate::resolve::is_id;

/// Largest answer about a model that is read, in bytes.
const N_LISTING_BYTES_MAX: u64 = 32 << 20;
const CONNECT: Duration = Duration::from_secs(30);

/// One repository of the Hub.
pub struct Hub {
    id: String,
    endpoint: String,
    revision: String,
    token: Option<HeaderValue>,
    patience: Patience,
    agent: Agent,
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
    pub fn new(id: &str, options: &DownloadOptions) -> Result<Self, DownloadError> {
        if !is_id(id) {
            return Err(DownloadError::BadId { id: id.to_owned() });
        }
        let revision = options.revision.clone().unwrap_or_else(|| "main".to_owned());
        if !is_revision(&revision) {
            return Err(DownloadError::BadRevision { revision });
        }
        let endpoint = options.endpoint.trim().trim_end_matches('/').to_owned();
        let host = host(&endpoint).ok_or_else(|| DownloadError::BadEndpoint { endpoint: endpoint.clone() })?;
        let token =
            options.token.as_deref().map(str::trim).filter(|token| !token.is_empty()).map(bearer).transpose()?;
        let agent = agent(&host, &options.patience);
        Ok(Self { id: id.to_owned(), endpoint, revision, token, patience: options.patience, agent })
    }

    /// Address of the Hub, without a slash at its end.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Branch, tag or commit that was asked for.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The Hub's JSON about the model: its commit, and name, size and hash of every file.
    pub fn listing(&self) -> Result<Vec<u8>, DownloadError> {
        let url = format!("{}/api/models/{}/revision/{}?blobs=true", self.endpoint, self.id, self.revision);
        let response = self.get(&url, 0)?;
        if response.status() != 200 {
            return Err(self.refusal(&response));
        }
        let body = response.into_body().into_with_config().limit(N_LISTING_BYTES_MAX).read_to_vec();
        body.map_err(|error| self.failure(error))
    }

    /// The file `name`, if possible from byte `start` on.
    pub fn file(&self, commit: &str, name: &str, start: u64) -> Result<Reply, DownloadError> {
        let url = format!("{}/{}/resolve/{commit}/{}", self.endpoint, self.id, escaped(name));
        let response = self.get(&url, start)?;
        match response.status().as_u16() {
            200 => Ok(Reply::Whole(response.into_body().into_reader())),
            206 if starts_at(&response, start) => Ok(Reply::Rest(response.into_body().into_reader())),
            // A piece that was not asked for: nothing is known about where it belongs.
            206 | 416 => Ok(Reply::OutOfRange),
            404 => Err(DownloadError::bad_answer(&self.endpoint, format!("`{name}` is listed but not there"))),
            _ => Err(self.refusal(&response)),
        }
    }

    /// A connection that brought less than promised.
    pub fn cut(&self, problem: String) -> DownloadError {
        DownloadError::Network { endpoint: self.endpoint.clone(), problem }
    }

    /// What an error of the HTTP client means.
    pub fn failure(&self, error: ureq::Error) -> DownloadError {
        match error {
            ureq::Error::Timeout(_) => {
                let seconds = self.patience.stall.as_secs_f64();
                DownloadError::Stalled { endpoint: self.endpoint.clone(), seconds }
            }
            ureq::Error::BodyExceedsLimit(cap) => {
                DownloadError::bad_answer(&self.endpoint, format!("it is larger than {cap} bytes"))
            }
            ureq::Error::HostNotFound => self.cut("its name cannot be resolved".to_owned()),
            ureq::Error::Io(error) => self.cut(error.to_string()),
            error => self.cut(error.to_string()),
        }
    }

    fn get(&self, url: &str, start: u64) -> Result<Response<Body>, DownloadError> {
        let mut request = self.agent.get(url);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        if start > 0 {
            request = request.header(RANGE, format!("bytes={start}-"));
        }
        request.call().map_err(|error| self.failure(error))
    }

    /// The Hub tells gated from absent by a header; a mirror may have nothing but the status.
    fn refusal(&self, response: &Response<Body>) -> DownloadError {
        let id = self.id.clone();
        let endpoint = self.endpoint.clone();
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
            (_, status) => DownloadError::Refused { endpoint, status },
        }
    }
}

fn agent(host: &str, patience: &Patience) -> Agent {
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        // A renamed model redirects on the Hub itself; the servers that hold the bytes must not see the token.
        .redirect_auth_headers(RedirectAuthHeaders::SameHost)
        .user_agent(concat!("tokbar/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(patience.stall))
        .timeout_per_read(Some(patience.stall));
    // A proxy would look for this machine's own server on its own machine.
    let config = if is_loopback(host) { config.proxy(None) } else { config };
    config.build().new_agent()
}

fn bearer(token: &str) -> Result<HeaderValue, DownloadError> {
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| DownloadError::BadToken)?;
    header.set_sensitive(true);
    Ok(header)
}

/// The host of an endpoint, or `None` when it is not the address of a web server.
fn host(endpoint: &str) -> Option<String> {
    let uri: Uri = endpoint.parse().ok()?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https")) && uri.query().is_none();
    is_web.then(|| uri.host().map(str::to_owned)).flatten().filter(|host| !host.is_empty())
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Branches may hold slashes, but those could lead out of the cache.
fn is_revision(revision: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=128).contains(&revision.len()) && revision.chars().all(plain) && !revision.starts_with(['.', '-'])
}

fn starts_at(response: &Response<Body>, start: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    let first = range.and_then(|range| range.strip_prefix("bytes ")?.split_once('-')?.0.trim().parse().ok());
    first == Some(start)
}

/// A file's name as part of an address.
fn escaped(name: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(escape).collect()
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
