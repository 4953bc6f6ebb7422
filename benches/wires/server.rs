//! A server that answers every request with the same bytes, on threads of its own.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
};

use parking_lot::Mutex;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// A request as it came.
#[derive(Clone, Default)]
pub struct Sent {
    pub path: String,
    /// Without those that each client writes itself.
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// It ends with the process.
pub struct Server {
    address: SocketAddr,
    /// The last one.
    sent: Arc<Mutex<Sent>>,
}

impl Server {
    /// Answers with `answer`, a whole answer of HTTP/1.1.
    pub fn start(answer: Vec<u8>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, sent) = (listener.local_addr()?, Arc::new(Mutex::new(Sent::default())));
        let (answer, noted) = (Arc::new(answer), Arc::clone(&sent));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                // A connection ends with an error when its client has gone.
                std::thread::spawn(move || serve(stream, &answer, &noted));
            }
        });
        Ok(Self { address, sent })
    }

    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn base_url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    pub fn sent(&self) -> Sent {
        self.sent.lock().clone()
    }
}

fn serve(stream: TcpStream, answer: &[u8], noted: &Mutex<Sent>) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    while let Some(sent) = read(&mut reader)? {
        *noted.lock() = sent;
        reader.get_mut().write_all(answer)?;
    }
    Ok(())
}

/// The next request; `None` at the end of the connection.
fn read(reader: &mut BufReader<TcpStream>) -> anyhow::Result<Option<Sent>> {
    let (mut sent, mut length, mut line) = (Sent::default(), 0, String::new());
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    sent.path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse()?,
            "host" | "accept-encoding" => {}
            name => _ = sent.headers.insert(name.parse::<HeaderName>()?, HeaderValue::from_str(value)?),
        }
    }
    sent.body.resize(length, 0);
    reader.read_exact(&mut sent.body)?;
    Ok(Some(sent))
}
