//! The thread that the server's async runtime lives on.

use std::future::Future;
use std::net::TcpListener;
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use tokbar_server::ServerState;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A server that runs. Stops when dropped.
pub struct Server {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves on `listener`.
    ///
    /// # Errors
    /// When the system gives no threads, or the socket cannot be made async.
    pub fn start(listener: TcpListener, state: ServerState) -> Result<Self> {
        listener.set_nonblocking(true).context("the socket cannot be made async")?;
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.context("cannot start the async runtime")?;
        let handle = runtime.handle().clone();
        let listener = {
            let _inside = handle.enter();
            tokio::net::TcpListener::from_std(listener).context("the socket cannot be made async")?
        };
        let (stop, stopped) = oneshot::channel::<()>();
        // A sender that is gone means stop, too.
        let serve = async move { tokbar_server::serve(listener, state, async { stopped.await.unwrap_or(()) }).await };
        let run = move || runtime.block_on(serve);
        let thread =
            std::thread::Builder::new().name("server".to_owned()).spawn(run).context("cannot start a thread")?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Does `work` on the server's runtime, with which it ends.
    pub fn later(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(work));
    }

    /// Stops listening and waits until calls have ended or were cut off.
    pub fn stop(&mut self) {
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the server's thread panicked");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
