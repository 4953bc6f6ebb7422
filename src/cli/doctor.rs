//! `fathom doctor`: looks at everything a run needs and says what to do about what is missing.

use std::path::Path;

use super::{Exit, print, probe::small_request};
use crate::{
    config::{Config, shown_database},
    domain::{KeyPolicy, ModelName, nearest::nearest, printable_line},
    llm::{
        Endpoint, Llm,
        providers::{PROVIDERS, Provider},
    },
    mcp,
    net::{NoWait, Reach},
    pages::Parser,
    search::{self, Engine, Engines, Missing, ROWS, Row},
    store::{NEWEST_SCHEMA, Schema, Store},
};

/// Models of a list that are named.
const SHOWN_MODELS: usize = 5;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grade {
    Ok,
    /// Not needed by the settings as they are.
    Note,
    Broken,
}

/// A check's line.
struct Finding {
    grade: Grade,
    subject: &'static str,
    detail: String,
}

impl Finding {
    fn ok(subject: &'static str, detail: impl Into<String>) -> Self {
        Self { grade: Grade::Ok, subject, detail: detail.into() }
    }

    fn note(subject: &'static str, detail: impl Into<String>) -> Self {
        Self { grade: Grade::Note, subject, detail: detail.into() }
    }

    fn broken(subject: &'static str, detail: impl Into<String>) -> Self {
        Self { grade: Grade::Broken, subject, detail: detail.into() }
    }
}

/// Checks everything, prints a line each, and fails when something a run needs is broken.
pub async fn run(config: Config) -> Exit {
    let read = config.file.as_ref().map(|file| format!("; {} was read", file.display())).unwrap_or_default();
    let mut findings = vec![Finding::ok("settings", format!("all values are in range{read}"))];
    findings.extend(config.notices.iter().map(|notice| Finding::note("settings", notice)));
    findings.push(data_folder(&config.data_dir));
    findings.push(database(&config).await);
    findings.extend(models(&config).await);
    findings.extend(search(&config).await);
    findings.extend(config.not_usable().map(|missing| Finding::note("not usable", missing)));
    findings.extend(mcp(&config).await);
    print(&findings)
}

fn print(findings: &[Finding]) -> Exit {
    let lines: String = findings.iter().map(line).collect();
    let broken = findings.iter().filter(|finding| finding.grade == Grade::Broken).count();
    let verdict = match broken {
        0 => "Ready: fathom research \"QUESTION\"".to_owned(),
        1 => "1 problem to fix first.".to_owned(),
        _ => format!("{broken} problems to fix first."),
    };
    let printed = print::answer(&format!("{lines}\n{verdict}"));
    if broken == 0 { printed } else { Exit::Failed }
}

fn line(finding: &Finding) -> String {
    let grade = match finding.grade {
        Grade::Ok => "ok  ",
        Grade::Note => "note",
        Grade::Broken => "FAIL",
    };
    format!("{grade}  {:<10} {}\n", finding.subject, printable_line(&finding.detail))
}

fn data_folder(folder: &Path) -> Finding {
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&probe, [0; 4096]));
    let _ = std::fs::remove_file(&probe);
    match written {
        Ok(()) => Finding::ok("data", folder.display().to_string()),
        Err(error) => Finding::broken(
            "data",
            format!(
                "{} cannot be written: {error}; choose another with --data-dir or FATHOM_DATA_DIR",
                folder.display()
            ),
        ),
    }
}

async fn database(config: &Config) -> Finding {
    let place = shown_database(&config.database);
    let looked = Store::look(&config.database).await.and_then(|schema| schema.check().map(|()| schema));
    match looked {
        Ok(Schema::Lacks(NEWEST_SCHEMA)) => {
            Finding::ok("database", format!("{place}, empty; the first start creates its tables"))
        }
        Ok(Schema::Lacks(count)) => Finding::note(
            "database",
            format!("{place}: {count} migrations of this release are missing; the next start of it runs them"),
        ),
        Ok(_) => Finding::ok("database", format!("{place}, schema up to date")),
        Err(error) => Finding::broken("database", format!("{place}: {error}")),
    }
}

/// Checks the providers: those that the options name must answer; another one that is set is only mentioned.
async fn models(config: &Config) -> Vec<Finding> {
    let llm = match Llm::new(config.llm.clone()) {
        Ok(llm) => llm,
        Err(error) => return vec![Finding::broken("models", error.to_string())],
    };
    let mut findings = Vec::new();
    if config.options.models().any(ModelName::is_offline) {
        findings.push(Finding::ok("models", "offline:extractive needs nothing"));
    }
    for provider in PROVIDERS {
        let is_its = |model: &&ModelName| *model.provider == *provider.name;
        let used: Vec<_> = config.options.distinct_models().into_iter().filter(is_its).collect();
        let is_set = config.llm.endpoints.get(provider.name).is_some_and(Endpoint::is_set);
        match used.first() {
            Some(model) => match llm.missing(model) {
                Some(variable) if variable == provider.variables.api_key && wants_keys(config) => {
                    let text = format!("{model} needs {variable} here; requests bring a key of their own");
                    findings.push(Finding::note("models", text));
                }
                Some(variable) => findings.push(Finding::broken("models", format!("{model} needs {variable}"))),
                None => findings.extend(probe(&llm, provider, &used).await),
            },
            None if is_set && provider.settings_of.is_none() => {
                findings.push(Finding::note("models", format!("{} is not used by the settings", provider.name)));
            }
            None => {}
        }
    }
    findings
}

/// Returns whether requests work with keys of their own alone, so that the operator needs none.
fn wants_keys(config: &Config) -> bool {
    config.request_keys.policy == KeyPolicy::Required
}

/// Asks a provider for its models, and those that it does not list whether they are there.
async fn probe(llm: &Llm, provider: &Provider, used: &[&ModelName]) -> Vec<Finding> {
    let Some(first) = used.first() else { return Vec::new() };
    let report = match llm.probe(first).await {
        Ok(report) => report,
        Err(error) => {
            let variables = &provider.variables;
            let advice = format!("check {} and {}", variables.base_url, variables.api_key);
            return vec![Finding::broken("models", format!("{}: {error}; {advice}", provider.name))];
        }
    };
    if !report.was_asked {
        let unknown = "it has no list of models to ask for, so the key is not checked";
        return vec![Finding::note("models", format!("{} at {}: {unknown}", provider.name, report.base_url))];
    }
    let key = if report.with_key { "key accepted" } else { "no key sent" };
    let models = match report.models.len() {
        0 => "no list of models".to_owned(),
        count => format!("{count} models ({}…)", report.models[..count.min(SHOWN_MODELS)].join(", ")),
    };
    let ms = report.latency.as_millis();
    let listed = format!("{} at {}: {key}, {models}, {ms} ms", provider.name, report.base_url);
    let mut findings = vec![Finding::ok("models", listed)];
    let is_doubtful = |model: &&&ModelName| !report.models.is_empty() && !report.models.contains(&model.model);
    for model in used.iter().filter(is_doubtful) {
        findings.push(unlisted(llm, model, &report.models).await);
    }
    findings
}

/// Lists leave out other names of a model, and deployments: whether it is there only a call shows.
async fn unlisted(llm: &Llm, model: &ModelName, listed: &[String]) -> Finding {
    match llm.complete(&small_request(model), &NoWait).await {
        Ok(_) => Finding::ok("models", format!("{model} answers, although it is not listed")),
        Err(failed) => {
            let meant = nearest(&model.model, listed.iter().map(String::as_str));
            let meant = meant.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            Finding::broken(
                "models",
                format!("{model} is not listed, and a call to it failed: {}{meant}", failed.error),
            )
        }
    }
}

/// Checks each configured MCP server: lists its tools, or what is wrong with it.
async fn mcp(config: &Config) -> Vec<Finding> {
    let own = config.mcp.own.as_ref().and_then(|own| mcp::Server::original(own, Reach::All));
    let servers: Vec<mcp::Server> = config.mcp.servers.iter().cloned().chain(own).collect();
    let places: Vec<String> = servers.iter().map(mcp::Server::place).collect();
    let clients = mcp::Clients::new(servers);
    let mut findings = Vec::new();
    for ((name, offer), place) in clients.offers().await.into_iter().zip(places) {
        match offer {
            Ok(offer) => {
                let tools: Vec<&str> = offer.tools.iter().map(|tool| tool.name.as_str()).collect();
                let tools = if tools.is_empty() { "no tools".to_owned() } else { tools.join(", ") };
                let resources = match offer.resources.len() {
                    0 => String::new(),
                    1 => "; 1 resource".to_owned(),
                    count => format!("; {count} resources"),
                };
                findings.push(Finding::ok("mcp", format!("{name} at {place}: {tools}{resources}")));
                findings.extend(offer.notes.iter().map(|note| Finding::note("mcp", format!("{name}: {note}"))));
            }
            Err(error) => findings.push(Finding::broken("mcp", format!("{name} at {place}: {error}"))),
        }
    }
    clients.close().await;
    findings
}

/// Checks that the engines answer that are configured, or that the settings name.
async fn search(config: &Config) -> Vec<Finding> {
    let engines = match Engines::new(config.search.clone(), Parser::new(config.parser.clone())) {
        Ok(engines) => engines,
        Err(error) => return vec![Finding::broken("search", error.to_string())],
    };
    let (mut findings, mut unused) = (Vec::new(), Vec::new());
    for row in ROWS {
        let chosen = config.options.engines().any(|name| name == row.name);
        match engines.get(row.name) {
            Ok(engine) if chosen || config.search.is_configured(row) => {
                let has_key = |setting: &search::Setting| config.search.given.contains_key(setting.key);
                findings.extend(try_engine(row, engine, row.keys().any(has_key)).await);
            }
            Ok(_) if row.by_model => {}
            Ok(_) => unused.push(row.name),
            Err(_) => {}
        }
    }
    if !unused.is_empty() {
        findings
            .push(Finding::note("search", format!("{} need no key; the settings do not use them", unused.join(", "))));
    }
    if let Err(missing) = engines.select(&config.options.search_api, &config.options.search_fallback) {
        findings.push(match can_do_without(config, &missing) {
            true => Finding::note("search", missing.to_string()),
            false => Finding::broken("search", missing.to_string()),
        });
    }
    findings
}

/// Returns whether runs need not search with what is missing: they may have documents of their own, tools of MCP
/// servers, or keys of their requests. An engine that is named and lacks something else refuses them.
fn can_do_without(config: &Config, missing: &Missing) -> bool {
    match missing {
        Missing::Nothing { .. } => {
            config.options.search_api.is_none() || config.options.has_mcp() || wants_keys(config)
        }
        Missing::Setting { name, .. } => {
            let row = ROWS.iter().find(|row| row.name == *name);
            let lacks = row.and_then(|row| config.search.missing(row));
            wants_keys(config) && lacks.is_some_and(|setting| setting.value == search::Value::Secret)
        }
        Missing::Unknown { .. } => false,
    }
}

/// Makes a search, since only that shows whether a key is good.
async fn try_engine(row: &'static Row, engine: &Engine, with_key: bool) -> Vec<Finding> {
    let (name, place) = (row.name, engine.place());
    let variables = |value: search::Value| {
        let mut settings = row.settings.iter().filter(move |setting| setting.value == value);
        settings.next().map(|setting| setting.variable)
    };
    let advice = |error: &search::Error| match error {
        search::Error::Auth(_) => variables(search::Value::Secret).map(|variable| format!("; check {variable}")),
        search::Error::Documents(_) => None,
        _ => variables(search::Value::Url).map(|variable| format!("; check {variable} and the network")),
    };
    match (engine.probe().await, row.reads_folders()) {
        (Ok(_), true) => {
            let note = |skipped: &search::Skipped| {
                Finding::note("search", format!("{name}: {}: {}", skipped.path, skipped.reason))
            };
            let indexed = Finding::ok("search", format!("{name}: {place} is indexed"));
            std::iter::once(indexed).chain(engine.skipped().iter().map(note)).collect()
        }
        (Ok(latency), false) => {
            let key = if with_key { "key accepted by" } else { "answered" };
            let ms = latency.as_millis();
            let filters: Vec<_> = row.filters.iter().map(|filter| filter.as_str()).collect();
            let filters = if filters.is_empty() { "none".to_owned() } else { filters.join(", ") };
            let returns = row.returns.as_str();
            let found = format!("{name} at {place}: {key} one search, {ms} ms; returns {returns}; filters: {filters}");
            vec![Finding::ok("search", found)]
        }
        (Err(error), is_folder) => {
            let at = if is_folder { String::new() } else { format!(" at {place}") };
            let advice = advice(&error).unwrap_or_default();
            vec![Finding::broken("search", format!("{name}{at}: {error}{advice}"))]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;

    /// Questions are refused where an engine is named that cannot be used, whatever else a run may have.
    #[test]
    fn only_what_runs_can_do_without_is_no_problem() {
        let is_note = |variables: &[(&str, &str)]| {
            let environment = |name: &str| {
                let given = variables.iter().chain(&[("HOME", "/home/ada")]).find(|(key, _)| *key == name);
                given.map(|(_, value)| (*value).to_owned())
            };
            let config = Config::read(&Flags::default(), &environment).unwrap();
            let engines = Engines::new(config.search.clone(), Parser::new(config.parser.clone())).unwrap();
            let missing = engines.select(&config.options.search_api, &config.options.search_fallback).err().unwrap();
            can_do_without(&config, &missing)
        };
        let mcp = ("FATHOM_MCP_CONFIG", r#"{"url": "https://tools.example.com", "tools": ["search"]}"#);
        let required = ("FATHOM_REQUEST_KEYS", "required");
        let secret = ("FATHOM_REQUEST_KEYS_SECRET", "0123456789abcdef0123456789abcdef");
        assert!(is_note(&[("FATHOM_SEARCH_API", "none")]));
        assert!(!is_note(&[]) && is_note(&[mcp]) && is_note(&[required, secret]));
        let tavily = ("FATHOM_SEARCH_API", "tavily");
        assert!(!is_note(&[tavily]) && !is_note(&[tavily, mcp]) && is_note(&[tavily, required, secret]));
        let local = ("FATHOM_SEARCH_API", "local");
        assert!(!is_note(&[local, mcp]) && !is_note(&[local, required, secret]));
    }
}
