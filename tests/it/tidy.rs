//! The rules of the house that no lint knows: which room may use which, how files open, how long functions get.
//!
//! It reads the sources as text. That is rough, and enough: rustfmt has put every brace where it is expected.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use fathom::{
    llm::{
        providers::{PROVIDERS, Provider},
        wire::Wire,
    },
    search::ROWS,
};

/// Who may use whom. A room is a file or folder right under `src/`; each may always use itself and `domain`.
///
/// Downwards: main, cli → app, http → runs → research → tools → context → llm, search → pages, net. At the side:
/// config, prompts, journal, events, store. Nothing points back; to change the house, change this table and
/// ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("main", &["cli"]),
    ("cli", EVERY_ROOM),
    ("app", EVERY_ROOM),
    ("http", &["auth", "runs", "events", "config", "telemetry"]),
    ("auth", &["net", "store"]),
    (
        "runs",
        &[
            "files",
            "webhooks",
            "research",
            "context",
            "llm",
            "search",
            "prompts",
            "journal",
            "events",
            "store",
            "telemetry",
            "process",
        ],
    ),
    ("webhooks", &["store", "net"]),
    (
        "research",
        &["tools", "context", "offline", "llm", "search", "net", "prompts", "journal", "telemetry", "text", "aside"],
    ),
    (
        "tools",
        &[
            "context",
            "offline",
            "llm",
            "mcp",
            "pages",
            "search",
            "net",
            "prompts",
            "journal",
            "telemetry",
            "text",
            "aside",
        ],
    ),
    ("context", &["offline", "llm", "search", "prompts", "journal", "telemetry", "aside"]),
    ("offline", &["llm", "text", "aside"]),
    ("text", &[]),
    ("aside", &[]),
    ("eval", &["research", "llm", "prompts", "text", "aside"]),
    ("llm", &["net", "files"]),
    ("search", &["pages", "net", "files", "telemetry", "text", "aside"]),
    ("files", &[]),
    ("pages", &["net", "telemetry", "text", "aside"]),
    ("mcp", &["net", "process"]),
    ("process", &[]),
    ("net", &[]),
    // It fills the settings of each room, also those of a tool that has some.
    (
        "config",
        &["auth", "files", "llm", "mcp", "net", "pages", "runs", "search", "store", "telemetry", "tools", "webhooks"],
    ),
    ("prompts", &["llm"]),
    ("journal", &["events", "store", "telemetry"]),
    ("events", &["store", "telemetry"]),
    ("store", &["files"]),
    // Spans and counters are spoken where things happen; it knows none of the rooms that speak.
    ("telemetry", &["net"]),
    ("domain", &[]),
];

/// For the rooms that wire all others.
const EVERY_ROOM: &[&str] = &["*"];

/// Lines, from `fn` to its closing brace.
const LONGEST_FUNCTION: usize = 60;

/// In the comment above a function that may be longer: a pipeline of named steps.
const EXEMPTION: &str = "// table of contents";

#[test]
fn rooms_use_only_the_rooms_below_them() {
    let mut wrong = Vec::new();
    for source in sources() {
        let Some((_, allowed)) = ARROWS.iter().find(|(room, _)| *room == source.room) else {
            if source.room != "lib" {
                wrong.push(format!("{}: the room `{}` is not in the table of arrows", source.path, source.room));
            }
            continue;
        };
        for (line, used) in rooms_used(source.without_tests()) {
            let fine = used == source.room || used == "domain" || allowed.contains(&"*") || allowed.contains(&&*used);
            if !fine {
                wrong.push(format!("{}:{line}: `{}` must not use `{used}`", source.path, source.room));
            }
        }
    }
    assert!(wrong.is_empty(), "wrong arrows:\n{}", wrong.join("\n"));
}

#[test]
fn files_open_by_saying_what_they_are_for() {
    let silent: Vec<String> =
        sources().into_iter().filter(|source| !source.text.starts_with("//!")).map(|source| source.path).collect();
    assert!(silent.is_empty(), "these open without `//!`: {silent:?}");
}

/// The formatter leaves comments alone.
#[test]
fn comments_are_no_wider_than_code() {
    let wide = |line: &&str| line.trim_start().starts_with("//") && line.chars().count() > 120 && line.contains(' ');
    let found: Vec<String> = sources()
        .into_iter()
        .flat_map(|source| {
            source.text.lines().filter(wide).map(|line| format!("{}: {line}", source.path)).collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn functions_stay_readable() {
    let mut long = Vec::new();
    for source in sources() {
        for (line, length) in long_functions(source.without_tests()) {
            long.push(format!("{}:{line}: {length} lines", source.path));
        }
    }
    assert!(long.is_empty(), "longer than {LONGEST_FUNCTION} lines and not marked `{EXEMPTION}`:\n{}", long.join("\n"));
}

/// A stranger begins with the map and the table of where things go.
#[test]
fn the_tables_of_the_map_name_files_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let is_path = |name: &&str| {
        let ending = [".rs", ".toml", ".yaml", ".js", "/"].iter().any(|ending| name.ends_with(ending));
        // `NAME.rs` stands for any.
        ending && !name.contains(|char: char| char.is_uppercase() || char == ' ')
    };
    let mut missing = Vec::new();
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let quoted: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let room = root.join("src").join(quoted.first().copied().unwrap_or_default());
        for path in quoted.iter().copied().filter(is_path) {
            if ![root.to_owned(), root.join("src"), room.clone()].iter().any(|folder| folder.join(path).exists()) {
                missing.push(path);
            }
        }
    }
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:?}");
}

/// A stranger begins with its numbers.
#[test]
fn the_readme_counts_what_there_is() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    // Two dialects of one account are one provider, and `compatible` is a server of one's own.
    let is_counted = |provider: &&Provider| provider.settings_of.is_none() && provider.name != "compatible";
    let providers = PROVIDERS.iter().filter(is_counted).count();
    // Two ways to one vendor are one engine; folders and models that search are named beside them.
    let engines = ROWS.iter().filter(|row| !row.reads_folders() && !row.by_model);
    let engines: BTreeSet<&str> = engines.filter_map(|row| row.name.split('_').next()).collect();
    for expected in [
        format!("OpenAI, Anthropic, Google, {} more providers", providers - 3),
        format!("| {providers} providers by name, any OpenAI-compatible server |"),
        format!("| Search engines | {}, those of OpenAI, Anthropic and Google", engines.len()),
    ] {
        assert!(text.contains(&expected), "README.md must say: {expected}");
    }
}

#[test]
fn the_page_of_providers_has_a_column_for_each_dialect() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/providers.md")).unwrap();
    let head = format!("| | {} |", Wire::ALL.map(Wire::title).join(" | "));
    assert!(page.lines().any(|line| line == head), "the table of dialects in docs/providers.md must begin: {head}");
}

#[test]
fn nothing_names_a_place_on_one_machine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> =
        ["Cargo.toml", "README.md", "ARCHITECTURE.md", "docs", "crates", "scripts", "src", "prompts"]
            .into_iter()
            .flat_map(|name| files_under(&root.join(name)))
            .collect();
    files.sort();
    let places = ["/work/", "/root/", "/tmp/wt"];
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for place in places {
            assert!(!text.contains(place), "{} names {place}", file.display());
        }
    }
}

/// What a page, a model or a server said must not steer a terminal, so there is one way to print.
#[test]
fn everything_printed_passes_one_function() {
    let mut wrong = Vec::new();
    for source in sources().into_iter().filter(|source| source.path != "src/cli/print.rs") {
        for (number, line) in source.without_tests().lines().enumerate() {
            let prints = ["stdout()", "stderr()", "print!", "println!"].iter().any(|way| line.contains(way));
            // The log has a writer of its own, parser processes speak to their parent, and asking what a stream is
            // prints nothing.
            let asks = line.contains("is_terminal") || line.contains("terminal_size");
            let fine = asks || ["telemetry", "pages"].contains(&source.room.as_str());
            if prints && !fine && !line.trim_start().starts_with("//") {
                wrong.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "printed past `cli::print`:\n{}", wrong.join("\n"));
}

/// What belongs to another owner is not found, because handlers get threads and runs from extractors that load them by
/// their owner, and reach the store by no other way.
#[test]
fn no_handler_takes_a_bare_id_or_the_store() {
    let mut wrong = Vec::new();
    for source in sources().into_iter().filter(|source| source.room == "http" && source.path != "src/http/owned.rs") {
        for (number, line) in source.without_tests().lines().enumerate() {
            let ids = ["Id<", "ThreadId(", "RunId(", "Path<Uuid", ".store()", ".log()"];
            if ids.iter().any(|way| line.contains(way)) && !line.trim_start().starts_with("//") {
                wrong.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "use `OwnedThread` or `OwnedRun`:\n{}", wrong.join("\n"));
}

/// SQLite commits a statement outside a transaction after its last row. Who asks for one row never steps that far, and
/// does not learn that the commit failed.
#[test]
fn a_write_outside_a_transaction_is_read_to_its_end() {
    let mut wrong = Vec::new();
    for source in sources().into_iter().filter(|source| source.room == "store") {
        let mut outside = false;
        for (number, line) in source.without_tests().lines().enumerate() {
            outside = (outside || line.contains("self.writer().await")) && !opens_function(line);
            if outside && ["fetch_optional", "fetch_one"].iter().any(|way| line.contains(way)) {
                wrong.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "use `fetch_all`, or a transaction:\n{}", wrong.join("\n"));
}

pub struct Source {
    /// Relative to the repository.
    pub path: String,
    /// The name of the file or folder right under `src/`.
    room: String,
    pub text: String,
}

impl Source {
    /// Everything before the unit tests, which stand last and may use what they like.
    pub fn without_tests(&self) -> &str {
        self.text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(&self.text)
    }
}

pub fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources: Vec<Source> = files_under(&root)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| {
            let inside = path.strip_prefix(&root).unwrap();
            let room = inside.iter().next().unwrap().to_string_lossy();
            Source {
                path: format!("src/{}", inside.display()),
                room: room.trim_end_matches(".rs").to_owned(),
                text: fs::read_to_string(&path).unwrap(),
            }
        })
        .collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// All files at or below `path`; none when there is no such path.
pub fn files_under(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    entries.flat_map(|entry| files_under(&entry.unwrap().path())).collect()
}

/// The rooms named after `crate::` (in the binary: `fathom::`), with the line of each, comments left out.
fn rooms_used(text: &str) -> BTreeSet<(usize, String)> {
    let mut used = BTreeSet::new();
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n").collect();
    for root in ["crate::", "fathom::"] {
        for (at, _) in code.match_indices(root) {
            if code[..at].ends_with(|before: char| before.is_alphanumeric() || "_$:".contains(before)) {
                continue;
            }
            let line = code[..at].lines().count().max(1);
            let path = &code[at + root.len()..];
            let names = if path.starts_with('{') { group(path) } else { vec![identifier(path)] };
            used.extend(names.into_iter().filter(|name| is_room(name)).map(|name| (line, name)));
        }
    }
    used
}

/// The first name of each entry of a `{a, b::c, d::{e, f}}`.
fn group(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 1 && (letter == '{' || letter == ',') {
            names.push(identifier(text[at + 1..].trim_start()));
        }
        if depth == 0 {
            break;
        }
    }
    names
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

/// Macros and items of the crate's root are not rooms.
fn is_room(name: &str) -> bool {
    name.starts_with(|first: char| first.is_lowercase()) && ARROWS.iter().any(|(room, _)| *room == name)
}

/// Line and length of each function that is too long.
fn long_functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut long = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        if !opens_function(line) {
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let body_end = format!("{indent}}}");
        // A declaration has no body.
        let declaration_end = |line: &str| line.starts_with(&format!("{indent})")) && line.ends_with(';');
        let one_line = line.ends_with(['}', ';']);
        let end = lines[start..].iter().position(|line| **line == body_end || declaration_end(line));
        let Some(length) = end.filter(|_| !one_line) else { continue };
        let exempt = lines[..start].iter().rev().take_while(|line| !line.is_empty()).any(|l| l.contains(EXEMPTION));
        if length + 1 > LONGEST_FUNCTION && !exempt {
            long.push((start + 1, length + 1));
        }
    }
    long
}

fn opens_function(line: &str) -> bool {
    let line = line.trim_start();
    let before = line.split("fn ").next().unwrap_or("");
    line.contains("fn ")
        && before.split_whitespace().all(|word| {
            ["pub", "pub(crate)", "pub(super)", "async", "const", "unsafe", "extern", "default"].contains(&word)
        })
}

/// A tool is its file: nothing else knows it by name.
#[test]
fn the_name_of_a_tool_stands_in_its_file_alone() {
    const NAMED: &str = "\nconst NAME: &str = \"";
    let files: Vec<Source> = sources().into_iter().filter(|source| source.path.starts_with("src/tools/")).collect();
    let of_file = |source: &Source| Some(source.text.split_once(NAMED)?.1.split_once('"')?.0.to_owned());
    let tools: Vec<String> = files.iter().filter_map(of_file).collect();
    // Those of MCP servers have names of their own.
    let is_own = |source: &&Source| source.text.contains("\nimpl Tool for ") && source.path != "src/tools/mcp.rs";
    assert_eq!(tools.len(), files.iter().filter(is_own).count(), "the file of a tool has its name as `const NAME`");
    // The model that is no model calls tools by their names, as any model does.
    let homes = ["src/tools/", "src/offline/", "src/llm/fuzzing.rs"];
    let elsewhere: Vec<String> = tools.iter().flat_map(|tool| named_outside(tool, &homes)).collect();
    assert!(elsewhere.is_empty(), "these name a tool, which its file alone does: {elsewhere:?}");
}

/// Where a name stands in quotation marks outside these folders and files, unit tests aside.
fn named_outside(name: &str, homes: &[&str]) -> Vec<String> {
    let quoted = format!("\"{name}\"");
    let is_at_home = |path: &str| homes.iter().any(|home| path.starts_with(home));
    let named = sources().into_iter().filter(|source| source.without_tests().contains(&quoted));
    named.map(|source| source.path).filter(|path| !is_at_home(path)).map(|path| format!("{path}: {name}")).collect()
}

/// A provider is its row: a name that occurs elsewhere would have to be added there for the next one too.
#[test]
fn the_name_of_a_provider_stands_in_its_row_alone() {
    let named = |name: &str| {
        let files = sources().into_iter().filter(|source| source.text.contains(name)).map(|source| source.path);
        files.collect::<Vec<_>>()
    };
    for name in ["openrouter", "lmstudio", "cerebras", "OPENROUTER"] {
        assert_eq!(named(name), ["src/llm/providers.rs"], "{name}");
    }
    // Beside its row a vendor may have its way to tokens, an engine of its own, and models that are known.
    let homes =
        ["src/llm/providers.rs", "src/llm/access/", "src/llm/catalogue.rs", "src/llm/limits.rs", "src/search/engines/"];
    let elsewhere: Vec<_> = PROVIDERS.iter().flat_map(|provider| named_outside(provider.name, &homes)).collect();
    assert!(elsewhere.is_empty(), "these name a provider, which its row alone does: {elsewhere:?}");
    let examples = [include_str!("../../.env.example"), include_str!("../../fathom.example.toml")];
    assert!(examples.iter().all(|example| example.to_lowercase().contains("openrouter")));
}

/// A search engine is its row and its file, as a provider is.
#[test]
fn the_name_of_an_engine_stands_in_its_file_alone() {
    // Vendors that have models too, and readers of pages, have rows of their own there; `local` is an owner's name too.
    let homes = [
        "src/search/engines/",
        "src/llm/providers.rs",
        "src/llm/access/",
        "src/pages/web/reader.rs",
        "src/domain/owner.rs",
    ];
    let elsewhere: Vec<_> = ROWS.iter().flat_map(|row| named_outside(row.name, &homes)).collect();
    assert!(elsewhere.is_empty(), "these name an engine, which its file alone does: {elsewhere:?}");
}

#[test]
fn the_reader_of_arrows_sees_every_form() {
    let text = "use crate::{domain::{RunId, run}, events, llm::message as m};\n// crate::http is only named\n\
        fn f() -> crate::store::Error { mycrate::http::g(); crate::Thing }\n";
    let used: Vec<String> = rooms_used(text).into_iter().map(|(line, room)| format!("{line} {room}")).collect();
    assert_eq!(used, ["1 domain", "1 events", "1 llm", "3 store"]);
}

#[test]
fn the_ruler_measures_from_fn_to_brace() {
    let body = |lines: usize| format!("    pub async fn f(&self) -> u8 {{\n{}    }}\n", "        1;\n".repeat(lines));
    assert_eq!(long_functions(&body(58)), []);
    assert_eq!(long_functions(&body(59)), [(1, 61)]);
    assert_eq!(long_functions(&format!("    {EXEMPTION}: the stages in order\n{}", body(59))), []);
}
