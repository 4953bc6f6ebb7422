//! The pages for readers: short where they have to be, and without links that lead nowhere.

use std::{
    fs,
    path::{Path, PathBuf},
};

use fathom_testkit::program;

const README_BYTES: usize = 7 * 1024;

/// Every page in Markdown, but those that are searched as examples or sent to models.
fn pages() -> Vec<PathBuf> {
    let root = program::repository();
    let folders = ["", "docs", "benches", "examples"];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The targets of `[text](target)`.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

#[test]
fn the_first_page_stays_short() {
    let length = fs::read_to_string(program::repository().join("README.md")).unwrap().len();
    assert!(length <= README_BYTES, "README.md has {length} bytes; what is not for everybody belongs into docs/");
}

#[test]
fn links_between_pages_lead_somewhere() {
    let pages = pages();
    assert!(pages.len() > 8, "{pages:?}");
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text).filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let target = page.parent().unwrap_or(Path::new("")).join(link.split('#').next().unwrap());
            assert!(target.exists(), "{} links to {link}, which is not there", page.display());
        }
    }
}
