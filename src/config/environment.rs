//! The environment of the process: its variables as texts, and names that look like settings and are none.

use std::{cell::OnceCell, ffi::OsString};

use super::{ConfigError, Environment, settings};
use crate::domain::nearest::nearest;

/// What the names of our variables begin with.
const PREFIX: &str = "FATHOM_";

/// Lets `read` take settings from the environment of the process.
///
/// # Errors
/// As `read`; and a variable that it asked for is no text.
pub fn of_process<T>(read: impl FnOnce(Environment<'_>) -> Result<T, ConfigError>) -> Result<T, ConfigError> {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    texts(|name| std::env::var_os(name), read)
}

/// Lets `read` take settings from `variable`. One that it asks for and that is no text would silently not count, so it
/// is refused.
fn texts<T>(
    variable: impl Fn(&str) -> Option<OsString>,
    read: impl FnOnce(Environment<'_>) -> Result<T, ConfigError>,
) -> Result<T, ConfigError> {
    let unreadable = OnceCell::new();
    let done = read(&|name| {
        let text = variable(name)?.into_string();
        text.inspect_err(|_| drop(unreadable.set(name.to_owned()))).ok()
    });
    match unreadable.into_inner() {
        Some(place) => Err(ConfigError::Value { place, expected: "a text in UTF-8".to_owned() }),
        None => done,
    }
}

/// Refuses variables that look like settings and are none: a misspelt one would silently not count.
pub fn check_names(names: impl Iterator<Item = OsString>) -> Result<(), ConfigError> {
    let names: Vec<String> =
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with(PREFIX)).collect();
    let known = || settings::all().iter().map(|setting| &*setting.variable).chain([settings::FILE_VARIABLE]);
    let unknown = names.iter().find(|name| !known().any(|known| known == **name) && !is_of_service(name, &names));
    unknown.map_or(Ok(()), |name| {
        let nearest = meant(name).or_else(|| nearest(name, known()));
        Err(ConfigError::Variable { name: name.clone(), nearest })
    })
}

/// Returns whether Kubernetes set the variable for a Service of its namespace: it gives each pod `NAME_SERVICE_HOST`,
/// `NAME_PORT`, `NAME_PORT_8080_TCP` and others, and the Service may be named as we are.
fn is_of_service(name: &str, names: &[String]) -> bool {
    let ends = ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT"].into_iter().flat_map(|mark| {
        let marks = name.match_indices(mark);
        marks.filter(move |(at, _)| matches!(name.as_bytes().get(at + mark.len()), None | Some(b'_')))
    });
    ends.map(|(end, _)| &name[..end]).any(|service| names.contains(&format!("{service}_SERVICE_HOST")))
}

/// Returns the setting that is meant by a name which other programs, or a habit, suggest.
fn meant(name: &str) -> Option<&'static str> {
    const HABITS: &[(&[&str], &str)] = &[
        (&["PORT", "HOST", "ADDR", "ADDRESS", "BIND", "BIND_ADDRESS", "LISTEN_ADDRESS"], "FATHOM_LISTEN"),
        (&["DB", "DB_URL", "DSN", "POSTGRES_URL", "PG_URL"], "DATABASE_URL"),
        (&["DATA", "HOME", "DATA_FOLDER"], "FATHOM_DATA_DIR"),
        (&["LOG_LEVEL", "LOGLEVEL", "RUST_LOG"], "FATHOM_LOG"),
        (&["CONFIG_FILE", "SETTINGS"], settings::FILE_VARIABLE),
        (&["AUTH"], "FATHOM_AUTHENTICATION"),
    ];
    let bare = name.strip_prefix(PREFIX)?;
    // Those of vendors, and DATABASE_URL, have no prefix of ours.
    let own = settings::all().iter().map(|setting| &*setting.variable).find(|variable| *variable == bare);
    own.or_else(|| HABITS.iter().find(|(names, _)| names.contains(&bare)).map(|(_, variable)| *variable))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str]) -> Result<(), String> {
        check_names(names.iter().map(OsString::from)).map_err(|error| error.to_string())
    }

    #[test]
    fn unknown_variables_of_ours_are_refused() {
        assert_eq!(check(&["FATHOM_LISTEN", "FATHOM_CONFIG", "OTHER"]), Ok(()));
        assert_eq!(check(&["FATHOM_LISTN"]).unwrap_err(), "FATHOM_LISTN is not a setting; did you mean FATHOM_LISTEN?");
        assert_eq!(check(&["FATHOM_ZZZZZZZZZZZZ"]).unwrap_err(), "FATHOM_ZZZZZZZZZZZZ is not a setting");
        for (name, expected) in [
            ("FATHOM_DATABASE_URL", "DATABASE_URL"),
            ("FATHOM_OPENAI_API_KEY", "OPENAI_API_KEY"),
            ("FATHOM_PORT", "FATHOM_LISTEN"),
            ("FATHOM_LOG_LEVEL", "FATHOM_LOG"),
        ] {
            assert_eq!(check(&[name]).unwrap_err(), format!("{name} is not a setting; did you mean {expected}?"));
        }
    }

    /// What a pod is given for Services named `fathom` and `fathom-db`.
    #[test]
    fn variables_of_a_service_of_kubernetes_are_no_settings_of_ours() {
        let given = [
            "FATHOM_SERVICE_HOST",
            "FATHOM_SERVICE_PORT",
            "FATHOM_SERVICE_PORT_HTTP",
            "FATHOM_PORT",
            "FATHOM_PORT_8080_TCP",
            "FATHOM_PORT_8080_TCP_ADDR",
            "FATHOM_PORT_8080_TCP_PORT",
            "FATHOM_DB_SERVICE_HOST",
            "FATHOM_DB_PORT_5432_TCP_PROTO",
        ];
        assert_eq!(check(&given), Ok(()));
        assert!(check(&given[1..]).unwrap_err().starts_with("FATHOM_SERVICE_PORT is not a setting"));
        assert!(check(&[&given[..], &["FATHOM_LISTN"]].concat()).unwrap_err().starts_with("FATHOM_LISTN is "));
        assert!(check(&["FATHOM_SERVICE_HOST", "FATHOM_PORTS"]).unwrap_err().starts_with("FATHOM_PORTS is "));
    }

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_no_text_is_refused_when_it_is_asked_for() {
        use std::os::unix::ffi::OsStringExt as _;
        let variable = |name: &str| match name {
            "FATHOM_DATA_DIR" => Some(OsString::from_vec(b"/srv/caf\xe9".to_vec())),
            "FATHOM_LISTEN" => Some("127.0.0.1:9".into()),
            _ => None,
        };
        let read = |name: &str| texts(variable, |variables| Ok(variables(name))).map_err(|error| error.to_string());
        assert_eq!(read("FATHOM_DATA_DIR"), Err("FATHOM_DATA_DIR must be a text in UTF-8".to_owned()));
        assert_eq!(read("FATHOM_LISTEN"), Ok(Some("127.0.0.1:9".to_owned())));
        assert_eq!(read("FATHOM_MODEL"), Ok(None));
    }
}
