//! `fathom keys`: keys of the API, made, listed and revoked in the database itself, so that the first key needs none.

use clap::{Args, Subcommand};

use super::{Exit, SettingsArgs, complain, print, stored};
use crate::{
    auth::{Keys, Wanted},
    config::{Authentication, Config, shown_database},
    domain::{ApiKey, ApiKeyId, Cost, KeyScope, Owner, Revoked, Timestamp, UseLimits, printable_line, shortened, time},
    http::audit,
    store::Error,
};

/// Keys that are read at once.
const PAGE: u32 = 100;

#[derive(Debug, Args)]
pub struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

impl KeysArgs {
    pub(super) fn settings_mut(&mut self) -> &mut SettingsArgs {
        match &mut self.command {
            KeysCommand::Create(args) => &mut args.settings,
            KeysCommand::List(args) => &mut args.settings,
            KeysCommand::Revoke(args) => &mut args.settings,
        }
    }
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a key and print it, once: only its hash is kept
    Create(CreateArgs),
    /// List the keys, newest first
    List(ListArgs),
    /// Take a key back, and sign out the browsers that used it; a running service follows within seconds
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// Whose key it is: each owner sees only their own threads and runs
    #[arg(long, value_name = "NAME")]
    owner: String,
    /// What it may do: read; write (start, change and delete too); admin (see everybody's and manage keys)
    #[arg(long, default_value = "write", value_parser = scope)]
    scope: KeyScope,
    /// What it is for, in words [default: the owner]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Refuse it after so many days [default: never]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=3_650))]
    expires: Option<u64>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// What the key may use, beside what its owner may.
#[derive(Debug, Args)]
struct LimitArgs {
    /// Runs that are queued or at work at the same time [default: no limit, as of the following]
    #[arg(long, value_name = "RUNS", value_parser = number())]
    runs_at_once: Option<u64>,
    /// Runs that wait
    #[arg(long, value_name = "RUNS", value_parser = number())]
    queued_runs: Option<u64>,
    /// Runs started in a day (UTC)
    #[arg(long, value_name = "RUNS", value_parser = number())]
    runs_per_day: Option<u64>,
    /// Requests to each process in a minute
    #[arg(long, value_name = "REQUESTS", value_parser = number())]
    requests_per_minute: Option<u64>,
    /// Tokens, read and written, of the runs started in a day
    #[arg(long, value_name = "TOKENS", value_parser = number())]
    tokens_per_day: Option<u64>,
    /// The same, of a calendar month
    #[arg(long, value_name = "TOKENS", value_parser = number())]
    tokens_per_month: Option<u64>,
    /// Dollars that the runs started in a day may cost
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    cost_per_day: Option<Cost>,
    /// The same, of a calendar month
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    cost_per_month: Option<Cost>,
}

impl LimitArgs {
    fn limits(&self) -> UseLimits {
        UseLimits {
            runs_at_once: self.runs_at_once,
            queued_runs: self.queued_runs,
            runs_per_day: self.runs_per_day,
            requests_per_minute: self.requests_per_minute,
            tokens_per_day: self.tokens_per_day,
            tokens_per_month: self.tokens_per_month,
            cost_per_day_usd: self.cost_per_day,
            cost_per_month_usd: self.cost_per_month,
        }
    }
}

fn number() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=UseLimits::MOST)
}

/// Parses a sum of money.
pub(super) fn dollars(text: &str) -> Result<Cost, String> {
    let sum = text.parse().ok().filter(|sum| (0.01..=UseLimits::MOST_DOLLARS).contains(sum));
    sum.and_then(Cost::reported).ok_or_else(|| format!("it must be from 0.01 to {}", UseLimits::MOST_DOLLARS))
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Print a JSON array instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Debug, Args)]
struct RevokeArgs {
    /// As `fathom keys list` shows it
    id: ApiKeyId,
    #[command(flatten)]
    settings: SettingsArgs,
}

fn scope(name: &str) -> Result<KeyScope, String> {
    let names = KeyScope::ALL.map(KeyScope::as_str);
    KeyScope::parse(name).ok_or_else(|| format!("it must be one of {}", names.join(", ")))
}

/// Runs the command.
pub async fn run(args: KeysArgs, config: Config) -> Exit {
    let opened = match args.command {
        KeysCommand::Create(_) => stored::open_store(&config).await,
        KeysCommand::List(_) | KeysCommand::Revoke(_) => stored::existing_store(&config).await,
    };
    let store = match opened {
        Ok(store) => store,
        Err(exit) => return exit,
    };
    let keys = Keys::new(store.clone());
    let done = match args.command {
        KeysCommand::Create(args) => create(&keys, args, &config).await,
        KeysCommand::List(args) => list(&keys, args.json).await,
        KeysCommand::Revoke(args) => revoke(&keys, args.id).await,
    };
    store.close().await;
    done.unwrap_or_else(|error| {
        complain(&error.to_string());
        Exit::Failed
    })
}

/// Creates a key. The key alone goes to standard output, so that a script may take it.
async fn create(keys: &Keys, args: CreateArgs, config: &Config) -> Result<Exit, Error> {
    let owner = printable_line(&args.owner);
    if owner.trim().is_empty() {
        return Ok(print::usage("--owner must not be empty"));
    }
    let owner = Owner::named(&owner);
    let name = args.name.map_or_else(|| owner.to_string(), |name| shortened(&printable_line(&name), 200).into_owned());
    let expires_at = args.expires.map(|days| Timestamp::now().plus(time::days(days)));
    let wanted = Wanted { name, owner, scope: args.scope, expires_at, limits: args.limits.limits() };
    let (key, secret) = keys.create(wanted).await?;
    audit::key_by_hand(&key, "a key was made");
    let place = shown_database(&config.database);
    complain(&format!("key {} of {}, scope {}, kept by {place}", key.id, key.owner, key.scope.as_str()));
    complain("it is not shown again:");
    if config.http.authentication == Authentication::None {
        complain("note: the service asks for keys only with FATHOM_AUTHENTICATION=keys");
    }
    match print::output(&format!("{secret}\n")) {
        Ok(()) => Ok(Exit::Success),
        Err(error) => {
            complain(&format!("key {} could not be written to standard output: {error}", key.id));
            take_back(keys, &key).await
        }
    }
}

/// Revokes a key that nobody has seen and that will not be shown again, be it that the reader of a pipe is gone.
async fn take_back(keys: &Keys, key: &ApiKey) -> Result<Exit, Error> {
    let revoked = keys.revoke(key.id).await;
    revoked.inspect_err(|_| complain(&format!("nobody has it; to revoke it: fathom keys revoke {}", key.id)))?;
    audit::key_by_hand(key, "a key was revoked");
    complain("it is revoked, since nobody has it; make another one");
    Ok(Exit::Failed)
}

async fn list(keys: &Keys, as_json: bool) -> Result<Exit, Error> {
    let keys = all(keys).await?;
    if as_json {
        return Ok(print::json(&serde_json::to_value(&keys)?));
    }
    let now = Timestamp::now();
    let mut lines = vec![row("ID", "SCOPE", "STATE", "LAST USED", "OWNER", "NAME")];
    lines.extend(keys.iter().map(|key| {
        let used = key.last_used_at.map_or("never".to_owned(), day);
        row(&key.id.to_string(), key.scope.as_str(), &state(key, now), &used, key.owner.as_str(), &key.name)
    }));
    Ok(print::answer(&lines.join("\n")))
}

/// Returns all keys, read by pages.
async fn all(keys: &Keys) -> Result<Vec<ApiKey>, Error> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = keys.list(after, PAGE).await?;
        all.extend(page.items);
        after = page.next;
        if after.is_none() {
            return Ok(all);
        }
    }
}

fn row(id: &str, scope: &str, state: &str, used: &str, owner: &str, name: &str) -> String {
    format!("{id:<36}  {scope:<5}  {state:<18}  {used:<10}  {owner:<16}  {name}").trim_end().to_owned()
}

fn state(key: &ApiKey, now: Timestamp) -> String {
    match (key.revoked_at, key.expires_at) {
        (Some(at), _) => format!("revoked {}", day(at)),
        (None, Some(at)) if at <= now => format!("expired {}", day(at)),
        (None, Some(at)) => format!("until {}", day(at)),
        (None, None) => "valid".to_owned(),
    }
}

/// Returns the day of a time, as in `2026-11-21`.
fn day(at: Timestamp) -> String {
    at.to_rfc3339().chars().take(10).collect()
}

async fn revoke(keys: &Keys, id: ApiKeyId) -> Result<Exit, Error> {
    match keys.revoke(id).await? {
        Some(Revoked { what: key, is_new }) => {
            if is_new {
                audit::key_by_hand(&key, "a key was revoked");
            }
            Ok(print::answer(&format!("key {} of {} is revoked", key.id, key.owner)))
        }
        None => Ok(print::usage(&format!("there is no key {id}"))),
    }
}
