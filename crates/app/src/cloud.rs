//! The server in the cloud that long prompts may go to: its address and key, as this user's settings and the command line say.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use futures::StreamExt;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use tokbar_server::control::{CloudDialect, CloudSettings};
use tokbar_server::{ApiError, CloudAnswer, CloudCall, CloudTerms, Later, Problem, Upstream};

use crate::cli::CloudArgs;
use crate::http_client::{self, HttpClient};
use crate::keychain::Keychain;
use crate::{config_dir, environment, say, settings};

/// Where its key is read from, unless it is in a file.
const KEY: &str = "TOKBAR_CLOUD_KEY";
/// Under which name the keychain keeps it.
pub const SECRET: &str = "cloud";
/// A key is short.
const N_KEY_BYTES_MAX: u64 = 4096;
/// What Anthropic's servers ask for where a client does not say.
const ANTHROPIC_VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// See the module.
pub struct Cloud {
    args: CloudArgs,
    /// With what it was made for.
    http: Mutex<Option<(String, HttpClient)>>,
}

impl Cloud {
    /// With what the command line says, which goes before the settings.
    ///
    /// # Errors
    /// When the command line contradicts itself.
    pub fn new(args: &CloudArgs) -> Result<Self> {
        let cloud = Self { args: args.clone(), http: Mutex::new(None) };
        if args.cloud_model.is_some() && cloud.settings().base_url.is_none() {
            bail!("--cloud-model needs --cloud-url, such as https://api.openai.com/v1");
        }
        Ok(cloud)
    }

    /// As they are now: a person may change them while the server runs.
    fn settings(&self) -> CloudSettings {
        let mut cloud = settings::read().unwrap_or_default().cloud;
        let CloudArgs { cloud_model, cloud_threshold, cloud_url, cloud_dialect } = &self.args;
        if let Some(model) = cloud_model {
            (cloud.is_on, cloud.model) = (true, Some(model.clone()));
        }
        if let Some(n) = cloud_threshold {
            cloud.threshold_tokens = *n;
        }
        if cloud_url.is_some() {
            cloud.base_url.clone_from(cloud_url);
        }
        if let Some(dialect) = cloud_dialect {
            cloud.dialect = (*dialect).into();
        }
        cloud
    }

    fn client(&self, url: &str) -> Result<HttpClient> {
        let mut known = self.http.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, client)) = known.as_ref()
            && at == url
        {
            return Ok(client.clone());
        }
        let client = http_client::client(url)?;
        *known = Some((url.to_owned(), client.clone()));
        Ok(client)
    }

    fn request(&self, call: &CloudCall) -> Result<(HttpClient, Request<Full<Bytes>>)> {
        let cloud = self.settings();
        let base = cloud.base_url.clone().context("no address of the cloud is set")?;
        let base = base.trim_end_matches('/').to_owned();
        let (path, key) = (path(call.dialect, &base), key(&cloud)?);
        let url = format!("{base}{path}");
        let mut request = Request::post(&url).header("content-type", "application/json").header("user-agent", "tokbar");
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        if call.dialect == CloudDialect::Anthropic && !call.headers.iter().any(|(name, _)| *name == ANTHROPIC_VERSION.0)
        {
            request = request.header(ANTHROPIC_VERSION.0, ANTHROPIC_VERSION.1);
        }
        if let Some(key) = key {
            request = match call.dialect {
                CloudDialect::OpenAi => request.header("authorization", format!("Bearer {key}")),
                CloudDialect::Anthropic => request.header("x-api-key", key),
            };
        }
        let request = request.body(Full::new(Bytes::from(call.body.to_string())));
        Ok((self.client(&base)?, request.with_context(|| format!("cannot ask {url}"))?))
    }
}

/// What follows the address, which may end with `/v1` or not.
fn path(dialect: CloudDialect, base: &str) -> &'static str {
    match (dialect, base.ends_with("/v1")) {
        (CloudDialect::OpenAi, true) => "/chat/completions",
        (CloudDialect::OpenAi, false) => "/v1/chat/completions",
        (CloudDialect::Anthropic, true) => "/messages",
        (CloudDialect::Anthropic, false) => "/v1/messages",
    }
}

impl Upstream for Cloud {
    fn terms(&self) -> Option<CloudTerms> {
        let cloud = self.settings();
        let n_tokens = usize::try_from(cloud.threshold_tokens).unwrap_or(usize::MAX);
        cloud.is_on.then_some(CloudTerms { dialect: cloud.dialect, model: cloud.model?, n_tokens })
    }

    fn send(&self, call: CloudCall) -> Later<CloudAnswer> {
        let request = self.request(&call);
        Box::pin(async move {
            let failed = |error: anyhow::Error| ApiError::wish(Problem::Upstream, say::cause(&error));
            let (client, request) = request.map_err(failed)?;
            let sent = client.request(request).await;
            let response = sent.map_err(|error| failed(anyhow!(error).context("it cannot be reached")))?;
            let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
            Ok(CloudAnswer {
                status: response.status().as_u16(),
                content_type: content_type.unwrap_or("").to_owned(),
                body: response
                    .into_body()
                    .into_data_stream()
                    .map(|piece| piece.map_err(|error| error.to_string()))
                    .boxed(),
            })
        })
    }
}

/// # Errors
/// When its file is there for others to read, or cannot be read, or the keychain does not give it.
fn key(cloud: &CloudSettings) -> Result<Option<String>> {
    let text = match cloud.key_from.as_str() {
        "none" => return Ok(None),
        "keychain" => Keychain::of_user()?.get(SECRET)?.unwrap_or_default(),
        "file" => read_key(&config_dir::place()?.join("cloud.key"))?,
        _ => match environment::var(KEY) {
            Some(key) => key,
            None => return Ok(None),
        },
    };
    let key = text.trim();
    if key.chars().any(|c| !c.is_ascii_graphic()) {
        bail!("the key of the cloud holds characters that no key has");
    }
    Ok((!key.is_empty()).then(|| key.to_owned()))
}

fn read_key(path: &PathBuf) -> Result<String> {
    use std::io::Read;
    let wrong = || format!("cannot read {}", path.display());
    let file = std::fs::File::open(path).with_context(wrong)?;
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&file.metadata().with_context(wrong)?.permissions()) & 0o077 != 0 {
        bail!("{} can be read by others: allow it only to yourself (chmod 600)", path.display());
    }
    let mut text = String::new();
    file.take(N_KEY_BYTES_MAX).read_to_string(&mut text).with_context(wrong)?;
    Ok(text)
}
