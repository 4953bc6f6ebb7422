//! Ports for servers that cannot be asked which one they took.

use std::{
    net::TcpListener,
    process,
    sync::atomic::{AtomicU16, Ordering},
};

/// Below the ports that systems give to connections (32768 on Linux, 49152 elsewhere): one of those would be taken by
/// somebody's connection before the server is there.
const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// Returns a port of 127.0.0.1 that nobody listens on, another one each time. Programs that run at the same time mostly
/// begin at different places, 97 ports apart.
pub fn free() -> u16 {
    let begins = u16::try_from(process::id() % 206 * 97).unwrap();
    (0..COUNT)
        .map(|_| FIRST + begins.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("some port of many is free")
}
