//! A probe of `/healthz` on a thread of its own, so that it measures the service and not the test's runtime.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const PAUSE: Duration = Duration::from_millis(50);
/// What the service promises, held for the median: the machine of the tests is shared, and single answers are late
/// for reasons of its own.
const PROMISED: Duration = Duration::from_millis(200);
/// What every single answer must keep, on a machine that does much else and with an unoptimised build.
const LIMIT: Duration = Duration::from_secs(20);

type Answers = Arc<Mutex<Vec<Result<Duration, String>>>>;

/// Asks until it is dropped.
pub struct Health {
    answers: Answers,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Health {
    pub fn watch(address: String) -> Self {
        let (answers, stop) = (Answers::default(), Arc::<AtomicBool>::default());
        let (kept, stopped) = (Arc::clone(&answers), Arc::clone(&stop));
        let watch = move || {
            while !stopped.load(Ordering::Relaxed) {
                let answer = probe(&address);
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
                thread::sleep(PAUSE);
            }
        };
        Self { answers, stop, thread: Some(thread::spawn(watch)) }
    }

    /// Every probe was answered, half of them as fast as promised.
    pub fn assert_good(&mut self, log: &str) {
        self.end();
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let failed: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        assert!(failed.is_empty(), "{} of {} probes failed: {failed:?}\n{log}", failed.len(), answers.len());
        let mut times: Vec<Duration> = answers.iter().filter_map(|answer| answer.as_ref().ok().copied()).collect();
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().expect("it was probed");
        assert!(median <= PROMISED, "half of {} probes took longer than {median:?}\n{log}", times.len());
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the probe does not panic");
        }
    }
}

impl Drop for Health {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn probe(address: &str) -> Result<Duration, String> {
    let began = Instant::now();
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(LIMIT))?;
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    match ask() {
        Ok(answer) if answer.starts_with("HTTP/1.1 200") && began.elapsed() <= LIMIT => Ok(began.elapsed()),
        Ok(answer) => Err(format!("after {:?}: {:?}", began.elapsed(), answer.lines().next())),
        Err(error) => Err(format!("after {:?}: {error}", began.elapsed())),
    }
}
