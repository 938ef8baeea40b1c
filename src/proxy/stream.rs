//! One side of a session: a stream that is read and written without a buffer of its own.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connect::TlsAlert;

/// A stream in both directions: TCP or a Unix socket, encrypted or not.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// One side of a session.
pub(super) struct Stream {
    inner: Box<dyn Duplex>,
    /// Whether an encrypted stream may still hold bytes that were written.
    is_unflushed: bool,
    written: u64,
    received: u64,
    ended: Option<StreamEnd>,
}

/// How the other side has ended a stream.
#[derive(Debug)]
pub(super) struct StreamEnd {
    /// The TLS alert by which it did.
    pub(super) alert: Option<TlsAlert>,
    /// In words.
    pub(super) how: String,
}

impl StreamEnd {
    fn by(error: &io::Error) -> Self {
        Self { alert: TlsAlert::behind(error), how: error.to_string() }
    }
}

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;
/// A buffer that is empty keeps no more than this: most connections are idle most of the time.
const KEPT: usize = 1024;

thread_local! {
    /// Where bytes arrive. All connections of a thread share it, as each takes what has arrived before the next one reads.
    static ARRIVING: RefCell<Vec<u8>> = RefCell::new(vec![0; PIECE]);
}

impl Stream {
    pub(super) fn new(inner: impl Duplex + 'static) -> Self {
        Self { inner: Box::new(inner), is_unflushed: false, written: 0, received: 0, ended: None }
    }

    /// Appends what has arrived. Returns how many bytes; 0 at the end of the stream.
    pub(super) fn poll_read_into(&mut self, cx: &mut Context<'_>, into: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        let read = ARRIVING.with_borrow_mut(|arriving| {
            let mut arriving = ReadBuf::new(arriving);
            let read = ready!(Pin::new(&mut self.inner).poll_read(cx, &mut arriving));
            into.extend_from_slice(arriving.filled());
            Poll::Ready(read.map(|()| arriving.filled().len()))
        });
        match &read {
            Poll::Ready(Ok(0)) => self.ended = Some(StreamEnd { alert: None, how: "it was closed".to_owned() }),
            Poll::Ready(Ok(length)) => self.received += *length as u64,
            Poll::Ready(Err(error)) => self.ended = Some(StreamEnd::by(error)),
            Poll::Pending => {}
        }
        read
    }

    /// The same, as soon as something has arrived.
    pub(super) async fn read_into(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read_into(cx, into)).await
    }

    /// Writes the bytes and removes them as they are written; ready when none is left.
    pub(super) fn poll_deliver(&mut self, cx: &mut Context<'_>, bytes: &mut Vec<u8>) -> Poll<io::Result<()>> {
        let mut delivered = 0;
        let end = loop {
            let Some(left) = bytes.get(delivered..).filter(|left| !left.is_empty()) else { break Poll::Ready(Ok(())) };
            match Pin::new(&mut self.inner).poll_write(cx, left) {
                Poll::Ready(Ok(0)) => break Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => delivered += written,
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
        };
        self.is_unflushed |= delivered > 0;
        self.written += delivered as u64;
        // What is left is moved once, however often was written.
        drop(bytes.drain(..delivered));
        ready!(end)?;
        if bytes.capacity() > KEPT {
            *bytes = Vec::new();
        }
        if self.is_unflushed {
            ready!(Pin::new(&mut self.inner).poll_flush(cx))?;
            self.is_unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// The same, waiting until all is written.
    pub(super) async fn deliver(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        poll_fn(|cx| self.poll_deliver(cx, bytes)).await
    }

    /// How many bytes were written so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// How many bytes have arrived so far.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// How the other side has ended it, as far as was read.
    pub(super) fn ended(&self) -> Option<&StreamEnd> {
        self.ended.as_ref()
    }

    /// Ends this direction; the other may still be read.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    /// The same, waiting until the end is sent.
    pub(super) async fn end(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_end(cx)).await
    }
}
