//! The address for operators: metrics in OpenMetrics, the counts as JSON, and whether its server answers. Plain HTTP/1.1, one
//! request for each connection.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::address::Upstream;
use super::metrics;
use super::shared::ProxyShared;

/// How long a request may take to arrive, and the server to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longer requests are refused.
const LONGEST: usize = 8 * 1024;

/// Answers requests until it is dropped.
pub(super) async fn serve(listener: TcpListener, shared: Arc<ProxyShared>, server: Upstream) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (shared, server) = (Arc::clone(&shared), server.clone());
                tokio::spawn(async move {
                    // A reader that is gone needs no answer.
                    let _ = timeout(PATIENCE * 4, answer(stream, &shared, &server)).await;
                });
            }
            Err(error) => {
                log::warn!(target: "lockshift::guard", "cannot accept a reader of metrics: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn answer(mut stream: TcpStream, shared: &ProxyShared, server: &Upstream) -> io::Result<()> {
    let (status, kind, body) = match timeout(PATIENCE, request(&mut stream)).await {
        Ok(Ok(line)) => respond(&line, shared, server).await,
        Ok(Err(_)) | Err(_) => ("400 Bad Request", TEXT, "not a request\n".to_owned()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// Reads a request, and returns its first line.
async fn request(stream: &mut TcpStream) -> io::Result<String> {
    let (mut read, mut piece) = (Vec::new(), [0; 1024]);
    while !read.windows(4).any(|window| window == b"\r\n\r\n") {
        let length = stream.read(&mut piece).await?;
        read.extend_from_slice(&piece[..length]);
        if length == 0 || read.len() > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    let text = String::from_utf8_lossy(&read);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

const UNAVAILABLE: &str = "503 Service Unavailable";
const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

async fn respond(line: &str, shared: &ProxyShared, server: &Upstream) -> (&'static str, &'static str, String) {
    match line.split(' ').take(2).collect::<Vec<_>>().as_slice() {
        ["GET", "/metrics"] => ("200 OK", OPEN_METRICS, metrics::text(shared)),
        #[cfg(feature = "cli")]
        ["GET", "/status"] => ("200 OK", "application/json", status(shared)),
        ["GET", "/healthz"] => match timeout(PATIENCE, server.answers_ping()).await {
            Ok(Ok(())) => ("200 OK", TEXT, "ok\n".to_owned()),
            Ok(Err(error)) => (UNAVAILABLE, TEXT, format!("the server does not answer: {error}\n")),
            Err(_) => (UNAVAILABLE, TEXT, format!("the server does not answer within {PATIENCE:?}\n")),
        },
        ["GET", _] => ("404 Not Found", TEXT, "there are /metrics, /status and /healthz\n".to_owned()),
        _ => ("405 Method Not Allowed", TEXT, "only GET is answered\n".to_owned()),
    }
}

/// The counts now, as they are printed in the end.
#[cfg(feature = "cli")]
fn status(shared: &ProxyShared) -> String {
    serde_json::to_string_pretty(&shared.counts()).expect("counts have a JSON form") + "\n"
}
