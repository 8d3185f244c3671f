//! The accept loop: bounded connections, bounded headers, graceful shutdown.

use std::future::Future;
use std::io;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

use crate::guard::Peer;
use crate::worker::Connections;
use crate::{ServerOptions, ServerState, router};

/// Told to a client that connects when no connection is free.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
connection: close\r\n\r\n\
{\"error\":{\"message\":\"too many connections are open: close some or try again\",\"type\":\"server_error\",\
\"param\":null,\"code\":\"overloaded\"}}";

/// Serves on `listener` until `shutdown` completes, then lets calls in flight finish within the grace time of the
/// options and cancels the rest. The engines go on running.
pub async fn serve(listener: TcpListener, state: ServerState, shutdown: impl Future<Output = ()>) {
    let options = state.options.clone();
    let closing = state.closing.clone();
    let app = router(state);
    let mut connections = Connections::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            () = connections.reap() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => admit(&mut connections, (stream, Peer(peer)), &app, &options),
                Err(error) => rest(&error).await,
            },
        }
    }
    drop(listener);
    closing.begin();
    connections.finish(options.shutdown_grace).await;
}

fn admit(connections: &mut Connections, (stream, peer): (TcpStream, Peer), app: &Router, options: &ServerOptions) {
    if connections.len() >= options.n_connections_max {
        if let Err(error) = stream.try_write(BUSY) {
            tracing::debug!(%error, "a connection over the limit could not be told so");
        }
        return;
    }
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection cannot send small packets at once");
    }
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(options.header_timeout)
        .max_headers(options.n_headers_max)
        .max_buf_size(options.n_header_bytes_max);
    let calls = Calls { app: TowerToHyperService::new(app.clone()), peer };
    let connection = http.serve_connection(TokioIo::new(stream), calls);
    connections.start(run(connection, connections.stop_signal()));
}

/// The calls of one connection, each of which is told who is at its other end.
struct Calls {
    app: App,
    peer: Peer,
}

type App = TowerToHyperService<Router>;

impl Service<Request<Incoming>> for Calls {
    type Response = <App as Service<Request<Incoming>>>::Response;
    type Error = <App as Service<Request<Incoming>>>::Error;
    type Future = <App as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        self.app.call(request)
    }
}

type Connection = http1::Connection<TokioIo<TcpStream>, Calls>;

async fn run(connection: Connection, stop: impl Future<Output = ()>) {
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Errors of one connection are gone at once; those of the process (too many open files) need a pause.
async fn rest(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        return;
    }
    tracing::error!(%error, "no connection can be accepted at the moment");
    tokio::time::sleep(Duration::from_millis(100)).await;
}
