//! The pages for readers: short where they have to be, and without links that lead nowhere.

use std::{
    collections::BTreeSet,
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
        for link in links(&text).filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                _ => page.parent().unwrap_or(Path::new("")).join(file),
            };
            let leads_somewhere = match anchor {
                "" => target.exists(),
                _ => fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor)),
            };
            assert!(leads_somewhere, "{} links to {link}, which is not there", page.display());
        }
    }
}

/// The anchors of a page's headings, as GitHub makes them: of the second heading with the same words the anchor ends
/// with `-1`.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let outside_code = page.split("```").step_by(2);
    for heading in outside_code.flat_map(str::lines).filter(|line| line.starts_with('#')) {
        let is_kept = |character: &char| character.is_alphanumeric() || " -_".contains(*character);
        let words: String = heading.trim_start_matches('#').trim().to_lowercase().chars().filter(is_kept).collect();
        let anchor = words.replace(' ', "-");
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(numbered).find(|anchor| !anchors.contains(anchor));
        anchors.extend(free);
    }
    anchors
}

#[test]
fn anchors_are_those_of_the_headings() {
    let page = "# One: two, `three`\n\n```sh\n# no heading\n```\n\n## Four-five?\n\n## Four-five\n";
    assert_eq!(anchors(page), ["one-two-three", "four-five", "four-five-1"].map(String::from).into());
}
