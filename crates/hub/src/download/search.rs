//! Looking for MLX models on the Hub: names, sizes, downloads.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::DownloadOptions;
use super::client::{Client, Endpoint, Span, escaped};
use super::error::DownloadError;
use crate::id::is_repository;

/// Largest answer that is read, in bytes.
const N_BYTES_MAX: u64 = 16 << 20;
/// Most models asked for.
pub const N_HITS_MAX: u32 = 100;

/// A model that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// `owner/name`.
    pub id: String,
    /// Downloads of the last month.
    pub n_downloads: u64,
    /// Bytes of the weights, where the Hub tells what they are.
    pub n_weight_bytes: Option<u64>,
    /// Whether its terms must be accepted first.
    pub is_gated: bool,
}

#[derive(Deserialize)]
struct Answer {
    id: String,
    #[serde(default)]
    downloads: u64,
    safetensors: Option<Weights>,
    /// `false`, `"auto"` or `"manual"`.
    #[serde(default)]
    gated: Value,
}

#[derive(Deserialize)]
struct Weights {
    /// Elements by type.
    #[serde(default)]
    parameters: Map<String, Value>,
}

/// The models in MLX layout whose names hold `words`, the most downloaded first.
///
/// # Errors
/// When the Hub cannot be reached, refuses, or its answer is none.
pub fn search(words: &str, n_max: u32, options: &DownloadOptions) -> Result<Vec<Hit>, DownloadError> {
    let endpoint = Endpoint { address: &options.endpoint, token: options.token.as_deref() };
    let client = Client::new(&endpoint, &options.patience)?;
    let url = format!(
        "{}/api/models?search={}&filter=mlx&sort=downloads&direction=-1&limit={}\
         &expand[]=downloads&expand[]=safetensors&expand[]=gated",
        client.endpoint(),
        escaped(words),
        n_max.clamp(1, N_HITS_MAX)
    );
    let response = client.get(&url, Span::ALL).map_err(DownloadError::of_question)?;
    let status = response.status().as_u16();
    if status != 200 {
        let endpoint = client.endpoint().to_owned();
        return Err(DownloadError::Refused { endpoint, status, retry_after: None });
    }
    let answers: Vec<Answer> =
        serde_json::from_slice(&client.read(response, N_BYTES_MAX).map_err(DownloadError::of_question)?)
            .map_err(|error| DownloadError::bad_answer(client.endpoint(), error.to_string()))?;
    // Names are shown, and given back as ids: only those that are ids count.
    let named = answers.into_iter().filter(|answer| is_repository(&answer.id)).take(N_HITS_MAX as usize);
    Ok(named.map(Answer::hit).collect())
}

impl Answer {
    fn hit(self) -> Hit {
        let n_weight_bytes = self.safetensors.and_then(|weights| weights.n_bytes());
        let is_gated = !matches!(self.gated, Value::Null | Value::Bool(false));
        Hit { id: self.id, n_downloads: self.downloads, n_weight_bytes, is_gated }
    }
}

impl Weights {
    /// Bytes of all elements; `None` when there are none, or of a type that is not known.
    fn n_bytes(&self) -> Option<u64> {
        let bytes = |(kind, n): (&String, &Value)| n.as_u64()?.checked_mul(n_element_bytes(kind)?);
        let sum = self.parameters.iter().try_fold(0_u64, |sum, pair| sum.checked_add(bytes(pair)?))?;
        (sum > 0).then_some(sum)
    }
}

fn n_element_bytes(kind: &str) -> Option<u64> {
    match kind {
        "F64" | "I64" | "U64" => Some(8),
        "F32" | "I32" | "U32" => Some(4),
        "F16" | "BF16" | "I16" | "U16" => Some(2),
        "I8" | "U8" | "BOOL" | "F8_E4M3" | "F8_E5M2" => Some(1),
        _ => None,
    }
}
