//! Ctrl-C and termination: the first asks for an orderly end, the second does not ask.

use std::{io, time::Duration};

use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Exit, complain};

/// Keeps the system from ending the process at a limit on the size of files (`ulimit -f`): a write beyond it then
/// fails, as on a full disk. Needs a runtime; what it installs outlives that.
pub fn outlive_file_limits() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // Caught by nobody: that it is not the default is enough. Where the system refuses, the default stays.
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
    }
}

/// The time for the last words of a process that is ended: what they are written to may be full.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Cancels the token at the first signal and reports it by `report`; ends the process at the second, or when `limit`
/// has passed since the first. Listens as long as the value lives.
///
/// On a thread and a runtime of its own, and reporting on another one, so that neither work nor an output that nobody
/// reads keeps it from listening, or the process from ending.
pub fn listen(
    cancel: CancellationToken,
    report: impl Fn(&str) + Send + Sync + 'static,
    limit: Duration,
) -> Option<DropGuard> {
    let over = CancellationToken::new();
    let listening = over.clone();
    let started = listener().and_then(|(runtime, signals)| {
        let watch = async move {
            tokio::select! {
                () = watch(signals, &cancel, report, limit) => {}
                () = over.cancelled() => {}
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(watch))
    });
    // Signals then end the process as they would anyway; its journal is made for that.
    started.inspect_err(|error| complain(&format!("signals cannot be listened to: {error}"))).ok()?;
    Some(listening.drop_guard())
}

/// Says that a signal came before anything was started.
pub fn before_start() -> Exit {
    complain("interrupted; nothing was started");
    Exit::Interrupted
}

/// Catches signals from now on, before anything is done about them.
fn listener() -> io::Result<(Runtime, Signals)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let signals = {
        let _entered = runtime.enter();
        Signals::caught()
    };
    Ok((runtime, signals))
}

async fn watch(
    mut signals: Signals,
    cancel: &CancellationToken,
    report: impl Fn(&str) + Send + Sync + 'static,
    limit: Duration,
) {
    signals.next().await;
    cancel.cancel();
    drop(say(move || report("stopping; once more to stop at once")));
    let code = tokio::select! {
        () = signals.next() => Exit::Interrupted,
        () = tokio::time::sleep(limit) => {
            let text = "something does not stop; the process ends all the same, and nothing stored is lost";
            let _ = tokio::time::timeout(LAST_WORDS, say(move || complain(text))).await;
            Exit::Failed
        }
    };
    std::process::exit(code as i32);
}

/// Says something on a thread of its own, which may never end; the receiver hears when it has.
fn say(words: impl FnOnce() + Send + 'static) -> oneshot::Receiver<()> {
    let (done, said) = oneshot::channel();
    let saying = std::thread::Builder::new().name("signals-say".to_owned()).spawn(move || {
        words();
        let _ = done.send(());
    });
    // Without a thread it goes unsaid.
    drop(saying);
    said
}

/// Ctrl-C and termination, none of them lost between two waits.
struct Signals {
    #[cfg(unix)]
    caught: Option<[tokio::signal::unix::Signal; 2]>,
}

impl Signals {
    /// Catches signals from here on; where the system refuses, they end the process as they would anyway.
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
