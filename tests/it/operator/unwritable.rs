//! A data folder that cannot be written, and a disk without room: one clear line at the start, and its own word later.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use test_case::test_case;
use tokio::process::Command;

use crate::{
    crash::{QUESTION, script},
    world::{Running, Script, World},
};

/// What opens the database.
const COMMANDS: [&[&str]; 4] = [
    &["serve", "--listen", "127.0.0.1:0"],
    &["research", "Why?"],
    &["keys", "create", "--owner", "ann"],
    &["runs", "list"],
];

/// The binary with this data folder, as somebody who is held to the permissions of files (root is not), with this said
/// to the shell first.
fn bound(world: &World, data_dir: &Path, first: &str, arguments: &[&str]) -> Running {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let held = if is_root { "setpriv --bounding-set=-dac_override,-dac_read_search " } else { "" };
    let script = format!("{first}\nexec {held}\"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).arg(fathom_testkit::program::path()).args(arguments);
    command.env_clear().envs(world.environment()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("FATHOM_DATA_DIR", data_dir).kill_on_drop(true);
    Running::spawn(command, world.folder())
}

/// It ends soon, with one line in which all this stands.
async fn is_one_line(mut process: Running, words: &[&str]) {
    let since = Instant::now();
    assert_eq!(process.ends().await.code(), Some(2), "{}", process.stderr());
    let said = process.stderr();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("fathom: "), "{said}");
    for word in words {
        assert!(said.contains(word), "{word} is not in {said}");
    }
    assert!(!said.contains("another program"), "{said}");
    // What may pass is tried for ten.
    assert!(since.elapsed() < Duration::from_secs(8), "after {:?}: {said}", since.elapsed());
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A data folder with a database.
async fn filled(world: &World) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut made = bound(world, folder.path(), "", COMMANDS[2]);
    assert!(made.ends().await.success(), "{}", made.stderr());
    folder
}

#[test_case(0o500, 0o600, "make"; "a folder in which nothing can be made")]
#[test_case(0o700, 0o400, "cannot be written"; "a file that cannot be written")]
#[test_case(0o500, 0o400, "cannot be written"; "neither")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_cannot_be_written_is_one_line(folder_mode: u32, file_mode: u32, word: &str) {
    let world = World::start(Script::new()).await;
    let folder = filled(&world).await;
    allow(&folder.path().join("fathom.db"), file_mode);
    allow(folder.path(), folder_mode);
    for arguments in COMMANDS {
        let path = folder.path().join("fathom.db").display().to_string();
        is_one_line(bound(&world, folder.path(), "", arguments), &[&path, word]).await;
    }
    allow(folder.path(), 0o700);
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_that_cannot_be_made_is_one_line() {
    let world = World::start(Script::new()).await;
    let folder = tempfile::tempdir().unwrap();
    allow(folder.path(), 0o500);
    let data_dir = folder.path().join("data");
    for arguments in &COMMANDS[..3] {
        let process = bound(&world, &data_dir, "", arguments);
        is_one_line(process, &["data folder", data_dir.to_str().unwrap(), "Permission denied", "--data-dir"]).await;
    }
    allow(folder.path(), 0o700);
    world.finish();
}

/// Played by a limit on the size of files: the database does not get beyond its first pages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_without_room_at_the_start_is_one_line() {
    let world = World::start(Script::new()).await;
    for arguments in &COMMANDS[..3] {
        let folder = tempfile::tempdir().unwrap();
        let process = bound(&world, folder.path(), "ulimit -S -f 64", arguments);
        is_one_line(process, &["takes no writes", "fathom.db", "room on the disk"]).await;
    }
    world.finish();
}

/// Played by rights, and by a limit on the size of files that leaves no room for any write.
#[test_case(0o400, "", "make the data folder and its files writable"; "a file that cannot be written")]
#[test_case(0o600, "ulimit -S -f 1", "room on the disk of the data folder"; "a disk without room")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_tries_whether_the_database_takes_writes(file_mode: u32, first: &str, remedy: &str) {
    let world = World::start(Script::new()).await;
    let folder = filled(&world).await;
    allow(&folder.path().join("fathom.db"), file_mode);
    let mut process = bound(&world, folder.path(), first, &["doctor"]);
    assert_eq!(process.ends().await.code(), Some(1), "{}", process.stderr());
    let report = process.stdout();
    let line = report.lines().find(|line| line.starts_with("FAIL  database ")).unwrap_or_else(|| panic!("{report}"));
    assert!(line.contains("takes no writes: ") && line.contains(remedy), "{line}");
    world.finish();
}

/// Where no other file can be made beside it, the report is written into the file that is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_in_a_folder_that_takes_no_other_one_gets_the_report() {
    let world = World::start(script()).await;
    let [folder, data] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let path = folder.path().join("report.md");
    fs::write(&path, "an older report").unwrap();
    allow(&path, 0o600);
    allow(folder.path(), 0o500);
    let mut process = bound(&world, data.path(), "", &["research", QUESTION, "--out", path.to_str().unwrap()]);
    assert!(process.ends().await.success(), "{}", process.stderr());
    allow(folder.path(), 0o700);
    assert!(fs::read_to_string(&path).unwrap().contains("### Sources"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    world.finish();
}
