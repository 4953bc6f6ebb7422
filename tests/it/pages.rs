//! Documents of every format, made by other programs and labelled with the words that a reader sees.

use std::{
    collections::HashMap,
    fs,
    io::{Cursor, Write as _},
    path::PathBuf,
    time::Duration,
};

use fathom::pages::{self, Document, Error, Format, Parser};
use fathom_testkit::program;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::search::local::parser;

/// The least share of right words of any document.
const LEAST: f64 = 0.97;
/// The same of a PDF with spaced and kerned text, whose words only the places of glyphs tell.
const LEAST_OF_GLYPHS: f64 = 0.96;

fn folder() -> PathBuf {
    program::repository().join("tests/formats")
}

/// How often each word occurs; marks of tables and lists are no words.
fn words(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split(|char: char| char.is_whitespace() || matches!(char, '|' | '\\' | ':')) {
        let word = word.trim_matches('-');
        if !word.is_empty() {
            *words.entry(word.to_owned()).or_default() += 1;
        }
    }
    words
}

/// The share of words that are there and should be, of all that are there or should be.
fn share(read: &str, labelled: &str) -> f64 {
    let (read, labelled) = (words(read), words(labelled));
    let both: usize = labelled.iter().map(|(word, count)| count.min(read.get(word).unwrap_or(&0))).sum();
    let all: usize = read.values().sum::<usize>() + labelled.values().sum::<usize>() - both;
    both as f64 / all as f64
}

fn text_of(document: &Document) -> String {
    // Headings of sections that were joined stand in their text too.
    let label = |section: &pages::Section| section.label.clone().filter(|label| !label.contains("; "));
    let sections =
        document.sections.iter().flat_map(|section| label(section).into_iter().chain([section.text.clone()]));
    sections.collect::<Vec<_>>().join("\n\n")
}

async fn read(name: &str, format: Format, bytes: &[u8]) -> Document {
    parser().document(name, format, bytes).await.unwrap_or_else(|error| panic!("{name}: {error}"))
}

async fn read_file(name: &str) -> Document {
    let format = Format::of_extension(name.rsplit_once('.').unwrap().1).unwrap();
    read(name, format, &fs::read(folder().join(name)).unwrap()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_of_every_format_are_read_word_by_word() {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.filter_map(|name| name.strip_suffix(".words.txt").map(str::to_owned)).collect();
    names.sort();
    assert!(names.len() >= 13, "{names:?}");
    let mut low = Vec::new();
    for name in names {
        let document = read_file(&name).await;
        let labelled = fs::read_to_string(folder().join(format!("{name}.words.txt"))).unwrap();
        // A title in the properties alone is no word of the text; one that is the first heading is.
        let mut text = text_of(&document);
        let title = document.title.clone().unwrap_or_default();
        if labelled.starts_with(&title) && !text.starts_with(&title) {
            text = format!("{title}\n{text}");
        }
        // A heading with nothing but other headings below it is found by what stands there.
        for word in document.sections.iter().flat_map(|section| section.path.split_whitespace()) {
            if !text.split_whitespace().any(|known| known == word) {
                text = format!("{text} {word}");
            }
        }
        let share = share(&text, &labelled);
        println!("{name}: {:.1} % of the words are right", share * 100.0);
        let least = if name.ends_with(".pdf") { LEAST_OF_GLYPHS } else { LEAST };
        if share < least {
            low.push(format!("{name} ({share:.3}):\n{text}\n--- expected\n{labelled}"));
        }
    }
    assert!(low.is_empty(), "{}", low.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_say_who_wrote_them_and_when() {
    for name in ["mill.docx", "mill.pptx", "mill.odt", "mill.ods", "mill.odp", "mill.epub", "mill.json", "mill.rst"] {
        let document = read_file(name).await;
        assert_eq!(document.title.as_deref(), Some("Tide mill at Ambleton"), "{name}");
        assert_eq!(document.author.as_deref(), Some("Marta Tey"), "{name}");
        assert_eq!(document.date(None).as_deref(), Some("2031-03-10"), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headings_lists_and_tables_survive() {
    let check = |name: &str, document: &Document, part: &str| {
        let text = text_of(document);
        assert!(text.contains(part), "{name} lacks {part}\n{text}");
    };
    for name in ["mill.docx", "mill.odt", "mill.ods", "mill.pptx", "mill.xlsx"] {
        check(name, &read_file(name).await, "| Boat | Dues in crowns | Free days |\n| --- | --- | --- |\n| Barge |");
    }
    for name in ["mill.odt", "mill.pptx"] {
        check(name, &read_file(name).await, "- Close the upper gate\n- Wait for the ebb\n- Open");
    }
    check("mill.docx", &read_file("mill.docx").await, "1. Close the upper gate\n2. Wait for the ebb\n3. Open");
    let document = read_file("mill.docx").await;
    assert!(document.sections.iter().any(|section| section.path.contains("Working the gate Steps")), "{document:#?}");
    let sheets = read_file("mill.xlsx").await;
    let missing = "1 hidden sheets are not searched; 1 formulas have no stored result (open the file in a spreadsheet program and save it)";
    assert_eq!(sheets.missing.as_deref(), Some(missing));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_count_more_than_names() {
    let bytes = fs::read(folder().join("mill.docx")).unwrap();
    let document = read("mill.txt", Format::Text, &bytes).await;
    assert_eq!(document.title.as_deref(), Some("Tide mill at Ambleton"));
    let refused = parser().document("mill.docx", Format::Package, b"no package").await;
    assert!(matches!(refused, Err(Error::Unreadable(_))), "{refused:?}");
}

/// A package of stored or packed parts.
fn package(parts: &[(&str, &[u8])], is_packed: bool) -> Vec<u8> {
    let method = if is_packed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let options = SimpleFileOptions::default().compression_method(method);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

const RELATIONS: &str = r#"<Relationships><Relationship Id="r1" Type="http://x/officeDocument" Target="word/document.xml"/></Relationships>"#;

fn docx(document: &[u8], is_packed: bool) -> Vec<u8> {
    package(&[("_rels/.rels", RELATIONS.as_bytes()), ("word/document.xml", document)], is_packed)
}

/// What is struck out or hidden holds no more; a property may be there to say that it is off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_struck_out_of_a_text_is_left_out() {
    let run = |properties: &str, text: &str| format!("<w:r><w:rPr>{properties}</w:rPr><w:t>{text} </w:t></w:r>");
    let gone = ["<w:strike/>", "<w:dstrike w:val='true'/>", "<w:vanish w:val='1'/>"].map(|gone| run(gone, "Gone"));
    let kept = ["off", "0", "false"].map(|off| run(&format!("<w:strike w:val='{off}'/>"), off));
    let text = [gone.concat(), kept.concat()].concat();
    let document = format!("<w:document><w:body><w:p>{text}</w:p></w:body></w:document>");
    let document = read("struck.docx", Format::Package, &docx(document.as_bytes(), false)).await;
    assert_eq!(text_of(&document), "off 0 false");
}

/// A list that no longer holds may have been saved last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_is_of_the_day_that_it_states() {
    let core: &[u8] =
        b"<cp:coreProperties><dcterms:modified>2036-11-20T08:00:00Z</dcterms:modified></cp:coreProperties>";
    let of = async |text: &str, name: Option<&str>| {
        let lines = ["Price list", text].map(|line| format!("<w:p><w:r><w:t>{line}</w:t></w:r></w:p>")).concat();
        let document = format!("<w:document><w:body>{lines}</w:body></w:document>");
        let parts = [
            ("_rels/.rels", RELATIONS.as_bytes()),
            ("word/document.xml", document.as_bytes()),
            ("docProps/core.xml", core),
        ];
        read("prices.docx", Format::Package, &package(&parts, false)).await.date(name).unwrap()
    };
    let (stated, silent, named) =
        ("Valid from 1 January 2021", "A ticket costs 5 crowns.", Some("2030-12-03 prices.docx"));
    assert_eq!([of(stated, None).await, of(stated, named).await], ["2021-01-01", "2021-01-01"]);
    assert_eq!([of(silent, None).await, of(silent, named).await], ["2036-11-20", "2030-12-03"]);
    let list = "Price list\nStand: 3. Februar 2031\n\nBoat,Dues\nBarge,4\n";
    assert_eq!(read("list.csv", Format::Csv, list.as_bytes()).await.published.as_deref(), Some("2031-02-03"));
}

/// Two figures that are read as one are another figure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_parts_two_figures_parts_them_in_every_format() {
    for mark in ['\u{b}', '\u{c}', '\u{1c}', '\u{1f}', '\u{85}'] {
        let figures = format!("12{mark}34");
        let documents = [
            ("a.txt", Format::Text, format!("It has {figures} berths.")),
            ("a.md", Format::Markdown, format!("It has {figures} berths.")),
            ("a.csv", Format::Csv, format!("Port,Berths\nNarvel,{figures}\n")),
            ("a.html", Format::Html, format!("<p>A port.<table><tr><td>Narvel<td>{figures}</table>")),
        ];
        for (name, format, source) in documents {
            let text = text_of(&read(name, format, source.as_bytes()).await);
            assert!(text.contains("12") && !text.contains("1234"), "{name} {mark:?}: {text}");
        }
    }
}

/// As after setting a password: the flags of each part say so.
fn encrypted(mut package: Vec<u8>) -> Vec<u8> {
    for (mark, flags) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        let places: Vec<usize> =
            package.windows(4).enumerate().filter(|(_, window)| window == mark).map(|(at, _)| at).collect();
        places.into_iter().for_each(|at| package[at + flags] |= 1);
    }
    package
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_made_to_do_harm_is_named_and_bounded() {
    let parser = parser();
    let refused = async |name: &str, bytes: Vec<u8>, expected: &[&str]| {
        let read = parser.document(name, Format::Package, &bytes).await;
        let said = read.expect_err(name).to_string();
        assert!(expected.iter().any(|part| said.contains(part)), "{name}: {said}");
    };
    let paragraph = |text: &str| format!("<w:document><w:body>{text}</w:body></w:document>");
    let plain = docx(paragraph("<w:p><w:r><w:t>Dues</w:t></w:r></w:p>").as_bytes(), false);
    assert_eq!(text_of(&read("plain.docx", Format::Package, &plain).await), "Dues");
    refused("encrypted.docx", encrypted(plain), &["it is encrypted"]).await;
    let bomb = docx(&vec![b' '; 70 << 20], true);
    assert!(bomb.len() < 1 << 20);
    refused("bomb.docx", bomb, &["too much in it", "within 20 s"]).await;
    let deep = paragraph(&format!("{}{}", "<w:p>".repeat(200_000), "</w:p>".repeat(200_000)));
    refused("deep.docx", docx(deep.as_bytes(), false), &["nested too deeply"]).await;
    let entities = "<!DOCTYPE x [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]>";
    let laughs = format!("{entities}{}", paragraph("<w:p><w:r><w:t>Dues &b;of 4</w:t></w:r></w:p>"));
    assert_eq!(text_of(&read("laughs.docx", Format::Package, &docx(laughs.as_bytes(), false)).await), "Dues of 4");
    refused("photos.zip", package(&[("a.jpg", b"x")], false), &["an archive of a kind that is not read"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_rows_are_read_as_far_as_they_go() {
    let rows: String = (1..=1_000_000).map(|row| format!("{row},{}\n", row % 7)).collect();
    let document = read("rows.csv", Format::Csv, format!("row,rest\n{rows}").as_bytes()).await;
    assert_eq!(document.missing.as_deref(), Some("only its first rows are searched"));
    let text = text_of(&document);
    assert!(text.starts_with("| row | rest |\n| --- | --- |\n| 1 | 1 |") && text.len() < 16 << 20, "{}", text.len());
    // A cell at the far end of a sheet takes no more room than any other.
    assert_eq!(text_of(&read_file("far.xlsx").await), "Log\n\n4\n\n5");
}

/// A PDF of so many pages of one text, with this in its trailer and these objects behind the pages.
fn pdf(pages: usize, trailer: &str, further: &[&str]) -> Vec<u8> {
    let content = "BT /F1 12 Tf 50 700 Td (Dues of four crowns pay the gate.) Tj ET";
    let kids: String = (0..pages).map(|page| format!("{} 0 R ", page + 5)).collect();
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 3 0 R /Resources << /Font << /F1 4 0 R >> >> >>";
    let fixed = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {pages} >>"),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let objects = fixed.iter().map(String::as_str).chain((0..pages).map(|_| page)).chain(further.iter().copied());
    let (mut pdf, mut offsets, mut count) = ("%PDF-1.4\n".to_owned(), String::new(), 1);
    for object in objects {
        offsets += &format!("{:010} 00000 n \n", pdf.len());
        pdf += &format!("{count} 0 obj\n{object}\nendobj\n");
        count += 1;
    }
    let start = pdf.len();
    pdf += &format!(
        "xref\n0 {count}\n0000000000 65535 f \n{offsets}trailer\n<< /Size {count} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    );
    pdf.into_bytes()
}

/// It is said how much of it is searched.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pdf_of_ten_thousand_pages_is_read_as_far_as_it_goes() {
    // A build without optimisation on a busy machine takes longer than it may elsewhere.
    let (program, document_time) = (Some(program::path()), Duration::from_secs(180));
    let parser = Parser::new(pages::Settings { program, document_time, ..pages::Settings::default() });
    let document = parser.document("long.pdf", Format::Pdf, &pdf(10_000, "", &[])).await.unwrap();
    assert_eq!(document.missing.as_deref(), Some("only the first 5000 of its 10000 pages are searched"));
    assert_eq!(document.sections.len(), 5_000);
    assert_eq!(document.sections[4_999].text, "Dues of four crowns pay the gate.");
}

/// Opened by a password that nobody gave.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_encrypted_pdf_is_said_to_be_so() {
    let encryption = format!(
        "<< /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <{}> /U <{}> >>",
        "1f".repeat(32),
        "2e".repeat(32)
    );
    let trailer = format!("/Encrypt 6 0 R /ID [<{0}> <{0}>]", "3d".repeat(16));
    let refused = parser().document("locked.pdf", Format::Pdf, &pdf(1, &trailer, &[&encryption])).await;
    assert!(matches!(&refused, Err(Error::Unreadable(said)) if said.to_string().contains("encrypted")), "{refused:?}");
}
