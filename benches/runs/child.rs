//! This program, started again in another role: talks in JSON lines, and is looked at through `/proc`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{self, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, ensure};
use serde::{Serialize, de::DeserializeOwned};

/// Ticks of a second in `/proc/PID/stat`: 100 on every Linux there is.
const TICK_MS: f64 = 10.0;

/// A started role. Its input closes with the value, and then it ends.
pub struct Child {
    process: process::Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Child {
    /// Starts this program with `arguments` and nothing in its environment but `PATH` and `environment`.
    pub fn start(arguments: &[&str], environment: Vec<(String, String)>) -> anyhow::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take().context("the child has an input")?;
        let output = BufReader::new(process.stdout.take().context("the child has an output")?);
        Ok(Self { process, input, output })
    }

    /// Waits for the next line.
    pub fn hear<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(!line.is_empty(), "it ended without an answer");
        serde_json::from_str(&line).with_context(|| format!("it said: {line}"))
    }

    /// Sends a line and waits for the answer.
    pub fn ask<T: DeserializeOwned>(&mut self, question: &impl Serialize) -> anyhow::Result<T> {
        writeln!(self.input, "{}", serde_json::to_string(question)?)?;
        self.hear()
    }

    /// Processor time of all its threads so far.
    pub fn cpu_ms(&self) -> anyhow::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        // Fields are counted behind the name in parentheses, which may contain anything (proc_pid_stat(5)).
        let (_, fields) = stat.rsplit_once(')').context("/proc/PID/stat has a name")?;
        let ticks: f64 = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
        Ok(ticks * TICK_MS)
    }

    /// `VmRSS` or `VmHWM`, in MB of a million bytes.
    pub fn memory_mb(&self, name: &str) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kib: f64 = line.and_then(|line| line.trim().strip_suffix(" kB")).context("/proc/PID/status")?.parse()?;
        Ok(kib * 1.024 / 1_000.0)
    }

    /// Closes its input and waits for its end.
    pub fn end(self) -> anyhow::Result<()> {
        let Self { mut process, input, output } = self;
        drop(input);
        let status = process.wait()?;
        drop(output);
        ensure!(status.success(), "a child ended with {status}");
        Ok(())
    }
}

/// A child's side: the lines of its standard input, until that closes. Ends the process after [`crate::LIMIT`].
pub fn questions() -> tokio::sync::mpsc::Receiver<String> {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(|| {
        std::thread::sleep(crate::LIMIT);
        eprintln!("the benchmark took too long");
        process::exit(1);
    });
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A child's side: says one line.
pub fn say(value: &impl Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string(value)?);
    Ok(())
}
