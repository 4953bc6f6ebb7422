//! A probe of `/healthz` on threads of its own, so that it measures the service and not the test's runtime.
//!
//! The machine of the tests is shared, and an answer may be late for its reasons. So a control is asked at the same
//! time: a listener that does nothing but answer. An answer of the service may be late only when the control's are.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

const PAUSE: Duration = Duration::from_millis(50);
/// What the service promises.
const PROMISED: Duration = Duration::from_millis(200);
/// An answer of the service takes so many turns on a processor where the control's takes one: a thread accepts and
/// reads, one answers, one writes, and the build is not optimised.
const TURNS: u32 = 5;
/// Of a hundred answers so many may be late all the same.
const FORGIVEN: usize = 2;
/// No answer takes longer, whatever the machine does.
const LIMIT: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
struct Answer {
    began: Instant,
    took: Duration,
    /// What was wrong with it.
    trouble: Option<String>,
}

type Answers = Arc<Mutex<Vec<Answer>>>;

/// Asks until it is dropped.
pub struct Health {
    service: Answers,
    control: Answers,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Health {
    pub fn watch(address: String) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let (service, control) = (Answers::default(), Answers::default());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let beside = listener.local_addr().expect("it is bound").to_string();
        let threads = vec![
            answering(listener, Arc::clone(&stop)),
            asking(address, Arc::clone(&service), Arc::clone(&stop)),
            asking(beside, Arc::clone(&control), Arc::clone(&stop)),
        ];
        Self { service, control, stop, threads }
    }

    /// Every probe was answered, and in time unless the control was late at that time.
    pub fn assert_good(&mut self, log: &str) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("the probe does not panic");
        }
        let service = self.service.lock();
        let control = self.control.lock();
        let failed: Vec<_> = service.iter().filter(|answer| answer.trouble.is_some()).collect();
        assert!(failed.is_empty(), "{} of {} probes failed: {failed:?}\n{log}", failed.len(), service.len());
        let late: Vec<_> = service.iter().filter(|answer| answer.took > allowed(answer, &control)).collect();
        let forgiven = 1 + service.len() * FORGIVEN / 100;
        let slowest = control.iter().map(|answer| answer.took).max();
        assert!(
            late.len() <= forgiven,
            "{} of {} answers were late, the slowest of the control took {slowest:?}: {late:?}\n{log}",
            late.len(),
            service.len()
        );
    }
}

impl Drop for Health {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// What an answer may take: what is promised, and its turns as far as the machine made the control wait for one.
fn allowed(answer: &Answer, control: &[Answer]) -> Duration {
    let end = answer.began + answer.took;
    let beside = control.iter().filter(|beside| beside.began <= end && beside.began + beside.took >= answer.began);
    PROMISED + beside.map(|beside| beside.took).max().unwrap_or(PROMISED) * TURNS
}

/// The control: answers everybody who asks.
fn answering(listener: TcpListener, stop: Arc<AtomicBool>) -> JoinHandle<()> {
    listener.set_nonblocking(true).expect("a listener can be polled");
    let answer = |mut stream: TcpStream| -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let _ = stream.read(&mut [0; 1024])?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    };
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => drop(answer(stream)),
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
    })
}

fn asking(address: String, answers: Answers, stop: Arc<AtomicBool>) -> JoinHandle<()> {
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            let trouble = probe(&address, &stop).err();
            let answer = Answer { began, took: began.elapsed(), trouble };
            answers.lock().push(answer);
            thread::sleep(PAUSE);
        }
    })
}

fn probe(address: &str, stop: &AtomicBool) -> Result<(), String> {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(LIMIT))?;
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    match ask() {
        Ok(answer) if answer.starts_with("HTTP/1.1 200") => Ok(()),
        // The control ends when it is asked to.
        _ if stop.load(Ordering::Relaxed) => Ok(()),
        Ok(answer) => Err(format!("{:?}", answer.lines().next())),
        Err(error) => Err(error.to_string()),
    }
}
