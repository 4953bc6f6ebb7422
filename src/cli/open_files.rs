//! How many files, connections among them, the process may have open at a time.

use crate::config::Config;

/// The files kept for the database, calls of runs, documents and the log.
const BESIDE_CLIENTS: u64 = 256;
/// The fewest connections of clients that a service has where their number is not set.
const FEWEST_CONNECTIONS: usize = 100;
/// One of so many connections is kept for requests that are no streams, where the number of streams is not set.
const SHARE_OF_REQUESTS: usize = 6;

/// Raises the limit as far as the system lets it, since most start processes with room for 1024 although they may ask
/// for more; returns it, `None` where it cannot be known. Where it is too little, calls fail to connect and are tried
/// again.
pub fn raise_limit() -> Option<u64> {
    let raised = rlimit::increase_nofile_limit(u64::MAX);
    raised.inspect_err(|error| tracing::warn!(%error, "the limit of open files could not be raised")).ok()
}

/// Lets in no more connections than a limit leaves room for, and streams than leave connections for requests, unless
/// it is set how many there may be. Returns what an operator should know where even so they may be too many.
pub fn fit(config: &mut Config, limit: Option<u64>) -> Option<String> {
    let [has_connections, has_streams] =
        ["http.max_connections", "http.max_streams"].map(|setting| config.is_set(setting));
    let http = &mut config.http;
    if let Some(limit) = limit.filter(|_| !has_connections) {
        let room = usize::try_from(limit.saturating_sub(BESIDE_CLIENTS)).unwrap_or(usize::MAX);
        http.max_connections = room.max(FEWEST_CONNECTIONS).min(http.max_connections);
    }
    if !has_streams {
        let others = http.max_connections.div_ceil(SHARE_OF_REQUESTS);
        http.max_streams = http.max_streams.min((http.max_connections - others).max(1));
    }
    notice(limit, http.max_connections)
}

/// Returns what an operator should know of a limit that is less than so many `connections` of clients need.
fn notice(limit: Option<u64>, connections: usize) -> Option<String> {
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
    use crate::config::Flags;

    #[test]
    fn a_limit_is_spoken_of_when_clients_may_need_more() {
        assert_eq!(notice(None, 24_000), None);
        assert_eq!(notice(Some(24_256), 24_000), None);
        let said = notice(Some(1_024), 24_000).unwrap();
        assert!(said.contains("only 1024 files") && said.contains("ulimit -n to 24256"), "{said}");
    }

    /// What is set stays; what is not is nothing to trouble anybody with, unless hardly any client could get in.
    #[test]
    fn connections_follow_the_limit_unless_their_number_is_set() {
        let check = |set: Option<&str>, limit: Option<u64>, connections: usize, is_said: bool| {
            let mut config = with("FATHOM_MAX_CONNECTIONS", set);
            let said = fit(&mut config, limit).is_some();
            assert_eq!((config.http.max_connections, said), (connections, is_said), "{set:?} {limit:?}");
        };
        check(None, None, 24_000, false);
        check(None, Some(1_048_576), 24_000, false);
        check(None, Some(20_000), 19_744, false);
        check(None, Some(1_024), 768, false);
        check(None, Some(300), 100, true);
        check(Some("24000"), Some(20_000), 24_000, true);
        check(Some("500"), Some(1_024), 500, false);
    }

    /// Readers of streams that take every connection leave none for questions.
    #[test]
    fn streams_leave_connections_for_requests_unless_their_number_is_set() {
        let check = |name: &str, set: Option<&str>, limit: Option<u64>, streams: usize| {
            let mut config = with(name, set);
            fit(&mut config, limit);
            assert_eq!(config.http.max_streams, streams, "{name}={set:?} {limit:?}");
        };
        check("FATHOM_MAX_STREAMS", None, None, 20_000);
        check("FATHOM_MAX_STREAMS", None, Some(1_024), 640);
        check("FATHOM_MAX_STREAMS", Some("700"), Some(1_024), 700);
        check("FATHOM_MAX_CONNECTIONS", Some("1"), None, 1);
        check("FATHOM_MAX_CONNECTIONS", Some("4"), None, 3);
        check("FATHOM_MAX_CONNECTIONS", Some("100"), None, 83);
        check("FATHOM_MAX_CONNECTIONS", Some("600"), None, 500);
        check("FATHOM_MAX_CONNECTIONS", Some("100000"), None, 20_000);
    }

    fn with(name: &str, value: Option<&str>) -> Config {
        let environment = |asked: &str| match asked {
            "HOME" => Some("/home/ada".to_owned()),
            _ if asked == name => value.map(str::to_owned),
            _ => None,
        };
        Config::read(&Flags::default(), &environment).unwrap()
    }
}
