//! `/control/v1/conversations`: what people talked about on the page, kept on this machine whatever port it was seen at.

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::Uri;
use axum::response::Response;
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ask::{DONE, ask, query, read, refuse};
use crate::{ApiError, ServerState};

/// Most characters of an id, a title and a search.
const N_ID_MAX: usize = 64;
const N_TITLE_MAX: usize = 1000;
const N_QUESTION_MAX: usize = 1000;
/// Most words of a search.
const N_WORDS_MAX: usize = 16;
/// Most messages of a conversation.
const N_MESSAGES_MAX: usize = 10_000;
/// Rows of a list, usually and at most.
const N_LISTED: u32 = 1000;
const N_LISTED_MAX: u32 = 10_000;

type Id = Result<Path<String>, PathRejection>;

/// Keeps conversations. Methods read and write a file.
pub trait Conversations: Send + Sync {
    /// Those that hold all `words`, which are in lower case, the newest first.
    ///
    /// # Errors
    /// When the disk refuses.
    fn list(&self, words: &[String], n_max: u32) -> Result<ConversationList, ApiError>;

    /// One of them, whole.
    ///
    /// # Errors
    /// When there is none of that id.
    fn get(&self, id: &str) -> Result<Conversation, ApiError>;

    /// Keeps one, in place of what had its id. It is on disk when this returns.
    ///
    /// # Errors
    /// When there is no more room, or the disk refuses.
    fn put(&self, conversation: &Conversation) -> Result<(), ApiError>;

    /// Forgets one.
    ///
    /// # Errors
    /// When there is none of that id.
    fn delete(&self, id: &str) -> Result<(), ApiError>;
}

/// A conversation, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// Names it: letters, digits, `-` and `_`, up to 64.
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9_-]+$"))]
    pub id: String,
    /// Up to 1000 characters.
    #[schemars(length(max = 1000))]
    pub title: String,
    /// The model that answers next.
    pub model: Option<String>,
    /// What the model is told before.
    pub instructions: String,
    /// How freely it answers; `null` as the model has it.
    pub temperature: Option<f64>,
    /// When it began, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
    /// What was said.
    #[schemars(length(max = 10_000))]
    pub messages: Vec<ChatMessage>,
}

/// What one side said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatMessage {
    /// Names it in its conversation.
    pub id: String,
    /// Who said it.
    pub role: ChatRole,
    /// The text.
    pub text: String,
    /// What a model thought before.
    pub reasoning: String,
    /// Tools that it called.
    pub tools: Vec<ChatCall>,
    /// Pictures, as `data:` URLs.
    pub images: Vec<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// How fast.
    pub figures: Option<ChatFigures>,
    /// Why it ended, as the wire says, or `stopped` by the person.
    pub finish: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// What the server did besides.
    pub notice: Option<String>,
}

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// The person.
    User,
    /// A model.
    Assistant,
}

/// A tool that was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatCall {
    /// Names it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, as the model wrote them.
    pub args: String,
}

/// How fast an answer came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatFigures {
    /// Time to the first token.
    pub ttft_ms: f64,
    /// Decode throughput; `null` for an answer too short to tell.
    pub tokens_per_second: Option<f64>,
    /// Tokens of the answer.
    pub n_output: u64,
    /// Tokens of the prompt.
    pub n_prompt: u64,
    /// Those of them that were kept from before.
    pub n_cached: u64,
}

/// Conversations that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ConversationList {
    /// The newest first.
    pub conversations: Vec<ConversationEntry>,
    /// How many there are in all.
    pub n_kept: u64,
    /// What became of a file that was damaged, and where it lies.
    pub note: Option<String>,
}

/// What a list shows of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConversationEntry {
    /// Names it.
    pub id: String,
    /// Its title.
    pub title: String,
    /// When it last changed, in milliseconds since 1970.
    pub updated_ms: u64,
    /// How many messages it has.
    pub n_messages: u64,
}

/// Which conversations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForConversations {
    /// Words that must all stand in it, in any case.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    pub q: String,
    /// Most of them.
    #[serde(default = "n_listed")]
    #[schemars(range(min = 1, max = 10_000))]
    pub limit: u32,
}

fn n_listed() -> u32 {
    N_LISTED
}

impl ForConversations {
    /// The words, in lower case.
    ///
    /// # Errors
    /// When there are too many, or too many rows are asked for.
    fn words(&self) -> Result<Vec<String>, ApiError> {
        let words: Vec<String> = self.q.split_whitespace().map(str::to_lowercase).collect();
        if self.q.chars().count() > N_QUESTION_MAX || words.len() > N_WORDS_MAX {
            let detail = format!("is too long: search for up to {N_WORDS_MAX} words in {N_QUESTION_MAX} characters");
            return Err(ApiError::invalid("q", detail));
        }
        if !(1..=N_LISTED_MAX).contains(&self.limit) {
            return Err(ApiError::invalid("limit", format!("must be 1 to {N_LISTED_MAX}")));
        }
        Ok(words)
    }
}

impl Conversation {
    /// What can be searched, in lower case.
    pub fn words(&self) -> String {
        let mut words = self.title.to_lowercase();
        for message in &self.messages {
            words.push('\n');
            words.push_str(&message.text.to_lowercase());
        }
        words
    }

    fn check(&self, id: &str) -> Result<(), ApiError> {
        if self.id != id {
            return Err(ApiError::invalid("id", format!("is {:?}, but the path says {id:?}: send the same", self.id)));
        }
        if self.title.chars().count() > N_TITLE_MAX {
            return Err(ApiError::invalid("title", format!("may have {N_TITLE_MAX} characters: shorten it")));
        }
        if self.messages.len() > N_MESSAGES_MAX {
            let detail = format!("may be {N_MESSAGES_MAX}: begin a new conversation");
            return Err(ApiError::invalid("messages", detail));
        }
        let times = [("created_ms", self.created_ms), ("updated_ms", self.updated_ms)];
        match times.iter().find(|(_, at)| i64::try_from(*at).is_err()) {
            Some((name, _)) => Err(ApiError::invalid(*name, "is no time in milliseconds since 1970")),
            None => Ok(()),
        }
    }
}

/// The id of a path, as far as it is one.
fn read_id(id: Id) -> Result<String, ApiError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match id {
        Ok(Path(id)) if (1..=N_ID_MAX).contains(&id.len()) && id.chars().all(is_plain) => Ok(id),
        _ => Err(ApiError::invalid("id", format!("must be 1 to {N_ID_MAX} letters, digits, '-' and '_'"))),
    }
}

/// The routes.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .route("/control/v1/conversations", get(list))
        .route("/control/v1/conversations/{id}", get(one).put(put).delete(delete))
}

async fn list(State(state): State<ServerState>, uri: Uri) -> Response {
    let asked = query::<ForConversations>(&uri).and_then(|asked| Ok((asked.words()?, asked.limit)));
    match asked {
        Ok((words, n_max)) => ask(&state, &state.parts.conversations, move |part| part.list(&words, n_max)).await,
        Err(error) => refuse(&error),
    }
}

async fn one(State(state): State<ServerState>, id: Id) -> Response {
    match read_id(id) {
        Ok(id) => ask(&state, &state.parts.conversations, move |part| part.get(&id)).await,
        Err(error) => refuse(&error),
    }
}

async fn put(State(state): State<ServerState>, id: Id, request: Request) -> Response {
    let id = match read_id(id) {
        Ok(id) => id,
        Err(error) => return refuse(&error),
    };
    match read::<Conversation>(&state, request).await.and_then(|given| given.check(&id).map(|()| given)) {
        Ok(given) => ask(&state, &state.parts.conversations, move |part| part.put(&given).map(|()| DONE)).await,
        Err(error) => refuse(&error),
    }
}

async fn delete(State(state): State<ServerState>, id: Id) -> Response {
    match read_id(id) {
        Ok(id) => ask(&state, &state.parts.conversations, move |part| part.delete(&id).map(|()| DONE)).await,
        Err(error) => refuse(&error),
    }
}
