//! A streamed answer: pulled by its reader, ended by being dropped.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::net::Permit;
use futures::{Stream, StreamExt};

use super::assembly::Assembly;
use super::failure::Failure;
use super::server::Server;
use super::transport::{Frames, Piece};
use super::wire::Reader;
use super::{Completion, Error};
use crate::domain::{Cost, Usage};

/// A piece of a streamed answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// More text, never empty. All of it put together is the text of the completion.
    Text(String),
    /// The last piece.
    End(Completion),
}

/// Why an answer ended after its first piece.
#[derive(Clone, Debug, PartialEq)]
pub struct BrokenOff {
    pub error: Error,
    /// What it had taken, as far as the provider had said; of no tokens when it had not.
    pub used: Box<Usage>,
}

/// The pieces of one answer: any number of [`Delta::Text`], then one [`Delta::End`] or an error, then nothing.
///
/// When tools were offered, the text comes in one piece at the end, since it may turn out to be a tool call.
///
/// # Cancel safety
/// Waiting for a piece may be given up and taken up again. Dropping the stream closes the connection.
pub struct ReplyStream {
    inner: Pin<Box<dyn Stream<Item = Result<Delta, BrokenOff>> + Send>>,
}

impl ReplyStream {
    /// Returns an answer that came in one piece.
    pub(super) fn whole(completion: Completion) -> Self {
        let text = Some(completion.text.clone()).filter(|text| !text.is_empty()).map(Delta::Text);
        let pieces = text.into_iter().chain([Delta::End(completion)]).map(Ok);
        Self { inner: Box::pin(futures::stream::iter(pieces)) }
    }
}

impl Stream for ReplyStream {
    type Item = Result<Delta, BrokenOff>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.inner.as_mut().poll_next(cx)
    }
}

/// An answer on its way.
pub(super) struct Reading {
    frames: Frames,
    /// `None` once the end was read.
    assembly: Option<Assembly>,
    reader: Reader,
    /// Read, but not passed on yet.
    end: Option<Completion>,
    /// What it cost, where that is said beside one that comes as a whole.
    cost: Option<Cost>,
    /// HTTP requests made, this one included; for the completion.
    pub(super) attempts: u32,
    server: Arc<Server>,
    /// Our place among the server's callers, until the answer ends.
    permit: Option<Permit>,
}

impl Reading {
    pub(super) fn new(frames: Frames, assembly: Assembly, server: Arc<Server>, permit: Permit) -> Self {
        let reader = server.reader();
        Self {
            frames,
            assembly: Some(assembly),
            reader,
            end: None,
            cost: None,
            attempts: 1,
            server,
            permit: Some(permit),
        }
    }

    /// Returns the next piece; `None` after the end.
    pub(super) async fn next(&mut self) -> Result<Option<Delta>, Failure> {
        let asked = self.frames.beside().asked;
        self.piece().await.map_err(|failure| self.so_far(failure).asked(asked))
    }

    /// Returns the failure of an answer that broke off here, with what it had taken as far as its provider has said it.
    fn so_far(&mut self, failure: Failure) -> Failure {
        let says_something = self.assembly.as_ref().is_some_and(Assembly::says_something);
        let failure = if says_something { failure.after_words() } else { failure };
        match &mut self.assembly {
            Some(assembly) if failure.paid.is_none() => {
                self.reader.count(assembly);
                failure.paid(assembly.usage())
            }
            _ => failure,
        }
    }

    async fn piece(&mut self) -> Result<Option<Delta>, Failure> {
        while let Some(assembly) = &mut self.assembly {
            let text = match self.frames.next().await {
                Some(Ok(Piece::Event(frame))) => {
                    self.reader.event(frame, assembly)?;
                    assembly.news()
                }
                Some(Ok(Piece::Whole(answer))) => {
                    self.reader.whole(answer, assembly)?;
                    self.cost = self.frames.beside().cost;
                    self.finish(Assembly::finish)?
                }
                // What may follow the model's own end is the usage at most.
                Some(Err(_)) if assembly.is_finished() => self.finish(Assembly::finish_stream)?,
                Some(Err(failure)) => return Err(failure),
                None => {
                    self.reader.count(assembly);
                    self.finish(Assembly::finish_stream)?
                }
            };
            if !text.is_empty() {
                return Ok(Some(Delta::Text(text)));
            }
        }
        Ok(self.end.take().map(|completion| Delta::End(Completion { attempts: self.attempts, ..completion })))
    }

    /// Takes in the end of the pieces, from which `ended` makes the answer, and returns the rest of the text.
    fn finish(&mut self, ended: fn(Assembly) -> Result<(Completion, usize), Failure>) -> Result<String, Failure> {
        let Some(assembly) = self.assembly.take() else { return Ok(String::new()) };
        let (mut completion, passed) = ended(assembly)?;
        completion.usage.cost = completion.usage.cost.or(self.cost);
        if let Some(mut permit) = self.permit.take() {
            permit.used(completion.usage.total());
        }
        self.server.limiter.answered();
        let rest = completion.text.get(passed..).unwrap_or_default().to_owned();
        self.end = Some(completion);
        Ok(rest)
    }

    /// Returns the whole answer, once all of it has come; `None` when it was handed out before.
    pub(super) async fn gathered(&mut self) -> Result<Option<Completion>, Failure> {
        loop {
            match self.next().await? {
                Some(Delta::Text(_)) => {}
                Some(Delta::End(completion)) => return Ok(Some(completion)),
                None => return Ok(None),
            }
        }
    }

    /// Returns the public failure of an answer that broke off here.
    fn broken_off(&self, failure: Failure) -> BrokenOff {
        BrokenOff { error: self.server.presentable(failure.error), used: failure.paid.unwrap_or_default() }
    }

    /// Returns the public stream: `first`, which was waited for already, and all that follows.
    pub(super) fn into_stream(self, first: Option<Delta>) -> ReplyStream {
        let first = futures::stream::iter(first.map(Ok));
        let rest = futures::stream::unfold(Some(self), |reading| async {
            let mut reading = reading?;
            match reading.next().await {
                Ok(delta) => Some((Ok(delta?), Some(reading))),
                Err(failure) => Some((Err(reading.broken_off(failure)), None)),
            }
        });
        ReplyStream { inner: Box::pin(first.chain(rest)) }
    }
}
