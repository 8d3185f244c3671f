//! A client for HTTP and HTTPS whose bodies come piece by piece.

use anyhow::{Context, Result, ensure};
use http_body_util::Full;
use hyper::Uri;
use hyper::body::Bytes;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};

/// Cheap to clone.
pub type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// For the server at `url`. Every call has a connection of its own.
///
/// # Errors
/// What is no http or https URL, and when the system's certificates cannot be read.
pub fn client(url: &str) -> Result<HttpClient> {
    let uri: Uri = url.parse().with_context(|| format!("`{url}` is no URL"))?;
    ensure!(
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some(),
        "`{url}` is no URL of a server; give one such as http://localhost:8000/v1"
    );
    let connector = hyper_rustls::HttpsConnectorBuilder::new();
    let connector = match uri.scheme_str() {
        Some("https") => connector.with_native_roots().context("cannot read this system's certificates")?,
        // Without TLS no certificates are needed, and a bare machine may have none.
        _ => connector.with_tls_config(trusting_nobody()),
    };
    let connector = connector.https_or_http().enable_http1().build();
    Ok(Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector))
}

fn trusting_nobody() -> ClientConfig {
    ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth()
}
