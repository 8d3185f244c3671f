//! Follows the orders about updates: look, fetch, keep the version before, replace, start anew.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tauri::AppHandle;
use tauri_plugin_updater::{Update, UpdaterExt};
use tokbar_app::say;
use tokbar_app::update::{
    Checks, Kept, Offer, Outcome, Place, Trial, Work, check_offer, keep_previous, may_install, write_trial,
};
use tokio::sync::Notify;

use super::source::Source;
use super::trial::{Begun, PREVIOUS, trial_file};
use super::{Order, Standing, Wanted, installed, trial_of, version};

/// A server that does not answer by then does not.
const PATIENCE: Duration = Duration::from_secs(30);
/// The slowest download that is waited for.
const DOWNLOAD_PATIENCE: Duration = Duration::from_secs(3600);
/// More than any release; the archive is checked before it is unpacked, but only once it is here.
const N_ARCHIVE_BYTES_MAX: u64 = 300_000_000;
/// More than anybody reads.
const N_NOTES_MAX: usize = 20_000;
/// A start that has lasted so long went well.
const PROVEN: Duration = Duration::from_secs(60);

/// An update that a server has.
struct Found {
    update: Update,
    /// Where its archive is, once it is.
    archive: Option<PathBuf>,
}

/// Whether somebody wants what was found installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    NotYet,
    Yes,
}

/// See the module.
pub struct Keeper {
    app: AppHandle,
    folder: PathBuf,
    installed: Option<PathBuf>,
    place: Place,
    say: Box<dyn Fn(Standing) + Send>,
    started: Instant,
    checks: Checks,
    found: Option<Found>,
    asked: Asked,
    work: Work,
    trial: Option<Trial>,
}

impl Keeper {
    /// `folder` is for what is fetched and kept, `begun` what this start found there.
    pub fn new(app: AppHandle, folder: PathBuf, begun: Begun, say: Box<dyn Fn(Standing) + Send>) -> Self {
        let (installed, place) = installed();
        let (started, checks) = (Instant::now(), Checks::default());
        let trial = match begun {
            Begun::OnTrial(trial) => Some(trial),
            Begun::Back(trial) => {
                say(Standing::Failed(format!("Tokbar {} did not start; {} is back", trial.to, trial.from)));
                None
            }
            Begun::Ordinary => None,
        };
        let (found, asked, work) = (None, Asked::NotYet, Work::default());
        Self { app, folder, installed, place, say, started, checks, found, asked, work, trial }
    }

    pub async fn follow(&mut self, order: Order) {
        match order {
            Order::Look(looked) => {
                self.look().await;
                if looked.send(()).is_err() {
                    tracing::trace!("nobody waits for the look");
                }
            }
            Order::Install => self.asked = Asked::Yes,
            Order::Beat(wanted, work) => {
                self.work = work;
                if self.started.elapsed() >= PROVEN {
                    self.prove();
                }
                if wanted == Wanted::Yes && self.is_due() {
                    self.look().await;
                }
            }
        }
        if let Err(error) = self.go_on().await {
            (self.found, self.asked) = (None, Asked::NotYet);
            self.fail(&error);
        }
    }

    /// Whether to look by itself. Nobody is bothered with a build that cannot be updated; who asks is told.
    fn is_due(&self) -> bool {
        let is_time = self.checks.are_due(self.started.elapsed()) && self.work == Work::default();
        is_time && self.place != Place::Loose && Source::of_build().is_ok()
    }

    fn fail(&self, error: &anyhow::Error) {
        let why = say::cause(error);
        tracing::warn!("no update: {why}");
        (self.say)(Standing::Failed(why));
    }

    async fn look(&mut self) {
        (self.say)(Standing::Looking);
        let outcome = self.find().await;
        let answered = if outcome.is_ok() { Outcome::Answered } else { Outcome::Failed };
        self.checks = self.checks.after(self.started.elapsed(), answered);
        match outcome {
            Ok(Some(update)) => {
                let is_here = self.found.as_ref().is_some_and(|found| found.update.signature == update.signature);
                if !is_here {
                    self.found = Some(Found { update, archive: None });
                }
            }
            Ok(None) => {
                self.found = None;
                tracing::info!("there is nothing newer than Tokbar {}", version(&self.app));
                (self.say)(Standing::UpToDate);
            }
            Err(error) => self.fail(&error),
        }
    }

    /// What the server has that is newer and says so under its signature.
    async fn find(&self) -> Result<Option<Update>> {
        // In any other place it is worth knowing that there is something newer.
        if self.place == Place::Loose {
            may_install(self.place, Work::default())?;
        }
        let source = Source::of_build()?;
        let builder = self.app.updater_builder().pubkey(source.key).endpoints(vec![source.manifest])?;
        let update = builder.timeout(PATIENCE).build()?.check().await.context("the server for updates")?;
        let Some(mut update) = update else { return Ok(None) };
        let current = version(&self.app);
        check_offer(&Offer { current: &current, version: &update.version, signature: &update.signature })?;
        update.timeout = Some(DOWNLOAD_PATIENCE);
        Ok(Some(update))
    }

    /// Fetches what was found, and installs it if somebody wants it, as far as that may be now.
    async fn go_on(&mut self) -> Result<()> {
        let Some(found) = &mut self.found else { return Ok(()) };
        let version = found.update.version.clone();
        let is_next = found.archive.is_none() || self.asked == Asked::Yes;
        if let (true, Err(hold)) = (is_next, may_install(self.place, self.work)) {
            tracing::info!("Tokbar {version} waits: {hold}");
            (self.say)(Standing::Waiting { version, why: hold.to_string() });
            return Ok(());
        }
        if found.archive.is_none() {
            (self.say)(Standing::Looking);
            let bytes = fetch(&found.update).await?;
            fs::create_dir_all(&self.folder).with_context(|| format!("cannot make {}", self.folder.display()))?;
            let archive = self.folder.join("archive");
            fs::write(&archive, bytes).with_context(|| format!("cannot write {}", archive.display()))?;
            found.archive = Some(archive);
        }
        if self.asked == Asked::Yes {
            return self.install();
        }
        let notes = found.update.body.iter().flat_map(|notes| notes.chars()).take(N_NOTES_MAX).collect();
        (self.say)(Standing::Ready { version, notes });
        Ok(())
    }

    /// Puts the update in the app's place, with the version that runs kept, and starts anew.
    fn install(&mut self) -> Result<()> {
        let (Some(found), Some(app)) = (&self.found, &self.installed) else { return Ok(()) };
        let archive = found.archive.as_ref().context("the update is not here")?;
        let bytes = fs::read(archive).with_context(|| format!("cannot read {}", archive.display()))?;
        let kept = keep_previous(app, &self.folder.join(PREVIOUS)).context("the version that runs cannot be kept")?;
        let (file, trial) = (trial_file(&self.folder), trial_of(&version(&self.app), &found.update.version));
        write_trial(&file, Some(&trial))?;
        // Checked once more: what lay on the disk is not what was checked.
        if let Err(error) = found.update.install(bytes) {
            write_trial(&file, None)?;
            kept.forget()?;
            return Err(error).context("the update was not installed");
        }
        fs::remove_file(archive).with_context(|| format!("cannot remove {}", archive.display()))?;
        (self.found, self.asked, self.trial) = (None, Asked::NotYet, None);
        tracing::info!("Tokbar {} starts", trial.to);
        self.app.request_restart();
        Ok(())
    }

    /// This version has started well: the one before is not needed any more.
    fn prove(&mut self) {
        if self.trial.take().is_none() {
            return;
        }
        let kept = self.installed.as_ref().map(|app| Kept::of(app, &self.folder.join(PREVIOUS)));
        let forgotten =
            write_trial(&trial_file(&self.folder), None).and_then(|()| kept.map_or(Ok(()), |kept| kept.forget()));
        if let Err(error) = forgotten {
            tracing::warn!(%error, "the version before is still kept");
        }
    }

    /// An end in good order is a start that went well.
    pub fn prove_by_end(mut self) {
        self.prove();
    }
}

/// The archive, whose signature was checked.
async fn fetch(update: &Update) -> Result<Vec<u8>> {
    let (too_large, mut n_bytes) = (Notify::new(), 0_u64);
    let count = |n: usize, all: Option<u64>| {
        n_bytes += n as u64;
        if n_bytes.max(all.unwrap_or(0)) > N_ARCHIVE_BYTES_MAX {
            too_large.notify_one();
        }
    };
    let bytes = tokio::select! {
        biased;
        () = too_large.notified() => Err(anyhow::anyhow!("the update is larger than {N_ARCHIVE_BYTES_MAX} bytes")),
        bytes = update.download(count, || {}) => bytes.context("the update"),
    }?;
    ensure!(!bytes.is_empty(), "the update is empty");
    Ok(bytes)
}
