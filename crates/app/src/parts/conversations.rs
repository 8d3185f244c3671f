//! Conversations in a file of this user's, opened when first asked for. One that is damaged is set aside, not deleted, and what
//! can still be read of it is taken over.

mod file;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use rusqlite::ErrorCode;
use tokbar_server::control::{Conversation, ConversationList, Conversations};
use tokbar_server::{ApiError, Problem};

use self::file::ConversationFile;
use super::refusal;
use crate::config_dir;

const NAME: &str = "conversations.sqlite3";
/// SQLite's own files beside it: they belong together.
const BESIDE: [&str; 3] = ["", "-wal", "-shm"];
/// Most conversations of a user.
const N_MAX: u64 = 20_000;
/// Most bytes of one, pictures included.
const N_BYTES_MAX: usize = 16 << 20;

/// See the module.
pub struct InFile {
    /// `None` is the usual one.
    path: Option<PathBuf>,
    n_max: u64,
    opened: Mutex<Opened>,
}

impl Default for InFile {
    fn default() -> Self {
        Self { path: None, n_max: N_MAX, opened: Mutex::default() }
    }
}

#[derive(Default)]
struct Opened {
    file: Option<ConversationFile>,
    note: Option<String>,
}

impl InFile {
    fn path(&self) -> Result<PathBuf, ApiError> {
        match &self.path {
            Some(path) => Ok(path.clone()),
            None => Ok(config_dir::data().map_err(refusal::machine)?.join(NAME)),
        }
    }

    /// Does `work` on the file, if need be on the one that replaces a damaged one. Also what became of that.
    fn on_file<T>(
        &self,
        work: impl Fn(&ConversationFile) -> rusqlite::Result<T>,
    ) -> Result<(T, Option<String>), ApiError> {
        let path = self.path()?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let done = match opened.attempt(&path, &work) {
            Err(error) if is_damage(&error) => {
                opened.file = None;
                let note = mend(&path).map_err(|error| refused(&path, &error.to_string()))?;
                opened.note = note.or_else(|| opened.note.take());
                opened.attempt(&path, &work)
            }
            done => done,
        };
        Ok((done.map_err(|error| problem(&path, &error))?, opened.note.clone()))
    }
}

impl Opened {
    fn attempt<T>(
        &mut self,
        path: &Path,
        work: impl Fn(&ConversationFile) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let file = match self.file.take() {
            Some(file) => file,
            None => ConversationFile::open(path)?,
        };
        work(self.file.insert(file))
    }
}

impl Conversations for InFile {
    fn list(&self, words: &[String], n_max: u32) -> Result<ConversationList, ApiError> {
        let ((conversations, n_kept), note) =
            self.on_file(|file| Ok((file.list(words, n_max)?, file.n_others("")?)))?;
        Ok(ConversationList { conversations, n_kept, note })
    }

    fn get(&self, id: &str) -> Result<Conversation, ApiError> {
        let (body, _) = self.on_file(|file| file.get(id))?;
        let body = body.ok_or_else(|| missing(id))?;
        let unreadable = |error| {
            let detail = format!("the conversation {id:?} cannot be read ({error}): update Tokbar, or delete it");
            ApiError::wish(Problem::Machine, detail)
        };
        serde_json::from_str(&body).map_err(unreadable)
    }

    fn put(&self, conversation: &Conversation) -> Result<(), ApiError> {
        let body = serde_json::to_string(conversation).map_err(|error| ApiError::Json { detail: error.to_string() })?;
        if body.len() > N_BYTES_MAX {
            let detail = format!(
                "the conversation has {} bytes, {N_BYTES_MAX} are kept at most: begin a new one, or leave pictures out",
                body.len()
            );
            return Err(ApiError::wish(Problem::Busy, detail));
        }
        let (is_kept, _) = self.on_file(|file| {
            let has_room = file.n_others(&conversation.id)? < self.n_max;
            if has_room { file.put(conversation, &body).map(|()| true) } else { Ok(false) }
        })?;
        let full = format!("{} conversations are kept already: delete some of them", self.n_max);
        if is_kept { Ok(()) } else { Err(ApiError::wish(Problem::Busy, full)) }
    }

    fn delete(&self, id: &str) -> Result<(), ApiError> {
        let (was_there, _) = self.on_file(|file| file.delete(id))?;
        if was_there { Ok(()) } else { Err(missing(id)) }
    }
}

fn missing(id: &str) -> ApiError {
    ApiError::wish(Problem::Missing, format!("there is no conversation {id:?}: list them to see which there are"))
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

fn problem(path: &Path, error: &rusqlite::Error) -> ApiError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            ApiError::wish(Problem::Busy, "another program writes conversations just now: try again".to_owned())
        }
        Some(ErrorCode::DiskFull) => {
            refused(path, "there is no room for more: delete conversations, or free disk space")
        }
        _ => refused(path, &error.to_string()),
    }
}

fn refused(path: &Path, why: &str) -> ApiError {
    ApiError::wish(Problem::Machine, format!("conversations cannot be kept in {}: {why}", path.display()))
}

/// Sets a damaged file aside and takes over what can be read of it; tells where it lies. `None` where it proves whole, as when
/// another program has just mended it.
fn mend(path: &Path) -> rusqlite::Result<Option<String>> {
    if ConversationFile::open(path).is_ok_and(|file| file.is_whole()) {
        return Ok(None);
    }
    let aside = set_aside(path).map_err(file::of_disk)?;
    let new = ConversationFile::open(path)?;
    let n_taken = new.take_over(&aside);
    let note = format!(
        "the file of conversations was damaged: it lies at {} now, and {n_taken} conversations of it could be taken over",
        aside.display()
    );
    tracing::warn!("{note}");
    Ok(Some(note))
}

/// Gives a file and what belongs to it another name, in the same folder.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let stamp = Timestamp::now().strftime("%Y%m%d-%H%M%S%.3f");
    let aside = path.with_file_name(format!("conversations-damaged-{stamp}.sqlite3"));
    let beside = |path: &Path, end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    for end in BESIDE {
        match fs::rename(beside(path, end), beside(&aside, end)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(aside)
}

#[cfg(test)]
#[path = "conversations_tests.rs"]
mod tests;
