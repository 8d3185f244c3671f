//! A streaming client of OpenAI's chat endpoint that notes when each piece of an answer came.
//!
//! Every call has a connection of its own, and the clock starts before it is made: that is what a client waits for.

mod answer;
mod chunk;
mod sse;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde_json::{Value, json};

pub use answer::{Answer, Stream};

use crate::http_client::{self, HttpClient};

/// Most bytes of an answer that comes at once.
const N_BODY_BYTES_MAX: usize = 16 << 20;

/// A server that answers, but not with what was asked for.
#[derive(Debug, thiserror::Error)]
#[error("{url} answers {status}: {detail}")]
struct Refusal {
    url: String,
    status: StatusCode,
    detail: String,
}

/// Whether asking again later cannot help: the server is there, and refuses.
pub fn is_final(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.status != StatusCode::SERVICE_UNAVAILABLE)
}

/// Where an answer may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Where the model ends it.
    Natural,
    /// Past that, if the server takes `ignore_eos`.
    Length,
}

/// One greedy chat call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The conversation.
    pub messages: Value,
    /// Tools that the model is shown; null for none.
    pub tools: Value,
    /// Most tokens of the answer.
    pub max_tokens: usize,
    /// Where it may end before.
    pub ending: Ending,
}

impl Call {
    /// Without tools, for an answer of so many tokens.
    pub fn new(messages: Value, max_tokens: usize) -> Self {
        Self { messages, tools: Value::Null, max_tokens, ending: Ending::Length }
    }
}

/// A server, and how to speak to it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    http: HttpClient,
    /// Ends without a slash.
    base_url: String,
    /// Name that is sent.
    pub model: String,
    /// Whether calls ask to go on past the end of the text; not every server takes it.
    pub asks_past_eos: bool,
    api_key: Option<String>,
    patience: Duration,
}

impl Endpoint {
    /// `url` may leave out `/v1`. `patience` bounds every call.
    ///
    /// # Errors
    /// What is no http or https URL, and when the system's certificates cannot be read.
    pub fn new(url: &str, api_key: Option<String>, patience: Duration) -> Result<Self> {
        let http = http_client::client(url)?;
        let uri: Uri = url.parse().with_context(|| format!("`{url}` is no URL"))?;
        let trimmed = url.trim_end_matches('/');
        let base_url = if uri.path() == "/" { format!("{trimmed}/v1") } else { trimmed.to_owned() };
        Ok(Self { http, base_url, model: String::new(), asks_past_eos: true, api_key, patience })
    }

    /// Names that the server lists.
    ///
    /// # Errors
    /// When it does not answer within a few seconds, or not in OpenAI's way.
    pub async fn models(&self) -> Result<Vec<String>> {
        const PATIENCE: Duration = Duration::from_secs(5);
        let work = async { self.whole(self.send(Method::GET, "/models", None).await?).await };
        let answer = tokio::time::timeout(PATIENCE, work).await.context("no answer to /models in time")??;
        let ids = answer["data"].as_array().context("/models lists nothing")?;
        Ok(ids.iter().filter_map(|model| Some(model["id"].as_str()?.to_owned())).collect())
    }

    /// A short answer at once; `None` if the server counts nothing.
    ///
    /// # Errors
    /// When the server refuses or takes too long.
    pub async fn count(&self, messages: &Value) -> Result<Option<usize>> {
        let body = self.body(&Call::new(messages.clone(), 1));
        let work = async { self.whole(self.send(Method::POST, "/chat/completions", Some(body)).await?).await };
        let answer = tokio::time::timeout(self.patience, work).await.with_context(|| self.too_slow())??;
        Ok(chunk::usage(&answer).and_then(|usage| usage.n_prompt))
    }

    /// Starts a streamed answer.
    ///
    /// # Errors
    /// When the server refuses or takes too long.
    pub async fn open(&self, call: &Call) -> Result<Stream> {
        let mut body = self.body(call);
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
        let (sent, deadline) = (Instant::now(), tokio::time::Instant::now() + self.patience);
        let response = tokio::time::timeout_at(deadline, self.send(Method::POST, "/chat/completions", Some(body)));
        let response = response.await.with_context(|| self.too_slow())??;
        Ok(Stream::new(response.into_body(), sent, deadline))
    }

    /// A streamed answer, taken to its end.
    ///
    /// # Errors
    /// As `open`, and when the stream breaks or holds no token.
    pub async fn ask(&self, call: &Call) -> Result<Answer> {
        let mut stream = self.open(call).await?;
        while stream.next().await?.is_some() {}
        stream.finish()
    }

    fn too_slow(&self) -> String {
        format!("no answer within {} s; a longer wait is --timeout", self.patience.as_secs())
    }

    fn body(&self, call: &Call) -> Value {
        let mut body = json!({
            "model": self.model,
            "messages": call.messages,
            "max_tokens": call.max_tokens,
            "temperature": 0,
        });
        if !call.tools.is_null() {
            body["tools"] = call.tools.clone();
        }
        if self.asks_past_eos && call.ending == Ending::Length {
            body["ignore_eos"] = json!(true);
        }
        body
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<Response<Incoming>> {
        let url = format!("{}{path}", self.base_url);
        let mut request = Request::builder().method(method).uri(&url);
        if let Some(key) = &self.api_key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let request = request.body(Full::new(bytes)).with_context(|| format!("cannot ask {url}"))?;
        let response = self.http.request(request).await.with_context(|| format!("cannot reach {url}"))?;
        if response.status() == StatusCode::OK {
            return Ok(response);
        }
        let status = response.status();
        let body = Limited::new(response.into_body(), N_BODY_BYTES_MAX).collect().await;
        let text = body.map_or_else(|_| String::new(), |body| String::from_utf8_lossy(&body.to_bytes()).into_owned());
        let answer = serde_json::from_str::<Value>(&text).unwrap_or(Value::String(text));
        let error = answer.get("error").or_else(|| answer.get("detail")).unwrap_or(&answer);
        Err(Refusal { url, status, detail: chunk::cut(&chunk::error_text(error)) }.into())
    }

    async fn whole(&self, response: Response<Incoming>) -> Result<Value> {
        let body = Limited::new(response.into_body(), N_BODY_BYTES_MAX).collect().await;
        let bytes = body.map_err(|error| anyhow::anyhow!("the answer broke off: {error}"))?.to_bytes();
        serde_json::from_slice(&bytes)
            .with_context(|| format!("an answer is no JSON: {}", chunk::cut(&String::from_utf8_lossy(&bytes))))
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
