//! One connection to a server: opened within a time limit, its program in a process group of its own, closed for good.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    process::Stdio,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    model::ProtocolVersion,
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, RunningService},
    transport::{
        StreamableHttpClientTransport, async_rw::AsyncRwTransport,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::{
    io::{AsyncBufRead, AsyncRead, AsyncReadExt as _, BufReader, ReadBuf},
    process::{Child, Command},
    task::JoinSet,
    time::timeout,
};

use super::{
    Error, Server, Way, error,
    handler::{Handler, Notices},
    raw,
    secrets::Secrets,
};
use crate::{
    net::{self, ApiClients, Reach, Timeouts},
    process::{STARTED_BY, end_started_as, this_process},
};

/// The time from the start of a server to the end of its greeting.
const CONNECT_TIME: Duration = Duration::from_secs(30);
/// The time for an orderly end, before the process group is killed.
const CLOSE_TIME: Duration = Duration::from_secs(2);
/// How long the end of a program, and of what it said, is waited for once it does not answer.
const MOMENT: Duration = Duration::from_millis(500);
/// The time after which the SDK no longer waits for the answer to its first question, whether a server has the newest
/// protocol, and greets it by the older one.
const GIVEN_UP: Duration = Duration::from_secs(10);
/// The largest message.
pub(super) const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// What a server did that sent a larger one.
const TOO_LONG: &str = "sent a message of more than 4 MiB";
/// The most that one program may write.
const MAX_STREAM_BYTES: u64 = 64 * 1024 * 1024;
/// What a server did that wrote more.
const TOO_MUCH: &str = "sent more than 64 MiB";
/// The end of what a program writes to its standard error that is kept for the text of an error.
const LAST_WORDS_BYTES: usize = 16 * 1024;
/// The variables that a program gets beside what its settings name.
pub const INHERITED: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ"];

/// An open connection; dropping it kills the server's process group.
pub(super) struct Connection {
    service: RunningService<RoleClient, Handler>,
    pub notices: Arc<Notices>,
    pub since: Instant,
    process: Option<Process>,
}

impl Connection {
    /// Opens a connection to the server. A token that is granted for it joins the secrets.
    ///
    /// # Errors
    /// Why it could not be opened, without secrets.
    pub async fn open(server: &Server, secrets: &Secrets) -> Result<Self, Error> {
        let notices = Arc::new(Notices::default());
        let handler = Handler(Arc::clone(&notices));
        let (service, process) = match &server.way {
            Way::Http { .. } => {
                let transport = http(server, secrets).await.map_err(|error| secrets.scrub(error))?;
                (greet(handler, transport).await.map_err(|failed| failed.error), None)
            }
            Way::Stdio { .. } => {
                let (mut process, transport) = Process::start(server, Arc::clone(&notices))?;
                match greet(handler, transport).await {
                    Ok(service) => (Ok(service), Some(process)),
                    Err(failed) => return Err(secrets.scrub(process.explain(failed.error, failed.by_server).await)),
                }
            }
        };
        let service = service.map_err(|error| secrets.scrub(error))?;
        notices.stop_with(service.cancellation_token());
        Ok(Self { service, notices, since: Instant::now(), process })
    }

    pub fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    /// Returns why it is of no use any more: how its program ended and what that said last, if it has one.
    pub async fn explain(mut self, error: Error) -> Error {
        match (&mut self.process, error) {
            (Some(process), error @ Error::Unavailable(_)) => process.explain(error, true).await,
            (_, error) => error,
        }
    }

    /// Ends it in order: the session is given back, a program sees the end of its input and has a moment.
    pub async fn close(mut self) {
        // What does not end in time is dropped, which kills it.
        let _ = timeout(CLOSE_TIME, self.service.close()).await;
        if let Some(process) = &mut self.process {
            let _ = timeout(CLOSE_TIME, process.child.wait()).await;
        }
    }
}

/// A greeting that failed.
struct Ungreeted {
    error: Error,
    /// The server ended the connection; else we did, and a program may have ended of that.
    by_server: bool,
}

/// Returns the greeting, by the newest protocol or an older one.
async fn greet<T, E, A>(handler: Handler, transport: T) -> Result<RunningService<RoleClient, Handler>, Ungreeted>
where
    T: rmcp::transport::IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = ClientLifecycleMode::Auto { preferred_versions, legacy_version: None };
    match timeout(CONNECT_TIME, handler.serve_with_lifecycle(transport, lifecycle)).await {
        Err(_) => {
            let error = Error::Unavailable(format!("it did not answer within {} s", CONNECT_TIME.as_secs()));
            Err(Ungreeted { error, by_server: false })
        }
        Ok(Err(error)) => Err(Ungreeted { error: initialization(&error), by_server: is_by_server(&error) }),
        Ok(Ok(service)) => Ok(service),
    }
}

fn is_by_server(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_by_server(fallback),
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => true,
        _ => false,
    }
}

/// Puts a failed start into words; the SDK's own repeat whole messages.
fn initialization(error: &ClientInitializeError) -> Error {
    Error::Unavailable(match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return initialization(fallback),
        ClientInitializeError::TransportError { error, .. } if super::wants_token(error) => return Error::NeedsToken,
        ClientInitializeError::JsonRpcError(error) => return error::refused(error),
        ClientInitializeError::ConnectionClosed(_) => "it ended the connection".to_owned(),
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            "it does not answer as an MCP server does".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => {
            error::HttpAnswer::of(error).map_or_else(|| error::chain(error), error::HttpAnswer::words)
        }
        other => other.to_string(),
    })
}

async fn http(server: &Server, secrets: &Secrets) -> Result<StreamableHttpClientTransport<raw::Client>, Error> {
    let Way::Http { url, headers, bearer, oauth, reach } = &server.way else {
        return Err(Error::Unavailable("it has no address".to_owned()));
    };
    let timeouts = Timeouts {
        connect: Duration::from_secs(10),
        // Calls have limits of their own; these end what is left of them.
        total: Some(server.max_time + CONNECT_TIME),
        idle: Some(server.timeout + CONNECT_TIME),
    };
    let client = match reach {
        Reach::All => ApiClients::within_origin(timeouts).map(|clients| clients.for_url(url).clone()),
        Reach::Public(_) if !reach.covers(url) => {
            return Err(Error::Unavailable("its address is not a public one".to_owned()));
        }
        Reach::Public(_) => net::guarded_within_origin(timeouts, reach.clone()),
    };
    let client = client.map_err(|error| Error::Unavailable(error.to_string()))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).max_sse_event_size(MAX_MESSAGE_BYTES);
    let granted = match oauth {
        Some(oauth) => Some(oauth.token(url).await?),
        None => None,
    };
    if let Some(bearer) = granted.as_ref().or(bearer.as_ref()) {
        config = config.auth_header(bearer.expose_secret());
    }
    granted.into_iter().for_each(|token| secrets.add(token));
    let headers = headers.iter().filter_map(|(name, value)| {
        let mut value = reqwest::header::HeaderValue::from_str(value.expose_secret()).ok()?;
        value.set_sensitive(true);
        Some((name.clone(), value))
    });
    Ok(StreamableHttpClientTransport::with_client(raw::Client(client), config.custom_headers(headers.collect())))
}

/// A server's program, the leader of a process group; dropping it kills the group.
struct Process {
    child: Child,
    /// Of the group, too. Kept, since a child that was waited for has none.
    id: Option<u32>,
    /// What it and its children say of who started them; no other program has this name.
    name: String,
    notices: Arc<Notices>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinSet<()>,
}

type Output = Lines<BufReader<tokio::process::ChildStdout>>;
type Pipes = AsyncRwTransport<RoleClient, Output, tokio::process::ChildStdin>;

/// What a program writes, a message in a line, whole lines at a time. One that is too long ends the connection: the SDK
/// would drop it in silence, and its call would wait for the whole time limit. The answer of a slow program to the
/// first question is passed over: the SDK has asked the next one by then, and would take it for the answer to that.
struct Lines<R> {
    output: R,
    begun: tokio::time::Instant,
    line: Vec<u8>,
    /// How much of the line was handed on; nothing is, as long as it is not whole.
    passed_on: Option<usize>,
    /// Bytes that the program may still write.
    left: u64,
    notices: Arc<Notices>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    fn new(output: R, notices: Arc<Notices>) -> Self {
        Self {
            output,
            begun: tokio::time::Instant::now(),
            line: Vec::new(),
            passed_on: None,
            left: MAX_STREAM_BYTES,
            notices,
        }
    }

    /// Reads the line to its end, or to the end of all.
    fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let available = ready!(Pin::new(&mut self.output).poll_fill_buf(cx))?;
            let end = memchr::memchr(b'\n', available);
            let taken = end.map_or(available.len(), |end| end + 1);
            self.line.extend_from_slice(&available[..taken]);
            Pin::new(&mut self.output).consume(taken);
            self.left = self.left.saturating_sub(taken as u64);
            let too_much = match self.line.len() {
                MAX_MESSAGE_BYTES.. => Some(TOO_LONG),
                _ if self.left == 0 => Some(TOO_MUCH),
                _ => None,
            };
            if let Some(too_much) = too_much {
                self.notices.cut_off_for(too_much);
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, too_much)));
            }
            if end.is_some() || taken == 0 {
                let line = std::mem::take(&mut self.line);
                if self.begun.elapsed() >= GIVEN_UP && raw::is_answer_to_first(&line) {
                    continue;
                }
                self.line = raw::readable(line);
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<R: AsyncBufRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let begin = match this.passed_on {
            Some(begin) => begin,
            None => {
                ready!(this.poll_line(cx))?;
                0
            }
        };
        let end = this.line.len().min(begin + buffer.remaining());
        buffer.put_slice(&this.line[begin..end]);
        this.passed_on = Some(end);
        if end == this.line.len() {
            this.line.clear();
            this.passed_on = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl Process {
    fn start(server: &Server, notices: Arc<Notices>) -> Result<(Self, Pipes), Error> {
        let Way::Stdio { program, arguments, environment, folder } = &server.way else {
            return Err(Error::Unavailable("it has no command".to_owned()));
        };
        let (name, mut command) = (this_process(), Command::new(program));
        command
            .args(arguments.iter().map(SecretString::expose_secret))
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value.expose_secret())))
            // Should this process be killed, the next one finds what nobody ends any more.
            .env(STARTED_BY, &name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command.current_dir(folder.clone().unwrap_or_else(std::env::temp_dir));
        let failed = |error: io::Error| Error::Unavailable(format!("{program} could not be started: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(Error::Unavailable("its standard streams are missing".to_owned()));
        };
        let last_words = Arc::new(Mutex::default());
        let mut reader = JoinSet::new();
        reader.spawn(keep_last(stderr, Arc::clone(&last_words)));
        let output = Lines::new(BufReader::new(stdout), Arc::clone(&notices));
        let transport = AsyncRwTransport::new(output, stdin);
        let process = Self { id: child.id(), name, child, notices, last_words, reader };
        Ok((process, transport.with_max_line_length(MAX_MESSAGE_BYTES)))
    }

    /// Returns the error with what the program said last; that alone explains a program that ended.
    async fn explain(&mut self, error: Error, by_server: bool) -> Error {
        if let Some(what) = self.notices.cut_off() {
            return error::cut_off(what);
        }
        let ended = timeout(MOMENT, self.child.wait()).await;
        if ended.is_ok() {
            // What it said last may not have been read yet; a child of its own may still hold the stream.
            let _ = timeout(MOMENT, self.reader.join_next()).await;
        }
        let last = last_lines(self.last_words.lock().make_contiguous());
        let said = if last.is_empty() { String::new() } else { format!("; it said: {last}") };
        match ended {
            Ok(Ok(status)) if by_server => Error::Unavailable(format!("its program ended ({status}){said}")),
            _ => Error::Unavailable(format!("{error}{said}")),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The group outlives its leader when `npx` or a shell started the real server. `kill_on_drop` ends and reaps
        // the leader alone; a group that is gone already is no trouble.
        #[cfg(unix)]
        if let Some(pid) = self.id.and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?)) {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
        // Some have left the group.
        end_started_as(&self.name);
    }
}

/// Returns the last three lines of what was kept. What has lost its beginning may begin within a secret, so its first
/// line is left out.
fn last_lines(kept: &[u8]) -> String {
    let words = String::from_utf8_lossy(kept);
    let is_whole = kept.len() < LAST_WORDS_BYTES;
    let whole = if is_whole { &*words } else { words.split_once('\n').map_or("", |(_, rest)| rest) };
    let lines: Vec<&str> = whole.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}

/// Reads to the end, so that the program never waits for us, and keeps the last bytes.
async fn keep_last(mut from: impl AsyncRead + Unpin, kept: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let mut kept = kept.lock();
        kept.extend(&buffer[..read]);
        let excess = kept.len().saturating_sub(LAST_WORDS_BYTES);
        kept.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn passed_on(written: &[u8], left: u64) -> (io::Result<Vec<u8>>, Option<&'static str>) {
        let notices = Arc::new(Notices::default());
        let lines = Lines::new(BufReader::with_capacity(7, written), Arc::clone(&notices));
        let mut read = Vec::new();
        let done = Lines { left, ..lines }.read_to_end(&mut read).await.map(|_| read);
        (done, notices.cut_off())
    }

    /// A program may take its time to start: `npx` fetches it first.
    #[tokio::test(start_paused = true)]
    async fn the_late_answer_of_a_slow_program_is_passed_over() {
        let first = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no such method"}}"#;
        let others =
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
        let written = format!("{first}\n{others}");
        for (wait, expected) in [(GIVEN_UP - Duration::from_millis(1), &*written), (GIVEN_UP, others)] {
            let mut lines = Lines::new(BufReader::with_capacity(7, written.as_bytes()), Arc::default());
            tokio::time::advance(wait).await;
            let mut read = String::new();
            lines.read_to_string(&mut read).await.unwrap();
            assert_eq!(read, expected);
        }
    }

    #[tokio::test]
    async fn lines_are_passed_on_whole_and_readable() {
        let check = async |written: &str, expected: &str| {
            let (read, cut_off) = passed_on(written.as_bytes(), MAX_STREAM_BYTES).await;
            assert_eq!((String::from_utf8(read.unwrap()).unwrap().as_str(), cut_off), (expected, None));
        };
        check("", "").await;
        check("{\"a\": 1}\n\n{\"b\": 2}", "{\"a\": 1}\n\n{\"b\": 2}").await;
        check(
            "{\"a\": \"\\ud83d\"}\n{\"b\": \"\\ud83d\\ude00\"}\n",
            "{\"a\": \"\u{FFFD}\"}\n{\"b\": \"\\ud83d\\ude00\"}\n",
        )
        .await;
        let (read, cut_off) = passed_on(b"12345\n67890\n", 9).await;
        assert_eq!((read.is_err(), cut_off), (true, Some(TOO_MUCH)));
        let long = vec![b'x'; MAX_MESSAGE_BYTES + 1];
        let (read, cut_off) = passed_on(&long, MAX_STREAM_BYTES).await;
        assert_eq!((read.is_err(), cut_off), (true, Some(TOO_LONG)));
    }

    /// Returns whether there is a process of that number; the remains of one are none.
    #[cfg(target_os = "linux")]
    fn is_alive(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_has_left_the_group_of_a_program_ends_with_it() {
        let server = serde_json::json!([{"name": "a", "command": "sh",
            "args": ["-c", "setsid sh -c 'echo $$ >&2; exec sleep 60' & cat"]}]);
        let server = super::super::read(&server, &|_| None).unwrap().remove(0);
        let until = async |is_so: &dyn Fn() -> bool| {
            let waited = timeout(CONNECT_TIME, async {
                while !is_so() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            });
            waited.await.unwrap();
        };
        let (process, pipes) = Process::start(&server, Arc::default()).unwrap();
        let said = || last_lines(process.last_words.lock().make_contiguous());
        until(&|| !said().is_empty()).await;
        let child = said();
        assert!(is_alive(&child), "{child}");
        drop((process, pipes));
        until(&|| !is_alive(&child)).await;
    }

    #[test]
    fn last_words_begin_with_a_whole_line() {
        assert_eq!(last_lines(b"1\n2\n\n 3\n4"), "2 / 3 / 4");
        let cut = format!("{}-s3cret\nno database", "x".repeat(LAST_WORDS_BYTES));
        assert_eq!(last_lines(cut.as_bytes()), "no database");
        assert_eq!(last_lines(&[b'x'; LAST_WORDS_BYTES]), "");
    }
}
