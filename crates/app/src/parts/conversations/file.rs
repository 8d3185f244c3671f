//! A file of conversations: SQLite with a write-ahead log, which a crash leaves as after the last change that was made whole.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, ffi, params, params_from_iter};
use tokbar_server::control::{Conversation, ConversationEntry};

/// How the tables are laid out; a greater one is of a newer program.
const LAYOUT: i64 = 1;
/// Longest wait for another program that writes.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of the file.
const N_BYTES_MAX: i64 = 4 << 30;

const SETUP: &str =
    "PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;";
const TABLES: &str = "BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS conversations (
        id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, updated_ms INTEGER NOT NULL, n_messages INTEGER NOT NULL,
        words TEXT NOT NULL, body TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS by_time ON conversations (updated_ms DESC, id, title, n_messages);
    PRAGMA user_version = 1;
    COMMIT;";
const PUT: &str = "INSERT OR REPLACE INTO conversations (id, title, updated_ms, n_messages, words, body) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// See the module.
pub struct ConversationFile {
    connection: Connection,
}

impl ConversationFile {
    /// Opens the file, which is made if there is none; only its owner may read it.
    ///
    /// # Errors
    /// When the disk refuses, or it is no such file.
    pub fn open(path: &Path) -> rusqlite::Result<Self> {
        make(path).map_err(of_disk)?;
        let connection = Connection::open_with_flags(path, flags())?;
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch(SETUP)?;
        let page: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        connection.execute_batch(&format!("PRAGMA max_page_count = {}", N_BYTES_MAX / page.max(512)))?;
        match connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))? {
            LAYOUT => {}
            layout if layout > LAYOUT => return Err(newer()),
            _ => connection.execute_batch(TABLES)?,
        }
        Ok(Self { connection })
    }

    /// Those that hold all words, the newest first.
    ///
    /// # Errors
    /// When it cannot be read; so for all that follow.
    pub fn list(&self, words: &[String], n_max: u32) -> rusqlite::Result<Vec<ConversationEntry>> {
        let mut sql = "SELECT id, title, updated_ms, n_messages FROM conversations WHERE 1".to_owned();
        for idx in 1..=words.len() {
            sql.push_str(&format!(" AND instr(words, ?{idx}) > 0"));
        }
        sql.push_str(&format!(" ORDER BY updated_ms DESC, id LIMIT {n_max}"));
        let mut found = self.connection.prepare(&sql)?;
        found.query_map(params_from_iter(words), entry)?.collect()
    }

    /// How many there are beside the one of this id.
    pub fn n_others(&self, id: &str) -> rusqlite::Result<u64> {
        let sql = "SELECT count(*) FROM conversations WHERE id <> ?1";
        self.connection.query_row(sql, [id], |row| row.get::<_, i64>(0)).map(count)
    }

    /// One of them as JSON.
    pub fn get(&self, id: &str) -> rusqlite::Result<Option<String>> {
        self.connection.query_row("SELECT body FROM conversations WHERE id = ?1", [id], |row| row.get(0)).optional()
    }

    /// Keeps one, whose JSON is `body`.
    pub fn put(&self, conversation: &Conversation, body: &str) -> rusqlite::Result<()> {
        let Conversation { id, title, .. } = conversation;
        // Both were checked when they came in.
        let updated = i64::try_from(conversation.updated_ms).unwrap_or(i64::MAX);
        let n_messages = i64::try_from(conversation.messages.len()).unwrap_or(i64::MAX);
        self.connection.execute(PUT, params![id, title, updated, n_messages, conversation.words(), body]).map(drop)
    }

    /// Forgets one; whether it was there.
    pub fn delete(&self, id: &str) -> rusqlite::Result<bool> {
        Ok(self.connection.execute("DELETE FROM conversations WHERE id = ?1", [id])? > 0)
    }

    /// Whether all of it can be read.
    pub fn is_whole(&self) -> bool {
        let said = self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        said.is_ok_and(|said| said == "ok")
    }

    /// Copies what a damaged file still holds, from its beginning up to the damage and from its end; how many that were.
    pub fn take_over(&self, damaged: &Path) -> u64 {
        for order in ["ASC", "DESC"] {
            if let Err(error) = self.copy(damaged, order) {
                tracing::info!(%error, "a damaged file is read up to its damage");
            }
        }
        self.n_others("").unwrap_or(0)
    }

    fn copy(&self, from: &Path, order: &str) -> rusqlite::Result<()> {
        let from = Connection::open_with_flags(from, flags())?;
        let sql = format!(
            "SELECT id, title, updated_ms, n_messages, words, body FROM conversations NOT INDEXED ORDER BY rowid {order}"
        );
        let mut rows = from.prepare(&sql)?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let text = |idx| row.get::<_, String>(idx);
            let values = params![text(0)?, text(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?, text(4)?, text(5)?];
            self.connection.execute(PUT, values)?;
        }
        Ok(())
    }
}

/// No URIs, and no file that is not there; the caller guards the connection.
fn flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

fn make(path: &Path) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path).map(drop)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<ConversationEntry> {
    let (updated_ms, n_messages) = (count(row.get(2)?), count(row.get(3)?));
    Ok(ConversationEntry { id: row.get(0)?, title: row.get(1)?, updated_ms, n_messages })
}

fn count(number: i64) -> u64 {
    number.max(0).unsigned_abs()
}

fn newer() -> rusqlite::Error {
    let words = "a newer Tokbar has written this file: update this one".to_owned();
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), Some(words))
}

/// The disk's word in the words of this library.
pub fn of_disk(error: io::Error) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), Some(error.to_string()))
}
