//! Where the text of a streamed answer goes, and how it gets there.

use std::pin::pin;

use futures::{Stream, StreamExt};

use crate::{
    journal::Stop,
    llm::{BrokenOff, Completion, Delta},
};

/// Takes streamed text.
pub trait TextSink: Send {
    /// Takes the next piece.
    fn take(&mut self, text: &str) -> impl Future<Output = Result<(), Stop>> + Send;

    /// Resolves when held text has waited long enough to be passed on; pending for ever when none is held.
    ///
    /// # Cancel safety
    /// It only waits, so nothing is lost when it is dropped.
    fn is_due(&self) -> impl Future<Output = ()> + Send;

    /// Passes on what is held.
    fn flush(&mut self) -> impl Future<Output = Result<(), Stop>> + Send;
}

/// Hands a stream's text to `sink` as it comes; returns how the stream ended, `None` when it did without saying so.
pub async fn poured(
    stream: impl Stream<Item = Result<Delta, BrokenOff>>,
    sink: &mut impl TextSink,
) -> Result<Option<Result<Completion, BrokenOff>>, Stop> {
    let mut stream = pin!(stream);
    loop {
        let next = tokio::select! {
            next = stream.next() => next,
            // Losing this arm loses nothing: it waits, and what is held is passed on once it has won.
            () = sink.is_due() => {
                sink.flush().await?;
                continue;
            }
        };
        match next {
            Some(Ok(Delta::Text(text))) => sink.take(&text).await?,
            Some(Ok(Delta::End(completion))) => return Ok(Some(Ok(completion))),
            Some(Err(broken_off)) => return Ok(Some(Err(broken_off))),
            None => return Ok(None),
        }
    }
}

/// Takes nothing: for calls that are not streamed.
pub enum NoText {}

impl TextSink for NoText {
    async fn take(&mut self, _text: &str) -> Result<(), Stop> {
        match *self {}
    }

    async fn is_due(&self) {
        match *self {}
    }

    async fn flush(&mut self) -> Result<(), Stop> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Holds text for a while, and takes time to pass it on.
    #[derive(Default)]
    struct Slow {
        held: String,
        passed_on: String,
    }

    impl TextSink for Slow {
        async fn take(&mut self, text: &str) -> Result<(), Stop> {
            self.held.push_str(text);
            Ok(())
        }

        fn is_due(&self) -> impl Future<Output = ()> + Send {
            let is_held = !self.held.is_empty();
            async move {
                match is_held {
                    true => tokio::time::sleep(Duration::from_millis(50)).await,
                    false => std::future::pending().await,
                }
            }
        }

        async fn flush(&mut self) -> Result<(), Stop> {
            let text = std::mem::take(&mut self.held);
            tokio::time::sleep(Duration::from_millis(40)).await;
            self.passed_on.push_str(&text);
            Ok(())
        }
    }

    /// A database that is slow for a moment holds up the sink while the model goes on.
    #[tokio::test(start_paused = true)]
    async fn text_that_comes_while_other_text_is_passed_on_costs_nothing() {
        let deltas = [(0, "One "), (60, "two "), (10, "three "), (200, "four.")];
        let stream = futures::stream::iter(deltas).then(|(after, text)| async move {
            tokio::time::sleep(Duration::from_millis(after)).await;
            Ok(Delta::Text(text.to_owned()))
        });
        let mut sink = Slow::default();
        assert!(poured(stream, &mut sink).await.unwrap().is_none());
        assert_eq!(sink.passed_on + &sink.held, "One two three four.");
    }
}
