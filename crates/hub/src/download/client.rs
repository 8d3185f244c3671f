//! Requests to one server: where it is, whom it takes us for, and what its silence and its failures mean.

use std::time::Duration;

use ureq::config::RedirectAuthHeaders;
use ureq::http::header::{AUTHORIZATION, HeaderValue, RANGE};
use ureq::http::{Response, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

use super::Patience;
use super::error::DownloadError;

const CONNECT: Duration = Duration::from_secs(30);

/// Where to ask, and as whom.
pub struct Endpoint<'a> {
    /// Address of the Hub, or of a mirror.
    pub address: &'a str,
    /// Token of an account; the Hub's alone, mirrors get none.
    pub token: Option<&'a str>,
}

/// Bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub start: u64,
    /// One past the last; `None` = all that follow.
    pub end: Option<u64>,
}

impl Span {
    /// The whole file.
    pub const ALL: Self = Self { start: 0, end: None };
}

/// One server.
pub struct Client {
    endpoint: String,
    token: Option<HeaderValue>,
    patience: Patience,
    agent: Agent,
}

impl Client {
    /// Checks what was given. Connects to nothing yet.
    pub fn new(endpoint: &Endpoint<'_>, patience: &Patience) -> Result<Self, DownloadError> {
        let token = endpoint.token.map(str::trim).filter(|token| !token.is_empty()).map(bearer).transpose()?;
        let endpoint = endpoint.address.trim().trim_end_matches('/').to_owned();
        let host = host(&endpoint).ok_or_else(|| DownloadError::BadEndpoint { endpoint: endpoint.clone() })?;
        let agent = agent(&host, patience);
        Ok(Self { endpoint, token, patience: *patience, agent })
    }

    /// Its address, without a slash at its end.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Asks for `url`, if possible only `span` of it.
    pub fn get(&self, url: &str, span: Span) -> Result<Response<Body>, DownloadError> {
        let mut request = self.agent.get(url);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        match span {
            Span::ALL => {}
            Span { start, end: None } => request = request.header(RANGE, format!("bytes={start}-")),
            Span { start, end: Some(end) } => {
                request = request.header(RANGE, format!("bytes={start}-{}", end.saturating_sub(1)));
            }
        }
        request.call().map_err(|error| self.failure(error))
    }

    /// The whole of an answer, of at most `n_bytes_max`.
    pub fn read(&self, response: Response<Body>, n_bytes_max: u64) -> Result<Vec<u8>, DownloadError> {
        let body = response.into_body().into_with_config().limit(n_bytes_max).read_to_vec();
        body.map_err(|error| self.failure(error))
    }

    /// Ends all connections at once, silent ones too, for good: what is asked from here on fails.
    pub fn hang_up(&self) {
        self.agent.clone().shutdown();
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

/// Text as part of an address.
pub fn escaped(name: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(escape).collect()
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
