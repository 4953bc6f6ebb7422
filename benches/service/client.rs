//! A client that costs little: HTTP/1.1 over one connection, answers with a Content-Length.

use std::net::SocketAddr;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub async fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(16 * 1024) })
    }

    pub async fn get(&mut self, path: &str) -> anyhow::Result<(u16, Vec<u8>)> {
        self.exchange(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n").as_bytes())
            .await
    }

    pub async fn json(&mut self, path: &str) -> anyhow::Result<Value> {
        let (status, body) = self.get(path).await?;
        ensure!(status == 200, "{path}: {status} {}", String::from_utf8_lossy(&body));
        Ok(serde_json::from_slice(&body)?)
    }

    pub async fn post(&mut self, path: &str, body: &Value) -> anyhow::Result<(u16, Vec<u8>)> {
        let body = body.to_string();
        let head = "Host: localhost\r\nContent-Type: application/json\r\n";
        let request = format!("POST {path} HTTP/1.1\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len());
        self.exchange(request.as_bytes()).await
    }

    /// Sends a request and reads the whole answer.
    pub async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<(u16, Vec<u8>)> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let head = loop {
            if let Some(at) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the connection ended");
        };
        let text = std::str::from_utf8(&self.buffer[..head])?.to_ascii_lowercase();
        let status = text.get(9..12).context("a status line")?.parse()?;
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
        while self.buffer.len() < head + length {
            ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the connection ended");
        }
        Ok((status, self.buffer[head..head + length].to_vec()))
    }
}
