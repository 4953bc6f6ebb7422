//! Profiles in the files that Amazon's programs share: keys, programs that print keys, roles
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>).

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use aws_credential_types::Credentials;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::remote::{Role, parse};
use super::sources::Found;
use crate::files;
use crate::llm::access::Refused;
use crate::llm::settings::Endpoint;

/// How long keys of a file are used before it is read again.
const FILE_COUNTS: Duration = Duration::from_secs(60);
/// How long keys of a program are used that says no end of them.
const PROGRAM_COUNTS: Duration = Duration::from_secs(3_600);
/// For one start of a program.
const PROGRAM_TIME: Duration = Duration::from_secs(60);
/// Bytes of a file.
const MAX_FILE: u64 = 256 * 1024;
/// Bytes that a program may print.
const MAX_OUTPUT: u64 = 64 * 1024;
/// How keys are had from profiles of a kind that is not followed here.
const REMEDY: &str = "use a profile with `credential_process = aws configure export-credentials --profile NAME`";

/// How to get the credentials of a profile.
pub(super) enum Profile {
    Keys(Found),
    /// A command that prints them.
    Program(String),
    Role(Role),
}

/// The two files, and what programs that they name are given.
#[derive(Debug)]
pub(super) struct Profiles {
    credentials: Option<PathBuf>,
    config: Option<PathBuf>,
    environment: Vec<(&'static str, String)>,
}

impl Profiles {
    pub fn new(endpoint: &Endpoint) -> Self {
        let file =
            |name: &str, usual: &str| endpoint.other(name).map(PathBuf::from).or_else(|| endpoint.in_home(usual));
        Self {
            credentials: file("credentials", ".aws/credentials"),
            config: file("config", ".aws/config"),
            environment: endpoint.environment.clone(),
        }
    }

    /// `None` when no file has anything of it.
    ///
    /// # Errors
    /// [`Refused::Credentials`] for a profile of a kind that is not followed.
    pub async fn get(&self, name: &str) -> Result<Option<Profile>, Refused> {
        let (credentials, config) = (text(self.credentials.as_deref()).await, text(self.config.as_deref()).await);
        let heading = if name == "default" { name.to_owned() } else { format!("profile {name}") };
        let values = [section(&credentials, name), section(&config, &heading)].concat();
        of_values(name, &values)
    }

    /// Has the program print credentials.
    ///
    /// # Errors
    /// [`Refused::Credentials`] when it does not.
    pub async fn run(&self, command: &str) -> Result<Found, Refused> {
        let unusable = |problem: &str| Refused::Credentials(format!("the credential_process of the profile {problem}"));
        let words = shlex::split(command).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| unusable("is no command"))?;
        let run = tokio::time::timeout(PROGRAM_TIME, output(&words, &self.environment)).await;
        let run = run.map_err(|_| unusable(&format!("did not end within {} s", PROGRAM_TIME.as_secs())))?;
        // What it printed may be a secret.
        let printed = run.map_err(|problem| unusable(&problem))?;
        let credentials = parse(&printed, "program").ok_or_else(|| unusable("printed no credentials"))?;
        Ok(Found { credentials, counts_for: PROGRAM_COUNTS })
    }
}

/// What the program prints. It is killed when the future is dropped.
async fn output(words: &[String], environment: &[(&'static str, String)]) -> Result<Vec<u8>, String> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("could not be started: {error}"))?;
    let mut printed = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let read = stdout.take(MAX_OUTPUT).read_to_end(&mut printed).await;
        read.map_err(|error| format!("could not be read: {error}"))?;
    }
    match child.wait().await {
        Ok(status) if status.success() => Ok(printed),
        Ok(status) => Err(format!("ended with {status}")),
        Err(error) => Err(format!("was lost: {error}")),
    }
}

/// A file that is not there says nothing.
async fn text(path: Option<&Path>) -> String {
    match path {
        Some(path) => files::read_text_aside(path, MAX_FILE).await.unwrap_or_default(),
        None => String::new(),
    }
}

/// The `name = value` lines below a `[heading]`.
fn section(text: &str, heading: &str) -> Vec<(String, String)> {
    let heading_of = |line: &str| {
        let inside = line.strip_prefix('[')?.split_once(']')?.0;
        Some(inside.replace('"', "").split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    let own = lines.skip_while(|line| heading_of(line).as_deref() != Some(heading)).skip(1);
    let own = own.take_while(|line| heading_of(line).is_none()).filter_map(|line| line.split_once('='));
    let trimmed = own.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    trimmed.filter(|(_, value)| !value.is_empty()).collect()
}

/// The first value of a name counts.
fn of_values(name: &str, values: &[(String, String)]) -> Result<Option<Profile>, Refused> {
    let value = |name: &str| values.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    if let Some((arn, file)) = value("role_arn").zip(value("web_identity_token_file")) {
        return Ok(Some(Profile::Role(Role { arn, file: file.into(), session: value("role_session_name") })));
    }
    let assumes = value("role_arn").is_some();
    if let Some((id, key)) = value("aws_access_key_id").zip(value("aws_secret_access_key")).filter(|_| !assumes) {
        let credentials = Credentials::new(id, key, value("aws_session_token"), None, "profile");
        return Ok(Some(Profile::Keys(Found { credentials, counts_for: FILE_COUNTS })));
    }
    if let Some(command) = value("credential_process").filter(|_| !assumes) {
        return Ok(Some(Profile::Program(command)));
    }
    let kind = match values.iter().any(|(key, _)| key.starts_with("sso_")) {
        _ if assumes => "assumes a role",
        true => "signs in through IAM Identity Center",
        false => return Ok(None),
    };
    Err(Refused::Credentials(format!("the profile {name} {kind}, which is not done here: {REMEDY}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "# mine\n[default]\naws_access_key_id = AKIA1\naws_secret_access_key=s1\n\n[work]\n\
        aws_access_key_id=AKIA2\naws_secret_access_key = s2==\naws_session_token = t2\n[empty]\n";
    const CONFIG: &str = "[default]\nregion = eu-west-1\ncredential_process = /opt/keys\n[profile tool]\n\
        credential_process = \"/opt/my keys\" --for me\ns3 =\n  max_queue_size = 7\n[profile \"far\"]\nrole_arn = arn:aws:iam::1:role/r\n\
        source_profile = work\n[profile pod]\nrole_arn = arn:2\nweb_identity_token_file = /run/token\n\
        [profile office]\nsso_session = office\nsso_account_id = 1\n[profile bare]\nregion = eu-west-1\n";

    fn described(name: &str) -> String {
        let heading = if name == "default" { name.to_owned() } else { format!("profile {name}") };
        let values = [section(CREDENTIALS, name), section(CONFIG, &heading)].concat();
        match of_values(name, &values) {
            Ok(None) => "nothing".to_owned(),
            Ok(Some(Profile::Keys(found))) => {
                let one = found.credentials;
                format!("{} {} {:?}", one.access_key_id(), one.secret_access_key(), one.session_token())
            }
            Ok(Some(Profile::Program(command))) => format!("{:?}", shlex::split(&command)),
            Ok(Some(Profile::Role(role))) => format!("{} {} {:?}", role.arn, role.file.display(), role.session),
            Err(Refused::Credentials(said) | Refused::Unreachable(said)) => said,
        }
    }

    #[test]
    fn a_profile_is_found_among_others() {
        assert_eq!(described("default"), "AKIA1 s1 None", "keys come before programs");
        assert_eq!(described("work"), "AKIA2 s2== Some(\"t2\")");
        assert_eq!(described("tool"), r#"Some(["/opt/my keys", "--for", "me"])"#);
        assert_eq!(described("pod"), "arn:2 /run/token None");
        assert_eq!([described("empty"), described("bare"), described("other")], ["nothing", "nothing", "nothing"]);
    }

    #[test]
    fn profiles_that_are_not_followed_say_what_to_do() {
        let check = |name: &str, kind: &str| {
            let said = described(name);
            assert!(said.contains(kind) && said.contains("aws configure export-credentials"), "{said}");
        };
        check("far", "the profile far assumes a role");
        check("office", "the profile office signs in through IAM Identity Center");
    }
}
