//! The connections of one file: several of a large one, each of which takes piece after piece, until all are there or one
//! says why not; or one that brings what is left. Whoever breaks off waits for no server.
//!
//! The only place here that starts threads; they end with the call.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::blob::Partial;
use super::client::Span;
use super::error::DownloadError;
use super::hub::{Hub, Reply};
use super::listing::HubFile;
use super::pieces::{Claim, Pieces};
use super::{N_CHUNK_BYTES, N_PROGRESS_BYTES, Patience, Tries};

/// How often progress is told while nothing comes.
pub const LOOK: Duration = Duration::from_millis(200);

/// One file at one commit.
pub struct Wanted<'a> {
    /// Whom to ask.
    pub hub: &'a Hub,
    /// Which file.
    pub file: &'a HubFile,
    /// Of which commit.
    pub commit: &'a str,
    /// When to give up.
    pub patience: Patience,
}

/// Why a connection ended before all was there.
enum Ended {
    /// The server sends no parts: whoever sees it first takes the whole file.
    NoParts,
    Failed(DownloadError),
}

impl From<DownloadError> for Ended {
    fn from(error: DownloadError) -> Self {
        Self::Failed(error)
    }
}

/// Brings what `pieces` lack over `n_connections` at once. `told` hears of the bytes that are there, and may break off.
/// False when the server sends no parts.
///
/// # Errors
/// The first that another try does not help; what has come stays.
pub fn fill(
    wanted: &Wanted<'_>,
    pieces: &Pieces,
    n_connections: usize,
    told: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<bool, DownloadError> {
    let is_over = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Ended>(n_connections.max(1));
        for _ in 0..n_connections.max(1) {
            let (sender, is_over) = (sender.clone(), &is_over);
            scope.spawn(move || connection(wanted, pieces, is_over, &sender));
        }
        drop(sender);
        let mut outcome = Ok(true);
        loop {
            if told(pieces.n_bytes()).is_break() && outcome.is_ok() {
                is_over.store(true, Ordering::Release);
                wanted.hub.client().hang_up();
                outcome = Err(DownloadError::Cancelled);
            }
            match receiver.recv_timeout(LOOK) {
                Ok(ended) if outcome.is_ok() => {
                    outcome = match ended {
                        Ended::NoParts => Ok(false),
                        Ended::Failed(error) => Err(error),
                    };
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return outcome,
            }
        }
    });
    if pieces.is_whole() { Ok(true) } else { outcome }
}

/// Takes pieces until there are none.
fn connection(wanted: &Wanted<'_>, pieces: &Pieces, is_over: &AtomicBool, sender: &SyncSender<Ended>) {
    while !is_over.load(Ordering::Acquire) {
        let Some(mut claim) = pieces.claim() else { break };
        let brought = bring(wanted, &mut claim, is_over);
        let Err(ended) = brought else { continue };
        // Before the claim is given back: nobody goes on with it.
        is_over.store(true, Ordering::Release);
        // A receiver that is gone has had its answer.
        if sender.send(ended).is_err() {
            break;
        }
    }
}

/// Brings one piece, over as many connections as patience allows.
fn bring(wanted: &Wanted<'_>, claim: &mut Claim<'_>, is_over: &AtomicBool) -> Result<(), Ended> {
    let mut tries = Tries { patience: wanted.patience, n_failed: 0 };
    while !claim.is_done() && !is_over.load(Ordering::Acquire) {
        let n_before = claim.at();
        match stream(wanted, claim, is_over) {
            Ok(()) => {}
            // Whatever a connection says that was hung up.
            Err(_) if is_over.load(Ordering::Acquire) => break,
            Err(Ended::Failed(error)) => {
                if claim.at() >= n_before.saturating_add(N_PROGRESS_BYTES) {
                    tries.n_failed = 0;
                }
                tries.pause(error, &mut || {
                    if is_over.load(Ordering::Acquire) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
            }
            Err(Ended::NoParts) => return Err(Ended::NoParts),
        }
    }
    Ok(())
}

/// Takes what one connection gives of a piece.
fn stream(wanted: &Wanted<'_>, claim: &mut Claim<'_>, is_over: &AtomicBool) -> Result<(), Ended> {
    let Wanted { hub, file, commit, .. } = wanted;
    let span = Span { start: claim.at(), end: Some(claim.end()) };
    let mut body = match hub.file(commit, &file.name, span)? {
        Reply::Rest(body) => body,
        Reply::Whole(_) => return Err(Ended::NoParts),
        Reply::OutOfRange => {
            return Err(hub.client().cut("the server has fewer bytes than it promised".to_owned()).into());
        }
    };
    let mut chunk = vec![0; N_CHUNK_BYTES];
    while !claim.is_done() && !is_over.load(Ordering::Acquire) {
        match body.read(&mut chunk) {
            Ok(0) => return Err(hub.client().cut("the connection ended early".to_owned()).into()),
            Ok(n) => claim.write(&chunk[..n])?,
            Err(error) => return Err(hub.client().failure(ureq::Error::from(error)).into()),
        }
    }
    Ok(())
}

/// Takes what one connection gives of the bytes that `partial` lacks. `told` hears of every part, and may break off, also
/// while nothing comes.
///
/// # Errors
/// When less came than is lacking; what has come stays.
pub fn rest(
    wanted: &Wanted<'_>,
    partial: &mut Partial,
    told: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(), DownloadError> {
    let n_bytes = partial.n_bytes();
    while_told(wanted.hub, n_bytes, told, move |sender| bring_rest(wanted, partial, sender))
}

/// Has `work` ask the Hub. `told` hears of the bytes that it counts, from `n_bytes` on, and may break off, also while
/// nothing comes.
///
/// # Errors
/// The work's, or that it was broken off.
pub fn while_told<T: Send>(
    hub: &Hub,
    mut n_bytes: u64,
    told: &mut dyn FnMut(u64) -> ControlFlow<()>,
    work: impl FnOnce(&SyncSender<u64>) -> Result<T, DownloadError> + Send,
) -> Result<T, DownloadError> {
    thread::scope(|scope| {
        // Without room: each part is told of before the next is taken.
        let (sender, receiver) = sync_channel(0);
        let working = scope.spawn(move || work(&sender));
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(n) => n_bytes = n,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                }
            }
            if told(n_bytes).is_break() {
                hub.client().hang_up();
                return Err(DownloadError::Cancelled);
            }
        }
    })
}

fn bring_rest(wanted: &Wanted<'_>, partial: &mut Partial, sender: &SyncSender<u64>) -> Result<(), DownloadError> {
    let Wanted { hub, file, commit, .. } = wanted;
    let mut body = match hub.file(commit, &file.name, Span { start: partial.n_bytes(), end: None })? {
        Reply::Rest(body) => body,
        Reply::Whole(body) => {
            if partial.n_bytes() > 0 {
                partial.restart()?;
            }
            body
        }
        Reply::OutOfRange => {
            partial.restart()?;
            return Err(hub.client().cut("the server has fewer bytes than it promised".to_owned()));
        }
    };
    let mut chunk = vec![0; N_CHUNK_BYTES];
    while partial.n_bytes() < file.n_bytes {
        let n = match body.read(&mut chunk) {
            Ok(0) => return Err(hub.client().cut("the connection ended early".to_owned())),
            Ok(n) => n,
            Err(error) => return Err(hub.client().failure(ureq::Error::from(error))),
        };
        partial.append(&chunk[..n])?;
        // Nobody listens any more to a download that was broken off.
        if sender.send(partial.n_bytes()).is_err() {
            return Err(DownloadError::Cancelled);
        }
    }
    Ok(())
}
