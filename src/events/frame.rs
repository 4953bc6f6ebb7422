//! An event ready for the wire, made once and shared by all readers of the process.

use bytes::{Bytes, BytesMut};

use crate::{
    domain::{Envelope, Event, RunId, Timestamp, without_line_ends},
    store::{Error, EventRow, Gap},
};

/// One event of a thread's log in its public forms.
#[derive(Clone, Debug)]
pub struct Frame {
    /// From 1 without gaps within a thread.
    pub seq: i64,
    pub run_id: RunId,
    /// The event's type, as in `report.delta`.
    pub name: Box<str>,
    /// The last event of its run.
    pub terminal: bool,
    /// The envelope as one line of JSON; a part of `sse`.
    pub json: Bytes,
    /// The whole record of a server-sent event: `event`, `id`, `data` and the empty line.
    pub sse: Bytes,
}

impl Frame {
    /// Puts the envelope together around the stored body, which is not parsed.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the body is not one line of a JSON object.
    pub(super) fn new(row: &EventRow) -> Result<Self, Error> {
        let Some(body) = row.body.strip_prefix('{').filter(|body| body.len() > 1 && !body.contains(['\n', '\r']))
        else {
            return Err(Error::Corrupt(format!("the body of event {} is not an object on one line", row.seq)));
        };
        let head = format!("event: {}\nid: {}\ndata: ", row.name, row.seq);
        let start = head.len();
        let mut record = head;
        record.reserve(body.len() + 160);
        push_envelope(&mut record, row, &without_line_ends(body))?;
        let end = record.len();
        record.push_str("\n\n");
        let sse = Bytes::from(record);
        Ok(Self {
            seq: row.seq,
            run_id: row.run_id,
            name: row.name.as_str().into(),
            terminal: matches!(row.name.as_str(), "run.completed" | "run.failed" | "run.cancelled"),
            json: sse.slice(start..end),
            sse,
        })
    }

    /// Stands for events that were removed, under the number of the last of them: a reader that comes back with it goes
    /// on behind them, instead of getting it again.
    ///
    /// # Errors
    /// None that could come about.
    pub(super) fn of_gap(gap: &Gap) -> Result<Self, Error> {
        let event = Event::StreamGap { from: gap.from, to: gap.to };
        Self::new(&stream_row(gap.to, gap.run_id, gap.ended_at, &event)?)
    }

    /// Says that the events behind a number are lost, under that number: a reader that comes back goes on behind it.
    ///
    /// # Errors
    /// None that could come about.
    pub(super) fn of_rewind(to: i64, run_id: RunId) -> Result<Self, Error> {
        Self::new(&stream_row(to, run_id, Timestamp::now(), &Event::StreamRewound { to })?)
    }

    /// Returns an event about a stream that stands in no log, under the number of the last event before it. It has no
    /// `id`: a reader keeps the one it has.
    ///
    /// # Errors
    /// None that could come about.
    pub fn unstored(event: &Event, last_seq: i64, run_id: RunId) -> Result<Self, Error> {
        let frame = Self::new(&stream_row(last_seq.max(1), run_id, Timestamp::now(), event)?)?;
        let mut sse = BytesMut::from(format!("event: {}\ndata: ", frame.name).as_bytes());
        sse.extend_from_slice(&frame.json);
        sse.extend_from_slice(b"\n\n");
        Ok(Self { sse: sse.freeze(), ..frame })
    }

    /// Returns the record without its `event` line, for readers who want all types by one name.
    pub fn unnamed(&self) -> Bytes {
        self.sse.slice("event: \n".len() + self.name.len()..)
    }

    /// Returns the event as a domain value.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when this version of the program does not know it.
    pub fn envelope(&self) -> Result<Envelope, Error> {
        Ok(serde_json::from_slice(&self.json)?)
    }
}

/// Returns an event about a stream as if it stood in the log.
fn stream_row(seq: i64, run_id: RunId, ts: Timestamp, event: &Event) -> Result<EventRow, Error> {
    let (agent, name, body) = ("root".to_owned(), event.name().to_owned(), serde_json::to_string(event)?);
    Ok(EventRow { seq, run_id, ts, agent, agent_id: None, name, body })
}

/// Writes the keys in the order in which [`Envelope`] has them; `body` lacks its opening brace.
fn push_envelope(record: &mut String, row: &EventRow, body: &str) -> Result<(), Error> {
    use std::fmt::Write as _;

    let agent = serde_json::to_string(&row.agent)?;
    // Writing to a string cannot fail.
    let _ = write!(
        record,
        r#"{{"seq":{},"ts":"{}","run_id":"{}","scope":{{"agent":{agent}"#,
        row.seq,
        row.ts.to_rfc3339(),
        row.run_id
    );
    if let Some(id) = &row.agent_id {
        record.push_str(r#","id":"#);
        record.push_str(&serde_json::to_string(id)?);
    }
    record.push_str("},");
    record.push_str(body);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Agent, Failure, FailureCode, Outcome, Scope, SourceId, ToolKind, Usage, WarningCode};

    fn row(scope: &Scope, event: &Event) -> EventRow {
        EventRow {
            seq: 17,
            run_id: RunId::new(),
            ts: Timestamp(1_795_239_286_123),
            agent: serde_json::to_value(scope.agent).unwrap().as_str().unwrap().to_owned(),
            agent_id: scope.id.clone(),
            name: event.name().to_owned(),
            body: serde_json::to_string(event).unwrap(),
        }
    }

    fn events() -> Vec<Event> {
        let problem = Failure::new(FailureCode::NoEvidence, "nothing \"found\"\nat all".to_owned());
        vec![
            Event::RunStarted { attempt: 2 },
            Event::Thought { text: "a\u{2028}b \"c\" \\ \n\r\t ü 🦀 {".to_owned() },
            Event::ToolStarted {
                tool_call_id: "1".to_owned(),
                name: "search_web".to_owned(),
                kind: ToolKind::Search,
                server: None,
                args: serde_json::json!({"z": 1, "a": [1.5, 1e300, null], "é": {}}),
            },
            Event::SourceFound {
                source_id: SourceId(1001),
                url: "https://a.example/?q=1&r=<2>".to_owned(),
                title: String::new(),
                query: "q".to_owned(),
                snippet: None,
                site: Some("a.example".to_owned()),
                published: None,
            },
            Event::Usage { model: "a:b".to_owned(), role: "c".to_owned(), tokens: Usage::default() },
            Event::warning(WarningCode::Retrying, "d"),
            Event::CompressStarted {},
            Event::RunCompleted { outcome: Outcome::Report, usage: Usage::default(), ms: 5 },
            Event::RunFailed { problem },
            Event::RunCancelled { reason: "r".to_owned() },
        ]
    }

    #[test]
    fn a_frame_is_what_serde_makes_of_the_envelope() {
        let strange = Scope { agent: Agent::Researcher, id: Some("r\"2\n".to_owned()) };
        for scope in [Scope::ROOT, Scope::SUPERVISOR, Scope::researcher(2), strange] {
            for event in events() {
                let row = row(&scope, &event);
                let frame = Frame::new(&row).unwrap();
                let envelope = Envelope {
                    seq: row.seq,
                    ts: row.ts,
                    run_id: row.run_id,
                    scope: scope.clone(),
                    event: event.clone(),
                };
                let json = serde_json::to_string(&envelope).unwrap();
                let json = without_line_ends(&json);
                assert_eq!(std::str::from_utf8(&frame.json).unwrap(), json);
                assert_eq!(frame.envelope().unwrap(), envelope);
                assert_eq!(frame.terminal, event.is_terminal());
                assert_eq!(frame.sse, format!("event: {}\nid: 17\ndata: {json}\n\n", event.name()));
                assert_eq!(frame.unnamed(), format!("id: 17\ndata: {json}\n\n"));
            }
        }
    }

    /// Many programs read streams by a function for lines that ends them there, too.
    #[test]
    fn no_character_within_an_event_ends_a_line() {
        let event = Event::warning(WarningCode::Retrying, "a\u{85}b\u{2028}c\u{2029}d");
        let frame = Frame::new(&row(&Scope::ROOT, &event)).unwrap();
        let text = std::str::from_utf8(&frame.sse).unwrap();
        assert!(text.contains(r"a\u0085b\u2028c\u2029d"), "{text}");
        assert_eq!(frame.envelope().unwrap().event, event);
    }

    #[test]
    fn what_is_not_stored_has_no_number_of_its_own() {
        let run_id = RunId::new();
        let frame = Frame::unstored(&Event::ThreadDeleted {}, 9, run_id).unwrap();
        let envelope = frame.envelope().unwrap();
        assert_eq!((envelope.seq, envelope.run_id, envelope.event), (9, run_id, Event::ThreadDeleted {}));
        let json = std::str::from_utf8(&frame.json).unwrap();
        assert_eq!(frame.sse, format!("event: thread.deleted\ndata: {json}\n\n"));
        assert_eq!(frame.unnamed(), format!("data: {json}\n\n"));
    }

    #[test]
    fn a_body_that_would_break_the_wire_is_refused() {
        for body in ["", "{", "[]", "null", "{\"type\":\"a\",\n\"data\":{}}", "{\"a\":1\r}"] {
            let row = EventRow { body: body.to_owned(), ..row(&Scope::ROOT, &Event::CompressStarted {}) };
            assert!(matches!(Frame::new(&row), Err(Error::Corrupt(_))), "{body:?}");
        }
    }
}
