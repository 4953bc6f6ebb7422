//! The one way to standard output and standard error: what a model, a page or a server said cannot steer the terminal.

use std::io::{self, Write};

use serde_json::Value;

use super::Exit;
use crate::domain::{printable, printable_json, printable_line};

/// Prints on standard output.
///
/// # Errors
/// As writing does; a reader of a pipe that has seen enough is [`io::ErrorKind::BrokenPipe`].
pub fn output(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(printable(text).as_bytes())?;
    stdout.flush()
}

/// Prints on standard error, which may be closed.
pub fn error(text: &str) {
    let _ = io::stderr().lock().write_all(printable(text).as_bytes());
}

/// Prints one line on standard error, from the program.
pub fn complain(message: &str) {
    error(&format!("fathom: {}\n", printable_line(message)));
}

/// Prints what was asked for, on standard output: a line, or several.
pub fn answer(text: &str) -> Exit {
    written(output(&format!("{text}\n")))
}

/// Prints a value as JSON, whatever its strings hold.
pub fn json(value: &Value) -> Exit {
    answer(&printable_json(&format!("{value:#}")))
}

/// Complains about an answer that could not be written; a reader of a pipe that has seen enough is nobody's loss.
fn written(result: io::Result<()>) -> Exit {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!("standard output cannot be written to: {error}"));
            Exit::Failed
        }
        _ => Exit::Success,
    }
}

/// Complains about what cannot be used.
pub fn usage(message: &str) -> Exit {
    complain(message);
    Exit::Usage
}

/// Complains about arguments that cannot be understood, in one line as about all others. Help and version, which are
/// errors to their parser too, are printed as they are.
pub fn arguments(error: &clap::Error) -> Exit {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    match error.kind() {
        DisplayHelp | DisplayVersion => return written(error.print().and_then(|()| io::stdout().flush())),
        // On standard error, which may be closed.
        DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return Exit::Usage;
        }
        _ => {}
    }
    let text = error.render().to_string();
    let parts = text.trim_start_matches("error: ").split("\n\n").map(|part| {
        let words: Vec<_> = part.split_whitespace().collect();
        words.join(" ")
    });
    let said: Vec<_> = parts.filter(|part| !part.is_empty() && !part.starts_with("For more information")).collect();
    usage(&format!("{}; --help says more", said.join("; ")))
}
