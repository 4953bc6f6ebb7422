//! Who owns a run: a name per process, precise enough to tell on the same machine that a process is gone.
//!
//! So a run whose process was killed goes on at once when it is resumed on the same machine; anywhere else its lease
//! has to run out first. A death is proved: the system says that there is no such process, or that the process of that
//! number is another one. What the system hides (`/proc` under `hidepid`) proves nothing.

use std::{fs, process};

use uuid::Uuid;

/// Shape: `machine/pid/start/nonce`. The machine part names this boot and process namespace, so that equal process ids
/// of two containers are never confused.
pub fn this_process() -> String {
    let pid = process::id();
    let start = match process_state(pid) {
        ProcessState::Running { start } => start,
        ProcessState::Ended | ProcessState::Nothing => String::new(),
    };
    format!("{}/{pid}/{start}/{}", machine(), &Uuid::new_v4().simple().to_string()[..8])
}

/// Is the owner a process of this machine that no longer runs? `false` when it cannot be known.
pub fn is_dead(owner: &str) -> bool {
    let mut parts = owner.split('/');
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

/// Asked of the system itself: a process that is hidden, or another user's, is there too, only not to be signalled.
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

/// This boot and process namespace; empty where the system does not say.
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
        let owner = this_process();
        assert!(!is_dead(&owner));
        let mut child = process::Command::new("sleep").arg("30").spawn().unwrap();
        let ProcessState::Running { start } = process_state(child.id()) else { panic!("it runs") };
        let child_owner = format!("{}/{}/{start}/x", machine(), child.id());
        assert!(!is_dead(&child_owner));
        assert!(is_dead(&format!("{}/{}/{start}0/x", machine(), child.id())), "another process has its number");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_dead(&child_owner));
    }

    #[test]
    fn nothing_is_claimed_of_other_machines_or_other_names() {
        assert!(!is_dead("other.1/4194000/5/x"));
        assert!(!is_dead("somebody"));
    }
}
