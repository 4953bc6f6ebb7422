//! Each dependency is used where it is declared: what nobody uses is still downloaded, built and trusted.

use std::{collections::BTreeSet, fs, path::Path};

use fathom_testkit::program;
use toml::Table;

use crate::tidy::files_under;

/// Crates that a package names as dependencies, and folders in which they may be used.
const PACKAGES: [(&str, &[&str], &[&str]); 3] = [
    ("", &["dependencies", "target"], &["src"]),
    ("", &["dev-dependencies"], &["src", "tests", "benches"]),
    ("crates/testkit", &["dependencies"], &["src"]),
];

#[test]
fn every_dependency_is_used() {
    for (package, tables, folders) in PACKAGES {
        let root = program::repository().join(package);
        let manifest: Table = fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
        let code: String = folders.iter().map(|folder| code_under(&root.join(folder))).collect();
        let unused: Vec<String> =
            tables.iter().flat_map(|table| names(&manifest, table)).filter(|name| !is_used(&code, name)).collect();
        assert!(
            unused.is_empty(),
            "{package}/Cargo.toml names {unused:?} among its {tables:?}, which nothing there uses"
        );
    }
}

/// The names of a table of dependencies; those of all targets for `target`.
fn names(manifest: &Table, table: &str) -> BTreeSet<String> {
    let Some(found) = manifest.get(table).and_then(|table| table.as_table()) else { return BTreeSet::new() };
    if table == "target" {
        let targets = found.values().filter_map(|target| target.as_table());
        return targets.flat_map(|target| names(target, "dependencies")).collect();
    }
    found.keys().cloned().collect()
}

fn code_under(folder: &Path) -> String {
    let files = files_under(folder).into_iter().filter(|file| file.extension().is_some_and(|name| name == "rs"));
    files.map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// As the beginning of a path, or imported as it is.
fn is_used(code: &str, name: &str) -> bool {
    let name = name.replace('-', "_");
    code.match_indices(&name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = &code[at + name.len()..];
        let begins = !before.is_some_and(|before| before.is_alphanumeric() || before == '_');
        begins && (after.starts_with("::") || after.starts_with(';') || after.starts_with(" as "))
    })
}
