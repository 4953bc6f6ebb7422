//! Profiles in the files that Amazon's programs share: keys, programs that print keys, roles, sign-ins
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>).

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use aws_credential_types::Credentials;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::remote::parse;
use super::sign_in::SignIn;
use super::timed::TimedCredentials;
use crate::files;
use crate::llm::access::Refused;
use crate::llm::endpoint::Endpoint;

/// How long keys of a file are used before it is read again.
const FILE_COUNTS: Duration = Duration::from_secs(60);
/// How long keys of a program are used that says no end of them.
const PROGRAM_COUNTS: Duration = Duration::from_secs(3_600);
/// The time for one start of a program.
const PROGRAM_TIME: Duration = Duration::from_secs(60);
/// Bytes of a file.
const MAX_FILE: u64 = 256 * 1024;
/// Bytes that a program may print.
const MAX_OUTPUT: u64 = 64 * 1024;
/// How keys are had from profiles of a kind that is not followed here.
const REMEDY: &str = "use a profile with `credential_process = aws configure export-credentials --profile NAME`";

/// How to get the credentials of a profile.
pub(super) enum Profile {
    Keys(TimedCredentials),
    /// A command that prints them.
    Program(String),
    Role(Role),
    Assumed(Assumed),
    SignIn(SignIn),
}

/// A role that a token of somebody else's entitles to.
#[derive(Clone, Debug)]
pub(super) struct Role {
    pub arn: String,
    /// Where the token is; read again each time, since it changes.
    pub file: PathBuf,
    pub session: Option<String>,
}

/// A role that other credentials entitle to.
pub(super) struct Assumed {
    pub arn: String,
    pub session: Option<String>,
    pub external_id: Option<String>,
    /// How long its credentials shall count, in seconds; unset: as long as the role says.
    pub seconds: Option<u32>,
    pub by: By,
}

/// Whose credentials entitle to a role.
pub(super) enum By {
    Profile(Box<Profile>),
    /// The access key of the settings.
    Settings,
    Container,
    Machine,
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

    /// Reads the profile of that name; `None` when no file has anything of it.
    ///
    /// # Errors
    /// [`Refused::Credentials`] for a profile of a kind that is not followed.
    pub async fn get(&self, name: &str) -> Result<Option<Profile>, Refused> {
        let (credentials, config) = (text(self.credentials.as_deref()).await, text(self.config.as_deref()).await);
        Texts { credentials, config }.profile(name, &[])
    }

    /// Runs the program that prints credentials.
    ///
    /// # Errors
    /// [`Refused::Credentials`] when it does not.
    pub async fn run(&self, command: &str) -> Result<TimedCredentials, Refused> {
        let unusable = |problem: &str| Refused::Credentials(format!("the credential_process of the profile {problem}"));
        let words = shlex::split(command).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| unusable("is no command"))?;
        let run = tokio::time::timeout(PROGRAM_TIME, output(&words, &self.environment)).await;
        let run = run.map_err(|_| unusable(&format!("did not end within {} s", PROGRAM_TIME.as_secs())))?;
        // What it printed may be a secret.
        let printed = run.map_err(|problem| unusable(&problem))?;
        let credentials = parse(&printed, "program").ok_or_else(|| unusable("printed no credentials"))?;
        Ok(TimedCredentials { credentials, counts_for: PROGRAM_COUNTS })
    }
}

/// Returns what the program prints. It is killed when the future is dropped.
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

/// Returns the text of a file; none of one that is not there.
async fn text(path: Option<&Path>) -> String {
    match path {
        Some(path) => files::read_text_aside(path, MAX_FILE).await.unwrap_or_default(),
        None => String::new(),
    }
}

/// Returns the `name = value` lines below a `[heading]`.
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

/// What the two files say.
struct Texts {
    credentials: String,
    config: String,
}

/// The lines of a profile; the first value of a name counts.
struct Values(Vec<(String, String)>);

impl Values {
    fn get(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
    }

    fn keys(&self) -> Option<Profile> {
        let (id, key) = self.get("aws_access_key_id").zip(self.get("aws_secret_access_key"))?;
        let credentials = Credentials::new(id, key, self.get("aws_session_token"), None, "profile");
        Some(Profile::Keys(TimedCredentials { credentials, counts_for: FILE_COUNTS }))
    }
}

impl Texts {
    fn values(&self, name: &str) -> Values {
        let heading = if name == "default" { name.to_owned() } else { format!("profile {name}") };
        Values([section(&self.credentials, name), section(&self.config, &heading)].concat())
    }

    /// Returns the profile of that name, which those `above` lead to, each by naming the next one. In such a one its
    /// keys count before its role, so a profile may name itself.
    fn profile(&self, name: &str, above: &[&str]) -> Result<Option<Profile>, Refused> {
        let values = self.values(name);
        let role = values.get("role_arn");
        if let Some((arn, file)) = role.clone().zip(values.get("web_identity_token_file")) {
            let session = values.get("role_session_name");
            return Ok(Some(Profile::Role(Role { arn, file: file.into(), session })));
        }
        let keys = values.keys();
        if let Some(arn) = role.filter(|_| above.is_empty() || keys.is_none()) {
            return self.assumed(arn, &values, &[above, &[name]].concat()).map(Some);
        }
        if values.get("sso_account_id").is_some() || values.get("sso_role_name").is_some() {
            return self.sign_in(name, &values).map(Some);
        }
        let program = || values.get("credential_process").map(Profile::Program);
        match keys.or_else(program) {
            None if values.get("login_session").is_some() => {
                Err(refused(name, &format!("signs in through the console, which is not done here: {REMEDY}")))
            }
            found => Ok(found),
        }
    }

    /// Returns the role of the last of `path`, which are the profiles that lead there.
    fn assumed(&self, arn: String, values: &Values, path: &[&str]) -> Result<Profile, Refused> {
        let name = path.last().copied().unwrap_or_default();
        if values.get("mfa_serial").is_some() {
            return Err(refused(name, &format!("asks for a code each time, which nobody here can give: {REMEDY}")));
        }
        let by = match (values.get("source_profile"), values.get("credential_source").as_deref()) {
            (Some(source), None) => By::Profile(Box::new(self.source(&source, path)?)),
            (None, Some("Environment")) => By::Settings,
            (None, Some("EcsContainer")) => By::Container,
            (None, Some("Ec2InstanceMetadata")) => By::Machine,
            (None, Some(_)) => return Err(refused(name, "has a credential_source that is none of Amazon's")),
            _ => return Err(refused(name, "has a role_arn, and not one of source_profile and credential_source")),
        };
        let seconds = values.get("duration_seconds").and_then(|text| text.parse().ok());
        let (session, external_id) = (values.get("role_session_name"), values.get("external_id"));
        Ok(Profile::Assumed(Assumed { arn, session, external_id, seconds, by }))
    }

    fn source(&self, name: &str, path: &[&str]) -> Result<Profile, Refused> {
        let (parent, before) = path.split_last().unwrap_or((&"", &[]));
        let is_itself = name == *parent && self.values(name).keys().is_some();
        if before.contains(&name) || (name == *parent && !is_itself) {
            return Err(refused(name, "leads back to itself"));
        }
        let none = || refused(name, "has no credentials");
        self.profile(name, path)?.ok_or_else(none)
    }

    /// Reads how a profile signs in. Where a session is named, its section has what the profile does not say.
    fn sign_in(&self, name: &str, values: &Values) -> Result<Profile, Refused> {
        let session = values.get("sso_session");
        let shared = session.iter().flat_map(|session| section(&self.config, &format!("sso-session {session}")));
        let values = Values(values.0.iter().cloned().chain(shared).collect());
        let value = |key: &str| values.get(key).ok_or_else(|| refused(name, &format!("has no {key}")));
        Ok(Profile::SignIn(SignIn {
            start_url: value("sso_start_url")?,
            region: value("sso_region")?,
            account: value("sso_account_id")?,
            role: value("sso_role_name")?,
            session,
        }))
    }
}

fn refused(profile: &str, problem: &str) -> Refused {
    Refused::Credentials(format!("the profile {profile} {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "# mine\n[default]\naws_access_key_id = AKIA1\naws_secret_access_key=s1\n\n[work]\n\
        aws_access_key_id=AKIA2\naws_secret_access_key = s2==\naws_session_token = t2\n[empty]\n\
        [both]\naws_access_key_id=AKIA3\naws_secret_access_key=s3\nrole_arn = arn:both\nsource_profile = both\n";
    const CONFIG: &str = "[default]\nregion = eu-west-1\ncredential_process = /opt/keys\n[profile tool]\n\
        credential_process = \"/opt/my keys\" --for me\ns3 =\n  max_queue_size = 7\n[profile \"far\"]\nrole_arn = arn:far\n\
        source_profile = work\nexternal_id = x\nduration_seconds = 900\n[profile farther]\nrole_arn = arn:farther\n\
        source_profile = far\n[profile pod]\nrole_arn = arn:2\nweb_identity_token_file = /run/token\n\
        [profile box]\nrole_arn = arn:box\ncredential_source = Ec2InstanceMetadata\n\
        [profile to-both]\nrole_arn = arn:to\nsource_profile = both\n\
        [profile office]\nsso_session = office\nsso_account_id = 1\nsso_role_name = reader\n\
        [sso-session office]\nsso_start_url = https://office\nsso_region = eu-1\n\
        [profile old]\nsso_start_url = https://old\nsso_region = eu-2\nsso_account_id = 2\nsso_role_name = r\n\
        [profile bare]\nregion = eu-west-1\n";
    const WRONG: &str = "[profile code]\nrole_arn = a\nsource_profile = code\nmfa_serial = arn:mfa\n\
        [profile lone]\nrole_arn = a\n[profile two]\nrole_arn = a\nsource_profile = x\ncredential_source = Environment\n\
        [profile odd]\nrole_arn = a\ncredential_source = Moon\n[profile self]\nrole_arn = a\nsource_profile = self\n\
        [profile one]\nrole_arn = a\nsource_profile = other\n[profile other]\nrole_arn = b\nsource_profile = one\n\
        [profile to-none]\nrole_arn = a\nsource_profile = nobody\n[profile console]\nlogin_session = arn\n\
        [profile half]\nsso_account_id = 1\nsso_session = nobody\n";

    fn words(profile: &Profile) -> String {
        match profile {
            Profile::Keys(found) => {
                let one = &found.credentials;
                format!("{} {} {:?}", one.access_key_id(), one.secret_access_key(), one.session_token())
            }
            Profile::Program(command) => format!("{:?}", shlex::split(command)),
            Profile::Role(role) => format!("{} {} {:?}", role.arn, role.file.display(), role.session),
            Profile::Assumed(Assumed { arn, external_id, seconds, by, .. }) => {
                let by = match by {
                    By::Profile(source) => words(source),
                    By::Settings => "settings".to_owned(),
                    By::Container => "container".to_owned(),
                    By::Machine => "machine".to_owned(),
                };
                let all = [Some(arn.clone()), external_id.clone(), seconds.map(|seconds| seconds.to_string())];
                format!("{} by {by}", all.into_iter().flatten().collect::<Vec<_>>().join(" "))
            }
            Profile::SignIn(SignIn { session, start_url, region, account, role }) => {
                format!("{session:?} {start_url} {region} {account} {role}")
            }
        }
    }

    fn described(config: &str, name: &str) -> String {
        let texts = Texts { credentials: CREDENTIALS.to_owned(), config: config.to_owned() };
        match texts.profile(name, &[]) {
            Ok(profile) => profile.as_ref().map_or_else(|| "nothing".to_owned(), words),
            Err(Refused::Credentials(said) | Refused::Unreachable(said)) => said,
        }
    }

    #[test]
    fn a_profile_is_found_among_others() {
        let check = |name: &str, expected: &str| assert_eq!(described(CONFIG, name), expected, "{name}");
        check("default", "AKIA1 s1 None");
        check("work", "AKIA2 s2== Some(\"t2\")");
        check("tool", r#"Some(["/opt/my keys", "--for", "me"])"#);
        check("pod", "arn:2 /run/token None");
        check("far", "arn:far x 900 by AKIA2 s2== Some(\"t2\")");
        check("farther", "arn:farther by arn:far x 900 by AKIA2 s2== Some(\"t2\")");
        check("box", "arn:box by machine");
        check("both", "arn:both by AKIA3 s3 None");
        check("to-both", "arn:to by AKIA3 s3 None");
        check("office", "Some(\"office\") https://office eu-1 1 reader");
        check("old", "None https://old eu-2 2 r");
        ["empty", "bare", "other"].into_iter().for_each(|name| check(name, "nothing"));
    }

    #[test]
    fn profiles_that_cannot_be_followed_say_what_to_do() {
        let check = |name: &str, expected: &str| {
            let said = described(WRONG, name);
            assert!(said.contains(expected), "{said}");
        };
        check("code", "asks for a code each time");
        check("code", "aws configure export-credentials");
        check("console", "aws configure export-credentials");
        check("lone", "not one of source_profile and credential_source");
        check("two", "not one of source_profile and credential_source");
        check("odd", "credential_source that is none");
        check("self", "the profile self leads back to itself");
        check("one", "the profile one leads back to itself");
        check("to-none", "the profile nobody has no credentials");
        check("half", "the profile half has no sso_start_url");
    }
}
