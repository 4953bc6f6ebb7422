//! What the program is built of gets into its image.

use std::{collections::BTreeSet, fs, path::Path};

use fathom_testkit::program;

use crate::tidy::sources;

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
