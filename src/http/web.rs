//! The page for people: `/` and its files below `/web/`, which are in the binary.
//!
//! It speaks the public API alone. It loads nothing from elsewhere, and its content security policy would not let it.

use std::sync::LazyLock;

use axum::{
    Router,
    extract::{Path, rejection::PathRejection},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
    routing::get,
};

use super::{docs, error::ApiError};

/// The content security policy of the page: nothing but our own files; no script and no style inside the page.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'",
);

const INDEX: &str = include_str!("../../web/index.html");
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Name below `/web/`, content type and source. A test holds it against the folder.
const SOURCES: &[(&str, &str, &str)] = &[
    ("api.js", SCRIPT, include_str!("../../web/api.js")),
    ("app.js", SCRIPT, include_str!("../../web/app.js")),
    ("ask.js", SCRIPT, include_str!("../../web/ask.js")),
    ("card.js", SCRIPT, include_str!("../../web/card.js")),
    ("collections.js", SCRIPT, include_str!("../../web/collections.js")),
    ("difference.js", SCRIPT, include_str!("../../web/difference.js")),
    ("documents.js", SCRIPT, include_str!("../../web/documents.js")),
    ("dom.js", SCRIPT, include_str!("../../web/dom.js")),
    ("lanes.js", SCRIPT, include_str!("../../web/lanes.js")),
    ("list.js", SCRIPT, include_str!("../../web/list.js")),
    ("notes.js", SCRIPT, include_str!("../../web/notes.js")),
    ("passage.js", SCRIPT, include_str!("../../web/passage.js")),
    ("picture.js", SCRIPT, include_str!("../../web/picture.js")),
    ("problems.js", SCRIPT, include_str!("../../web/problems.js")),
    ("replay.js", SCRIPT, include_str!("../../web/replay.js")),
    ("report.js", SCRIPT, include_str!("../../web/report.js")),
    ("run.js", SCRIPT, include_str!("../../web/run.js")),
    ("session.js", SCRIPT, include_str!("../../web/session.js")),
    ("share.js", SCRIPT, include_str!("../../web/share.js")),
    ("sign-in.js", SCRIPT, include_str!("../../web/sign-in.js")),
    ("sources.js", SCRIPT, include_str!("../../web/sources.js")),
    ("style.css", "text/css; charset=utf-8", include_str!("../../web/style.css")),
    ("thread.js", SCRIPT, include_str!("../../web/thread.js")),
    ("versions.js", SCRIPT, include_str!("../../web/versions.js")),
    ("words.js", SCRIPT, include_str!("../../web/words.js")),
    ("words/de.js", SCRIPT, include_str!("../../web/words/de.js")),
    ("words/en.js", SCRIPT, include_str!("../../web/words/en.js")),
    ("words/zh.js", SCRIPT, include_str!("../../web/words/zh.js")),
];

/// A file as it is served.
struct File {
    name: &'static str,
    content_type: &'static str,
    content: String,
}

static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let served = |&(name, content_type, source)| File { name, content_type, content: without_comments(source) };
    SOURCES.iter().map(served).collect()
});

/// Returns a script or style sheet without its lines of comments, a sixth of it, which only those who write it read.
/// The other lines keep their numbers.
fn without_comments(source: &str) -> String {
    let mut inside = false;
    let mut content = String::with_capacity(source.len());
    for line in source.lines() {
        let text = line.trim();
        // Code may follow a comment on its line.
        inside |= text.starts_with("/*") && (text.ends_with("*/") || !text.contains("*/"));
        let ends = inside && text.ends_with("*/");
        if !inside && !text.starts_with("//") {
            content.push_str(line);
        }
        inside &= !ends;
        content.push('\n');
    }
    content
}

/// Serves `/` and what lies below `/web/`. Needs no state, never fails.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/", get(async || file("text/html; charset=utf-8", INDEX))).route("/web/{*file}", get(named))
}

/// Serves a file of the page; a name that is no text is that of none.
async fn named(name: Result<Path<String>, PathRejection>) -> Response {
    match name.ok().and_then(|Path(name)| FILES.iter().find(|file| file.name == name)) {
        Some(found) => file(found.content_type, &found.content),
        None => ApiError::no_such("path").into_response(),
    }
}

fn file(content_type: &'static str, content: &'static str) -> Response {
    let etag = docs::etag(content.as_bytes());
    let mut response = docs::versioned(&etag, ([(header::CONTENT_TYPE, content_type)], content));
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY);
    response
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// The files that are not served: what only the type checker reads.
    const UNSERVED: [&str; 3] = ["index.html", "tsconfig.json", "types.d.ts"];

    fn below(folder: &Path, prefix: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            match entry.file_type().unwrap().is_dir() {
                true => found.extend(below(&entry.path(), &format!("{name}/"))),
                false => _ = found.insert(name),
            }
        }
        found
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let mut files = below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("web"), "");
        files.retain(|name| !UNSERVED.contains(&name.as_str()));
        let served = SOURCES.iter().map(|(name, _, _)| (*name).to_owned()).collect();
        assert_eq!(files, served, "the files in web/, and those in `SOURCES`");
    }

    #[test]
    fn the_page_knows_each_language_that_it_has_words_in() {
        let (_, _, text) = SOURCES.iter().find(|(name, _, _)| *name == "words.js").unwrap();
        let list = text.lines().find_map(|line| line.strip_prefix("const LANGUAGES = [")?.strip_suffix("];")).unwrap();
        let known: BTreeSet<&str> = list.split(", ").map(|name| name.trim_matches('"')).collect();
        let written = SOURCES.iter().filter_map(|(name, _, _)| name.strip_prefix("words/")?.strip_suffix(".js"));
        assert_eq!(known, written.collect(), "LANGUAGES in web/words.js, and the files of web/words/");
    }

    /// Each module that the page begins with is asked for at once, not when another one that imports it has come.
    #[test]
    fn nothing_is_waited_for_twice() {
        let mut found = vec!["app.js"];
        for at in 0.. {
            let Some(name) = found.get(at) else { break };
            let (_, _, text) = SOURCES.iter().find(|(known, _, _)| known == name).expect("what is imported is served");
            let imported = text.lines().filter_map(|line| line.strip_prefix("import ")?.split("from \"./").nth(1));
            for name in imported.map(|rest| rest.trim_end_matches("\";")).collect::<Vec<_>>() {
                if !found.contains(&name) {
                    found.push(name);
                }
            }
        }
        assert!(found.contains(&"words.js") && !found.contains(&"replay.js"), "{found:?}");
        for (name, _, _) in SOURCES {
            let is_preloaded = INDEX.contains(&format!("<link rel=\"modulepreload\" href=\"web/{name}\">"));
            // It asks for the reader's words while the others come.
            let begins = INDEX.contains(&format!("<script type=\"module\" async src=\"web/{name}\"></script>"));
            assert_eq!(begins, *name == "words.js", "{name}");
            assert_eq!(is_preloaded || begins, found[1..].contains(name), "{name}");
        }
    }

    /// All of it that one reader loads, who has one language.
    #[test]
    fn the_page_stays_small() {
        let (words, rest): (Vec<_>, Vec<_>) = FILES.iter().partition(|file| file.name.starts_with("words/"));
        let longest = words.iter().map(|file| file.content.len()).max().unwrap();
        let bytes = rest.iter().map(|file| file.content.len()).sum::<usize>() + longest + INDEX.len();
        assert!(bytes < 150_000, "{bytes}");
    }

    #[test]
    fn only_lines_of_comments_are_left_out() {
        let source =
            "// a\nlet a = 1; // b\n/** c */\n/**\n * d\n */\nlet b = \"https://e\"; /* f */\n  // g\n/** h */ (i)\n";
        let served = "\nlet a = 1; // b\n\n\n\n\nlet b = \"https://e\"; /* f */\n\n/** h */ (i)\n";
        assert_eq!(without_comments(source), served);
    }
}
