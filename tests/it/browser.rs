//! A real browser: Debian's Chromium without a window, with a profile of its own, that reaches nothing but this machine.

use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::Command;

/// Chromium, ready for an address and what to do with it. It ends with the command's future, its profile with the value.
pub struct Browser {
    pub command: Command,
    _profile: TempDir,
}

impl Browser {
    pub fn new() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new("chromium");
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-default-apps", "--no-default-browser-check", "--enable-logging=stderr"])
            // No name leads anywhere, whatever the page asks for.
            .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        Self { command, _profile: profile }
    }
}

/// Why starting it failed, most likely.
pub const INSTALL: &str = "Debian's chromium is installed (scripts/test.sh does it)";
