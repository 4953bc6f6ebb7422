//! The real binary in the background: wait for what it says, end it politely or not at all politely.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use tokio::process::{Child, Command};

/// How long a test waits for a process before it gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A started process whose output goes to files; killed when dropped.
pub struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    /// Starts `command`, its output in files of its own inside `folder`.
    pub fn spawn(mut command: Command, folder: &Path) -> Self {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let n = STARTED.fetch_add(1, Ordering::Relaxed);
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| folder.join(format!("{name}.{n}")));
        let file = |path: &Path| File::create(path).expect("the world's folder can be written");
        let child = command
            .stdin(Stdio::null())
            .stdout(file(&stdout))
            .stderr(file(&stderr))
            .kill_on_drop(true)
            .spawn()
            .expect("the binary can be started");
        Self { child, stdout, stderr }
    }

    /// Returns the process id; `None` once the process has been waited for.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Returns everything the process has written to its standard output.
    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap_or_default()
    }

    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// Waits until it has said `needle`, and returns the line around it, the last one if there are more.
    pub async fn says(&mut self, needle: &str) -> String {
        let line = |text: String| text.lines().rev().find(|line| line.contains(needle)).map(str::to_owned);
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let over = self.child.try_wait().expect("a child can be asked").is_some();
            if let Some(line) = line(self.stdout()).or_else(|| line(self.stderr())) {
                return line;
            }
            let late = tokio::time::Instant::now() > deadline;
            assert!(!over && !late, "it never said {needle:?}:\n{}\n{}", self.stdout(), self.stderr());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits for its end.
    pub async fn ends(&mut self) -> ExitStatus {
        let end = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        end.unwrap_or_else(|_| panic!("it does not end:\n{}\n{}", self.stdout(), self.stderr()))
            .expect("a child can be waited for")
    }

    /// Ends the process with SIGKILL, as a crash would.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("a child can be killed");
    }

    /// Sends SIGTERM; await [`Self::ends`] next.
    pub async fn terminate(&self) {
        self.signal("TERM").await;
    }

    /// Sends the signal of that name (`TERM`, `INT`, `STOP`, `CONT`).
    pub async fn signal(&self, name: &str) {
        let id = self.id().expect("it is still there");
        let command = format!("kill -{name} {id}");
        let status = Command::new("sh").args(["-c", &command]).status().await.expect("there is a shell");
        assert!(status.success(), "{command} failed");
    }
}
