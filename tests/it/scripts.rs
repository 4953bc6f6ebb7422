//! The scripts of the repository, as far as they can be run by themselves.

use std::process::Command;

/// The folder of builds may be on another disk than the sources, and need not be there yet.
#[test]
fn room_is_looked_for_where_builds_are_put() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().canonicalize().unwrap();
    let mut script = Command::new("bash");
    script.arg("scripts/test.sh").current_dir(env!("CARGO_MANIFEST_DIR"));
    // Every disk is full, so that it goes no further.
    script.env("BASH_FUNC_df%%", "() { printf 'Avail\\n0\\n'; }");
    script.env("CARGO_TARGET_DIR", there.join("not").join("there yet"));
    let output = script.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    let begins = format!("scripts/test.sh: {} has 0 GB left, ", there.display());
    assert!(said.starts_with(&begins), "{said}");
}

/// Stopped, the service ends its calls before what they call is killed; a parser without memory does not end it.
#[test]
fn the_systemd_unit_says_how_its_children_end() {
    let unit = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/fathom.service")).unwrap();
    for line in ["KillMode=mixed", "OOMPolicy=continue"] {
        assert!(unit.lines().any(|found| found == line), "{line}");
    }
}
