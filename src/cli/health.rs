//! `fathom health`: asks the service of this machine whether it may get requests. For container health checks, whose
//! images have no HTTP client.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use serde::Deserialize;

use super::{Exit, complain, print};
use crate::{
    config::{Config, Flags},
    net,
};

/// The service waits 2 s for its database before it says that it is not ready.
const TIMEOUT: Duration = Duration::from_secs(4);
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// What `/readyz` answers; its checks are shown as they are.
#[derive(Deserialize)]
struct Readiness {
    status: String,
}

/// Succeeds when the service that listens where these flags and the settings say is ready, else says why not. It asks
/// nothing else of the settings: what runs beside a service may lack its folders and its keys.
pub async fn run(flags: &Flags) -> Exit {
    let address = match Config::listen_address(flags) {
        Ok(listen) => reachable(listen),
        Err(error) => return print::usage(&error.to_string()),
    };
    match ask(address).await {
        Ok(()) => Exit::Success,
        Err(trouble) => {
            complain(&format!("the service at {address} is not ready: {trouble}"));
            Exit::Failed
        }
    }
}

async fn ask(address: SocketAddr) -> Result<(), String> {
    let timeouts = net::Timeouts { total: Some(TIMEOUT), ..net::Timeouts::default() };
    let clients = net::ApiClients::new(timeouts).map_err(|error| error.to_string())?;
    let response = clients.direct().get(format!("http://{address}/readyz")).send().await;
    let response =
        response.map_err(|error| if error.is_timeout() { "no answer" } else { "no connection" }.to_owned())?;
    let status = response.status();
    let body = net::read_body(response, MAX_ANSWER_BYTES).await.unwrap_or_default();
    match serde_json::from_slice::<Readiness>(&body) {
        Ok(readiness) if status.is_success() && readiness.status == "ready" => Ok(()),
        Ok(_) => Err(String::from_utf8_lossy(&body).into_owned()),
        Err(_) => Err(format!("it answers {status} with something else, so another program listens there")),
    }
}

/// Returns the address to ask: a service that listens everywhere also listens on loopback.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everywhere_is_also_here() {
        let check = |listen: &str, expected: &str| assert_eq!(reachable(listen.parse().unwrap()).to_string(), expected);
        check("0.0.0.0:8080", "127.0.0.1:8080");
        check("[::]:8080", "[::1]:8080");
        check("10.1.2.3:80", "10.1.2.3:80");
    }
}
