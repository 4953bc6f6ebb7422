//! How many files, connections among them, the process may have open at a time.

/// The files kept for the database, calls of runs, documents and the log.
const BESIDE_CLIENTS: u64 = 256;

/// Raises the limit as far as the system lets it, since most start processes with room for 1024 although they may ask
/// for more; returns it, `None` where it cannot be known. Where it is too little, calls fail to connect and are tried
/// again.
pub fn raise_limit() -> Option<u64> {
    let raised = rlimit::increase_nofile_limit(u64::MAX);
    raised.inspect_err(|error| tracing::warn!(%error, "the limit of open files could not be raised")).ok()
}

/// Returns what an operator should know of a limit that is less than so many `connections` of clients need.
pub fn notice(limit: Option<u64>, connections: usize) -> Option<String> {
    let needed = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(BESIDE_CLIENTS);
    limit.filter(|limit| *limit < needed).map(|limit| {
        format!(
            "only {limit} files may be open at a time, and each of {connections} connections (FATHOM_MAX_CONNECTIONS) may be one: raise LimitNOFILE (systemd), --ulimit nofile (containers) or ulimit -n to {needed}, or lower FATHOM_MAX_CONNECTIONS"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_spoken_of_when_clients_may_need_more() {
        assert_eq!(notice(None, 24_000), None);
        assert_eq!(notice(Some(24_256), 24_000), None);
        let said = notice(Some(1_024), 24_000).unwrap();
        assert!(said.contains("only 1024 files") && said.contains("ulimit -n to 24256"), "{said}");
    }
}
