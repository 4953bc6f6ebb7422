//! What an address of Postgres says behind its question mark.
//!
//! The driver passes over a parameter that it does not know, and takes a file that it cannot read for a server that is
//! away. A misspelt `sslmode` would leave the certificate of the server unchecked.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use url::Url;

use crate::{domain::nearest::nearest, store::Error};

/// The parameters by the names that Postgres gives them. Source: sqlx-postgres 0.8.6, `options/parse.rs`.
const NAMES: [&str; 12] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];
/// Those that the driver takes beside them.
const OTHER_NAMES: [&str; 6] =
    ["ssl-mode", "ssl-root-cert", "ssl-ca", "ssl-cert", "ssl-key", "statement-cache-capacity"];
/// Those that other clients take: addresses of hosted databases have them. Source: the PostgreSQL manual, "Parameter
/// Key Words" of libpq; the last four, Prisma's documentation of its connection strings.
const UNUSED: [&str; 36] = [
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "fallback_application_name",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "max_protocol_version",
    "min_protocol_version",
    "passfile",
    "replication",
    "require_auth",
    "requirepeer",
    "requiressl",
    "service",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslnegotiation",
    "sslpassword",
    "sslsni",
    "target_session_attrs",
    "tcp_user_timeout",
    "connection_limit",
    "pgbouncer",
    "pool_timeout",
    "schema",
];
const MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];
/// The longest name or value that is repeated to people.
const SHOWN_CHARS: usize = 40;

/// Checks the names of the parameters, and the value of `sslmode`. An address that is none has none.
///
/// # Errors
/// What the address must be. It repeats nothing that may belong to a password.
pub fn check_parameters(address: &str) -> Result<(), String> {
    let Ok(url) = Url::parse(address.trim()) else { return Ok(()) };
    // Behind a question mark in a password that is not escaped stands the rest of it, and then the host.
    let may_be_shown = |text: &str| is_plain(text) && !url.query().is_some_and(|query| query.contains('@'));
    for (name, value) in url.query_pairs() {
        let is_mode = matches!(&*name, "sslmode" | "ssl-mode");
        if !is_known(&name) {
            return Err(unknown(may_be_shown(&name).then_some(&name)));
        }
        if is_mode && !MODES.contains(&&*value.to_ascii_lowercase()) {
            let given = if may_be_shown(&value) { format!(", not {value}") } else { String::new() };
            return Err(format!("an address whose sslmode is one of {}{given}", MODES.join(", ")));
        }
    }
    Ok(())
}

/// Returns the parameters of the address that other clients take, and the driver does not.
pub fn unused_parameters(address: &str) -> Vec<&'static str> {
    let Ok(url) = Url::parse(address.trim()) else { return Vec::new() };
    UNUSED.into_iter().filter(|unused| url.query_pairs().any(|(name, _)| name == *unused)).collect()
}

fn is_known(name: &str) -> bool {
    let is_option = name.starts_with("options[") && name.ends_with(']');
    NAMES.contains(&name) || OTHER_NAMES.contains(&name) || UNUSED.contains(&name) || is_option
}

/// Returns what to say of a parameter that there is not, with its name if that may be shown.
fn unknown(name: Option<&Cow<'_, str>>) -> String {
    let known = NAMES.join(", ");
    let Some(name) = name else {
        return format!("an address whose parameters are among {known} (a ? in a password is written %3F)");
    };
    match nearest(&name.to_ascii_lowercase(), NAMES.into_iter()) {
        Some(meant) => format!("an address without the parameter {name}, which does not exist; did you mean {meant}?"),
        None => format!("an address without the parameter {name}, which does not exist; there are {known}"),
    }
}

fn is_plain(text: &str) -> bool {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    !text.is_empty() && text.len() <= SHOWN_CHARS && text.bytes().all(is_usual)
}

/// Checks that the files can be read that the address names, and hold what they should.
///
/// # Errors
/// [`Error::Unusable`], which names the file.
pub async fn check_files(address: &str) -> Result<(), Error> {
    let Ok(url) = Url::parse(address.trim()) else { return Ok(()) };
    for (name, path) in url.query_pairs() {
        let (holds, what): (fn(&[u8]) -> bool, _) = match &*name {
            "sslrootcert" | "ssl-root-cert" | "ssl-ca" | "sslcert" | "ssl-cert" => (holds_certificates, "certificate"),
            "sslkey" | "ssl-key" => (holds_key, "private key"),
            _ => continue,
        };
        let path = PathBuf::from(&*path);
        check_file(&path, holds, what)
            .await
            .map_err(|problem| Error::Unusable(format!("{name} in DATABASE_URL: {} {problem}", path.display())))?;
    }
    Ok(())
}

async fn check_file(path: &Path, holds: fn(&[u8]) -> bool, what: &str) -> Result<(), String> {
    let bytes = tokio::fs::read(path).await.map_err(|error| format!("cannot be read: {error}"))?;
    if holds(&bytes) { Ok(()) } else { Err(format!("holds no {what} in PEM form")) }
}

/// Returns whether there is one at least, and none that is broken.
fn holds_certificates(bytes: &[u8]) -> bool {
    let mut certificates = CertificateDer::pem_slice_iter(bytes).peekable();
    certificates.peek().is_some() && certificates.all(|certificate| certificate.is_ok())
}

fn holds_key(bytes: &[u8]) -> bool {
    PrivateKeyDer::from_pem_slice(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: Result<(), &str>) {
        let answer = check_parameters(&format!("postgres://me:pa55@host:5432/db?{query}"));
        assert_eq!(answer.as_ref().copied().map_err(String::as_str), expected, "{query}");
    }

    #[test]
    fn parameters_that_do_not_exist_are_named_with_what_was_meant() {
        let misspelt = |name: &str, meant: &str| {
            let expected =
                format!("an address without the parameter {name}, which does not exist; did you mean {meant}?");
            check(&format!("host=/run&{name}=require"), Err(&expected));
        };
        for (name, meant) in [
            ("ssl_mode", "sslmode"),
            ("sslmod", "sslmode"),
            ("SSLMODE", "sslmode"),
            ("sslroot_cert", "sslrootcert"),
            ("ssl_root_cert", "sslrootcert"),
            ("application-name", "application_name"),
        ] {
            misspelt(name, meant);
        }
        let strange = check_parameters("postgres://host/db?colour=blue").unwrap_err();
        assert!(strange.contains("colour, which does not exist; there are sslmode, sslrootcert, "), "{strange}");
        check("sslmode=verify-full&sslrootcert=/ca.pem&sslcert=a&sslkey=b&options[geqo]=off&options=-c%20x=y", Ok(()));
        check("ssl-mode=Require&ssl-root-cert=/ca.pem&ssl-ca=/ca.pem&statement-cache-capacity=5", Ok(()));
        check("", Ok(()));
        check_parameters("postgres://host/db").unwrap();
    }

    #[test]
    fn parameters_of_other_clients_are_left_aside() {
        let hosted = "postgres://me:pa55@host/db?sslmode=require&connect_timeout=10&channel_binding=require";
        check_parameters(hosted).unwrap();
        assert_eq!(unused_parameters(hosted), ["channel_binding", "connect_timeout"]);
        assert_eq!(unused_parameters("postgres://host/db?sslmode=require"), [""; 0]);
    }

    #[test]
    fn modes_that_do_not_exist_are_named_with_those_that_do() {
        let expected = "an address whose sslmode is one of disable, allow, prefer, require, verify-ca, verify-full";
        check("sslmode=full", Err(&format!("{expected}, not full")));
        check("ssl-mode=verify_full", Err(&format!("{expected}, not verify_full")));
        check("sslmode=", Err(expected));
        check("sslmode=a%0Ab", Err(expected));
    }

    /// The driver would take all of them for parameters.
    #[test]
    fn what_may_belong_to_a_password_is_not_repeated() {
        for address in [
            "postgres://me:1?s3cret@host/db",
            "postgres://me:1?s3cret=s3cret@host/db",
            "postgres://me:1?sslmode=s3cret@h",
        ] {
            let said = check_parameters(address).unwrap_err();
            assert!(!said.contains("s3cret"), "{said}");
        }
    }

    #[test]
    fn the_driver_knows_all_of_them() {
        use sqlx::postgres::PgConnectOptions;
        let value = |name: &str| match name {
            "sslmode" | "ssl-mode" => "require",
            "hostaddr" => "127.0.0.1",
            "port" | "statement-cache-capacity" => "7",
            _ => "x",
        };
        let plain: PgConnectOptions = "postgres://u@h/d".parse().unwrap();
        for name in NAMES.into_iter().chain(OTHER_NAMES) {
            let with: PgConnectOptions = format!("postgres://u@h/d?{name}={}", value(name)).parse().unwrap();
            assert_ne!(format!("{with:?}"), format!("{plain:?}"), "{name}");
        }
    }
}
