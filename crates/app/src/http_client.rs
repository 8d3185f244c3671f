//! A client for HTTP and HTTPS whose bodies come piece by piece. Servers elsewhere are reached through the proxies that the
//! environment names, as downloads are.

use anyhow::{Context, Result, ensure};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};

type Body = Full<Bytes>;

/// Cheap to clone.
#[derive(Clone, Debug)]
pub enum HttpClient {
    /// Straight to the server.
    Direct(Client<HttpsConnector<HttpConnector>, Body>),
    /// Through a proxy, which sees no more of HTTPS than the server's name.
    Tunnelled(Client<HttpsConnector<Tunnel<HttpConnector>>, Body>),
}

impl HttpClient {
    /// Sends a call.
    pub fn request(&self, mut request: Request<Body>) -> ResponseFuture {
        match self {
            Self::Direct(client) => client.request(request),
            Self::Tunnelled(client) => {
                *request.uri_mut() = with_port(request.uri());
                client.request(request)
            }
        }
    }
}

/// A tunnel's end has a port, which is TLS's unless it is named.
fn with_port(uri: &Uri) -> Uri {
    let is_named = uri.port().is_some() || uri.scheme_str() != Some("http");
    let authority = uri.host().filter(|_| !is_named).map(|host| format!("{host}:80"));
    let mut parts = uri.clone().into_parts();
    if let Some(authority) = authority.and_then(|authority| authority.parse().ok()) {
        parts.authority = Some(authority);
    }
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
}

/// For the server at `url`. Every call has a connection of its own.
///
/// # Errors
/// What is no http or https URL, when the system's certificates cannot be read, and a proxy of a kind that is not known.
pub fn client(url: &str) -> Result<HttpClient> {
    client_by(url, &Matcher::from_env())
}

fn client_by(url: &str, proxies: &Matcher) -> Result<HttpClient> {
    let uri: Uri = url.parse().with_context(|| format!("`{url}` is no URL"))?;
    ensure!(
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some(),
        "`{url}` is no URL of a server; give one such as http://localhost:8000/v1"
    );
    let mut plain = HttpConnector::new();
    // TLS is put around it.
    plain.enforce_http(false);
    // A proxy would look for this machine's own server on its own machine.
    let Some(proxy) = proxies.intercept(&uri).filter(|_| !is_loopback(&uri)) else {
        let connector = https(&uri)?.enable_http1().wrap_connector(plain);
        return Ok(HttpClient::Direct(
            Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector),
        ));
    };
    let connector = https(&uri)?.enable_http1().wrap_connector(tunnel(&proxy, plain)?);
    Ok(HttpClient::Tunnelled(Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector)))
}

fn tunnel(proxy: &Intercept, plain: HttpConnector) -> Result<Tunnel<HttpConnector>> {
    let address = proxy.uri();
    ensure!(
        address.scheme_str() == Some("http"),
        "the proxy {}://{} cannot be used here: name one that begins with http:// in HTTPS_PROXY, or the server in NO_PROXY",
        address.scheme_str().unwrap_or_default(),
        address.host().unwrap_or_default()
    );
    let tunnel = Tunnel::new(address.clone(), plain);
    Ok(match proxy.basic_auth() {
        Some(auth) => tunnel.with_auth(auth.clone()),
        None => tunnel,
    })
}

type Builder = hyper_rustls::HttpsConnectorBuilder<hyper_rustls::builderstates::WantsProtocols1>;

fn https(uri: &Uri) -> Result<Builder> {
    let connector = hyper_rustls::HttpsConnectorBuilder::new();
    let connector = match uri.scheme_str() {
        Some("https") => connector.with_native_roots().context("cannot read this system's certificates")?,
        // Without TLS no certificates are needed, and a bare machine may have none.
        _ => connector.with_tls_config(trusting_nobody()),
    };
    Ok(connector.https_or_http())
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

fn trusting_nobody() -> ClientConfig {
    ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth()
}

#[cfg(test)]
#[path = "http_client_tests.rs"]
mod tests;
