//! The engine over the folders that the settings name: their indices are opened by the first who needs them.
//!
//! With several folders, addresses begin with the name of the folder; with one they are as they were.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use futures::future::{BoxFuture, join_all};
use tokio::sync::OnceCell;

use super::{Local, Settings, address, query::Query, rank, rank::Candidate};
use crate::{
    pages::Parser,
    search::{
        CallContext, Corpus, Error, Hit, Limits, Need, Opened, Passage, Results, Returns, Row, Search, Setting,
        Skipped, Value, join_folders, merged::first_opened, split_folders, web::Shared,
    },
};

const KEY: &str = "docs";
const MAX_FILES: &str = "search.local.max_files";
const MAX_MEGABYTES: &str = "search.local.max_megabytes";

const fn limit(
    key: &'static str,
    variable: &'static str,
    max: u64,
    default: &'static str,
    meaning: &'static str,
) -> Setting {
    let (value, need) = (Value::Number { min: 1, max }, Need::Default(default));
    Setting { value, need, ..Setting::optional(key, variable, meaning, "") }
}

pub const ROW: Row = Row {
    name: "local",
    about: "folders of documents: PDF, Word, PowerPoint, Excel, LibreOffice, EPUB, HTML, Markdown, RST, CSV, JSON, XML, text",
    corpus: Corpus::Documents,
    returns: Returns::Pages,
    filters: &[],
    settings: &[
        Setting {
            flag: Some("--docs"),
            value: Value::Folders,
            need: Need::Required,
            ..Setting::optional(
                KEY,
                "FATHOM_DOCS",
                "folder of documents to search (PDF, Word, PowerPoint, Excel, LibreOffice, EPUB, HTML, Markdown, RST, CSV, JSON, XML, text), or several",
                "documents",
            )
        },
        limit(
            MAX_FILES,
            "FATHOM_DOCS_MAX_FILES",
            1_000_000,
            "20000",
            "documents that are read from a folder; further ones are left out and named",
        ),
        limit(
            MAX_MEGABYTES,
            "FATHOM_DOCS_MAX_MEGABYTES",
            1_000_000,
            "4096",
            "megabytes of all documents of a folder; further ones are left out and named",
        ),
    ],
    build,
    ..Row::WEB
};

/// Folders of documents, each indexed when it is first needed.
#[derive(Debug)]
struct Documents {
    folders: Vec<Folder>,
    index: PathBuf,
    parser: Parser,
    settings: Settings,
}

#[derive(Debug)]
struct Folder {
    /// Absolute, unless the working directory is gone.
    path: PathBuf,
    /// What its addresses begin with; empty when it is the only one, else with a slash at its end.
    prefix: String,
    local: OnceCell<Local>,
    /// Whether it could not be searched when it was last asked.
    is_lost: AtomicBool,
}

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let number = |key: &str| {
        let setting = row.settings.iter().find(|setting| setting.key == key);
        setting.and_then(|setting| shared.settings.value(setting)?.parse::<u64>().ok())
    };
    let usual = Settings::default();
    let megabytes = number(MAX_MEGABYTES).map(|megabytes| megabytes << 20);
    Ok(Box::new(Documents {
        folders: folders(Path::new(shared.settings.text(KEY).unwrap_or_default())),
        index: shared.settings.index.clone(),
        parser: shared.parser.clone(),
        settings: Settings {
            max_files: number(MAX_FILES).and_then(|files| usize::try_from(files).ok()).unwrap_or(usual.max_files),
            max_total_bytes: megabytes.unwrap_or(usual.max_total_bytes),
            ..usual
        },
    }))
}

/// Returns the folders, each once, with names of their own.
fn folders(text: &Path) -> Vec<Folder> {
    let mut folders: Vec<Folder> = Vec::new();
    let paths = split_folders(text).into_iter().map(|path| std::path::absolute(&path).unwrap_or(path));
    let mut known = HashSet::new();
    let paths: Vec<PathBuf> = paths.filter(|path| known.insert(path.clone())).collect();
    let is_one = paths.len() < 2;
    for path in paths {
        let name = address::of_path(Path::new(path.file_name().unwrap_or("folder".as_ref())));
        let names = (1..).map(|number| if number == 1 { format!("{name}/") } else { format!("{name}-{number}/") });
        let mut free = names.filter(|name| folders.iter().all(|folder| folder.prefix != *name));
        let prefix = if is_one { String::new() } else { free.next().unwrap_or_default() };
        folders.push(Folder { path, prefix, local: OnceCell::new(), is_lost: AtomicBool::new(false) });
    }
    folders
}

impl Documents {
    /// Returns the index; a folder that could not be opened is tried again by the next search.
    async fn local(&self, folder: &Folder) -> Result<Local, Error> {
        let open = || Local::open(&folder.path, &self.index, self.settings.clone(), self.parser.clone());
        folder.local.get_or_try_init(open).await.cloned()
    }

    /// Gets a folder ready.
    async fn ready(&self, folder: &Folder) -> Result<(), Error> {
        folder.noted(self.local(folder).await.map(drop))
    }

    /// Returns the passages of a folder that fit.
    async fn candidates(&self, folder: &Folder, expression: &str) -> Result<Vec<Candidate>, Error> {
        let found = async { self.local(folder).await?.find(expression).await };
        let found = folder.noted(found.await)?;
        Ok(found.into_iter().map(|candidate| folder.own(candidate)).collect())
    }

    /// Returns the passages that fit best, of all folders together.
    async fn find(&self, query: &str, limits: &Limits) -> Result<Vec<Hit>, Error> {
        let query = Query::parse(query);
        let Some(expression) = query.expression() else {
            return Err(Error::BadQuery("there is no word in it".into()));
        };
        let answers = join_all(self.folders.iter().map(|folder| self.candidates(folder, &expression))).await;
        let candidates = answered(answers).map_err(super::without_path)?;
        let picked = rank::pick(&query, candidates.into_iter().flatten().collect(), limits.max_results);
        Ok(picked.into_iter().map(|(score, candidate)| super::hit(score, candidate)).collect())
    }

    async fn opened(&self, folder: &Folder, address: &str) -> Result<Option<Opened>, Error> {
        let Some(own) = address.strip_prefix(&folder.prefix) else { return Ok(None) };
        let local = self.local(folder).await.map_err(super::without_path)?;
        let Some(opened) = local.opened(own).await? else { return Ok(None) };
        let own = |passage: Passage| Passage { url: format!("{}{}", folder.prefix, passage.url), ..passage };
        Ok(Some(Opened { passages: opened.passages.into_iter().map(own).collect(), ..opened }))
    }
}

/// Returns the answers of the folders that have one; a folder that cannot be listed keeps no other from being searched.
///
/// # Errors
/// The first folder's, when none has an answer.
fn answered<T>(answers: Vec<Result<T, Error>>) -> Result<Vec<T>, Error> {
    let (mut given, mut failed) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(answer) => given.push(answer),
            Err(error) => failed.push(error),
        }
    }
    match failed.first() {
        Some(error) if given.is_empty() => Err(error.clone()),
        _ => {
            failed.iter().for_each(|error| tracing::warn!(%error, "one of several documents folders is left out"));
            Ok(given)
        }
    }
}

impl Folder {
    /// Notes whether it could be searched.
    fn noted<T>(&self, answer: Result<T, Error>) -> Result<T, Error> {
        self.is_lost.store(answer.is_err(), Relaxed);
        answer
    }

    /// Returns that it could not be searched, when it is one of several; a single one is an error instead.
    fn lost(&self) -> Option<Skipped> {
        let name = self.prefix.strip_suffix('/').filter(|_| self.is_lost.load(Relaxed))?;
        Some(Skipped { path: name.to_owned(), reason: "the folder cannot be searched at the moment".to_owned() })
    }

    fn own(&self, candidate: Candidate) -> Candidate {
        Candidate {
            path: format!("{}{}", self.prefix, candidate.path),
            url: format!("{}{}", self.prefix, candidate.url),
            ..candidate
        }
    }
}

impl Search for Documents {
    fn search<'a>(&'a self, query: &'a str, limits: &'a Limits, _: &'a dyn CallContext) -> Results<'a> {
        Box::pin(self.find(query, limits))
    }

    fn place(&self) -> String {
        self.folders.iter().map(|folder| folder.path.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    fn open(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async {
            let ready = join_all(self.folders.iter().map(|folder| self.ready(folder))).await;
            answered(ready).map(drop)
        })
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(join_folders(&self.folders.iter().map(|folder| folder.path.clone()).collect::<Vec<_>>()))
    }

    fn skipped(&self) -> Vec<Skipped> {
        let of_folder = |folder: &Folder| {
            let skipped = folder.local.get().map(Local::skipped).unwrap_or_default();
            let prefix = folder.prefix.clone();
            let own = move |skipped: Skipped| Skipped { path: format!("{prefix}{}", skipped.path), ..skipped };
            folder.lost().into_iter().chain(skipped.into_iter().map(own))
        };
        self.folders.iter().flat_map(of_folder).collect()
    }

    fn document<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Option<Opened>, Error>> {
        Box::pin(first_opened(self.folders.iter().map(move |folder| self.opened(folder, address))))
    }
}

impl Search for Local {
    fn search<'a>(&'a self, query: &'a str, limits: &'a Limits, _: &'a dyn CallContext) -> Results<'a> {
        Box::pin(self.find_hits(query, limits))
    }

    fn place(&self) -> String {
        self.folder().display().to_string()
    }

    fn document<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Option<Opened>, Error>> {
        Box::pin(self.opened(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_indexed_once_wherever_it_is_named_again() {
        let check = |text: &str, expected: &[&str]| {
            let prefixes: Vec<_> = folders(Path::new(text)).into_iter().map(|folder| folder.prefix).collect();
            assert_eq!(prefixes, expected, "{text}");
        };
        check("/srv/a:/srv/b:/srv/a", &["a/", "b/"]);
        check("/srv/a:/srv/a/:/srv/a", &[""]);
        check("/srv/a:/opt/a", &["a/", "a-2/"]);
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_listed_hides_no_other() {
        let aside = tempfile::tempdir().unwrap();
        let [here, gone] = ["here", "gone"].map(|name| aside.path().join(name));
        std::fs::create_dir(&here).unwrap();
        let documents = |paths: &[&PathBuf]| Documents {
            folders: folders(&join_folders(&paths.iter().map(|path| (*path).clone()).collect::<Vec<_>>())),
            index: aside.path().join("index"),
            parser: Parser::new(crate::pages::Settings::default()),
            settings: Settings { rescan_after: std::time::Duration::ZERO, ..Settings::default() },
        };
        let limits = Limits::default();
        let missing = aside.path().join("missing");
        let none = documents(&[&gone, &missing]);
        assert!(none.open().await.is_err() && none.find("dues", &limits).await.is_err());
        let some = documents(&[&here, &gone]);
        some.open().await.unwrap();
        assert_eq!(some.find("dues", &limits).await, Ok(Vec::new()));
        let skipped = some.skipped();
        assert_eq!(skipped.iter().map(|skipped| &*skipped.path).collect::<Vec<_>>(), ["gone"]);
        std::fs::create_dir(&gone).unwrap();
        some.find("dues", &limits).await.unwrap();
        assert_eq!(some.skipped(), [], "it is there again");
    }
}
