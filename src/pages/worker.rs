//! A parser process: limits itself, then reads jobs from standard input and writes answers to standard output.
//!
//! It is this program's own binary, started by `pool` as `fathom parse-worker`. It opens no file and no socket, knows
//! no setting and no secret, and ends when its input does. Whatever a document does to it ends this process alone.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use super::{
    caught, extract,
    protocol::{Answer, Hello, Job, MAX_ANSWER_BYTES, MAX_REQUEST_BYTES, VERSION, read_frame, write_frame},
};

/// Address space. A document of 50 MB takes a few copies of itself.
const MEMORY_BYTES: u64 = 1024 * 1024 * 1024;
/// The processor time for all documents of one process: its parent replaces it earlier, so this ends one that lost its
/// parent.
const CPU_SECONDS: u64 = 90;
/// The files it may have open: its standard streams, and some that the runtime needs for a moment.
const OPEN_FILES: u64 = 16;

/// Works until the input ends.
pub fn run() -> ExitCode {
    prefer_to_be_killed();
    let hello = Hello { fathom_parser: VERSION, unlimited: limit_process() };
    match serve(&hello, &mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(hello: &Hello, input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    write_frame(output, &serde_json::to_vec(hello)?)?;
    while let Some(job) = read_frame(input, MAX_REQUEST_BYTES)? {
        let job = serde_json::from_slice(&job)?;
        let Some(bytes) = read_frame(input, MAX_REQUEST_BYTES)? else { return Ok(()) };
        let mut answer = serde_json::to_vec(&answer(job, bytes))?;
        if answer.len() > MAX_ANSWER_BYTES {
            answer = serde_json::to_vec(&Answer::Unreadable(extract::Unreadable::new("there is too much text in it")))?;
        }
        write_frame(output, &answer)?;
    }
    Ok(())
}

fn answer(job: Job, bytes: Vec<u8>) -> Answer {
    match job {
        Job::Document(format) => extract::read(format, bytes)
            .map_or_else(Answer::Unreadable, |document| Answer::Document(Box::new(document))),
        Job::Plain => {
            let plain = caught::run(|| extract::plain(&String::from_utf8_lossy(&bytes)));
            plain.flatten().map_or_else(Answer::Unreadable, Answer::Plain)
        }
    }
}

/// Sets what bounds this process, and names what could not be set.
fn limit_process() -> Vec<String> {
    #[cfg(unix)]
    {
        use rlimit::Resource;
        let limits = [
            (Resource::CORE, 0),
            (Resource::FSIZE, 0),
            (Resource::NOFILE, OPEN_FILES),
            (Resource::CPU, CPU_SECONDS),
            (Resource::AS, MEMORY_BYTES),
        ];
        let unset = limits.into_iter().filter(|(resource, limit)| {
            let allowed = resource.get_hard().map_or(*limit, |hard| hard.min(*limit));
            resource.set(allowed, allowed).is_err()
        });
        unset.map(|(resource, _)| resource.as_name().to_owned()).collect()
    }
    #[cfg(not(unix))]
    vec!["all".to_owned()]
}

/// Asks the system to end this process before the service where memory is short for all.
fn prefer_to_be_killed() {
    #[cfg(target_os = "linux")]
    // Without /proc the system's own choice stands.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_answered_in_turn_until_the_input_ends() {
        let mut input = Vec::new();
        let mut ask = |job: Job, bytes: &[u8]| {
            write_frame(&mut input, &serde_json::to_vec(&job).unwrap()).unwrap();
            write_frame(&mut input, bytes).unwrap();
        };
        ask(Job::Document(extract::Format::Markdown), b"# Title\n\ntext");
        ask(Job::Document(extract::Format::Pdf), b"none");
        ask(Job::Plain, b"<p>Cod &amp; ling</p>");
        let mut output = Vec::new();
        let hello = Hello { fathom_parser: VERSION, unlimited: Vec::new() };
        serve(&hello, &mut input.as_slice(), &mut output).unwrap();
        let mut output = output.as_slice();
        let mut next = || read_frame(&mut output, MAX_ANSWER_BYTES).unwrap();
        assert!(next().is_some_and(|hello| hello.starts_with(b"{\"fathom_parser\":2")));
        let mut answer = || serde_json::from_slice::<Answer>(&next().unwrap()).unwrap();
        assert!(matches!(answer(), Answer::Document(document) if document.sections[0].text == "text"));
        assert!(matches!(answer(), Answer::Unreadable(_)));
        assert!(matches!(answer(), Answer::Plain(text) if text == "Cod & ling"));
        assert_eq!(next(), None);
    }
}
