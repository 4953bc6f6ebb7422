//! `fathom keys`: keys of the API, made, listed and revoked in the database itself, so that the first key needs none.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Exit, SettingsArgs, complain, print};
use crate::{
    auth::{Keys, Wanted},
    config::{Authentication, Config},
    domain::{ApiKey, ApiKeyId, KeyScope, Owner, Timestamp, printable_line, shortened},
    store::{Error, Store},
};

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
    settings: SettingsArgs,
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

/// Does what was asked for.
pub async fn run(args: KeysArgs, config: Config) -> Exit {
    let store = match Store::open(&config.database).await {
        Ok(store) => store,
        Err(error) => {
            complain(&error.to_string());
            return Exit::Usage;
        }
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

/// The key alone goes to standard output, so that a script may take it.
async fn create(keys: &Keys, args: CreateArgs, config: &Config) -> Result<Exit, Error> {
    let owner = printable_line(&args.owner);
    if owner.trim().is_empty() {
        complain("--owner must not be empty");
        return Ok(Exit::Usage);
    }
    let owner = Owner::named(&owner);
    let name = args.name.map_or_else(|| owner.to_string(), |name| shortened(&printable_line(&name), 200).into_owned());
    let days = |days: u64| Timestamp::now().plus(Duration::from_secs(days * 24 * 60 * 60));
    let wanted = Wanted { name, owner, scope: args.scope, expires_at: args.expires.map(days) };
    let (key, secret) = keys.create(wanted).await?;
    complain(&format!("key {} of {}, scope {}; it is not shown again:", key.id, key.owner, key.scope.as_str()));
    if config.http.authentication == Authentication::None {
        complain("note: the service asks for keys only with FATHOM_AUTHENTICATION=keys");
    }
    Ok(shown(&secret))
}

async fn list(keys: &Keys, as_json: bool) -> Result<Exit, Error> {
    let keys = keys.list().await?;
    if as_json {
        return Ok(shown(&serde_json::to_string_pretty(&keys)?));
    }
    let now = Timestamp::now();
    let mut lines = vec![row("ID", "SCOPE", "STATE", "LAST USED", "OWNER", "NAME")];
    lines.extend(keys.iter().map(|key| {
        let used = key.last_used_at.map_or("never".to_owned(), day);
        row(&key.id.to_string(), key.scope.as_str(), &state(key, now), &used, key.owner.as_str(), &key.name)
    }));
    Ok(shown(&lines.join("\n")))
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

/// Shape: `2026-11-21`.
fn day(at: Timestamp) -> String {
    at.to_rfc3339().chars().take(10).collect()
}

async fn revoke(keys: &Keys, id: ApiKeyId) -> Result<Exit, Error> {
    match keys.revoke(id).await? {
        Some(key) => Ok(shown(&format!("key {} of {} is revoked", key.id, key.owner))),
        None => {
            complain(&format!("there is no key {id}"));
            Ok(Exit::Failed)
        }
    }
}

/// On standard output.
fn shown(text: &str) -> Exit {
    print::line(text);
    Exit::Success
}
