//! Very many readers of event streams on one thread, and when each received what.

use std::{
    cell::RefCell,
    net::{Ipv4Addr, SocketAddr},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use tokio::{
    net::{TcpSocket, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// Connections that are being opened at the same time.
const OPENING: usize = 64;
/// Readers per source address; there are about 28,000 ports.
const PER_ADDRESS: usize = 10_000;

/// An event in a reader's hands.
#[derive(Clone, Copy, Debug)]
pub struct Receipt {
    /// As in the list the readers were started with.
    pub reader: u32,
    pub seq: i64,
    /// Microseconds since 1970.
    pub at_us: i64,
}

/// Readers at work on a thread of their own.
pub struct Readers {
    thread: JoinHandle<anyhow::Result<Vec<Receipt>>>,
    open: Arc<AtomicUsize>,
    stop: CancellationToken,
}

impl Readers {
    /// Opens a stream for each address and path.
    pub fn start(targets: Vec<(SocketAddr, String)>) -> Self {
        let (open, stop) = (Arc::<AtomicUsize>::default(), CancellationToken::new());
        let (counter, token) = (Arc::clone(&open), stop.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            tokio::task::LocalSet::new().block_on(&runtime, read_all(targets, counter, token))
        });
        Self { thread, open, stop }
    }

    /// How many have received the head of their answer.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    pub async fn wait_until_open(&self, count: usize) -> anyhow::Result<()> {
        let since = std::time::Instant::now();
        while self.open() < count {
            anyhow::ensure!(!self.thread.is_finished(), "the readers ended early");
            anyhow::ensure!(since.elapsed() < crate::LIMIT, "{} of {count} streams opened", self.open());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Waits until every stream has ended by itself.
    pub async fn ended(self) -> anyhow::Result<Vec<Receipt>> {
        let thread = self.thread;
        tokio::task::spawn_blocking(|| thread.join()).await?.ok().context("the readers panicked")?
    }

    /// Closes the streams.
    pub async fn stop(self) -> anyhow::Result<Vec<Receipt>> {
        self.stop.cancel();
        self.ended().await
    }
}

pub fn now_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

#[derive(Default)]
struct Shared {
    /// One for all: a reader takes everything out before the next one is served.
    buffer: Vec<u8>,
    receipts: Vec<Receipt>,
}

async fn read_all(
    targets: Vec<(SocketAddr, String)>,
    open: Arc<AtomicUsize>,
    stop: CancellationToken,
) -> anyhow::Result<Vec<Receipt>> {
    let shared = Rc::new(RefCell::new(Shared { buffer: vec![0; 64 * 1024], receipts: Vec::new() }));
    let opening = Rc::new(Semaphore::new(OPENING));
    let mut readers = JoinSet::new();
    for (number, (address, path)) in targets.into_iter().enumerate() {
        let (shared, opening, open) = (Rc::clone(&shared), Rc::clone(&opening), Arc::clone(&open));
        readers.spawn_local(async move {
            let permit = opening.acquire().await?;
            let stream = connect(number, address).await?;
            let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
            stream.writable().await?;
            anyhow::ensure!(stream.try_write(request.as_bytes())? == request.len());
            read(&stream, number, &shared, || {
                open.fetch_add(1, Ordering::Relaxed);
                drop(permit);
            })
            .await
        });
    }
    let all = async {
        while let Some(joined) = readers.join_next().await {
            joined??;
        }
        anyhow::Ok(())
    };
    stop.run_until_cancelled(all).await.unwrap_or(Ok(()))?;
    readers.shutdown().await;
    Ok(std::mem::take(&mut shared.borrow_mut().receipts))
}

async fn connect(number: usize, address: SocketAddr) -> anyhow::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    let source = Ipv4Addr::new(127, 0, 0, u8::try_from(1 + number / PER_ADDRESS)?);
    socket.bind((source, 0).into())?;
    Ok(socket.connect(address).await?)
}

/// Until the stream's end; `opened` is called at its first bytes.
async fn read(
    stream: &TcpStream,
    number: usize,
    shared: &RefCell<Shared>,
    opened: impl FnOnce(),
) -> anyhow::Result<()> {
    let mut opened = Some(opened);
    let mut numbers = Numbers::default();
    loop {
        stream.readable().await?;
        let Shared { buffer, receipts } = &mut *shared.borrow_mut();
        let length = match stream.try_read(buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error.into()),
        };
        let at_us = now_us();
        if let Some(opened) = opened.take() {
            anyhow::ensure!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..length]));
            opened();
        }
        let reader = number as u32;
        numbers.find(&buffer[..length], |seq| receipts.push(Receipt { reader, seq, at_us }));
        if numbers.over {
            return Ok(());
        }
    }
}

/// Finds the lines `id: N` and the end of the body, wherever the network cut them.
#[derive(Default)]
struct Numbers {
    matched: usize,
    number: i64,
    end: usize,
    over: bool,
}

impl Numbers {
    const START: &[u8] = b"\nid: ";
    /// The last chunk, after the end of the one before.
    const END: &[u8] = b"\r\n0\r\n\r\n";

    fn find(&mut self, bytes: &[u8], mut found: impl FnMut(i64)) {
        for &byte in bytes {
            self.end = match () {
                () if byte == Self::END[self.end] => self.end + 1,
                () => usize::from(byte == b'\r'),
            };
            if self.end == Self::END.len() {
                self.over = true;
                return;
            }
            if self.matched < Self::START.len() {
                self.matched = match () {
                    () if byte == Self::START[self.matched] => self.matched + 1,
                    () => usize::from(byte == b'\n'),
                };
                self.number = 0;
            } else if byte.is_ascii_digit() {
                self.number = self.number * 10 + i64::from(byte - b'0');
            } else {
                found(self.number);
                self.matched = 1;
            }
        }
    }
}
