//! What it takes to add a search engine: one file and one row. The one here is made up.

use axum::{Json, Router, routing::get};
use fathom::{
    domain::{SearchApi, SearchFallback},
    llm::providers::PROVIDERS,
    search::{
        Corpus, Engines, Error, Filter, Limits, Missing, Need, Open, ROWS, Row, Setting, Settings, Value,
        web::{RawHit, Request, Web, Wire, objects},
    },
};
use serde_json::json;
use tokio::task::JoinSet;
use url::Url;

use super::local::parser;

const ROW: Row = Row {
    name: "almanac",
    about: "tide tables",
    max_query_chars: 100,
    settings: &[Setting {
        value: Value::Url,
        need: Need::Required,
        ..Setting::optional(
            "search.almanac.base_url",
            "ALMANAC_BASE_URL",
            "address of an almanac",
            "http://127.0.0.1:4000",
        )
    }],
    build: |row, shared| Web::open(row, shared, "", |endpoint, _| Almanac(endpoint)),
    ..Row::WEB
};

struct Almanac(Url);

impl Wire for Almanac {
    fn request(&self, query: &str, _: &Limits) -> Request {
        Request::get(self.0.clone(), &[("q", query)])
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        let tides = objects(body, &["tides"])?;
        let found = |tide: fathom::search::web::Object<'_>| {
            Some(RawHit { url: tide.text("at")?, title: tide.text("port"), ..RawHit::default() })
        };
        Ok(tides.into_iter().filter_map(found).collect())
    }
}

/// The rows of this build with one more.
fn rows() -> Vec<&'static Row> {
    ROWS.iter().copied().chain([&ROW]).collect()
}

fn engines(settings: Settings) -> Engines {
    Engines::of(&rows(), settings, parser()).unwrap()
}

#[tokio::test]
async fn one_file_and_one_row_make_an_engine() {
    let none = engines(Settings::default());
    let missing = none.get("almanac").unwrap_err();
    assert_eq!(
        missing,
        Missing::Setting { option: "search_api", name: "almanac", remedy: "set ALMANAC_BASE_URL".to_owned() }
    );
    let nothing = none.select(&SearchApi::auto(), &SearchFallback::default()).unwrap_err().to_string();
    assert!(nothing.starts_with("there is nothing to search: ") && nothing.contains("ALMANAC_BASE_URL"), "{nothing}");
    let unknown = none.check(&SearchApi::engine("almanach")).unwrap_err().to_string();
    assert!(unknown.contains("one or several of tavily") && unknown.contains("almanac"), "{unknown}");

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answer = Json(json!({"tides": [{"at": "https://ports.test/a", "port": "<b>Aber</b>"}, {"port": "nowhere"}]}));
    let router = Router::new().route("/", get(async move || answer));
    let mut server = JoinSet::new();
    server.spawn(async move { axum::serve(listener, router).await.unwrap() });
    let engines = engines(Settings::default().with("search.almanac.base_url", address));
    assert_eq!(engines.resolve(&SearchApi::auto()).unwrap().to_string(), "almanac");
    let engine = engines.select(&SearchApi::auto(), &SearchFallback::default()).unwrap();
    let hits = engine.search("tide", &Limits::default(), &Open).await.unwrap();
    let seen: Vec<_> = hits.iter().map(|hit| (&*hit.url, &*hit.title, &*hit.engine)).collect();
    assert_eq!(seen, [("https://ports.test/a", "Aber", "almanac")]);
}

/// Documents behind an address are asked, as the web is: only folders are indexed here.
#[tokio::test]
async fn documents_behind_an_address_are_tried_by_a_search() {
    static OWN: Row = Row { corpus: Corpus::Documents, ..ROW };
    let settings = Settings::default().with("search.almanac.base_url", "http://127.0.0.1:9");
    let engines = Engines::of(&[&OWN], settings, parser()).unwrap();
    let tried = engines.get("almanac").unwrap().probe().await;
    assert!(matches!(tried, Err(Error::Unavailable(_))), "{tried:?}");
}

/// Whatever is configured can be chosen, alone or with others, whichever is the default.
#[tokio::test]
async fn a_run_chooses_among_all_that_are_usable() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "The lighthouse keeper was Ada Quill.").unwrap();
    let index = tempfile::tempdir().unwrap();
    let settings = Settings { index: index.path().to_owned(), ..Settings::default() }
        .with("search.tavily.api_key", "tvly-key")
        .with("docs", folder.path().to_str().unwrap());
    let engines = engines(settings);
    assert_eq!(engines.resolve(&SearchApi::auto()).unwrap().to_string(), "tavily");
    let local = engines.select(&SearchApi::engine("local"), &SearchFallback::default()).unwrap();
    assert_eq!(local.folder().as_deref(), Some(folder.path()));
    let hits = local.search("lighthouse", &Limits::default(), &Open).await.unwrap();
    assert_eq!((hits.len(), &*hits[0].engine), (1, "local"));
    let both: SearchApi = "local,tavily".parse().unwrap();
    assert_eq!(engines.select(&both, &SearchFallback::default()).unwrap().name(), "local,tavily");
    let with_missing: SearchApi = "local,almanac".parse().unwrap();
    let with = |search_api: &str, fallback: &str| {
        engines.select(&SearchApi::engine(search_api), &fallback.parse().unwrap()).unwrap()
    };
    let one = with("tavily", "local,tavily");
    assert_eq!((one.name(), one.corpus(), one.has_documents()), ("tavily", Corpus::Web, true));
    let one = with("local", "tavily,arxiv");
    assert_eq!((one.name(), one.corpus()), ("local", Corpus::Documents), "nobody is asked beside documents");
    assert!(with("tavily", "arxiv").knows(Filter::Country) && !with("arxiv", "tavily").knows(Filter::Country));
    let missing = engines.select(&SearchApi::engine("local"), &"almanac".parse().unwrap()).unwrap_err();
    assert_eq!(missing.option(), "search_fallback");
    assert_eq!(missing.to_string(), "search_fallback=almanac cannot be used: set ALMANAC_BASE_URL");
    assert!(
        engines.select(&with_missing, &SearchFallback::default()).unwrap_err().to_string().contains("ALMANAC_BASE_URL")
    );
}

/// An engine is named in its own file (or folder), in the table of rows, and nowhere else in the crate.
#[test]
fn an_engine_is_named_in_its_file_and_its_row_alone() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (path, text) in sources(&root) {
        let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap().to_owned();
        for row in ROWS {
            // Two ways to one vendor stand in one file.
            let file = row.name.split('_').next().unwrap();
            let own = path.starts_with(&format!("search/engines/{file}"))
                || ["search/engines/mod.rs", "pages/web/reader.rs"].contains(&path.as_str());
            // Readers of pages and providers of models may have the name of an engine, and where documents are searched
            // is an ordinary word.
            let literal = (!row.reads_folders()).then(|| format!("\"{}\"", row.name));
            let path_and_variable = [format!("{}::", row.name), format!("{}_API_KEY", row.name.to_uppercase())];
            // The key of a model's provider is that provider's.
            let named = literal.into_iter().chain(path_and_variable.into_iter().take(if row.by_model { 1 } else { 2 }));
            for name in named.filter(|name| !own && !path.starts_with("llm/") && text.contains(name)) {
                wrong.push(format!("src/{path} names {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A key that a request brings for a provider of models starts no searches.
#[test]
fn no_key_of_an_engine_has_the_name_of_a_provider() {
    let keys = ROWS.iter().flat_map(|row| row.keys()).filter(|setting| setting.is_own());
    let shared: Vec<_> =
        keys.filter(|key| PROVIDERS.iter().any(|provider| provider.settings() == key.holder())).collect();
    assert!(shared.is_empty(), "{shared:?}");
}

fn sources(folder: &std::path::Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                all.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    all
}
