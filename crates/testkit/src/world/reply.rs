//! Answers and faults, made by small constructors and changed by small modifiers; and how they go over the network.

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use futures::stream;
use serde_json::{Value, json};

use super::{Call, Ended};

/// One answer of a fake server.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) what: What,
    pub(super) latency: Option<Duration>,
    pub(super) cut_by_length: bool,
    pub(super) pings: bool,
    pub(super) tokens: Option<Tokens>,
    headers: Vec<(HeaderName, HeaderValue)>,
    pace: Duration,
    limit: Limit,
    /// Sent again and again behind the body, which so has no end.
    endless: Option<Bytes>,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// A model's turn.
    Turn {
        text: Option<String>,
        thinking: Option<String>,
        refusal: Option<String>,
        calls: Vec<(String, String)>,
    },
    /// A value in the form asked for: as text, or as the call of the tool that stands for the schema.
    Structured(Value),
    /// An error in the server's usual form.
    Status(StatusCode),
    Verbatim {
        status: StatusCode,
        content_type: &'static str,
        body: Bytes,
    },
    /// Not even a status line.
    Silence,
}

/// What a turn is said to have cost; estimated from its length when not set.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    pub reasoning: u64,
}

/// Where the body ends before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    None,
    /// The connection breaks after this many bytes.
    Cut(usize),
    /// Nothing more comes after this many bytes.
    Stall(usize),
}

/// Returns a model's text.
pub fn text(text: impl Into<String>) -> Reply {
    Reply::turn(Some(text.into()), Vec::new())
}

/// Returns a value in the form asked for.
pub fn json(value: Value) -> Reply {
    Reply::of(What::Structured(value))
}

/// Creates a reply of tool calls, in order.
pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Reply {
    Reply::turn(None, calls.into_iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect())
}

/// Creates a reply of one tool call with its arguments as the model wrote them, JSON or not.
pub fn raw_call(name: &str, arguments: &str) -> Reply {
    Reply::turn(None, vec![(name.to_owned(), arguments.to_owned())])
}

pub fn think(reflection: &str) -> Reply {
    calls([("think_tool", json!({ "reflection": reflection }))])
}

pub fn search<const N: usize>(queries: [&str; N]) -> Reply {
    calls([("search_web", json!({ "queries": queries.as_slice() }))])
}

pub fn read_page(url: &str) -> Reply {
    calls([("read_page", json!({ "url": url }))])
}

/// Creates a reply with one delegation per topic.
pub fn delegate<const N: usize>(topics: [&str; N]) -> Reply {
    calls(topics.map(|topic| ("ConductResearch", json!({ "research_topic": topic }))))
}

pub fn complete_research() -> Reply {
    calls([("ResearchComplete", json!({}))])
}

/// Returns the clarifying stage's question.
pub fn ask_back(question: &str) -> Reply {
    json(json!({ "need_clarification": true, "question": question, "verification": "" }))
}

/// Returns what a message after a report needs: `answer`, `revise` or `research`.
pub fn follow_up(action: &str) -> Reply {
    json(json!({ "action": action, "reason": "It follows from the message." }))
}

pub fn brief(brief: &str) -> Reply {
    json(json!({ "research_brief": brief }))
}

/// Returns a turn without anything in it.
pub fn empty() -> Reply {
    text("")
}

/// Returns the model's refusal, in the field of its own.
pub fn refusal(words: &str) -> Reply {
    let what = What::Turn { text: None, thinking: None, refusal: Some(words.to_owned()), calls: Vec::new() };
    Reply::of(what)
}

/// Returns an error in the server's usual form.
pub fn status(code: u16) -> Reply {
    Reply::of(What::Status(StatusCode::from_u16(code).expect("a status of three digits")))
}

/// Creates a reply with that JSON body and no other.
pub fn body(code: u16, body: &str) -> Reply {
    verbatim(code, "application/json", body)
}

/// Returns those server-sent events and no other.
pub fn events(body: &str) -> Reply {
    verbatim(200, "text/event-stream; charset=utf-8", body)
}

/// Returns a 200 that is a proxy's page.
pub fn html() -> Reply {
    verbatim(200, "text/html", "<!doctype html><title>Sign in</title><p>Please sign in to this network.")
}

pub fn verbatim(code: u16, content_type: &'static str, body: &str) -> Reply {
    let status = StatusCode::from_u16(code).expect("a status of three digits");
    Reply::of(What::Verbatim { status, content_type, body: Bytes::copy_from_slice(body.as_bytes()) })
}

/// Returns those bytes, which need not be text.
pub fn bytes(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let status = StatusCode::from_u16(code).expect("a status of three digits");
    Reply::of(What::Verbatim { status, content_type, body: body.into() })
}

/// Returns the context window's end, in OpenAI's words.
pub fn context_overflow(window: u32, asked: u32) -> Reply {
    let message = format!(
        "This model's maximum context length is {window} tokens. However, your messages resulted in {asked} tokens. \
         Please reduce the length of the messages."
    );
    let error = json!({
        "message": message, "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"
    });
    body(400, &json!({ "error": error }).to_string())
}

/// Accepts the request and never answers.
pub fn silence() -> Reply {
    Reply::of(What::Silence)
}

impl Reply {
    pub(super) fn of(what: What) -> Self {
        Self {
            what,
            latency: None,
            cut_by_length: false,
            pings: false,
            tokens: None,
            headers: Vec::new(),
            pace: Duration::ZERO,
            limit: Limit::None,
            endless: None,
        }
    }

    fn turn(text: Option<String>, calls: Vec<(String, String)>) -> Self {
        Self::of(What::Turn { text, thinking: None, refusal: None, calls })
    }

    /// Waits before the first byte.
    pub fn after(mut self, latency: Duration) -> Self {
        self.latency = Some(latency);
        self
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).expect("a header of visible characters");
        self.headers.push((HeaderName::from_static(name), value));
        self
    }

    pub fn retry_after(self, seconds: u32) -> Self {
        self.header("retry-after", &seconds.to_string())
    }

    /// Adds words to a turn of tool calls.
    pub fn saying(mut self, words: &str) -> Self {
        if let What::Turn { text, .. } = &mut self.what {
            *text = Some(words.to_owned());
        }
        self
    }

    /// Adds hidden thoughts (`reasoning_content`) to a turn.
    pub fn thinking(mut self, thoughts: &str) -> Self {
        if let What::Turn { thinking, .. } = &mut self.what {
            *thinking = Some(thoughts.to_owned());
        }
        self
    }

    /// Stops a turn half-way with `finish_reason: length`: half the text, or half the last call's arguments.
    pub fn cut_by_length(mut self) -> Self {
        self.cut_by_length = true;
        self
    }

    /// Breaks the connection after that many bytes of body.
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.limit = Limit::Cut(bytes);
        self
    }

    /// Sends nothing more after that many bytes of body, and keeps the connection.
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.limit = Limit::Stall(bytes);
        self
    }

    /// Sends `piece` without end behind the body.
    pub fn then_for_ever(mut self, piece: impl Into<Bytes>) -> Self {
        self.endless = Some(piece.into());
        self
    }

    /// Waits between the events of a stream.
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Puts comment lines between the events of a stream, as servers that wait for a slow model do.
    pub fn with_pings(mut self) -> Self {
        self.pings = true;
        self
    }

    pub fn costing(mut self, tokens: Tokens) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Sends `frames` as the script says, and notes on `call` how it ended.
    pub(super) fn send(
        &self,
        status: StatusCode,
        content_type: &'static str,
        frames: Vec<Bytes>,
        call: Option<Arc<Call>>,
    ) -> Response {
        let watch = Watch(call);
        let body = if self.pace.is_zero() && self.limit == Limit::None && self.endless.is_none() {
            let whole =
                if frames.len() == 1 { frames.into_iter().next().unwrap_or_default() } else { frames.concat().into() };
            watch.end(Ended::Finished);
            Body::from(whole)
        } else {
            self.slow_body(frames, watch)
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        response.headers_mut().extend(self.headers.iter().cloned());
        response
    }

    fn slow_body(&self, frames: Vec<Bytes>, watch: Watch) -> Body {
        let (frames, pace, limit) = (self.limit.shorten(frames), self.pace, self.limit);
        let endless = self.endless.clone();
        Body::from_stream(stream::unfold((frames, watch, false), move |(mut frames, watch, broken)| {
            let endless = endless.clone();
            async move {
                if broken {
                    return None;
                }
                if !pace.is_zero() {
                    tokio::time::sleep(pace).await;
                }
                if let Some(frame) = frames.pop_front() {
                    return Some((Ok(frame), (frames, watch, false)));
                }
                if let Some(piece) = endless {
                    return Some((Ok(piece), (frames, watch, false)));
                }
                match limit {
                    Limit::None => watch.end(Ended::Finished),
                    Limit::Cut(_) => {
                        // Lets the bytes before it leave first: an error drops what hyper has not flushed.
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        watch.end(Ended::Cut);
                        return Some((Err(io::Error::other("cut by the script")), (frames, watch, true)));
                    }
                    Limit::Stall(_) => std::future::pending::<()>().await,
                };
                None
            }
        }))
    }
}

impl Limit {
    fn shorten(self, frames: Vec<Bytes>) -> VecDeque<Bytes> {
        let (Self::Cut(mut left) | Self::Stall(mut left)) = self else { return frames.into() };
        let mut kept = VecDeque::new();
        for frame in frames {
            let size = frame.len().min(left);
            if size == 0 {
                break;
            }
            kept.push_back(frame.slice(..size));
            left -= size;
        }
        kept
    }
}

/// Notes how an exchange ended; dropped without a word, it was the client who left.
pub(super) struct Watch(pub(super) Option<Arc<Call>>);

impl Watch {
    pub(super) fn end(&self, ended: Ended) {
        if let Some(call) = &self.0 {
            call.end(ended);
        }
    }
}

impl Watch {
    /// Stops watching: somebody else watches the exchange from here on.
    pub(super) fn pass_on(mut self) {
        self.0 = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end(Ended::Aborted);
    }
}
