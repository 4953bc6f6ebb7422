//! A name per process, precise enough to tell on the same machine that a process is gone, and an end for what it left.
//!
//! So a run whose process was killed goes on at once when it is resumed on the same machine; anywhere else its lease
//! has to run out first. And programs that it had started, and that nobody would end any more, are found by the name
//! that they were given. A death is proved: the system says that there is no such process, or that the process of that
//! number is another one. What the system hides (`/proc` under `hidepid`) proves nothing.

use std::{fs, process};

use uuid::Uuid;

/// Returns the name of this process, `machine/pid/start/nonce`. The machine part names this boot and process
/// namespace, so that equal process ids of two containers are never confused.
pub fn this_process() -> String {
    let pid = process::id();
    let start = match process_state(pid) {
        ProcessState::Running { start } => start,
        ProcessState::Ended | ProcessState::Nothing => String::new(),
    };
    format!("{}/{pid}/{start}/{}", machine(), &Uuid::new_v4().simple().to_string()[..8])
}

/// Returns whether a process of that name, of this machine, is gone; `false` when it cannot be known.
pub fn is_dead(name: &str) -> bool {
    let mut parts = name.split('/');
    let (Some(host), Some(pid), Some(start)) =
        (parts.next(), parts.next().and_then(|pid| pid.parse::<u32>().ok()), parts.next())
    else {
        return false;
    };
    let machine = machine();
    if machine.is_empty() || host != machine || start.is_empty() {
        return false;
    }
    match process_state(pid) {
        ProcessState::Running { start: other } => other != start,
        ProcessState::Ended => true,
        ProcessState::Nothing => is_gone(pid),
    }
}

/// The variable by which a program that this service starts names who started it; its children inherit it.
pub const STARTED_BY: &str = "STARTED_BY_FATHOM";
/// Bytes of a program's environment that are looked through.
#[cfg(target_os = "linux")]
const MAX_ENVIRONMENT: u64 = 256 * 1024;
/// A program may start another while it is looked for.
#[cfg(target_os = "linux")]
const PASSES: usize = 4;

/// Kills the programs of this machine that were started by a process which is dead, and their children, whatever groups
/// they are in; the number of those that were found. Where there is no `/proc`, or it hides them, they are left.
pub fn end_orphans() -> usize {
    end_started_by(is_dead)
}

/// Kills what was started under this name, which no other program was given, whatever groups it is in.
pub fn end_started_as(name: &str) -> usize {
    end_started_by(|starter| starter == name)
}

/// Kills the programs whose starter is one of those, and returns how many they were.
#[cfg(target_os = "linux")]
fn end_started_by(is_one: impl Fn(&str) -> bool) -> usize {
    let passes = (0..PASSES).map(|_| numbers().into_iter().filter(|pid| end_one(*pid, &is_one).is_some()).count());
    passes.take_while(|found| *found > 0).sum()
}

#[cfg(not(target_os = "linux"))]
fn end_started_by(_is_one: impl Fn(&str) -> bool) -> usize {
    0
}

/// Lists the numbers of the processes that can be seen.
#[cfg(target_os = "linux")]
fn numbers() -> Vec<i32> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok()).collect()
}

/// Ends a process whose starter is one of those. The process is held before it is looked at, so that no other one that
/// gets its number is killed in its place.
#[cfg(target_os = "linux")]
fn end_one(pid: i32, is_one: &impl Fn(&str) -> bool) -> Option<()> {
    use std::io::Read as _;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    let held = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    let mut environment = Vec::new();
    let file = fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(MAX_ENVIRONMENT).read_to_end(&mut environment).ok()?;
    let named = environment.split(|byte| *byte == 0).find_map(|line| line.strip_prefix(STARTED_BY.as_bytes()));
    let starter = std::str::from_utf8(named?.strip_prefix(b"=")?).ok()?;
    if !is_one(starter) {
        return None;
    }
    pidfd_send_signal(held, Signal::KILL).ok()
}

/// Asks the system itself: a process that is hidden, or another user's, is there too, only not to be signalled.
#[cfg(unix)]
fn is_gone(pid: u32) -> bool {
    use rustix::{io::Errno, process};

    let id = i32::try_from(pid).ok().and_then(process::Pid::from_raw);
    id.is_some_and(|id| process::test_kill_process(id) == Err(Errno::SRCH))
}

#[cfg(not(unix))]
fn is_gone(_pid: u32) -> bool {
    false
}

/// Names this boot and process namespace; empty where the system does not say.
fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default();
    let namespace: String = namespace.chars().filter(char::is_ascii_digit).collect();
    match boot.trim() {
        "" => String::new(),
        boot => format!("{boot}.{namespace}"),
    }
}

/// What `/proc` shows of a process.
enum ProcessState {
    /// With the time of its start, in clock ticks since boot.
    Running { start: String },
    /// Only its remains are there.
    Ended,
    /// There is none, or it is hidden.
    Nothing,
}

fn process_state(pid: u32) -> ProcessState {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may contain anything; fields are counted behind it (proc_pid_stat(5)).
    let Some((_, fields)) = stat.rsplit_once(')') else { return ProcessState::Nothing };
    let mut fields = fields.split_whitespace();
    match fields.next() {
        None => ProcessState::Nothing,
        Some("Z" | "X") => ProcessState::Ended,
        Some(_) => {
            fields.nth(18).map_or(ProcessState::Nothing, |start| ProcessState::Running { start: start.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_an_ended_one_is_dead() {
        let own = this_process();
        assert!(!is_dead(&own));
        let mut child = process::Command::new("sleep").arg("30").spawn().unwrap();
        let ProcessState::Running { start } = process_state(child.id()) else { panic!("it runs") };
        let child_name = format!("{}/{}/{start}/x", machine(), child.id());
        assert!(!is_dead(&child_name));
        assert!(is_dead(&format!("{}/{}/{start}0/x", machine(), child.id())), "another process has its number");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_dead(&child_name));
    }

    /// A program of a living process stays, one of a dead process goes with its children.
    #[cfg(target_os = "linux")]
    #[test]
    fn programs_of_the_dead_are_ended() {
        use std::os::unix::process::CommandExt as _;

        let start = |starter: &str| {
            let mut command = process::Command::new("sh");
            command.args(["-c", "sleep 60 & echo ready; wait"]).env(STARTED_BY, starter).process_group(0);
            let mut child = command.stdout(process::Stdio::piped()).spawn().unwrap();
            let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
            std::io::BufRead::read_line(&mut output, &mut String::new()).unwrap();
            (child, output)
        };
        let mut short = process::Command::new("true").spawn().unwrap();
        short.wait().unwrap();
        let (mut living, _) = start(&this_process());
        let (mut orphan, mut output) = start(&format!("{}/{}/1/x", machine(), short.id()));
        end_orphans();
        std::io::Read::read_to_end(&mut output, &mut Vec::new()).expect("it and its child let go of it");
        assert!(!orphan.wait().unwrap().success());
        assert!(living.try_wait().unwrap().is_none(), "it is not ours to end");
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&living),
            rustix::process::Signal::KILL,
        );
        living.wait().unwrap();
    }

    #[test]
    fn nothing_is_claimed_of_other_machines_or_other_names() {
        assert!(!is_dead("other.1/4194000/5/x"));
        assert!(!is_dead("somebody"));
    }
}
