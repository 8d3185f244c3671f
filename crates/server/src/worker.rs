//! The only place where the server starts tasks: one per connection, all joined, and bounded jobs for what would hold up
//! others.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::ApiError;

/// Runs what takes long off the async threads, a few at a time.
#[derive(Clone, Debug)]
pub struct Jobs {
    permits: Arc<Semaphore>,
}

impl Jobs {
    /// At most `n_max` jobs run at once; further callers wait.
    pub fn new(n_max: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(n_max.max(1))) }
    }

    /// Runs `job` to its end even if the caller goes away; jobs are bounded in time by what they read.
    ///
    /// # Errors
    /// When the job panics.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| ApiError::Stopping)?;
        let work = move || {
            let result = job();
            drop(permit);
            result
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| {
            tracing::error!(%error, "a job failed");
            ApiError::Failed { detail: "the call could not be processed; the server's log has the cause".to_owned() }
        })
    }
}

/// Tells streams without an end of their own that the server is about to close.
#[derive(Clone, Debug)]
pub struct Closing {
    is_closing: Arc<watch::Sender<bool>>,
}

impl Default for Closing {
    fn default() -> Self {
        Self { is_closing: Arc::new(watch::Sender::new(false)) }
    }
}

impl Closing {
    /// It is about to.
    pub fn begin(&self) {
        self.is_closing.send_replace(true);
    }

    /// Completes once it is about to.
    pub async fn begun(&self) {
        // Its sender is in `self`: it cannot be gone.
        if self.is_closing.subscribe().wait_for(|closing| *closing).await.is_err() {
            tracing::trace!("the server is gone");
        }
    }
}

/// The connections that are open.
#[derive(Debug)]
pub struct Connections {
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
}

impl Connections {
    /// None yet.
    pub fn new() -> Self {
        Self { tasks: JoinSet::new(), stop: watch::Sender::new(false) }
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Completes when connections should finish what they do and close.
    pub fn stop_signal(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut stop = self.stop.subscribe();
        async move {
            // The sender is gone only when all connections are cut off anyway.
            if stop.wait_for(|stop| *stop).await.is_err() {
                tracing::trace!("the accept loop is gone");
            }
        }
    }

    /// Runs a connection until it ends.
    pub fn start(&mut self, connection: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(connection);
    }

    /// Waits until one ends; for ever if none is open.
    pub async fn reap(&mut self) {
        match self.tasks.join_next().await {
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::error!(%error, "a connection's task failed"),
            None => std::future::pending().await,
        }
    }

    /// Asks all to finish, waits `grace`, then cuts off the rest, which cancels their sequences.
    pub async fn finish(mut self, grace: Duration) {
        self.stop.send_replace(true);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            tracing::warn!(n = self.tasks.len(), "calls still running at shutdown are cancelled");
            self.tasks.shutdown().await;
        }
    }
}
