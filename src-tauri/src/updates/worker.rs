//! The thread of updates: one order after another, given up at once when the app ends.

use std::thread::{Builder, JoinHandle};

use anyhow::{Context, Result};
use tokio::sync::{mpsc, oneshot};

use super::Order;
use super::keeper::Keeper;

/// The running thread.
pub struct Worker {
    thread: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Worker {
    /// Starts it.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(keeper: Keeper, orders: mpsc::Receiver<Order>) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let work = move || runtime.block_on(run(keeper, orders, stopped));
        let thread = Builder::new().name("updates".to_owned()).spawn(work).context("cannot start a thread")?;
        Ok(Self { thread, stop })
    }

    /// Ends it, and waits for that.
    pub fn end(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the thread of updates panicked");
        }
    }
}

async fn run(mut keeper: Keeper, mut orders: mpsc::Receiver<Order>, mut stopped: oneshot::Receiver<()>) {
    loop {
        let round = async {
            let order = orders.recv().await?;
            keeper.follow(order).await;
            Some(())
        };
        tokio::select! {
            biased;
            _ = &mut stopped => break,
            done = round => if done.is_none() { break },
        }
    }
    keeper.prove_by_end();
}
