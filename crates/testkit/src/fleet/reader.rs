//! A reader of a run's events that comes back whenever its stream ends early, as a browser does.

use std::{sync::Arc, time::Duration};

use fathom::domain::Timestamp;
use futures::StreamExt as _;
use parking_lot::Mutex;
use reqwest::Client;
use serde_json::Value;
use tokio::task::JoinSet;

/// Nothing at all for this long means that the sender is frozen: a heartbeat comes every five seconds.
const SILENCE: Duration = Duration::from_secs(7);
/// Before it comes back.
const PAUSE: Duration = Duration::from_millis(50);

/// Reads the events of one run from its first to its last.
pub struct Reader {
    state: Arc<Mutex<State>>,
    task: JoinSet<()>,
}

#[derive(Default)]
struct State {
    events: Vec<Value>,
    /// When each was received, by the clock of the wall in milliseconds.
    received_at: Vec<i64>,
    /// The hints about when to come back, in milliseconds.
    hints: Vec<u64>,
    /// How often it came back.
    returns: usize,
    ended: bool,
    /// What no reader should meet.
    wrong: Vec<String>,
}

impl Reader {
    /// Reads `/runs/{run_id}/events` at the addresses in turn, the next one whenever a stream ends.
    pub fn start(run_id: &str, addresses: Vec<String>) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let client = Client::builder().read_timeout(SILENCE).no_proxy().build().expect("a client");
        let path = format!("/api/v1/runs/{run_id}/events");
        let mut task = JoinSet::new();
        task.spawn(read(Arc::clone(&state), client, path, addresses));
        Self { state, task }
    }

    /// Waits for the run's last event; then all of them, in the order of their arrival.
    pub async fn ends(&mut self, patience: Duration) -> Vec<Value> {
        let ended = tokio::time::timeout(patience, self.task.join_next()).await;
        let state = self.state.lock();
        assert!(ended.is_ok(), "the stream did not end: {:?}, {:?}", state.events.last(), state.wrong);
        assert!(state.wrong.is_empty() && state.ended, "{:?}", state.wrong);
        state.events.clone()
    }

    /// Returns how many events have come.
    pub fn count(&self) -> usize {
        self.state.lock().events.len()
    }

    /// Returns every hint about when to come back, in milliseconds.
    pub fn hints(&self) -> Vec<u64> {
        self.state.lock().hints.clone()
    }

    pub fn returns(&self) -> usize {
        self.state.lock().returns
    }

    /// Returns the time between each event's own time and its arrival, of the events of that time and later;
    /// milliseconds.
    pub fn delays_ms(&self, since: Timestamp) -> Vec<i64> {
        let state = self.state.lock();
        let arrivals = state.events.iter().zip(&state.received_at);
        arrivals
            .map(|(event, at)| (time_of(event), at))
            .filter(|(ts, _)| *ts >= since.0)
            .map(|(ts, at)| at - ts)
            .collect()
    }
}

/// Returns the envelope's `ts`, in milliseconds.
fn time_of(event: &Value) -> i64 {
    let time = event["ts"]
        .as_str()
        .and_then(|ts| time::OffsetDateTime::parse(ts, &time::format_description::well_known::Rfc3339).ok());
    time.map_or(0, |time| i64::try_from(time.unix_timestamp_nanos() / 1_000_000).unwrap_or(0))
}

async fn read(state: Arc<Mutex<State>>, client: Client, path: String, addresses: Vec<String>) {
    for address in addresses.iter().cycle() {
        let last = state.lock().events.last().and_then(|event| event["seq"].as_i64());
        let mut request = client.get(format!("http://{address}{path}")).header("Accept", "text/event-stream");
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last.to_string());
        }
        let answer = tokio::time::timeout(SILENCE, request.send()).await;
        match answer {
            Ok(Ok(response)) if response.status() == 200 => follow(&state, response).await,
            Ok(Ok(response)) if response.status() == 204 => state.lock().ended = true,
            Ok(Ok(response)) if response.status().is_client_error() => {
                state.lock().wrong.push(format!("{} for {path}", response.status()));
            }
            // Somebody is stopping, frozen or gone.
            _ => {}
        }
        let over = {
            let mut state = state.lock();
            state.returns += 1;
            state.ended || !state.wrong.is_empty()
        };
        if over {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Takes events until the stream ends, however it does.
async fn follow(state: &Mutex<State>, response: reqwest::Response) {
    let mut stream = response.bytes_stream();
    let mut text = Vec::new();
    while let Some(Ok(bytes)) = stream.next().await {
        text.extend_from_slice(&bytes);
        while let Some(end) = text.windows(2).position(|pair| pair == b"\n\n") {
            let frame: Vec<u8> = text.drain(..end + 2).collect();
            state.lock().take(&String::from_utf8_lossy(&frame));
        }
    }
    // A hint, behind which no event came; half an event comes again.
    if text.starts_with(b"retry: ") {
        state.lock().take(&String::from_utf8_lossy(&text));
    }
}

impl State {
    /// Takes a frame: a hint, a heartbeat or an event, which has to be the next one.
    fn take(&mut self, frame: &str) {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        if let Some(retry) = field("retry: ") {
            self.hints.extend(retry.parse::<u64>().ok());
        }
        let (Some(id), Some(data)) = (field("id: "), field("data: ")) else { return };
        let event: Value = serde_json::from_str(data).unwrap_or_default();
        let last = self.events.last().and_then(|event| event["seq"].as_i64());
        let (seq, id) = (event["seq"].as_i64(), id.parse::<i64>().ok());
        if id.is_none() || seq != id || last.is_some_and(|last| seq != Some(last + 1)) {
            self.wrong.push(format!("after {last:?} came {frame:?}"));
        }
        self.events.push(event);
        self.received_at.push(Timestamp::now().0);
    }
}
