//! A folder of documents: every format, every kind of trouble, and the index that follows both.

use std::{fs, path::Path, sync::mpsc::TryRecvError, time::Duration};

use fathom::domain::{SearchApi, SearchFallback};
use fathom::pages::{self, Parser};
use fathom::search::{
    self, Error, Hit, Limits, Open, Search as _, Skipped,
    engines::local::{Local, Settings},
};
use tempfile::TempDir;

/// A documents folder and the folder of its index.
struct Folder {
    documents: TempDir,
    index: TempDir,
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self { documents: TempDir::new().unwrap(), index: TempDir::new().unwrap() };
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let file = self.documents.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.documents.path().join(path)).unwrap();
    }

    async fn open(&self) -> Local {
        self.open_with(settings()).await.unwrap()
    }

    async fn open_with(&self, settings: Settings) -> Result<Local, Error> {
        Local::open(self.documents.path(), self.index.path(), settings, parser()).await
    }

    /// The only index file.
    fn index_file(&self) -> std::path::PathBuf {
        let mut files = fs::read_dir(self.index.path()).unwrap().map(|entry| entry.unwrap().path());
        files.find(|file| file.extension().is_some_and(|ending| ending == "db")).unwrap()
    }
}

/// Processes of the real binary.
pub fn parser() -> Parser {
    Parser::new(pages::Settings { program: Some(fathom_testkit::program::path()), ..pages::Settings::default() })
}

/// Looks at the folder before every search, so that no test has to wait.
fn settings() -> Settings {
    Settings { rescan_after: Duration::ZERO, ..Settings::default() }
}

async fn hits(local: &Local, query: &str) -> Vec<Hit> {
    local.search(query, &Limits::default(), &Open).await.unwrap()
}

async fn urls(local: &Local, query: &str) -> Vec<String> {
    hits(local, query).await.into_iter().map(|hit| hit.url).collect()
}

fn skipped(local: &Local) -> Vec<(String, String)> {
    local.skipped().into_iter().map(|Skipped { path, reason }| (path, reason)).collect()
}

/// A PDF with one page per text.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let kids: String = (0..pages.len()).map(|page| format!("{} 0 R ", 4 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (page, text) in pages.iter().enumerate() {
        let content = format!("BT /F1 12 Tf 50 700 Td ({text}) Tj ET");
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            5 + 2 * page
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let mut pdf = "%PDF-1.4\n".to_owned();
    let mut offsets = String::new();
    for (at, object) in objects.iter().enumerate() {
        offsets += &format!("{:010} 00000 n \n", pdf.len());
        pdf += &format!("{} 0 obj\n{object}\nendobj\n", at + 1);
    }
    let (start, size) = (pdf.len(), objects.len() + 1);
    pdf += &format!("xref\n0 {size}\n0000000000 65535 f \n{offsets}");
    pdf += &format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n");
    pdf.into_bytes()
}

#[tokio::test]
async fn every_format_is_found_with_its_place() {
    let folder = Folder::new(&[
        ("notes.txt", "The lighthouse keeper was Ada Quill."),
        ("guide.md", "# Guide\n\nLast updated: 2031-03-10\n\nThe lighthouse has **ninety** steps."),
        ("page.htm", "<title>Lamp</title><nav>lighthouse menu</nav><p>The lighthouse lamp burns oil.</p>"),
        ("sub folder/old.text", "A lighthouse stood here before."),
    ]);
    folder.write("report.pdf", pdf(&["Nothing here.", "The lighthouse was painted in May."]));
    let local = folder.open().await;
    let limits = Limits { max_results: 10, ..Limits::default() };
    let mut hits = local.search("lighthouse", &limits, &Open).await.unwrap();
    hits.sort_by(|one, other| one.url.cmp(&other.url));
    let places: Vec<_> =
        hits.iter().map(|hit| (&*hit.url, &*hit.title, hit.section.as_deref(), hit.published.as_deref())).collect();
    let expected = [
        ("guide.md", "Guide", None, Some("2031-03-10")),
        ("notes.txt", "The lighthouse keeper was Ada Quill.", None, None),
        ("page.htm", "Lamp", None, None),
        ("report.pdf#page=2", "report.pdf", Some("page 2"), None),
        ("sub%20folder/old.text", "A lighthouse stood here before.", None, None),
    ];
    assert_eq!(places, expected);
    assert_eq!(hits[0].snippet, "Last updated: 2031-03-10\n\nThe lighthouse has ninety steps.");
    assert!(hits.iter().all(|hit| hit.engine == "local" && hit.raw_content.is_none()));
    assert!(hits.iter().all(|hit| hit.score.is_some_and(|score| (0.0..=1.0).contains(&score))));
}

#[tokio::test]
async fn what_cannot_be_read_is_said() {
    let folder =
        Folder::new(&[("good.md", "words"), ("empty.txt", ""), (".hidden.md", "words"), (".git/x.md", "words")]);
    folder.write("picture.png", b"\x89PNG");
    folder.write("binary.txt", [0, 159, 146, 150, 0, 1, 2, 3]);
    folder.write("bare.html", "<nav><a href=x>menu</a></nav>");
    let whole = pdf(&["words"]);
    folder.write("torn.pdf", &whole[..whole.len() / 2]);
    folder.write("scan.pdf", pdf(&[""]));
    let deep = format!("{}x.md", "d/".repeat(32));
    folder.write(&deep, "deep words");
    let local = folder.open().await;
    let expected = [
        ("*.png", "1 of a kind that is not read"),
        ("bare.html", "there is no text in it"),
        ("binary.txt", "it is not text"),
        ("empty.txt", "it is empty"),
        ("scan.pdf", "there is no text in this PDF; it may be a scan"),
        ("torn.pdf", "could not read this PDF: it is damaged"),
    ];
    let expected: Vec<_> = expected.iter().map(|(path, reason)| (path.to_string(), reason.to_string())).collect();
    assert_eq!(skipped(&local), expected);
    assert_eq!(skipped(&folder.open().await), expected, "the index remembers");
    let mut found = urls(&local, "words").await;
    found.sort();
    assert_eq!(found, [deep, "good.md".to_owned()]);
}

#[tokio::test]
async fn limits_hold_without_reading() {
    let folder = Folder::new(&[("a.txt", "first words"), ("b.txt", "second words"), ("c.txt", "third words")]);
    let sparse = fs::File::create(folder.documents.path().join("huge.txt")).unwrap();
    sparse.set_len(500 * 1024 * 1024).unwrap();
    let local = folder.open_with(Settings { max_files: 2, ..settings() }).await.unwrap();
    let reasons = skipped(&local);
    assert_eq!(reasons[0], ("c.txt".into(), "beyond the limit of 2 documents".into()));
    assert_eq!(reasons[1], ("huge.txt".into(), "larger than 50 MB (it has 500 MB)".into()));
    assert_eq!(urls(&local, "words").await.len(), 2);
    let local = folder.open_with(Settings { max_total_bytes: 20, ..settings() }).await.unwrap();
    assert_eq!(urls(&local, "words").await, ["a.txt"]);
}

#[cfg(unix)]
#[tokio::test]
async fn links_and_special_files_do_no_harm() {
    use std::os::unix::{ffi::OsStrExt, fs::symlink};
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("secret.md"), "secret words").unwrap();
    let folder = Folder::new(&[("a/doc.md", "words"), ("..data/mounted.md", "mounted words")]);
    let at = |name: &str| folder.documents.path().join(name);
    symlink(folder.documents.path(), at("a/loop")).unwrap();
    symlink(at("b"), at("b")).unwrap();
    symlink(outside.path().join("secret.md"), at("out.md")).unwrap();
    symlink(at("a/doc.md"), at("same.md")).unwrap();
    symlink("..data/mounted.md", at("mounted.md")).unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"odd \xff\n(name).md");
    fs::write(folder.documents.path().join(odd), "odd words").unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(at("pipe.txt")).status().unwrap();
    assert!(fifo.success());
    let local = folder.open().await;
    let mut found = urls(&local, "words").await;
    found.sort();
    assert_eq!(found, ["a/doc.md", "mounted.md", "odd%20%FF%0A%28name%29.md"]);
    let reasons: Vec<_> = skipped(&local).into_iter().map(|(path, reason)| format!("{path}: {reason}")).collect();
    let expected =
        ["b: a link that leads nowhere", "out.md: a link that leads out of the folder", "pipe.txt: not a regular file"];
    assert_eq!(reasons, expected);
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let index = TempDir::new().unwrap();
    let missing = index.path().join("no such folder");
    let error = Local::open(&missing, index.path(), settings(), parser()).await.unwrap_err();
    assert!(matches!(&error, Error::Documents(text) if text.contains("no such folder")), "{error}");
    let file = index.path().join("file.md");
    fs::write(&file, "words").unwrap();
    assert!(Local::open(&file, index.path(), settings(), parser()).await.is_err());
}

/// A book of two and a half million characters is searched to its end.
#[tokio::test]
async fn the_last_chapter_of_a_book_is_found() {
    let chapter = "Boats came and went that year, and the harbour master wrote each of them into his book.\n\n";
    let book: String = (1..60).map(|n| format!("# Chapter {n}\n\n{}", chapter.repeat(480))).collect();
    let folder = Folder::new(&[("book.md", &format!("{book}# The end\n\nThe lighthouse keeper earned nine crowns."))]);
    let local = folder.open().await;
    let found = hits(&local, "What did the lighthouse keeper earn?").await;
    assert!(found[0].snippet.contains("nine crowns"), "{:?}", found[0]);
    assert_eq!((found[0].section.as_deref(), skipped(&local)), (Some("The end"), vec![]));
}

#[tokio::test]
async fn the_index_follows_the_folder() {
    let folder = Folder::new(&[("a.txt", "heron heron"), ("b.txt", "skua")]);
    let local = folder.open().await;
    assert_eq!(urls(&local, "heron").await, ["a.txt"]);
    folder.write("a.txt", "petrel nests");
    folder.write("new/c.txt", "heron returns");
    folder.remove("b.txt");
    assert_eq!(urls(&local, "heron").await, ["new/c.txt"]);
    assert_eq!(urls(&local, "petrel").await, ["a.txt"]);
    assert_eq!(urls(&local, "skua").await, [""; 0]);
    fs::remove_dir_all(folder.documents.path()).unwrap();
    let gone = local.search("heron", &Limits::default(), &Open).await.unwrap_err();
    assert!(matches!(gone, Error::Documents(_)), "{gone}");
}

#[tokio::test]
async fn a_file_replaced_while_it_is_indexed_is_read_again() {
    let folder = Folder::new(&[("a.txt", "version zero")]);
    let local = folder.open().await;
    let file = folder.documents.path().join("a.txt");
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        let mut version = 0_u64;
        while stopped.try_recv() == Err(TryRecvError::Empty) {
            version += 1;
            fs::write(&file, format!("version {version}")).unwrap();
        }
        fs::write(&file, "version final").unwrap();
    });
    for _ in 0..20 {
        hits(&local, "version").await;
    }
    drop(stop);
    writer.join().unwrap();
    assert_eq!(hits(&local, "version final").await[0].snippet, "version final");
}

#[tokio::test]
async fn two_share_an_index() {
    let files: Vec<_> = (0..40).map(|n| (format!("{n}.txt"), format!("tern number {n}"))).collect();
    let folder = Folder::new(&[]);
    for (path, text) in &files {
        folder.write(path, text);
    }
    let (one, other) = tokio::join!(folder.open(), folder.open());
    folder.write("40.txt", "tern number forty");
    let searches = (0..8).map(|n| hits(if n % 2 == 0 { &one } else { &other }, "tern forty"));
    for hits in futures::future::join_all(searches).await {
        assert_eq!((&*hits[0].url, hits.len()), ("40.txt", 5));
    }
    assert_eq!(
        fs::read_dir(folder.index.path())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "db") })
            .count(),
        1
    );
}

#[tokio::test]
async fn a_damaged_index_is_made_again() {
    let text = "puffin ".repeat(2_000);
    let folder = Folder::new(&[("a.txt", &text)]);
    folder.open().await.close().await;
    let check = async |content: Vec<u8>| {
        fs::write(folder.index_file(), content).unwrap();
        let local = folder.open().await;
        assert_eq!(hits(&local, "puffin").await[0].title, "a.txt");
        local.close().await;
    };
    let whole = fs::read(folder.index_file()).unwrap();
    check(b"this is no database".repeat(1_000)).await;
    check(whole[..whole.len() / 2].to_vec()).await;
    let mut scrambled = whole.clone();
    scrambled[4096..].fill(0xa5);
    check(scrambled).await;
    check(Vec::new()).await;
}

#[tokio::test]
async fn an_index_damaged_in_use_is_made_again() {
    let folder = Folder::new(&[("a.txt", "puffin words"), ("b.txt", "puffin again")]);
    let local = folder.open().await;
    let file = folder.index_file();
    for ending in ["db", "db-wal", "db-shm"] {
        fs::remove_file(file.with_extension(ending)).unwrap();
    }
    fs::write(&file, "").unwrap();
    folder.write("c.txt", "puffin three");
    assert_eq!(hits(&local, "puffin").await.len(), 3);
}

#[tokio::test]
async fn an_index_of_another_version_is_made_again() {
    let folder = Folder::new(&[("a.txt", "puffin words")]);
    folder.open().await.close().await;
    let mut whole = fs::read(folder.index_file()).unwrap();
    whole[63] = 99;
    fs::write(folder.index_file(), whole).unwrap();
    let local = folder.open().await;
    assert_eq!(hits(&local, "puffin").await.len(), 1);
}

#[tokio::test]
async fn chinese_and_japanese_are_found() {
    let folder = Folder::new(&[
        ("zh.md", "# 参观指南\n\n## 门票\n\n成人票6欧元,十二岁以下儿童免费。"),
        ("ja.txt", "灯台は港の入口にあります。"),
        ("en.txt", "Tickets cost six euros."),
    ]);
    let local = folder.open().await;
    assert_eq!(urls(&local, "成人票多少钱?").await, ["zh.md#门票"]);
    assert_eq!(urls(&local, "灯台").await, ["ja.txt"]);
    assert_eq!(urls(&local, "票").await, ["zh.md#门票"]);
}

#[tokio::test]
async fn any_text_is_a_query() {
    let folder = Folder::new(&[("a.txt", "A gannet dives near the cliff")]);
    let local = folder.open().await;
    for syntax in [
        "\" OR NEAR( * ^ :",
        "gannet\"*)(",
        "title:gannet",
        "NEAR(gannet cliff, 2)",
        "gannet AND NOT",
        "-gannet +cliff",
    ] {
        let answer = local.search(syntax, &Limits::default(), &Open).await;
        assert!(answer.is_ok_and(|hits| hits.len() == 1), "{syntax}");
    }
    let megabyte = "gannet ".repeat(150_000);
    assert_eq!(urls(&local, &megabyte).await, ["a.txt"]);
    assert_eq!(urls(&local, "albatross").await, [""; 0]);
    for wordless in ["", "  \n", "?!", "\u{0}"] {
        let refusal = local.search(wordless, &Limits::default(), &Open).await;
        assert!(matches!(refusal, Err(Error::BadQuery(_))), "{wordless:?} {refusal:?}");
    }
}

#[tokio::test]
async fn a_budget_too_small_is_said_and_made_up_for() {
    let folder = Folder::new(&[("a.txt", "kittiwake one"), ("b.txt", "kittiwake two")]);
    let local = folder.open_with(Settings { open_budget: Duration::ZERO, ..settings() }).await.unwrap();
    assert_eq!(skipped(&local), [(".".into(), "2 documents are not indexed yet".into())]);
    assert_eq!(hits(&local, "kittiwake").await.len(), 2);
    assert_eq!(skipped(&local), []);
}

#[tokio::test]
async fn a_search_can_be_dropped_at_any_moment() {
    let files: Vec<_> = (0..50).map(|n| (format!("{n}.txt"), "fulmar ".repeat(n + 1))).collect();
    let folder = Folder::new(&[]);
    let local = folder.open().await;
    for (path, text) in &files {
        folder.write(path, text);
    }
    for polls in 0..40 {
        let mut search = Box::pin(hits(&local, "fulmar"));
        for _ in 0..polls {
            if futures::poll!(&mut search).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(hits(&local, "fulmar").await.len(), 5);
}

/// Each document a question needs is among the five best hits, or among those of the part of the question about it.
#[tokio::test]
async fn the_example_questions_find_their_documents() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let index = TempDir::new().unwrap();
    let local = Local::open(&examples.join("library"), index.path(), Settings::default(), parser()).await.unwrap();
    assert_eq!(skipped(&local), []);
    let mut missed = Vec::new();
    for line in fs::read_to_string(examples.join("questions.jsonl")).unwrap().lines() {
        let question: serde_json::Value = serde_json::from_str(line).unwrap();
        if question["set"] != "known" {
            continue;
        }
        let found = urls(&local, question["question"].as_str().unwrap()).await;
        for document in question["documents"].as_array().unwrap() {
            let document = document.as_str().unwrap();
            if !found.iter().any(|url| url.split('#').next() == Some(document)) {
                missed.push(format!("{} {document}", question["id"]));
            }
        }
    }
    // Two questions in one: the settlement is found by the second half alone.
    assert_eq!(missed, ["\"q03\" minutes/2031-02-11-board.md"]);
    let settlement = urls(&local, "How much did Hovendrift pay in the settlement for the Petrel failure?").await;
    assert!(settlement.contains(&"minutes/2031-02-11-board.md".to_owned()), "{settlement:?}");
}

/// Addresses then begin with the folders' names; limits leave out documents by name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_folders_are_searched_as_one() {
    let (root, index) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for (path, text) in [
        ("a/minutes/dues.md", "# Dues\n\nThe gate is paid by dues."),
        ("b/dues.txt", "Dues of four crowns."),
        ("b/z.txt", "More."),
    ] {
        let file = root.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let folders = std::env::join_paths([root.path().join("a"), root.path().join("b")]).unwrap();
    let settings = search::Settings { index: index.path().to_owned(), ..search::Settings::default() }
        .with("docs", folders.to_str().unwrap())
        .with("search.local.max_files", "1");
    let engines = search::Engines::new(settings, parser()).unwrap();
    let engine = engines.select(&SearchApi::engine("local"), &SearchFallback::default()).unwrap();
    engine.open().await.unwrap();
    let hits = engine.search("dues of the gate", &Limits::default(), &Open).await.unwrap();
    let mut urls: Vec<_> = hits.iter().map(|hit| hit.url.as_str()).collect();
    urls.sort_unstable();
    assert_eq!(urls, ["a/minutes/dues.md", "b/dues.txt"]);
    let opened = engine.document("b/dues.txt").await.unwrap().unwrap();
    assert_eq!(opened.passages[0].url, "b/dues.txt");
    assert!(engine.document("c/dues.txt").await.unwrap().is_none());
    let skipped = engine.skipped();
    assert!(
        skipped.iter().any(|skipped| skipped.path == "b/z.txt" && skipped.reason.contains("limit of 1")),
        "{skipped:?}"
    );
    assert_eq!(engine.folder().unwrap().as_os_str(), folders);
}
