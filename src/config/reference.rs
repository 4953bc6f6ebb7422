//! What is written from the tables of settings, options, providers and engines: `.env.example`, `fathom.example.toml`,
//! `docs/settings.md` and the tables in `docs/providers.md` and `docs/engines.md`. A test holds the files up to date
//! (`just generate` writes them); the program itself has none of this.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    help::{capital, option_values},
    kind::Kind,
    settings::{self, Fallback, Setting},
};
use crate::{
    domain::options::ORIGINAL,
    llm::providers::{self, Key, Provider},
    search::{self, ROWS},
};

/// Characters of a line of comments.
const WIDTH: usize = 118;

/// The marks around a generated table in a page that is written by hand.
const BEGIN: &str = "<!-- written from the table of providers: begin -->";
const ENGINES: &str = "<!-- written from the table of engines: begin -->";
const END: &str = "<!-- end -->";

/// What each table of the file is about, by its first name.
const ABOUT: &[(&str, &str)] = &[
    ("database", "Where everything is kept."),
    ("http", "The service."),
    ("sign_in", "Sign-in through an issuer, with FATHOM_AUTHENTICATION=keys: by its tokens, or in a browser."),
    (
        "providers",
        "Models. A key or an address makes a provider usable. With none at all, offline:extractive stands in. Headers are sent with every request: Name=value,Name=value.",
    ),
    ("search", "Search engines. By default, Fathom uses the first one whose key, address or folder is set."),
    ("timeouts", "Time limits, in whole seconds."),
    ("limits", "How much is done at the same time, and what requests may ask for."),
    ("request_keys", "Keys of providers and search engines that users send with their requests."),
    (
        "webhooks",
        "A request may name a webhook_url, which is called when its run ends (https://www.standardwebhooks.com).",
    ),
    ("pages", "How pages are opened by their address."),
    ("log", "What is logged on standard error."),
    ("telemetry", "Traces, sent to a collector that speaks OTLP over HTTP. Without an address there are none."),
    ("options", "Research options. They hold for every run whose request does not say otherwise."),
];

/// The tables whose names are those of models.
const MODELS: &str = r#"
# Facts about models, which add to the catalogue in the binary (src/llm/catalogue.toml) or override it: window and
# max_output in tokens, price in dollars per million tokens, abilities, and the tokenizer
# (o200k_base, cl100k_base, qwen2, tekken; frugal or careful to estimate). `fathom doctor --probe MODEL` prints such a table.
# Without a price, a model's cost is shown as unknown.
#[models."ollama:qwen3:8b"]
#window = 65536
#max_output = 8192
#price = { input = 0.10, cached = 0.01, cache_write = 0.125, output = 0.40, long = { above = 200000, input = 2.0, output = 1.5 } }
#tools = true
#forced_calls = false
#schema = true
#streaming = true
#whole_answers = true
#tokenizer = "qwen2"

# What is sent with the calls of a role (research, summarization, compression, final_report). Only what is set is sent. Use
# the vendor's words; body has further fields of its request.
#[roles.research]
#reasoning_effort = "high"
#verbosity = "low"
#temperature = 0.3
#service_tier = "flex"
#body = { safety_identifier = "fathom" }

# The price alone.
#[prices]
#"openai:gpt-4.1" = { input = 2.00, cached = 0.50, output = 8.00 }
"#;

/// The list of MCP servers, which has as many tables as there are servers.
const MCP: &str = r#"
# MCP servers, whose tools researchers may call (docs/mcp.md). A server is a program that Fathom starts, or an address.
# ${NAME} stands for an environment variable.
#[[mcp]]
#name = "time"
#command = ["mcp-server-time"]
#env = { TZ = "UTC" }
#[[mcp]]
#name = "wiki"
#url = "https://wiki.example.com/mcp"
#bearer = "${WIKI_TOKEN}"
#headers = { X-Team = "research" }
#tools = ["search_*", "get_page"]
#timeout_seconds = 60
#max_seconds = 300
"#;

/// Renders `.env.example`.
pub fn variables() -> String {
    let mut text = comment(
        "Every variable that Fathom reads. Any other one that begins with FATHOM_ is refused. An empty variable counts as not set. The command line wins over variables, and variables win over the settings file. `fathom config` shows what counts and where it comes from. The values below are the defaults; where there is none, an example.",
    );
    text.push_str(&comment(&format!(
        "The names of Open Deep Research (the research options below without FATHOM_, such as {}) count where the names here are not set.",
        ORIGINAL.map(str::to_uppercase)[2],
    )));
    text.push('\n');
    text.push_str(&comment(
        "The settings file (see fathom.example.toml). If this is not set: fathom.toml in the working directory, if it is there.",
    ));
    text.push_str(&format!("#{}=\n", settings::FILE_VARIABLE));
    for table in tables() {
        text.push_str(&heading(&table));
        for setting in &table.settings {
            text.push_str(&about(setting, &table));
            text.push_str(&format!("#{}={}\n", setting.variable, quoted(&in_variable(setting))));
        }
    }
    text
}

/// Writes `fathom.example.toml`.
pub fn file() -> String {
    let mut text = comment(
        "Every setting of Fathom, with its default or an example. A line that begins with # and no space is a setting. Copy this file to fathom.toml, which is read in the working directory (or name it with --config FILE or FATHOM_CONFIG), and remove the # where you set something. Flags and environment variables win over this file. `fathom config` shows what counts and where it comes from. Relative paths are relative to the working directory.",
    );
    let opens =
        settings::all().iter().filter(|setting| setting.leads_out()).filter_map(|s| s.key.strip_prefix("http."));
    text.push_str(&comment(&format!(
        "Addresses, headers and what lets people in ({}) count only in a file that you named, not in one that was merely found in the working directory.",
        opens.collect::<Vec<_>>().join(", "),
    )));
    for table in tables() {
        text.push_str(&heading(&table));
        if !table.key.is_empty() {
            text.push_str(&format!("#[{}]\n", table.key));
        }
        for setting in &table.settings {
            text.push_str(&about(setting, &table));
            let name = setting.key.rsplit('.').next().unwrap_or_default();
            text.push_str(&format!("#{name} = {}\n", in_file(setting)));
        }
    }
    text.push_str(MODELS);
    text.push_str(MCP);
    text
}

/// Writes `docs/settings.md`.
pub fn page() -> String {
    let mut text = "# Settings\n\nA setting comes from the first of these that has it: its flag, its environment variable, the TOML file, its default. `fathom config` prints what counts and where it comes from, with secrets masked.\n\n- The names of Open Deep Research for research options (without `FATHOM_`) are read where ours are not set.\n- `--model` and `FATHOM_MODEL` set the model of all roles. They win over the model of a single role from a lower place: the flag over variables and the file, the variable over the file.\n- Providers of models have three settings each, which [providers.md](providers.md) lists.\n"
        .to_owned();
    for table in tables().iter().filter(|table| !table.key.starts_with("providers.")) {
        let title =
            if table.key.is_empty() { "At the top of the file".to_owned() } else { format!("`[{}]`", table.key) };
        text.push_str(&format!("\n## {title}\n\n"));
        if let Some(intro) = table.engine.as_ref().or(table.intro.as_ref()) {
            text.push_str(&format!("{intro}\n\n"));
        }
        text.push_str("| setting | variable | values | default | what it is |\n|---|---|---|---|---|\n");
        for setting in &table.settings {
            text.push_str(&row(setting));
        }
    }
    text
}

/// Writes `docs/providers.md` with a new table.
pub fn providers_page(page: &str) -> String {
    let rows: String = providers::PROVIDERS.iter().map(provider_row).collect();
    let head = "| provider | variables | dialect | address | example | to know |\n|---|---|---|---|---|---|\n";
    with_table(page, BEGIN, &format!("{head}{rows}"))
}

/// Writes `docs/engines.md` with a new table.
pub fn engines_page(page: &str) -> String {
    let rows: String = ROWS.iter().map(|row| engine_row(row)).collect();
    let head = "| `search_api` | what it searches | variables | comes with | filters | one search costs |\n|---|---|---|---|---|---|\n";
    with_table(page, ENGINES, &format!("\n{head}{rows}\n"))
}

/// Returns the page with another table between its marks.
fn with_table(page: &str, begin: &str, table: &str) -> String {
    let parts = page.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else { return page.to_owned() };
    format!("{before}{begin}\n{table}{END}{after}")
}

fn engine_row(row: &search::Row) -> String {
    let is_shown =
        |setting: &&search::Setting| setting.value != search::Value::Url || setting.need == search::Need::Required;
    let variable = |setting: &search::Setting| match setting.need {
        search::Need::Required => format!("`{}`", setting.variable),
        _ => format!("`{}` (optional)", setting.variable),
    };
    let variables: Vec<_> = row.settings.iter().filter(is_shown).map(variable).collect();
    let variables = if variables.is_empty() { "none".to_owned() } else { variables.join(", ") };
    let filters: Vec<_> = row.filters.iter().map(|filter| filter.as_str()).collect();
    let (name, about, returns, cost) = (row.name, row.about, row.returns.as_str(), row.cost);
    format!("| `{name}` | {about} | {variables} | {returns} | {} | {cost} |\n", filters.join(", "))
}

fn provider_row(provider: &Provider) -> String {
    // The key of a cloud may be named otherwise than its address.
    let prefix = provider.variables.base_url.trim_end_matches("BASE_URL");
    let key = Some(provider.variables.api_key).filter(|key| key.trim_end_matches("API_KEY") != prefix);
    let further: String = provider.others.iter().map(|other| format!(", `{}`", other.variable)).collect();
    let key = key.map(|name| format!(" (the key is `{name}`)"));
    let other = provider.other_key.map(|name| format!(" (or `{name}`)")).or(key).unwrap_or_default();
    let optional = if provider.key == Key::Optional { ", key optional" } else { "" };
    let address = match (provider.base_url, provider.place) {
        (Some(url), _) => format!("`{url}`"),
        (None, Some(_)) => "by its settings".to_owned(),
        (None, None) => "set it yourself".to_owned(),
    };
    let (title, dialect, note) = (provider.title, provider.wire.title(), provider.note);
    let example = format!("`{}:{}`", provider.name, provider.example);
    format!("| {title} | `{prefix}…`{other}{optional}{further} | {dialect} | {address} | {example} | {note} |\n")
}

fn row(setting: &Setting) -> String {
    let flag = match setting.flag {
        Some("--set") | None => String::new(),
        Some(flag) => format!(", `{flag}`"),
    };
    let default = match setting.default {
        Fallback::Value(text) => format!("`{text}`"),
        Fallback::Computed(text) if text.contains("://") => format!("`{text}`"),
        Fallback::Computed(text) => text.to_owned(),
        Fallback::Unset => String::new(),
    };
    let name = setting.key.rsplit('.').next().unwrap_or_default();
    let other = setting.other_variable.as_deref().map(|name| format!(", or `{name}`")).unwrap_or_default();
    let (variable, values, meaning) = (&setting.variable, values(setting.kind), setting.meaning);
    format!("| `{name}` | `{variable}`{other}{flag} | {values} | {default} | {meaning} |\n")
}

/// Returns what is accepted, in a few words.
fn values(kind: Kind) -> String {
    match kind {
        Kind::Number { min, max } => format!("{min} to {max}"),
        Kind::Dollars => "dollars".to_owned(),
        Kind::Boolean => "true or false".to_owned(),
        Kind::Choice(names) => names.join(", "),
        Kind::Origins | Kind::Hosts | Kind::Models | Kind::Caps | Kind::ProviderLimits => "a list".to_owned(),
        Kind::Headers => "`Name=value,…`".to_owned(),
        Kind::Research(spec) => option_values(spec.kind),
        _ => String::new(),
    }
}

/// Settings that stand in one table of the file.
struct Table {
    /// Empty for those at its top.
    key: String,
    /// What the tables are about of which it is the first.
    intro: Option<String>,
    /// The provider or engine it belongs to.
    title: Option<String>,
    engine: Option<String>,
    settings: Vec<&'static Setting>,
}

/// Returns the tables in the order of the settings, those at the top of the file first.
fn tables() -> Vec<Table> {
    let mut tables = vec![Table::of("", true)];
    for setting in settings::all() {
        let key = setting.key.rsplit_once('.').map_or("", |(table, _)| table);
        let place = tables.iter().position(|table| table.key == key).unwrap_or_else(|| {
            let is_first = !tables.iter().any(|table| first(&table.key) == first(key));
            tables.push(Table::of(key, is_first));
            tables.len() - 1
        });
        if let Some(table) = tables.get_mut(place) {
            table.settings.push(setting);
        }
    }
    tables
}

impl Table {
    fn of(key: &str, is_first: bool) -> Self {
        let about = ABOUT.iter().find(|(name, _)| is_first && *name == first(key));
        let name = key.split_once('.').map_or("", |(_, name)| name);
        let engine = ROWS.iter().find(|row| row.name == name).map(|row| capital(&format!("{row}.")));
        let provider = providers::find(name).map(|provider| {
            let other = provider.other_key.map(|name| format!(" {name} counts too.")).unwrap_or_default();
            let path = provider.usual_path.map(|path| format!(" An address without a path gets {path}."));
            format!("{}.{other}{}", capital(provider.title), path.unwrap_or_default())
        });
        Self {
            key: key.to_owned(),
            intro: about.map(|(_, about)| (*about).to_owned()),
            title: if first(key) == "providers" { provider } else { engine.clone() },
            engine,
            settings: Vec::new(),
        }
    }
}

fn first(key: &str) -> &str {
    key.split('.').next().unwrap_or_default()
}

/// Returns what the tables from here on are about, and what this one belongs to.
fn heading(table: &Table) -> String {
    let intro = table.intro.iter().map(|text| format!("\n{}", comment(text)));
    let title = table.title.iter().map(|text| comment(text));
    intro.chain(["\n".to_owned()]).chain(title).collect()
}

/// Returns what a setting is for; the three that each provider has are explained above the first.
fn about(setting: &Setting, table: &Table) -> String {
    let is_usual = [".api_key", ".base_url", ".headers"].iter().any(|name| setting.key.ends_with(name));
    if first(&table.key) == "providers" && is_usual {
        return String::new();
    }
    let end = if setting.meaning.ends_with('?') { "" } else { "." };
    let default = match setting.default {
        Fallback::Computed(text) if !text.contains("://") => format!(" Default: {text}."),
        _ => String::new(),
    };
    comment(&format!("{}{end}{default}", capital(setting.meaning)))
}

/// Returns the default or an example; nothing where an example would be taken for a value of one's own.
fn in_variable(setting: &Setting) -> String {
    match (setting.default, setting.kind) {
        (Fallback::Value(text), _) => text.to_owned(),
        (Fallback::Computed(text), Kind::Url | Kind::Text) => text.to_owned(),
        (
            _,
            Kind::Secret | Kind::SigningSecret | Kind::Headers | Kind::Path | Kind::Folders | Kind::Url | Kind::Text,
        ) => String::new(),
        _ => example(setting),
    }
}

/// Puts a value into quotes that a shell would take apart.
fn quoted(value: &str) -> Cow<'_, str> {
    match value.contains([' ', '"', '{', '*', '&', ';', '$', '(', '#', '<', '>']) {
        true => format!("'{value}'").into(),
        false => value.into(),
    }
}

/// Renders the value of a setting in TOML, which takes JSON's texts, numbers and lists as they are.
fn in_file(setting: &Setting) -> String {
    let text = match (setting.default, setting.kind) {
        (Fallback::Value(text), _) | (Fallback::Computed(text), Kind::Url | Kind::Text) => text.to_owned(),
        _ => example(setting),
    };
    match setting.kind.read(&text) {
        Value::Object(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")),
        value => value.to_string(),
    }
}

fn example(setting: &Setting) -> String {
    match setting.example {
        "" => setting.kind.example(),
        text => text.to_owned(),
    }
}

/// Returns the text as lines that begin with `# `.
fn comment(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| format!("# {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::super::{Config, Flags, file::File};
    use super::*;

    /// Returns the variables and keys that stand in an example, all of which are commented out.
    fn commented(example: &str) -> impl Iterator<Item = &str> {
        example.lines().filter_map(|line| line.strip_prefix('#')).filter(|line| !line.starts_with(' '))
    }

    /// `UPDATE=1 cargo test --lib generated` writes them.
    #[test]
    fn generated_files_are_up_to_date() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        #[expect(clippy::disallowed_methods, reason = "a switch of this test, no setting")]
        let update = std::env::var_os("UPDATE").is_some();
        let providers = fs::read_to_string(root.join("docs/providers.md")).unwrap();
        let engines = fs::read_to_string(root.join("docs/engines.md")).unwrap();
        assert!(providers.contains(BEGIN) && providers.contains(END));
        assert!(engines.contains(ENGINES) && engines.contains(END));
        for (name, text) in [
            (".env.example", variables()),
            ("fathom.example.toml", file()),
            ("docs/settings.md", page()),
            ("docs/providers.md", providers_page(&providers)),
            ("docs/engines.md", engines_page(&engines)),
        ] {
            if update {
                fs::write(root.join(name), text).unwrap();
            } else {
                let stored = fs::read_to_string(root.join(name)).unwrap_or_default();
                assert!(stored == text, "{name} is not what the tables say: `just generate` writes it");
            }
        }
    }

    #[test]
    fn the_example_of_variables_lists_exactly_those_there_are() {
        let example = variables();
        let listed: Vec<_> = commented(&example).filter_map(|line| Some(line.split_once('=')?.0)).collect();
        let known = settings::all().iter().map(|setting| &*setting.variable).chain([settings::FILE_VARIABLE]);
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), known.collect());
        assert_eq!(listed.len(), settings::all().len() + 1, "each once");
    }

    /// As the guide says, with `set -a; . ./.env`.
    #[test]
    fn a_shell_takes_the_example_of_variables() {
        let example: String = commented(&variables()).flat_map(|line| [line, "\n"]).collect();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("env");
        fs::write(&file, &example).unwrap();
        let script = ". \"$0\"; printf %s \"$FATHOM_MCP_CONFIG\"";
        let output = std::process::Command::new("sh").args(["-eu", "-c", script]).arg(&file).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert!(serde_json::from_slice::<Value>(&output.stdout).unwrap().is_object());
    }

    /// Every value that stands there is one that is accepted.
    #[test]
    fn the_example_file_lists_exactly_the_settings_there_are() {
        let example: String = commented(&file()).flat_map(|line| [line, "\n"]).collect();
        let parsed = File::parse(Path::new("fathom.example.toml"), &example).unwrap();
        let known: BTreeSet<_> = settings::all().iter().map(|setting| &*setting.key).collect();
        assert_eq!(parsed.values.keys().copied().collect::<BTreeSet<_>>(), known);
        assert!(!parsed.models.is_empty());
        for expected in ["\nmcp_file = \"/etc/fathom/mcp.json\"", "/auth/callback\""] {
            assert!(example.contains(expected), "{expected}");
        }
    }

    /// A row that no room reads would be refused only once somebody sets it.
    #[test]
    fn every_setting_may_be_given() {
        let given = |name: &str| {
            let setting =
                settings::all().iter().find(|setting| setting.variable == name && setting.key != "mcp_file")?;
            Some(match setting.default {
                Fallback::Value(text) => text.to_owned(),
                _ => example(setting),
            })
        };
        Config::read(&Flags::default(), &given).unwrap();
    }

    #[test]
    fn every_table_says_what_it_is_about() {
        for table in tables().iter().filter(|table| !table.key.is_empty()) {
            assert!(ABOUT.iter().any(|(name, _)| *name == first(&table.key)), "`ABOUT` says nothing of {}", table.key);
        }
    }
}
