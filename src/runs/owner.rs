//! Who owns a run: a name per process, precise enough to tell on the same machine that a process is gone.
//!
//! So a run whose process was killed goes on at once when it is resumed on the same machine; anywhere else its lease
//! has to run out first.

use std::{fs, process};

use uuid::Uuid;

/// Shape: `machine/pid/start/nonce`. The machine part names this boot and process namespace, so that equal process ids
/// of two containers are never confused.
pub fn this_process() -> String {
    let pid = process::id();
    format!("{}/{pid}/{}/{}", machine(), started(pid).unwrap_or_default(), &Uuid::new_v4().simple().to_string()[..8])
}

/// Is the owner a process of this machine that no longer runs? `false` when it cannot be known.
pub fn is_dead(owner: &str) -> bool {
    let mut parts = owner.split('/');
    let (Some(host), Some(pid), Some(start)) =
        (parts.next(), parts.next().and_then(|pid| pid.parse().ok()), parts.next())
    else {
        return false;
    };
    let machine = machine();
    !machine.is_empty() && host == machine && !start.is_empty() && started(pid).as_deref() != Some(start)
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

/// When the process started, in clock ticks since boot; `None` when there is no such process, or only its remains.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; fields are counted behind it (proc_pid_stat(5)).
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_an_ended_one_is_dead() {
        let owner = this_process();
        assert!(!is_dead(&owner));
        let mut child = process::Command::new("sleep").arg("30").spawn().unwrap();
        let child_owner = format!("{}/{}/{}/x", machine(), child.id(), started(child.id()).unwrap());
        assert!(!is_dead(&child_owner));
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
