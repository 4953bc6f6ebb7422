//! Proxies on loopback: one that deals connections out to several services, and one that can be cut or swallow all.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// Deals its connections out in turn to those of its services that accept one.
pub struct Balancer {
    pub address: String,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    services: Mutex<Vec<String>>,
    turn: AtomicUsize,
    /// Changes when all connections are to be cut.
    cut: watch::Sender<()>,
}

impl Balancer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address").to_string();
        let shared = Arc::new(Shared::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&shared).accept(listener));
        Self { address, shared, _tasks: tasks }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sends new connections to these services from here on.
    pub fn serve(&self, services: Vec<String>) {
        *self.shared.services.lock() = services;
    }

    /// Cuts every connection there is.
    pub fn cut(&self) {
        self.shared.cut.send_replace(());
    }
}

impl Shared {
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        while let Ok((client, _)) = listener.accept().await {
            let shared = Arc::clone(&self);
            connections.spawn(async move { shared.connect(client).await.unwrap_or(()) });
            while connections.try_join_next().is_some() {}
        }
    }

    async fn connect(&self, mut client: TcpStream) -> io::Result<()> {
        let mut cut = self.cut.subscribe();
        let mut service = self.next().await?;
        client.set_nodelay(true)?;
        service.set_nodelay(true)?;
        tokio::select! {
            done = tokio::io::copy_bidirectional(&mut client, &mut service) => done.map(drop),
            _ = cut.changed() => Ok(()),
        }
    }

    /// Returns the next service that accepts.
    async fn next(&self) -> io::Result<TcpStream> {
        let services = self.services.lock().clone();
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        for turn in 0..services.len() {
            let service = &services[(first + turn) % services.len()];
            if let Ok(stream) = TcpStream::connect(service).await {
                return Ok(stream);
            }
        }
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

/// What a cable does with what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Open,
    /// Connections are closed at once.
    Cut,
    /// Nothing is passed on, and nobody is notified; what comes meanwhile is passed on afterwards.
    Silent,
    /// As silent for the connections there are, for ever; new ones are open. So a server looks that was replaced.
    Replaced,
}

/// A cable between a service and Postgres.
pub struct Cable {
    /// The database behind the cable.
    pub url: String,
    mode: watch::Sender<Mode>,
    _tasks: JoinSet<()>,
}

impl Cable {
    /// Opens a cable to the database at `url`, which is as the tests' cluster has it, with an address and a port.
    pub async fn to(url: &str) -> Self {
        let server = url.split(['@', '/']).nth(3).expect("the cluster has an address").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let url = url.replace(&format!("@{server}/"), &format!("@127.0.0.1:{port}/"));
        let mode = watch::Sender::new(Mode::Open);
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, server, mode.clone()));
        Self { url, mode, _tasks: tasks }
    }

    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

async fn accept(listener: TcpListener, server: String, mode: watch::Sender<Mode>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        if *mode.borrow() == Mode::Cut {
            continue;
        }
        let (server, mut mode) = (server.clone(), mode.subscribe());
        // Those that come later are not concerned.
        let begun = *mode.borrow_and_update();
        connections.spawn(async move { connect(client, server, mode, begun).await.unwrap_or(()) });
        while connections.try_join_next().is_some() {}
    }
}

async fn connect(client: TcpStream, server: String, mut mode: watch::Receiver<Mode>, begun: Mode) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (client_reads, client_writes) = client.into_split();
    let server = TcpStream::connect(server).await?;
    server.set_nodelay(true)?;
    let (server_reads, server_writes) = server.into_split();
    let (there, back) = (mode.clone(), mode.clone());
    tokio::select! {
        done = pass_on(client_reads, server_writes, there, begun) => done,
        done = pass_on(server_reads, client_writes, back, begun) => done,
        _ = mode.wait_for(|mode| *mode == Mode::Cut) => Ok(()),
    }
}

async fn pass_on(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut mode: watch::Receiver<Mode>,
    begun: Mode,
) -> io::Result<()> {
    let passes = |mode: &Mode| match mode {
        Mode::Silent => false,
        Mode::Replaced => begun == Mode::Replaced,
        Mode::Open | Mode::Cut => true,
    };
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let length = from.read(&mut buffer).await?;
        mode.wait_for(passes).await.map_err(io::Error::other)?;
        if length == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..length]).await?;
    }
}
