//! Stories of the settings as the real binary reads and shows them: `fathom config` and the settings file.

use std::fs;

use super::{
    binary::{is_usage_error, output, text},
    engine::research,
};
use crate::{
    database::TestDatabase,
    world::{Found, Kind, Script, Shape, World, reply},
};

/// The lines of `fathom config`, which must succeed.
async fn config(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = world.fathom(arguments);
    let output = output(command.envs(variables.iter().copied())).await;
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    text(&output.stdout)
}

/// The line of one setting, without its key.
fn line<'a>(text: &'a str, key: &str) -> &'a str {
    let prefix = format!("{key} = ");
    text.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap_or_else(|| panic!("{key} is not in\n{text}"))
}

/// Each value with who said it, and no secret anywhere, in both forms.
#[tokio::test(flavor = "multi_thread")]
async fn config_shows_values_and_their_sources_and_no_secret() {
    let world = World::start(Script::new()).await;
    let toml = "model = 'openai:from-file'\n[http]\nmax_streams = 7\n[providers.openrouter]\napi_key = 'sk-s3cret'\n\
        [database]\nurl = 'postgres://me:s3cret@db.test:5433/fathom'\n[prices]\n'openai:m' = {input = 1, output = 2}\n\
        [[mcp]]\nname = 'wiki'\nurl = 'https://w.test/mcp?key=s3cret'\n";
    fs::write(world.folder().join("fathom.toml"), toml).unwrap();
    let servers = r#"{"mcpServers": {"time": {"command": "uvx", "args": ["--token", "s3cret"]}}}"#;
    fs::write(world.folder().join("mcp.json"), servers).unwrap();
    let variables = [
        ("FATHOM_CONFIG", "fathom.toml"),
        ("FATHOM_MCP_FILE", "mcp.json"),
        ("OPENAI_HEADERS", "X-Token=s3cret"),
        ("TAVILY_API_KEY", "tvly-s3cret"),
        ("OLLAMA_BASE_URL", "http://me:s3cret@127.0.0.1:1/v1"),
        ("FATHOM_MAX_REACT_TOOL_CALLS", "5"),
    ];
    let in_lines =
        config(&world, &["config", "--docs", "papers", "--set", "max_content_length=2000"], &variables).await;
    for (key, expected) in [
        ("listen", "127.0.0.1:8080  # default"),
        ("docs", "papers  # flag --docs"),
        ("database.url", "Postgres at db.test:5433/fathom  # file fathom.toml"),
        ("http.max_streams", "7  # file fathom.toml"),
        ("http.owner_header", "(not set)  # default"),
        ("http.trusted_proxies", r#"["127.0.0.0/8","::1"]  # default"#),
        ("providers.openrouter.api_key", "***  # file fathom.toml"),
        ("providers.openai.headers", r#"{"X-Token":"***"}  # environment variable OPENAI_HEADERS"#),
        ("providers.ollama.base_url", "http://127.0.0.1:1/v1  # environment variable OLLAMA_BASE_URL"),
        ("search.tavily.api_key", "***  # environment variable TAVILY_API_KEY"),
        ("options.max_react_tool_calls", "5  # environment variable FATHOM_MAX_REACT_TOOL_CALLS"),
        ("options.max_content_length", "2000  # flag --set"),
        ("options.research_model", "openai:from-file  # file fathom.toml"),
        ("options.require_think", "false  # default"),
        ("models.\"openai:m\"", r#"{"price":{"input":1.0,"output":2.0}}  # file fathom.toml"#),
        ("mcp.wiki", "https://w.test/mcp  # file fathom.toml"),
        ("mcp.time", "uvx  # file mcp.json"),
    ] {
        assert_eq!(line(&in_lines, key), expected, "{key}");
    }
    let in_json = config(&world, &["config", "--json"], &variables).await;
    let value: serde_json::Value = serde_json::from_str(&in_json).unwrap();
    assert_eq!(value["file"], "fathom.toml");
    assert!(!(in_lines + &in_json).contains("s3cret"));
    world.finish();
}

/// Without a file, or with an empty one, the defaults count.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_file_is_fine() {
    let world = World::start(Script::new()).await;
    let without = config(&world, &["config"], &[]).await;
    assert!(without.starts_with("# No settings file\n"));
    fs::write(world.folder().join("empty.toml"), "").unwrap();
    let with = config(&world, &["config", "--config", "empty.toml"], &[]).await;
    assert!(with.starts_with("# Settings file: empty.toml\n"));
    assert_eq!(with.lines().skip(1).collect::<Vec<_>>(), without.lines().skip(1).collect::<Vec<_>>());
    world.finish();
}

/// A file that cannot be used is said in one line, by every command.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_is_bad_usage() {
    let world = World::start(Script::new()).await;
    for (toml, expected) in [
        ("[http]\nmax_stream = 1", "bad.toml: unknown setting 'http.max_stream'; did you mean 'http.max_streams'?"),
        ("listen = 8080", "bad.toml: listen must be an IP address and a port"),
        ("[options]\nresearch_model = 'acme:x'", "a model of a known provider (openai, "),
        ("listen = ", "bad.toml: line 1: "),
    ] {
        fs::write(world.folder().join("bad.toml"), toml).unwrap();
        for arguments in [&["config", "--config", "bad.toml"][..], &["research", "q", "--config", "bad.toml"]] {
            is_usage_error(&world, &output(&mut world.fathom(arguments)).await, expected);
        }
    }
    let missing = output(&mut world.fathom(&["config", "--config", "missing.toml"])).await;
    is_usage_error(&world, &missing, "missing.toml: cannot be read");
    let mut command = world.fathom(&["config"]);
    let loud = output(command.env("FATHOM_LOG", "fathom=loud")).await;
    is_usage_error(&world, &loud, "FATHOM_LOG must be error, warn, info, debug");
    world.finish();
}

/// What would silently not count, or lead a key elsewhere, is refused in one line that says what to do and no secret.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_accepted_silently() {
    let world = World::start(Script::new()).await;
    let refused = async |variables: &[(&str, &str)], arguments: &[&str], expected: &str| {
        let mut command = world.fathom(arguments);
        let output = output(command.envs(variables.iter().copied())).await;
        is_usage_error(&world, &output, expected);
        assert!(!text(&output.stderr).contains("pa55"), "{}", text(&output.stderr));
    };
    let research = ["research", "Which gate?"];
    refused(&[("FATHOM_MAX_RUN_SECOND", "60")], &research, "did you mean FATHOM_MAX_RUN_SECONDS?").await;
    refused(&[("DATABASE_URL", "mysql://me:pa55@host/db")], &research, "DATABASE_URL must be an address of Postgres")
        .await;
    refused(&[("DATABASE_URL", "postgres://me:1/pa55@host/db")], &["doctor"], "postgres://user:password@host").await;
    let modes = "sslmode is one of disable, allow, prefer, require, verify-ca, verify-full, not full";
    for (parameter, expected) in [
        ("ssl_mode=require", "DATABASE_URL must be an address without the parameter ssl_mode"),
        ("sslmod=verify-full", "did you mean sslmode?"),
        ("sslmode=full", modes),
    ] {
        let address = format!("postgres://me:pa55@127.0.0.1:1/db?{parameter}");
        for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &research, &["doctor"]] {
            refused(&[("DATABASE_URL", &address)], arguments, expected).await;
        }
    }
    for list in ["10.0.0.7:80", "proxy.example", "10.0.0.0/33", "*", "127.0.0.1,x"] {
        refused(&[("FATHOM_TRUSTED_PROXIES", list)], &["serve"], "FATHOM_TRUSTED_PROXIES must be addresses such as")
            .await;
    }
    for (option, instead) in [
        ("mcp_config={}", "an object with url"),
        ("mcp_servers=files", "this server has no MCP servers"),
        ("search_api=anthropic", "cannot be used: set ANTHROPIC_API_KEY"),
        ("search_fallback=brave", "search_fallback=brave cannot be used: set BRAVE_API_KEY"),
        ("search_fallback=bing", "none, or one or several of tavily"),
        ("research_model=cohere:command", "a model of a known provider"),
        ("apiKeys={}", "OPENAI_API_KEY"),
    ] {
        refused(&[], &["research", "Which gate?", "--set", option], instead).await;
    }
    let two = ["research", "Which gate?", "--set", "search_api=openai", "--set", "search_fallback=google"];
    refused(&[], &two, "but one of openai, anthropic, google at most, those of search_api included").await;
    fs::write(world.folder().join("fathom.toml"), "[providers.openai]\nbase_url = 'https://evil.test/v1'\n").unwrap();
    refused(&[], &research, "providers.openai.base_url is not taken from a file that was merely found").await;
    fs::write(world.folder().join("fathom.toml"), "[http]\ntrusted_proxies = ['0.0.0.0/0']\n").unwrap();
    refused(&[], &research, "http.trusted_proxies is not taken from a file that was merely found").await;
    fs::write(world.folder().join("fathom.toml"), "[sign_in]\naudiences = 'of-another-program'\n").unwrap();
    refused(&[], &research, "sign_in.audiences is not taken from a file that was merely found").await;
    assert_eq!(world.models.total(), 0);
    world.finish();
}

/// The doctor asks one search whether the key is good, and shows addresses without what may be a secret.
#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_tries_the_search_key_and_shows_no_secret() {
    let world = World::start(Script::new()).await;
    let with_user = |base: String| base.replace("http://", "http://me:pa55@") + "?key=pa55";
    let (models, web) = (with_user(world.models.base_url()), with_user(world.web.base_url()));
    let doctor = async || {
        let mut command = world.fathom(&["doctor"]);
        command.env("OPENAI_BASE_URL", &models).env("TAVILY_BASE_URL", world.web.base_url());
        text(&output(&mut command).await.stdout)
    };
    let fine = doctor().await;
    assert!(fine.contains("key accepted by one search"), "{fine}");
    assert_eq!(world.web.total(), 1);
    world.web.always("", Found::fault(reply::status(401)));
    let wrong = doctor().await;
    assert!(wrong.contains("check TAVILY_API_KEY") && wrong.contains("FAIL"), "{wrong}");
    let mut command = world.fathom(&["doctor"]);
    let elsewhere = text(&output(command.env("TAVILY_BASE_URL", &web)).await.stdout);
    assert!(![fine, wrong, elsewhere].concat().contains("pa55"));
    world.finish();
}

/// Between the zones farthest apart it is never the same day.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_are_dated_where_the_user_is() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let mut days = Vec::new();
    for zone in ["Pacific/Kiritimati", "Etc/GMT+12"] {
        let database = TestDatabase::sqlite();
        let story = research(&world, &database, &[&format!("timezone={zone}")]).await;
        let date = story.steps.iter().find(|step| step.key == "date").unwrap().value.clone();
        let report = world.models.calls_of(Kind::Report).pop().unwrap();
        assert!(report.says(date.trim_matches('"')), "{date}");
        days.push(date);
    }
    assert_ne!(days[0], days[1]);
    world.finish();
}
