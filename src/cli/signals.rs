//! Ctrl-C and termination: the first asks for an orderly end, the second does not ask.

use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::Exit;

/// Cancels the token at the first signal and says so by `tell`, ends the process at the second; listens as long as the
/// value lives.
pub fn listen(cancel: CancellationToken, tell: impl Fn(&str) + Send + 'static) -> AbortOnDropHandle<()> {
    let mut signals = Signals::caught();
    #[expect(clippy::disallowed_methods, reason = "the returned handle owns the task")]
    let task = tokio::spawn(async move {
        signals.next().await;
        tell("stopping; once more to stop at once");
        cancel.cancel();
        signals.next().await;
        std::process::exit(Exit::Interrupted as i32);
    });
    AbortOnDropHandle::new(task)
}

/// Ctrl-C and termination, none of them lost between two waits.
struct Signals {
    #[cfg(unix)]
    caught: Option<[tokio::signal::unix::Signal; 2]>,
}

impl Signals {
    /// From now on; where the system refuses, signals end the process as they would anyway.
    fn caught() -> Self {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let caught = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
            let [Ok(interrupt), Ok(terminate)] = caught else { return Self { caught: None } };
            Self { caught: Some([interrupt, terminate]) }
        }
        #[cfg(not(unix))]
        Self {}
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        match &mut self.caught {
            Some([interrupt, terminate]) => tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            },
            None => std::future::pending().await,
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}
