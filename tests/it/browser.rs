//! A real browser: Debian's Chromium without a window, with a profile of its own, that reaches nothing but this
//! machine.

use std::{process::Stdio, time::Duration};

use axum::{
    Router,
    extract::State as Shared,
    response::Html,
    routing::{get, post},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    net::TcpListener,
    process::{Child, Command},
    sync::mpsc,
    task::JoinSet,
};

/// Chromium, ready for an address and what to do with it. It ends with the command's future, its profile with the
/// value.
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

/// How long the browser may take for what it has to tell.
const PATIENCE: Duration = Duration::from_secs(90);

/// Notes the events it is given under these names, tells when it has the first few, and when the source has closed for
/// good: it comes back by itself after the end of a stream, and a 204 tells it to stop.
const PAGE: &str = r#"<!doctype html><title>reader</title><script>
const seen = [], kinds = {};
const tell = what => fetch("/report", {method: "POST", body: JSON.stringify({what, seen, kinds})});
const source = new EventSource("EVENTS");
const note = event => {
  seen.push(Number(event.lastEventId));
  const kind = JSON.parse(event.data).type;
  kinds[kind] = (kinds[kind] || 0) + 1;
  if (seen.length === 3) tell("begun");
};
for (const name of NAMES) source.addEventListener(name, note);
source.onerror = () => { if (source.readyState === EventSource.CLOSED) tell("closed"); };
</script>"#;

/// A page in a browser that reads one stream with the browser's own `EventSource`.
pub struct Reader {
    listener: Option<TcpListener>,
    /// Where the page comes from.
    pub origin: String,
    reports: Option<mpsc::Receiver<Value>>,
    tasks: JoinSet<()>,
    running: Option<(Browser, Child)>,
}

impl Reader {
    /// Takes an address for the page; the service has to know it before the browser comes.
    pub async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        Self { listener: Some(listener), origin, reports: None, tasks: JoinSet::new(), running: None }
    }

    /// Opens the page, which reads `url` and takes events of these names.
    pub fn open(&mut self, url: &str, names: &[&str]) {
        let page = PAGE.replace("EVENTS", url).replace("NAMES", &json!(names).to_string());
        let (reports, heard) = mpsc::channel::<Value>(8);
        let tell = async |Shared(reports): Shared<mpsc::Sender<Value>>, body: String| {
            let _ = reports.send(serde_json::from_str(&body).unwrap()).await;
        };
        let site =
            Router::new().route("/", get(async move || Html(page))).route("/report", post(tell)).with_state(reports);
        let listener = self.listener.take().expect("it is opened once");
        self.tasks.spawn(async { axum::serve(listener, site).await.unwrap() });
        let mut browser = Browser::new();
        let child = browser.command.arg("--remote-debugging-port=0").arg(&self.origin).spawn().expect(INSTALL);
        self.running = Some((browser, child));
        self.reports = Some(heard);
    }

    /// Waits until the page has reported that: `begun`, or `closed` with everything it has seen.
    pub async fn tells(&mut self, what: &str) -> Value {
        let reports = self.reports.as_mut().expect("it is open");
        let report = tokio::time::timeout(PATIENCE, reports.recv()).await;
        let report = report.unwrap_or_else(|_| panic!("the browser never tells that it has {what}")).unwrap();
        assert_eq!(report["what"], what, "{report}");
        report
    }

    /// Ends the browser.
    pub async fn close(mut self) {
        if let Some((_, mut child)) = self.running.take() {
            child.kill().await.unwrap();
        }
    }
}
