//! A fake MCP server in Python, over either transport, and what it was asked.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/world/mcp.py");

/// How the server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    Http,
}

/// A server; one over HTTP is a process of the test, one on standard streams is started by the service.
pub struct FakeMcp {
    log: PathBuf,
    mode: &'static str,
    http: Option<(Child, u16)>,
}

impl FakeMcp {
    /// Sets up the server, and starts it if it speaks HTTP. `folder` gets its log; the modes are in the script.
    pub fn start(folder: &Path, name: &str, transport: Transport, mode: &'static str) -> Self {
        let log = folder.join(format!("{name}.mcp.jsonl"));
        let http = (transport == Transport::Http).then(|| {
            let mut command = Command::new("python3");
            command.args([SCRIPT, "http", mode]).env("FAKE_MCP_LOG", &log).stdout(Stdio::piped());
            let mut child = command.spawn().expect("python3 starts");
            let mut line = String::new();
            let output = child.stdout.take().expect("it is piped");
            BufReader::new(output).read_line(&mut line).expect("it says its port");
            (child, line.trim().parse().expect("a port"))
        });
        Self { log, mode, http }
    }

    /// Returns the server as a settings file has it.
    pub fn settings(&self) -> Value {
        match &self.http {
            Some((_, port)) => json!({"url": format!("http://127.0.0.1:{port}/mcp")}),
            None => json!({
                "command": "python3", "args": [SCRIPT, "stdio", self.mode],
                "env": {"FAKE_MCP_LOG": self.log, "REGISTER_KEY": "hunter2-secret"},
            }),
        }
    }

    /// Returns the origin, of one over HTTP.
    pub fn origin(&self) -> String {
        self.http.as_ref().map(|(_, port)| format!("http://127.0.0.1:{port}")).unwrap_or_default()
    }

    /// Returns the requests it got, in order.
    pub fn asked(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Returns how many requests of that method it got.
    pub fn count(&self, method: &str) -> usize {
        self.asked().iter().filter(|request| request["method"] == method).count()
    }
}

impl Drop for FakeMcp {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.http {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
