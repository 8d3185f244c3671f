//! A Hub on this machine, an empty cache, and how to download from one to the other.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokbar_hub::checkpoint::Checkpoint;
use tokbar_hub::download::{DownloadError, DownloadOptions, Patience, download};
use tokbar_hub::resolve::{ResolveError, Source, resolve};

use super::loopback::{Answer, Asked, Loopback};
use super::repository::{COMMIT, ID, Repository, WEIGHTS};

/// A Hub, an empty cache, and how to download from one to the other.
pub struct Testbed {
    pub hub: Loopback,
    pub cache: TempDir,
    pub options: DownloadOptions,
}

impl Testbed {
    /// A Hub that answers by `answer`, which hears how many requests came before.
    pub fn new(answer: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static) -> Self {
        let (hub, cache) = (Loopback::start(answer), tempfile::tempdir().unwrap());
        // Long enough for a busy machine; nothing waits for it but the test of silence.
        let patience = Patience {
            stall: Duration::from_secs(60),
            n_retries: 0,
            pause: Duration::ZERO,
            pause_asked_max: Duration::ZERO,
        };
        let options =
            DownloadOptions { endpoint: hub.endpoint(), patience, ..DownloadOptions::new(cache.path().to_owned()) };
        Self { hub, cache, options }
    }

    pub fn serving(repository: &Repository) -> Self {
        let repository = repository.clone();
        Self::new(move |asked, _| repository.answer(asked))
    }

    pub fn retrying(mut self, n_retries: u32) -> Self {
        self.options.patience.n_retries = n_retries;
        self
    }

    pub fn run(&self) -> Result<PathBuf, DownloadError> {
        download(ID, &self.options, &mut |_| ControlFlow::Continue(()))
    }

    pub fn dir(&self) -> PathBuf {
        self.cache.path().join("models--org--tiny")
    }

    pub fn blob(&self, repository: &Repository, name: &str) -> PathBuf {
        self.dir().join("blobs").join(repository.hash(name))
    }

    pub fn incomplete(&self, repository: &Repository, name: &str) -> PathBuf {
        self.blob(repository, name).with_extension("incomplete")
    }

    /// Leaves `bytes` of a file as an earlier download would.
    pub fn put_incomplete(&self, repository: &Repository, name: &str, bytes: &[u8]) {
        fs::create_dir_all(self.dir().join("blobs")).unwrap();
        fs::write(self.incomplete(repository, name), bytes).unwrap();
    }

    /// First bytes asked for of a file, request by request; forgets them.
    pub fn starts(&self, name: &str) -> Vec<Option<usize>> {
        let asked = self.hub.asked().into_iter().filter(|asked| asked.path.ends_with(name));
        asked.map(|asked| asked.start).collect()
    }

    /// The model is there, is whole, and nothing else is.
    pub fn check_whole(&self, repository: &Repository) {
        self.check_snapshot(repository);
        let snapshot = self.dir().join("snapshots").join(COMMIT);
        assert_eq!(names(&self.dir().join("blobs")).len(), names(&snapshot).len());
        assert_eq!(Checkpoint::open(&snapshot).unwrap().model_type, "llama");
    }

    /// The model is there and is whole.
    pub fn check_snapshot(&self, repository: &Repository) {
        let snapshot = self.dir().join("snapshots").join(COMMIT);
        assert_eq!(resolve(ID, Some(self.cache.path())), Ok(Source::Folder(snapshot.clone())));
        assert_eq!(fs::read_to_string(self.dir().join("refs/main")).unwrap(), COMMIT);
        for name in names(&snapshot) {
            let target = Path::new("../../blobs").join(repository.hash(&name));
            assert_eq!(fs::read_link(snapshot.join(&name)).unwrap(), target, "{name}");
            assert_eq!(fs::read(snapshot.join(&name)).unwrap(), repository.bytes(&name), "{name}");
        }
        assert_eq!(names(&self.dir().join("refs")), ["main"]);
        Checkpoint::open(&snapshot).unwrap();
    }

    /// No reader of the cache takes what is there for a model.
    pub fn check_absent(&self) {
        let found = resolve(ID, Some(self.cache.path()));
        assert!(matches!(found, Err(ResolveError::NotInCache { .. } | ResolveError::Incomplete { .. })), "{found:?}");
        assert!(!self.dir().join("refs").exists() && !self.dir().join("snapshots").exists());
    }
}

/// Names in a folder, sorted.
pub fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The first request for the weights gets `first`, everything else what the Hub has.
pub fn once(repository: &Repository, first: fn(Answer) -> Answer) -> Testbed {
    let repository = repository.clone();
    let is_first = AtomicBool::new(true);
    Testbed::new(move |asked, _| {
        let is_weights = asked.path.ends_with(WEIGHTS);
        let answer = repository.answer(asked);
        if is_weights && is_first.swap(false, Ordering::SeqCst) { first(answer) } else { answer }
    })
}
