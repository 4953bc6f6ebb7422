//! A few parser processes, reused from document to document and replaced when one of them fails.
//!
//! A document is blamed for the end of its parser only when that parser was a new one: what ends one that has read
//! others may be theirs. A process that somebody else ended (a service that is stopped) blames nobody.

use std::{
    collections::VecDeque,
    fmt, io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::{
    Error, SUBCOMMAND, Settings, Unreadable,
    protocol::{Answer, Hello, Job, MAX_ANSWER_BYTES, MAX_REQUEST_BYTES, VERSION, receive, send},
    turns::{Reader, Turns},
};
use crate::{
    aside::aside_above,
    net,
    telemetry::metrics::{self, ParserEnd},
};

/// The time for a new process to say hello; a busy machine may take its time.
const START_TIME: Duration = Duration::from_secs(30);
/// The time for a process that closed its output to be gone.
const END_TIME: Duration = Duration::from_secs(5);
/// What a process may have done before it is replaced: parsers leave things behind in memory.
const MAX_JOBS: usize = 500;
const MAX_BUSY: Duration = Duration::from_secs(20);
const MAX_BYTES: usize = 32 * 1024 * 1024;
const MAX_HELLO_BYTES: usize = 4 * 1024;
/// The longest answer that is read at once; longer ones are read on a thread of their own.
const READ_HERE: usize = 256 * 1024;
/// The most that is read of what a process says at its end.
const MAX_LAST_WORDS: u64 = 4 * 1024;
/// What ended a parser, remembered; older ones are forgotten.
const MAX_REMEMBERED: usize = 1_000;

/// What a parser process is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    /// Stands in warnings.
    pub name: &'a str,
    pub job: Job,
    pub bytes: &'a [u8],
    /// Counts from when there is a process for it.
    pub limit: Duration,
    pub reader: Reader<'a>,
}

/// Bytes that ended a parser.
#[derive(Debug)]
struct FatalInput {
    job: Job,
    hash: [u8; 32],
    at: Instant,
    error: Error,
}

pub(super) struct Pool {
    settings: Settings,
    turns: Turns,
    /// Held, as the next, to take or put one thing.
    idle: Mutex<Vec<Worker>>,
    fatal: Mutex<VecDeque<FatalInput>>,
    warned_of_limits: AtomicBool,
}

impl fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pool").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// A running parser process; killed when dropped.
struct Worker {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    errors: ChildStderr,
    jobs: usize,
    bytes: usize,
    busy: Duration,
}

/// How a process ended in the middle of a job.
enum End {
    TookTooLong,
    /// By itself or by the system, on account of what it was doing.
    Died(ParserEnd, &'static str),
    /// By a signal that asks to stop.
    Stopped,
    Nonsense,
}

impl Pool {
    pub fn new(settings: Settings) -> Self {
        let turns = Turns::new(settings.processes);
        let (idle, fatal) = (Mutex::default(), Mutex::default());
        Self { settings, turns, idle, fatal, warned_of_limits: AtomicBool::new(false) }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Waits for a free process and has it do the job.
    ///
    /// A page that ended its parser once is refused at once. A document may have taken too long because the machine was
    /// busy, and is tried again; only those that waited while the same bytes failed share that failure.
    ///
    /// # Errors
    /// [`Error::Unreadable`] and [`Error::Unfinished`] when the job ended its process or took too long, [`Error::Busy`]
    /// when no process was free.
    pub async fn ask(&self, request: Request<'_>) -> Result<Answer, Error> {
        if request.bytes.len() > MAX_REQUEST_BYTES {
            return Err(Unreadable::new("it is too large").into());
        }
        let (hash, asked) = (super::hashed(request.bytes).await, Instant::now());
        self.refuse_known(request.job, &hash, asked)?;
        let limit = match request.reader {
            Reader::Run => self.settings.run_wait,
            Reader::Upload(_) => self.settings.upload_wait,
        };
        let turn = self.turns.take(request.reader, limit).await.ok_or(Error::Busy { seconds: limit.as_secs() })?;
        self.refuse_known(request.job, &hash, asked)?;
        let answer = self.parse(&request).await;
        if let Err(error @ (Error::Unreadable(_) | Error::Unfinished(_))) = &answer {
            self.remember(FatalInput { job: request.job, hash, at: Instant::now(), error: error.clone() });
        }
        drop(turn);
        answer
    }

    async fn parse(&self, request: &Request<'_>) -> Result<Answer, Error> {
        let Request { name, job, bytes, limit, .. } = *request;
        if let Some(worker) = self.take_idle() {
            match self.work(worker, job, bytes, limit).await {
                Ok(answer) => return Ok(answer),
                Err(End::TookTooLong) => return Err(blamed(name, &End::TookTooLong, limit)),
                Err(_) => {}
            }
        }
        let worker = self.start().await.map_err(|error| Error::Unavailable(error.to_string()))?;
        match self.work(worker, job, bytes, limit).await {
            Ok(answer) => Ok(answer),
            Err(End::Stopped) => Err(Error::Unavailable("it was stopped".into())),
            Err(end) => Err(blamed(name, &end, limit)),
        }
    }

    /// Refuses bytes that are remembered as the end of a parser.
    ///
    /// # Errors
    /// What was remembered of these bytes: of a document since it was asked for, of a page ever.
    fn refuse_known(&self, job: Job, hash: &[u8; 32], asked: Instant) -> Result<(), Error> {
        let fatal = self.fatal.lock();
        let counts = |known: &&FatalInput| known.job == Job::Plain || known.at >= asked;
        let known = fatal.iter().find(|known| known.job == job && known.hash == *hash);
        known.filter(counts).map_or(Ok(()), |known| Err(known.error.clone()))
    }

    fn remember(&self, new: FatalInput) {
        let mut known = self.fatal.lock();
        known.truncate(MAX_REMEMBERED - 1);
        known.push_front(new);
    }

    fn take_idle(&self) -> Option<Worker> {
        self.idle.lock().pop()
    }

    async fn work(&self, mut worker: Worker, job: Job, bytes: &[u8], limit: Duration) -> Result<Answer, End> {
        let began = Instant::now();
        let answer = match timeout(limit, worker.ask(job, bytes)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(worker.end(&error).await),
            Err(_) => {
                metrics::parser_ended(ParserEnd::Timeout);
                return Err(End::TookTooLong);
            }
        };
        worker.busy += began.elapsed();
        worker.jobs += 1;
        if worker.jobs < MAX_JOBS && worker.bytes < MAX_BYTES && worker.busy < MAX_BUSY {
            self.idle.lock().push(worker);
        }
        Ok(answer)
    }

    async fn start(&self) -> io::Result<Worker> {
        let mut worker = Worker::start(&self.program()?)?;
        let hello = timeout(START_TIME, receive(&mut worker.output, MAX_HELLO_BYTES)).await??;
        let hello: Hello = serde_json::from_slice(&hello)?;
        if hello.fathom_parser != VERSION {
            return Err(io::Error::other("the program is another version by now; restart the service"));
        }
        if !hello.unlimited.is_empty() && !self.warned_of_limits.swap(true, Ordering::Relaxed) {
            let limits = hello.unlimited.join(", ");
            tracing::warn!(limits, "the system forbids parser processes to limit themselves");
        }
        Ok(worker)
    }

    fn program(&self) -> io::Result<PathBuf> {
        // The link leads to the running program even after its file was replaced by a newer one.
        const OWN: &str = "/proc/self/exe";
        match &self.settings.program {
            Some(program) => Ok(program.clone()),
            None if Path::new(OWN).exists() => Ok(OWN.into()),
            None => std::env::current_exe(),
        }
    }
}

impl Worker {
    /// Starts a process in a process group of its own, so that Ctrl-C in a terminal reaches the service alone; without
    /// the environment, which holds keys; in no folder of ours.
    fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg(SUBCOMMAND).env_clear().current_dir("/").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.arg0("fathom").process_group(0);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("it has no standard streams");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let errors = child.stderr.take().ok_or_else(missing)?;
        Ok(Self { child, input, output, errors, jobs: 0, bytes: 0, busy: Duration::ZERO })
    }

    async fn ask(&mut self, job: Job, bytes: &[u8]) -> io::Result<Answer> {
        send(&mut self.input, &serde_json::to_vec(&job)?).await?;
        send(&mut self.input, bytes).await?;
        let answer = receive(&mut self.output, MAX_ANSWER_BYTES).await?;
        self.bytes += bytes.len() + answer.len();
        Ok(aside_above(READ_HERE, answer.len(), move || serde_json::from_slice(&answer))
            .await
            .map_err(io::Error::other)??)
    }

    /// Finds out how it ended, after it failed to answer.
    async fn end(mut self, error: &io::Error) -> End {
        let Ok(Ok(status)) = timeout(END_TIME, self.child.wait()).await else {
            tracing::debug!(%error, "a parser process says something strange");
            metrics::parser_ended(ParserEnd::Nonsense);
            return End::Nonsense;
        };
        let mut words = Vec::new();
        let _ = timeout(END_TIME, self.errors.take(MAX_LAST_WORDS).read_to_end(&mut words)).await;
        let end = explained(status, &String::from_utf8_lossy(&words));
        match &end {
            End::Died(end, _) => metrics::parser_ended(*end),
            _ => metrics::parser_ended(ParserEnd::Stopped),
        }
        end
    }
}

/// Explains an end by what the runtime says when it gives up, or else by how the process ended.
fn explained(status: ExitStatus, last_words: &str) -> End {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None::<i32>;
    // Numbers as on every Unix: 1 HUP, 2 INT, 3 QUIT, 9 KILL, 15 TERM; 24 is XCPU on Linux and macOS.
    match signal {
        _ if last_words.contains("memory allocation") => {
            End::Died(ParserEnd::Memory, "reading it takes too much memory")
        }
        _ if last_words.contains("overflowed its stack") => End::Died(ParserEnd::Nesting, "it is nested too deeply"),
        Some(1 | 2 | 3 | 15) => End::Stopped,
        Some(24) => End::Died(ParserEnd::Timeout, "reading it takes too long"),
        Some(9) => End::Died(ParserEnd::Killed, "the system ended its parser, as it does when memory is short"),
        _ => {
            tracing::debug!(%status, "a parser process ended");
            End::Died(ParserEnd::Crash, "it ended its parser")
        }
    }
}

/// Returns the document's fault, said in the log with its name. How long it takes, and whether the system ends its
/// parser, depends on what else the machine does; all else will be the same next time.
fn blamed(name: &str, end: &End, limit: Duration) -> Error {
    let reason = match end {
        End::TookTooLong => format!("could not read it within {} s", limit.as_secs()),
        End::Died(_, reason) => (*reason).to_owned(),
        End::Stopped | End::Nonsense => "its parser answered nonsense".to_owned(),
    };
    tracing::warn!(document = %net::shown_name(name), reason, "a document ended its parser and is passed over");
    let unreadable = Unreadable::new(reason);
    match end {
        End::Died(ParserEnd::Memory | ParserEnd::Nesting | ParserEnd::Crash, _) => Error::Unreadable(unreadable),
        _ => Error::Unfinished(unreadable),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::pages::Format;

    /// What a parser says first.
    const HELLO: &str = r#"printf '\042\000\000\000{"fathom_parser":2,"unlimited":[]}'"#;
    /// Reads [`JOB`] on [`PAGE`].
    const TAKE: &str = "head -c 18 >/dev/null";
    const ANSWER: &str = r#"printf '\020\000\000\000{"Plain":"text"}'"#;
    const JOB: Job = Job::Plain;
    const PAGE: &[u8] = b"<p>";
    const LONG: Duration = Duration::from_secs(60);
    const REQUEST: Request<'static> = Request { name: "page", job: JOB, bytes: PAGE, limit: LONG, reader: Reader::Run };

    /// A pool of one process whose program is a shell script.
    struct Scripted {
        pool: Pool,
        folder: TempDir,
    }

    impl Scripted {
        fn new(lines: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let (text, program) = (folder.path().join("text"), folder.path().join("program"));
            let starts = folder.path().join("starts");
            std::fs::write(&text, format!("#!/bin/sh\necho >>'{}'\n{}\n", starts.display(), lines.join("\n"))).unwrap();
            // Copied by another process: a program that this one has open for writing, or a child it just forked,
            // cannot be started.
            let copied = std::process::Command::new("install").arg("-m755").args([&text, &program]).status().unwrap();
            assert!(copied.success());
            let settings = Settings { program: Some(program), processes: 1, ..Settings::default() };
            Self { pool: Pool::new(settings), folder }
        }

        async fn ask(&self, limit: Duration) -> Result<String, Error> {
            match self.pool.ask(Request { limit, ..REQUEST }).await? {
                Answer::Plain(text) => Ok(text),
                other => panic!("{other:?}"),
            }
        }

        /// Returns how many processes were started.
        fn starts(&self) -> usize {
            std::fs::read_to_string(self.folder.path().join("starts")).unwrap().lines().count()
        }
    }

    fn unfinished(answer: Result<String, Error>) -> String {
        match answer {
            Err(Error::Unfinished(unreadable)) => unreadable.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_document_that_takes_too_long_is_unreadable_to_every_parser() {
        let used = Scripted::new(&[HELLO, TAKE, ANSWER, TAKE, "exec sleep 600"]);
        assert_eq!(used.ask(LONG).await.unwrap(), "text");
        let reason = unfinished(used.ask(Duration::from_millis(50)).await);
        assert_eq!((reason.as_str(), used.starts()), ("could not read it within 0 s", 1), "it is not tried again");
        let new = Scripted::new(&[HELLO, TAKE, "exec sleep 600"]);
        unfinished(new.ask(Duration::from_millis(50)).await);
    }

    #[tokio::test]
    async fn a_long_answer_is_read_like_a_short_one() {
        let length = READ_HERE + 12;
        let [a, b, c, d] = u32::try_from(length).unwrap().to_le_bytes();
        let head = format!(r#"printf '\{a:03o}\{b:03o}\{c:03o}\{d:03o}{{"Plain":"'"#);
        let text = format!("head -c {READ_HERE} /dev/zero | tr '\\000' x");
        let pool = Scripted::new(&[HELLO, TAKE, &head, &text, r#"printf '"}'"#, TAKE]);
        assert_eq!(pool.ask(LONG).await.unwrap(), "x".repeat(READ_HERE));
        let torn = Scripted::new(&[HELLO, TAKE, &head, &text, r#"printf '  '"#, TAKE]);
        assert!(torn.ask(LONG).await.is_err());
    }

    #[tokio::test]
    async fn the_death_of_a_used_process_is_not_the_fault_of_its_last_document() {
        let pool = Scripted::new(&[HELLO, TAKE, ANSWER, TAKE, "kill -KILL $$"]);
        for starts in 1..=3 {
            assert_eq!(pool.ask(LONG).await.unwrap(), "text");
            assert_eq!(pool.starts(), starts, "each dies of its second document, which a new one reads");
        }
    }

    #[tokio::test]
    async fn the_death_of_a_new_process_is_the_fault_of_its_document() {
        let pool = Scripted::new(&[HELLO, TAKE, "kill -KILL $$"]);
        let reason = unfinished(pool.ask(LONG).await);
        assert!(reason.contains("the system ended its parser"), "{reason}");
        assert_eq!(pool.starts(), 1);
    }

    #[tokio::test]
    async fn a_process_that_is_stopped_blames_nobody() {
        let pool = Scripted::new(&[HELLO, TAKE, "kill -TERM $$"]);
        let stopped = pool.ask(LONG).await;
        assert!(matches!(stopped, Err(Error::Unavailable(_))), "{stopped:?}");
    }

    #[tokio::test]
    async fn what_fails_while_the_same_waits_fails_once() {
        let pool = Scripted::new(&[HELLO, "exec sleep 600"]);
        let document = Request { job: Job::Document(Format::Text), limit: Duration::from_millis(50), ..REQUEST };
        let both = tokio::join!(pool.pool.ask(document), pool.pool.ask(document));
        assert!(matches!(both, (Err(Error::Unfinished(_)), Err(Error::Unfinished(_)))), "{both:?}");
        assert_eq!(pool.starts(), 1);
        assert!(pool.pool.ask(document).await.is_err());
        assert_eq!(pool.starts(), 2, "a document that is given again is read again");
        let page = Request { job: JOB, ..document };
        assert!(pool.pool.ask(page).await.is_err() && pool.pool.ask(page).await.is_err());
        assert_eq!(pool.starts(), 3, "a page that failed is not");
    }

    #[tokio::test]
    async fn nobody_waits_for_a_parser_without_a_bound() {
        let pool = Scripted::new(&[HELLO, "exec sleep 600"]);
        let limit = Duration::from_millis(50);
        let pool = Pool::new(Settings { upload_wait: limit, ..pool.pool.settings.clone() });
        let first = Request { limit: LONG, ..REQUEST };
        let owner = crate::domain::Owner::local();
        let second = Request { bytes: b"<p>2", reader: Reader::Upload(&owner), ..REQUEST };
        tokio::select! {
            biased;
            answer = pool.ask(first) => panic!("{answer:?}"),
            refused = pool.ask(second) => assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}"),
        }
    }
}
