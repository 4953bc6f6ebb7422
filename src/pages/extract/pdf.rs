//! PDF to text, page by page, behind every guard a parser that panics on purpose needs.
//!
//! Panics are caught per page, circles found before the parser follows them, and what comes out is checked, because
//! wrong text is worse than none. What no guard holds ends the parser process.

use pdf_extract::{Dictionary, Document as Pdf, Object, ObjectId, OutputError};

use super::{
    Document, Section, Unreadable, annotations,
    caught::catch,
    date,
    glyphs::Glyphs,
    package,
    pdf_forms::{Forms, MAX_NESTING, own_resources},
    pdf_objects::{decoded, resolve},
    predefined, text, widths,
};

const MAX_PAGES: usize = 5_000;
/// The longest text of a page; more is not something a person wrote.
const MAX_PAGE_CHARS: usize = 200_000;

/// Reads a PDF; to be called within [`super::caught::run`]. A page that cannot be read is named in `missing`, its
/// siblings stay.
///
/// # Errors
/// [`Unreadable`]: damaged, encrypted, without text (a scan), or with text that is none.
pub(super) fn read(bytes: &[u8]) -> Result<Document, Unreadable> {
    let mut pdf =
        catch(|| load(bytes)).unwrap_or_else(|| Err(Unreadable::new("could not read this PDF: it is damaged")))?;
    let pages: Vec<ObjectId> = pdf.get_pages().into_values().collect();
    let texts = texts(&mut pdf, &pages[..pages.len().min(MAX_PAGES)]);
    let mut sections = Vec::new();
    let (mut unreadable, mut scanned) = (Vec::new(), Vec::new());
    let mut forms = Forms::new(&pdf);
    for ((number, id), text) in (1..).zip(&pages).zip(texts) {
        match text {
            Some(text) if text.is_empty() && shows_picture(&pdf, *id, &mut forms) => scanned.push(number.to_string()),
            Some(text) if text.is_empty() => {}
            Some(text) => sections.push(section(number, text)),
            None => unreadable.push(number.to_string()),
        }
    }
    if sections.is_empty() {
        return Err(nothing_found(&unreadable));
    }
    let missing = missing(&unreadable, &scanned, pages.len());
    let (title, author, saved) = (title(&pdf), author(&pdf), produced(&pdf));
    Ok(Document { title, author, saved, sections, missing, ..Document::default() })
}

fn load(bytes: &[u8]) -> Result<Pdf, Unreadable> {
    let encrypted = || Unreadable::new("it is encrypted");
    let mut pdf = Pdf::load_mem(bytes).map_err(|error| match error {
        pdf_extract::Error::Decryption(_) | pdf_extract::Error::InvalidPassword => encrypted(),
        _ => Unreadable::new("could not read this PDF: it is damaged"),
    })?;
    if pdf.is_encrypted() {
        pdf.decrypt("").map_err(|_| encrypted())?;
    }
    predefined::describe(&mut pdf);
    widths::write_out(&mut pdf);
    Ok(pdf)
}

fn section(number: u32, text: String) -> Section {
    Section { label: Some(format!("page {number}")), path: String::new(), anchor: Some(format!("page={number}")), text }
}

fn nothing_found(unreadable: &[String]) -> Unreadable {
    Unreadable::new(match unreadable {
        [] => "there is no text in this PDF; it may be a scan",
        _ => "could not read this PDF",
    })
}

fn missing(unreadable: &[String], scanned: &[String], pages: usize) -> Option<String> {
    let more = (pages > MAX_PAGES).then(|| format!("only the first {MAX_PAGES} of its {pages} pages are searched"));
    let unreadable = named(unreadable).map(|pages| format!("could not read page {pages}"));
    let scanned = named(scanned).map(|pages| format!("page {pages} shows a picture without text, perhaps a scan"));
    let missing: Vec<String> = [more, unreadable, scanned].into_iter().flatten().collect();
    (!missing.is_empty()).then(|| missing.join("; "))
}

fn named(pages: &[String]) -> Option<String> {
    let named = pages.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
    let more = if pages.len() > 10 { ", …" } else { "" };
    (!pages.is_empty()).then(|| format!("{named}{more}"))
}

/// Returns whether the page draws something, and one of its resources is an image, or an image is in its content.
fn shows_picture<'a>(pdf: &'a Pdf, id: ObjectId, forms: &mut Forms<'a>) -> bool {
    let (own, others) = pdf.get_page_resources(id).unwrap_or_default();
    let others = others.into_iter().filter_map(|id| pdf.get_dictionary(id).ok());
    let is_named = || own.into_iter().chain(others).any(|resources| forms.have_image(resources));
    let draws = |content: &[u8], operator: &[u8]| memchr::memmem::find(content, operator).is_some();
    let shows = || {
        let content = pdf.get_page_content(id).unwrap_or_default();
        draws(&content, b"Do") && is_named() || draws(&content, b"ID ")
    };
    catch(shows).unwrap_or(false)
}

/// Returns the text of each page; `None` if it cannot be read or is not text. Leaves the document with one page.
fn texts(pdf: &mut Pdf, pages: &[ObjectId]) -> Vec<Option<String>> {
    let mut forms = Forms::new(pdf);
    let are_sane: Vec<bool> = pages.iter().map(|id| catch(|| is_sane(pdf, *id, &mut forms)) == Some(true)).collect();
    let tree = pdf.new_object_id();
    if let Ok(catalog) = pdf.catalog_mut() {
        catalog.set("Pages", Object::Reference(tree));
    }
    let text = |(id, is_sane): (&ObjectId, bool)| {
        if !is_sane {
            return None;
        }
        pdf.objects.insert(tree, tree_of(*id));
        page_text(pdf, *id)
    };
    pages.iter().zip(are_sane).map(text).collect()
}

/// Returns a tree of pages with this one alone: the parser walks through all of them for each that it is asked for.
fn tree_of(page: ObjectId) -> Object {
    let kids = Object::Array(vec![Object::Reference(page)]);
    Object::Dictionary(Dictionary::from_iter([("Type", Object::Name(b"Pages".to_vec())), ("Kids", kids)]))
}

/// Returns the text of the document's only page.
fn page_text(pdf: &Pdf, id: ObjectId) -> Option<String> {
    let text = catch(|| extract(pdf))?.ok()?;
    let text = text::tidy(&joined(&text));
    let beside = annotations::of_page(pdf, id);
    let texts = [text, beside].into_iter().filter(|text| !text.is_empty());
    let text = texts.collect::<Vec<_>>().join("\n\n");
    (!is_junk(&text)).then_some(text)
}

fn extract(pdf: &Pdf) -> Result<String, OutputError> {
    let mut glyphs = Glyphs::default();
    pdf_extract::output_doc_page(pdf, &mut glyphs, 1)?;
    Ok(glyphs.text())
}

/// Returns whether most of the text is no letter or digit, or there is too much of it: fonts without a usable map
/// look like that. A row of one sign leads to a page number, or is to be written on, and counts once.
fn is_junk(text: &str) -> bool {
    let visible = text.chars().filter(|char| !char.is_whitespace());
    let (mut all, mut letters, mut signs) = (0_usize, 0_usize, 0_usize);
    let mut before = None;
    for char in visible.take(MAX_PAGE_CHARS + 1) {
        all += 1;
        let is_private = matches!(char, '\u{e000}'..='\u{f8ff}' | char::REPLACEMENT_CHARACTER);
        let is_letter = char.is_alphanumeric() && !is_private;
        letters += usize::from(is_letter);
        signs += usize::from(!is_letter && (is_private || before != Some(char)));
        before = Some(char);
    }
    all > MAX_PAGE_CHARS || (all > 20 && letters < signs)
}

/// Puts words together again that were divided at the end of a line.
fn joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let (mut lines, mut is_rest) = (text.lines().peekable(), false);
    while let Some(line) = lines.next() {
        let line = if is_rest { line.trim() } else { line.trim_end() };
        let goes_on = lines.peek().is_some_and(|next| next.trim_start().starts_with(char::is_lowercase));
        let divided = line.strip_suffix(['-', '\u{ad}', '\u{2010}']);
        let divided = divided.filter(|head| goes_on && head.ends_with(char::is_lowercase));
        joined.push_str(divided.unwrap_or(line));
        is_rest = divided.is_some();
        if !is_rest {
            joined.push('\n');
        }
    }
    joined
}

/// Returns the title in the document's properties, unless it is what a program writes there by itself.
fn title(pdf: &Pdf) -> Option<String> {
    property(pdf, b"Title").filter(|title| !package::is_by_program(title))
}

/// What programs write instead of a time, so that equal files come out equal.
const PLACEHOLDERS: [&str; 4] = ["16010101000000", "19700101000000", "19800101000000", "20000101000000"];

/// Returns the date in the document's properties, should it give itself none.
fn produced(pdf: &Pdf) -> Option<String> {
    let dates = [property(pdf, b"ModDate"), property(pdf, b"CreationDate")];
    dates.into_iter().flatten().find_map(|date| day_of(&date))
}

/// Returns the day of `D:20310310090000+01'00'`.
fn day_of(date: &str) -> Option<String> {
    let digits = date.strip_prefix("D:").unwrap_or(date);
    if PLACEHOLDERS.iter().any(|placeholder| digits.starts_with(placeholder)) {
        return None;
    }
    date::parse(&format!("{}-{}-{}", digits.get(..4)?, digits.get(4..6)?, digits.get(6..8)?))
}

fn author(pdf: &Pdf) -> Option<String> {
    property(pdf, b"Author").filter(|author| !package::is_program(author))
}

fn property(pdf: &Pdf, name: &[u8]) -> Option<String> {
    let info = resolve(pdf, pdf.trailer.get(b"Info").ok()?)?.as_dict().ok()?;
    decoded(resolve(pdf, info.get(name).ok()?)?.as_str().ok()?)
}

/// Returns whether neither the page's ancestors nor its forms go in circles: the parser would follow them until the
/// stack ends, and no guard catches that.
fn is_sane<'a>(pdf: &'a Pdf, page: ObjectId, forms: &mut Forms<'a>) -> bool {
    let Ok(dictionary) = pdf.get_dictionary(page) else { return false };
    let mut ancestor = dictionary;
    let mut height = 0;
    let mut resources = own_resources(pdf, dictionary);
    while let Some(parent) = ancestor.get(b"Parent").ok().and_then(|parent| resolve(pdf, parent)?.as_dict().ok()) {
        ancestor = parent;
        resources = resources.or_else(|| own_resources(pdf, ancestor));
        height += 1;
        if height > MAX_NESTING {
            return false;
        }
    }
    let content = || pdf.get_page_content(page).unwrap_or_default();
    resources.is_none_or(|resources| forms.end(&content(), resources))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::extract::Format;

    /// Creates a PDF of the given objects (number 1 is the catalog) with a correct cross-reference table.
    fn pdf(objects: &[&str]) -> Vec<u8> {
        let mut pdf = "%PDF-1.4\n".to_owned();
        let mut offsets = Vec::new();
        for (at, object) in objects.iter().enumerate() {
            offsets.push(pdf.len());
            pdf += &format!("{} 0 obj\n{object}\nendobj\n", at + 1);
        }
        let start = pdf.len();
        pdf += &format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
        for offset in offsets {
            pdf += &format!("{offset:010} 00000 n \n");
        }
        pdf += &format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
        pdf.into_bytes()
    }

    fn stream(dictionary: &str, content: &str) -> String {
        format!("<< {dictionary} /Length {} >>\nstream\n{content}\nendstream", content.len())
    }

    const CATALOG: &str = "<< /Type /Catalog /Pages 2 0 R >>";
    const PAGES: &str = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>";
    const FONT: &str = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";
    const PAGE: &str = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R \
        /Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >> >>";

    fn text_of(pdf: Vec<u8>) -> Result<String, Unreadable> {
        crate::pages::extract::read(Format::Pdf, pdf).map(|document| document.sections[0].text.clone())
    }

    #[test]
    fn a_placeholder_is_no_date() {
        assert_eq!(day_of("D:20310310090000+01'00'").as_deref(), Some("2031-03-10"));
        assert_eq!(day_of("20310310").as_deref(), Some("2031-03-10"));
        assert_eq!(day_of("D:20000101000000+00'00'"), None);
        assert_eq!(day_of("D:soon"), None);
    }

    #[test]
    fn a_page_is_a_section() {
        let content = stream("", "BT /F1 12 Tf 50 700 Td (Petrel stood still.) Tj ET");
        let form = stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9]", "");
        let document = read(&pdf(&[CATALOG, PAGES, PAGE, &content, FONT, &form])).unwrap();
        assert_eq!(document.sections, [section(1, "Petrel stood still.".into())]);
    }

    #[test]
    fn a_page_that_is_a_picture_is_named() {
        let pages = "<< /Type /Pages /Kids [3 0 R 7 0 R 8 0 R] /Count 3 >>";
        let text = stream("", "BT /F1 12 Tf 50 700 Td (Petrel stood still.) Tj ET");
        let image = stream(
            "/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray",
            "x",
        );
        let scan = PAGE.replace("4 0 R", "9 0 R").replace("/X 6", "/Y 6");
        let blank = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 10 0 R /Resources << >> >>";
        let (draws, nothing) = (stream("", "q 600 0 0 800 0 0 cm /Y Do Q"), stream("", ""));
        let objects =
            [CATALOG, pages, &PAGE.replace("/X 6 0 R", ""), &text, FONT, &image, &scan, blank, &draws, &nothing];
        let document = read(&pdf(&objects)).unwrap();
        assert_eq!(document.sections.len(), 1);
        assert_eq!(document.missing.as_deref(), Some("page 2 shows a picture without text, perhaps a scan"));
    }

    #[test]
    fn fonts_in_unicode_need_no_map() {
        let font = "<< /Type /Font /Subtype /Type0 /BaseFont /HeiseiMin-W3 /Encoding /UniJIS-UCS2-H /DescendantFonts [6 0 R] >>";
        let own = "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /HeiseiMin-W3 /FontDescriptor << >> /DW 1000 /W [1 [250 333]] \
            /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> >>";
        // The second number begins behind the first, and a space.
        let content = stream("", "BT /F1 10 Tf 50 700 Td <6C34958000310032> Tj 35 0 Td <0033> Tj ET");
        assert_eq!(text_of(pdf(&[CATALOG, PAGES, PAGE, &content, font, own])).as_deref(), Ok("水門12 3"));
    }

    #[test]
    fn what_was_written_into_a_page_stands_behind_its_text() {
        let page = PAGE.replace("/Contents", "/Annots [7 0 R 8 0 R 9 0 R 11 0 R 12 0 R] /Contents");
        let content = stream("", "BT /F1 12 Tf 50 700 Td (Applicant) Tj ET");
        let objects = [
            "<< /Subtype /Widget /FT /Tx /T (app) /TU (Full name) /V (Ada Penhallow) >>",
            "<< /Subtype /Widget /Parent 10 0 R /AS /Tenant >>",
            "<< /Subtype /Widget /Parent 10 0 R /AS /Off >>",
            "<< /FT /Btn /T (kind) /V /Tenant >>",
            "<< /Subtype /FreeText /Contents (Seen on 4 May) >>",
            "<< /Subtype /Widget /FT /Tx /T (code) /Ff 8192 /V (secret) >>",
        ];
        let objects = [&[CATALOG, PAGES, &page, &content, FONT, FONT], &objects[..]].concat();
        let expected = "Applicant\n\nFull name: Ada Penhallow\nkind: Tenant\nSeen on 4 May";
        assert_eq!(text_of(pdf(&objects)).as_deref(), Ok(expected));
        let circle = objects[7].replace("10 0 R", "8 0 R");
        let objects: Vec<_> =
            objects.iter().map(|object| if *object == objects[7] { &circle } else { *object }).collect();
        assert!(text_of(pdf(&objects)).is_ok_and(|text| text.contains("Ada")), "fields within themselves end");
    }

    #[test]
    fn what_was_chosen_is_named_as_people_read_it() {
        let page = PAGE.replace("/Contents", "/Annots [7 0 R 8 0 R 9 0 R] /Contents");
        let content = stream("", "BT /F1 12 Tf 50 700 Td (Applicant) Tj ET");
        let countries = "/Opt [[(DE) (Germany)] [(FR) (France)] (Other)]";
        let objects = [
            &format!("<< /Subtype /Widget /FT /Ch /T (country) {countries} /V (DE) >>"),
            &format!("<< /Subtype /Widget /FT /Ch /T (others) {countries} /V [(FR) (Other) (Own)] >>"),
            "<< /Subtype /Widget /FT /Btn /T (kind) /Opt [(Owner) (Tenant)] /AS /1 >>",
        ];
        let objects = [&[CATALOG, PAGES, &page, &content, FONT, FONT], &objects[..]].concat();
        let expected = "Applicant\n\ncountry: Germany\nothers: France, Other, Own\nkind: Tenant";
        assert_eq!(text_of(pdf(&objects)).as_deref(), Ok(expected));
    }

    #[test]
    fn text_that_runs_up_or_down_the_page_is_read_along_its_lines() {
        let check = |content: &str, expected: &str| {
            assert_eq!(text_of(pdf(&[CATALOG, PAGES, PAGE, &stream("", content), FONT])).as_deref(), Ok(expected));
        };
        check("BT /F1 12 Tf 0 1 -1 0 100 50 Tm [(Ta)-5(ble)] TJ ET", "Table");
        let row = |matrix: &str, cells: [&str; 3], place: fn(usize) -> String| {
            let cells = cells.iter().enumerate();
            cells
                .map(|(at, cell)| format!("BT /F1 12 Tf {matrix} {} Tm ({cell}) Tj ET\n", place(at)))
                .collect::<String>()
        };
        let (head, tolls) = (["Boat", "Toll", "Year"], ["Barge", "4", "1931"]);
        let up = row("0 1 -1 0", head, |at| format!("100 {}", 50 + 100 * at))
            + &row("0 1 -1 0", tolls, |at| format!("115 {}", 50 + 100 * at));
        check(&up, "Boat Toll Year\nBarge 4 1931");
        let down = row("0 -1 1 0", head, |at| format!("500 {}", 750 - 100 * at))
            + &row("0 -1 1 0", tolls, |at| format!("485 {}", 750 - 100 * at));
        check(&down, "Boat Toll Year\nBarge 4 1931");
        check(
            "BT /F1 12 Tf 50 700 Td (Page) Tj 0 1 -1 0 90 700 Tm (Draft) Tj 1 0 0 1 50 686 Tm (one) Tj ET",
            "Page\n\nDraft\n\none",
        );
    }

    /// Returns the text of a page that is drawn row by row, each cell so far from the left.
    fn text_of_rows(rows: &[Vec<String>], places: &[u32]) -> String {
        let mut content = "BT /F1 10 Tf\n".to_owned();
        for (row, y) in rows.iter().zip((0..700).rev().step_by(12)) {
            for (cell, x) in row.iter().zip(places) {
                content += &format!("1 0 0 1 {x} {y} Tm ({cell}) Tj\n");
            }
        }
        text_of(pdf(&[CATALOG, PAGES, PAGE, &stream("", &(content + "ET")), FONT])).unwrap()
    }

    #[test]
    fn a_left_column_is_read_before_the_right_one() {
        let sentence = |name: &str, at: usize| match at % 5 {
            4 => format!("{name} ends {at}."),
            _ => format!("{name} row {at} tells of the gate and of all its keepers"),
        };
        let title =
            vec!["The tide gate at Skelderwick and what it has cost the harbour since it was opened".to_owned()];
        let rows = (0..14).map(|at| vec![sentence("left", at), sentence("right", at)]);
        let rows: Vec<_> = std::iter::once(title.clone()).chain(rows).collect();
        let column = |name: &str| (0..14).map(|at| sentence(name, at)).collect::<Vec<_>>().join("\n");
        let expected = format!("{}\n{}\n\n{}", title[0], column("left"), column("right"));
        assert_eq!(text_of_rows(&rows, &[50, 310]), expected);
    }

    #[test]
    fn rows_of_tables_stay_whole() {
        let check = |cells: &[&str], places: &[u32]| {
            let rows: Vec<Vec<String>> =
                (0..14).map(|at| cells.iter().map(|cell| format!("{cell} {at}")).collect()).collect();
            let expected: Vec<_> = rows.iter().map(|row| row.join(" ")).collect();
            assert_eq!(text_of_rows(&rows, places), expected.join("\n"));
        };
        check(&["Barge", "4 crowns"], &[50, 310]);
        check(&["Barge", "It pays four crowns at the gate each time it passes"], &[50, 310]);
        check(&["It pays four crowns at the gate each", "4,100.50", "4,300.70", "12,400.10"], &[50, 310, 400, 500]);
        check(&["The barge pays four crowns", "The ferry pays five crowns", "The rest pays six"], &[50, 230, 410]);
    }

    #[test]
    fn what_stands_before_a_pdf_is_passed_over() {
        let whole = pdf(&[CATALOG, PAGES, PAGE, &stream("", "BT /F1 12 Tf 50 700 Td (Text) Tj ET"), FONT]);
        for junk in ["\r\n", "\u{feff}", "@PJL JOB\r\n"] {
            assert_eq!(text_of([junk.as_bytes(), &whole].concat()).as_deref(), Ok("Text"), "{junk:?}");
        }
    }

    #[test]
    fn circles_do_not_end_the_process() {
        let content = stream("", "BT /F1 12 Tf 50 700 Td (Text) Tj ET /X Do");
        let form = stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9]", "/X Do");
        let refused = Err(Unreadable::new("could not read this PDF"));
        assert_eq!(text_of(pdf(&[CATALOG, PAGES, PAGE, &content, FONT, &form])), refused);
        let pages = "<< /Type /Pages /Kids [3 0 R] /Count 1 /Parent 2 0 R >>";
        let page = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>";
        assert_eq!(text_of(pdf(&[CATALOG, pages, page, &content, FONT])), refused);
    }

    #[test]
    fn damage_is_said_not_panicked() {
        let whole = pdf(&[CATALOG, PAGES, PAGE, &stream("", "BT ET"), FONT]);
        for length in (0..whole.len()).step_by(37) {
            assert!(text_of(whole[..length].to_vec()).is_err(), "{length}");
        }
        let page = "<< /Type /Page /Parent 2 0 R >>";
        assert!(text_of(pdf(&[CATALOG, PAGES, page])).is_err(), "the parser panics for want of a MediaBox");
    }

    #[test]
    fn junk_differs_from_text() {
        let check = |text: &str, expected: bool| assert_eq!(is_junk(text), expected, "{text}");
        check("Petrel stood still for nineteen days.", false);
        check("潮汐能游客中心参观指南,潮汐能游客中心参观指南,潮汐能", false);
        check("\u{e001}\u{e002}\u{e003}".repeat(20).as_str(), true);
        check("!\"#$%&'()*+,-./:;<=>?@[\\]^_`", true);
        check("5 %", false);
        check(&format!("Dues {} 4\nThe gate {} 12", ". ".repeat(40), ".".repeat(60)), false);
        check(&format!("Name: {}\nBorn on: {}", "_".repeat(40), "_".repeat(40)), false);
        check(&"_".repeat(60), true);
        check(&"\u{fffd}".repeat(60), true);
    }

    #[test]
    fn divided_words_are_joined() {
        let check = |text: &str, expected: &str| assert_eq!(joined(text).trim_end(), expected, "{text}");
        check("the tur-\nbine stood", "the turbine stood");
        check("the tur\u{2010}\nbine stood", "the turbine stood");
        check("of the muni-\n cipality con-\ncerns", "of the municipality concerns");
        check("IR-\n2030", "IR-\n2030");
        check("one - \ntwo", "one -\ntwo");
    }
}
