//! The real binary under test, and the folders around it.

use std::path::{Path, PathBuf};

/// Returns the `fathom` that Cargo built for the tests or benchmarks that are running.
///
/// Cargo names it in the environment of what it runs. Without Cargo (in a debugger) it is the one beside the folder of
/// the running test program.
pub fn path() -> PathBuf {
    std::env::var_os("CARGO_BIN_EXE_fathom").map_or_else(beside_this_program, PathBuf::from)
}

fn beside_this_program() -> PathBuf {
    let this = std::env::current_exe().expect("a running program has a path");
    let target = this.parent().and_then(Path::parent).expect("test programs are in target/PROFILE/deps");
    target.join("fathom")
}

/// Returns the root of the repository.
pub fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns a tool that scripts/test.sh installs for the tests into `target/tools`, by its path there.
pub fn tool(name: &str) -> PathBuf {
    let tool = path().ancestors().nth(2).expect("the binary is in target/PROFILE").join("tools").join(name);
    assert!(tool.exists(), "{} is missing: run scripts/test.sh, which installs it", tool.display());
    tool
}
