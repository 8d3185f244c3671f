//! A Hub on this machine that has one tiny model, whatever it is asked for.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::loopback::{Answer, Asked, Loopback};
use crate::repository::{ID, Repository, WEIGHTS};

/// How the weights come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The first connection breaks half way.
    BreaksOnce,
    /// At once.
    Whole,
    /// Slowly.
    Slow,
    /// Not at all: the Hub has lost them.
    Lost,
}

pub fn start(model: &Path, line: Line) -> Loopback {
    let mut repository = Repository { files: Vec::new() };
    for entry in fs::read_dir(model).expect("a model") {
        let path = entry.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        repository = repository.with(&name, &fs::read(&path).expect("a file"));
    }
    let is_broken = AtomicBool::new(false);
    Loopback::start(move |asked, _| {
        let answer = repository.answer(&Asked { path: under_its_name(&asked.path), ..asked.clone() });
        let is_whole =
            asked.method == "GET" && asked.path.split('?').next().is_some_and(|path| path.ends_with(WEIGHTS));
        match line {
            _ if !is_whole => answer,
            Line::BreaksOnce if !is_broken.swap(true, Ordering::Relaxed) => {
                Answer { n_sent: answer.body.len() / 2, ..answer }
            }
            Line::BreaksOnce | Line::Whole => answer,
            Line::Lost => Answer::status(404),
            Line::Slow => Answer { drip: Some((200_000, Duration::from_millis(10))), ..answer },
        }
    })
}

/// `/org/name/resolve/...` and `/api/models/org/name...` with the one name that there is.
fn under_its_name(path: &str) -> String {
    let (start, rest) = path.strip_prefix("/api/models/").map_or(("/", &path[1..]), |rest| ("/api/models/", rest));
    let end = rest.match_indices(['/', '?']).nth(1).map_or(rest.len(), |(at, _)| at);
    format!("{start}{ID}{}", &rest[end..])
}
