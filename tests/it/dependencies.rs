//! Each dependency is used where it is declared: what nobody uses is still downloaded, built and trusted. And what the
//! program is built of gets into its image.

use std::{collections::BTreeSet, fs, path::Path};

use fathom_testkit::program;
use toml::Table;

use crate::tidy::{files_under, sources};

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

/// What the sources include from outside `src` is copied before the image is built.
#[test]
fn the_image_is_built_of_all_that_the_program_includes() {
    let recipe = fs::read_to_string(program::repository().join("Dockerfile")).unwrap();
    let kept = fs::read_to_string(program::repository().join(".dockerignore")).unwrap();
    let mut outside = BTreeSet::new();
    for source in sources() {
        let paths = source.without_tests().split("include_").skip(1).filter_map(|rest| rest.split('"').nth(1));
        for path in paths.filter(|path| path.starts_with("../")) {
            let path = Path::new(&source.path).parent().unwrap().join(path);
            outside.insert(first_folder(&path));
        }
    }
    assert!(outside.contains("web") && outside.contains("openapi.yaml"), "{outside:?}");
    for name in outside {
        let is_copied = recipe.lines().any(|line| line.starts_with(&format!("COPY {name} ")));
        assert!(is_copied && kept.lines().any(|line| line == format!("!{name}")), "{name} is not in the image's build");
    }
}

/// The first name of a path of this repository, `..` resolved.
fn first_folder(path: &Path) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in path.iter().map(|name| name.to_string_lossy().into_owned()) {
        if name == ".." {
            names.pop();
        } else {
            names.push(name);
        }
    }
    names.swap_remove(0)
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
