//! The engine over the folder that the settings name: its index is opened by the first who needs it.

use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use tokio::sync::OnceCell;

use super::{Local, Settings};
use crate::{
    pages::Parser,
    search::{
        Caller, Corpus, Error, Limits, Need, Results, Returns, Row, Search, Setting, Skipped, Value, web::Shared,
    },
};

const KEY: &str = "docs";

pub const ROW: Row = Row {
    name: "local",
    about: "a folder of documents: text, Markdown, HTML, PDF",
    corpus: Corpus::Documents,
    returns: Returns::Pages,
    filters: &[],
    settings: &[Setting {
        key: KEY,
        variable: "FATHOM_DOCS",
        flag: Some("--docs"),
        value: Value::Folder,
        need: Need::Required,
        meaning: "folder of documents to search: text, Markdown, HTML, PDF",
        example: "documents",
    }],
    build,
    ..Row::WEB
};

/// A folder of documents, indexed when it is first needed.
#[derive(Debug)]
struct Documents {
    /// Absolute, unless the working directory is gone.
    folder: PathBuf,
    index: PathBuf,
    parser: Parser,
    local: OnceCell<Local>,
}

fn build(_: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let folder = PathBuf::from(shared.settings.text(KEY).unwrap_or_default());
    Ok(Box::new(Documents {
        folder: std::path::absolute(&folder).unwrap_or(folder),
        index: shared.settings.index.clone(),
        parser: shared.parser.clone(),
        local: OnceCell::new(),
    }))
}

impl Documents {
    /// The index; a folder that could not be opened is tried again by the next search.
    async fn local(&self) -> Result<&Local, Error> {
        let open = || Local::open(&self.folder, &self.index, Settings::default(), self.parser.clone());
        self.local.get_or_try_init(open).await
    }
}

impl Search for Documents {
    fn search<'a>(&'a self, query: &'a str, limits: &'a Limits, _: &'a dyn Caller) -> Results<'a> {
        Box::pin(async { self.local().await.map_err(super::without_path)?.find_hits(query, limits).await })
    }

    fn place(&self) -> String {
        self.folder.display().to_string()
    }

    fn open(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { self.local().await.map(drop) })
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.folder)
    }

    fn skipped(&self) -> Vec<Skipped> {
        self.local.get().map(Local::skipped).unwrap_or_default()
    }
}

impl Search for Local {
    fn search<'a>(&'a self, query: &'a str, limits: &'a Limits, _: &'a dyn Caller) -> Results<'a> {
        Box::pin(self.find_hits(query, limits))
    }

    fn place(&self) -> String {
        self.folder().display().to_string()
    }
}
