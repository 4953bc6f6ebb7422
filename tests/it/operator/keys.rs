//! `fathom keys`, and the service that asks for them, as programs.

use std::collections::BTreeSet;

use fathom::{
    auth::{Keys, Wanted},
    domain::{KeyScope, Owner, UseLimits},
};
use serde_json::Value;

use crate::{
    crash::{Engine, Site},
    stories::binary::{is_usage_error, output},
    world::{Running, Script, World},
};

async fn keys(site: &Site, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut process: Running = site.spawn(&[&["keys"], arguments].concat());
    let status = process.ends().await;
    (status.code(), process.stdout(), process.stderr())
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_made_on_sqlite() {
    keys_are_made_listed_and_revoked(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_made_on_postgres() {
    keys_are_made_listed_and_revoked(Engine::Postgres).await;
}

async fn keys_are_made_listed_and_revoked(engine: Engine) {
    let place = match engine {
        Engine::Sqlite => "kept by SQLite in ",
        Engine::Postgres => "kept by Postgres at 127.0.0.1:",
    };
    let site = Site::new(engine, Script::new()).await;
    let create = ["create", "--owner", "ann", "--scope", "admin", "--name", "laptop", "--expires", "30"];
    let limits = ["--runs-per-day", "20", "--cost-per-month", "2.5"];
    let create = [&create[..], &limits[..]].concat();
    let (code, secret, said) = keys(&site, &create).await;
    assert_eq!(code, Some(0), "{said}");
    let secret = secret.trim_end();
    assert!(secret.starts_with("fathom_") && !secret.contains(char::is_whitespace), "{secret}");
    assert!(said.contains("is not shown again") && said.contains("FATHOM_AUTHENTICATION=keys"), "{said}");
    assert!(said.contains(place) && !said.contains(secret), "{said}");

    let listed: Value = serde_json::from_str(&keys(&site, &["list", "--json"]).await.1).unwrap();
    let key = &listed[0];
    assert_eq!((&key["owner"], &key["name"], &key["scope"]), (&"ann".into(), &"laptop".into(), &"admin".into()));
    assert_eq!(key["limits"], serde_json::json!({ "runs_per_day": 20, "cost_per_month_usd": 2.5 }));
    let table = keys(&site, &["list"]).await.1;
    assert!(table.contains("until ") && table.contains("never") && !table.contains(secret), "{table}");

    let id = key["id"].as_str().unwrap();
    assert!(!keys(&site, &["list", "--json"]).await.1.contains(&secret[secret.len() - 30..]), "only its hash is kept");
    is_audited(&said, "a key was made", id);
    let (code, revoked, said) = keys(&site, &["revoke", id]).await;
    assert!(code == Some(0) && revoked.contains("is revoked"), "{revoked}");
    is_audited(&said, "a key was revoked", id);
    let (code, revoked, said) = keys(&site, &["revoke", id]).await;
    assert!(code == Some(0) && revoked.contains("is revoked") && !said.contains("audit"), "{said}");
    assert!(keys(&site, &["list"]).await.1.contains("revoked "));
    let (code, _, said) = keys(&site, &["revoke", "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d"]).await;
    assert!(code == Some(2) && said.contains("there is no key"), "{said}");
    site.world.finish();
}

/// However many there are.
#[tokio::test(flavor = "multi_thread")]
async fn every_key_is_listed() {
    let site = Site::new(Engine::Sqlite, Script::new()).await;
    let made = Keys::new(site.store.clone());
    for number in 0..205 {
        let (name, owner, limits) = (number.to_string(), Owner::named("ann"), UseLimits::default());
        made.create(Wanted { name, owner, scope: KeyScope::Read, expires_at: None, limits }).await.unwrap();
    }
    let listed: Vec<Value> = serde_json::from_str(&keys(&site, &["list", "--json"]).await.1).unwrap();
    let names: BTreeSet<&str> = listed.iter().map(|key| key["name"].as_str().unwrap()).collect();
    assert_eq!((listed.len(), names.len()), (205, 205));
    site.world.finish();
}

/// As a change through the API is.
fn is_audited(said: &str, what: &str, key: &str) {
    let lines: Vec<&str> = said.lines().filter(|line| line.contains(what)).collect();
    let [line] = lines[..] else { panic!("{what}: {said}") };
    assert!(line.contains("audit") && line.contains(key) && line.contains("ann"), "{line}");
    assert!(line.contains("command line"), "{line}");
}

/// One line that says what would be accepted, exit code 2, and no key.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_cannot_be_are_bad_usage() {
    let world = World::start(Script::new()).await;
    let create = ["create", "--owner", "ann"];
    let cases: [(&[&str], &str); 11] = [
        (&["create"], "required arguments were not provided: --owner <NAME>"),
        (&["create", "--owner", " "], "--owner must not be empty"),
        (&[&create[..], &["--scope", "root"]].concat(), "it must be one of read, write, admin"),
        (&[&create[..], &["--expires", "0"]].concat(), "0 is not in 1..=3650"),
        (&[&create[..], &["--expires", "soon"]].concat(), "invalid value 'soon' for '--expires <DAYS>'"),
        (&[&create[..], &["--runs-per-day", "0"]].concat(), "0 is not in 1..=1000000000000"),
        (&[&create[..], &["--cost-per-day", "free"]].concat(), "it must be from 0.01 to 1000000"),
        (&[&create[..], &["--cost-per-month", "nan"]].concat(), "it must be from 0.01 to 1000000"),
        (&["revoke"], "required arguments were not provided: <ID>"),
        (&["revoke", "12"], "invalid value '12' for '<ID>'"),
        (&["list", "--all"], "unexpected argument '--all' found"),
    ];
    for (arguments, expected) in cases {
        is_usage_error(&world, &output(&mut world.fathom(&[&["keys"], arguments].concat())).await, expected);
    }
    let listed = output(&mut world.fathom(&["keys", "list", "--json"])).await;
    assert_eq!(String::from_utf8_lossy(&listed.stdout).trim(), "[]");
    world.finish();
}

/// Beyond loopback a service that asks for keys needs no `--open`.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_asks_for_keys_may_listen_anywhere() {
    let site = Site::new(Engine::Sqlite, Script::new()).await;
    let mut refused = site.spawn(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.ends().await.code(), Some(2));
    assert!(refused.stderr().contains("set FATHOM_AUTHENTICATION=keys"), "{}", refused.stderr());
    let mut open = site.spawn_with(&["serve", "--listen", "0.0.0.0:0"], &[("FATHOM_AUTHENTICATION", "keys")]);
    open.says(" on http://0.0.0.0:").await;
    open.kill().await;
    site.world.finish();
}
