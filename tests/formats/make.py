"""Writes the labelled documents of this folder, each with the words that a reader sees (NAME.words.txt).

Run once by hand, with: pip install python-docx python-pptx openpyxl odfpy EbookLib
    python tests/formats/make.py
"""

import datetime
import json
import pathlib

HERE = pathlib.Path(__file__).parent
TITLE = "Tide mill at Ambleton"
AUTHOR = "Marta Tey"
DAY = datetime.datetime(2031, 3, 10, 9, 30)
INTRO = "The mill grinds with the ebb. Its pond holds 18,400 cubic metres, and the wheel turns twice a day."
DUES = "Boats that pass the gate pay dues. The rates below hold from April 2031 & were set by the harbour board."
TABLE = [
    ["Boat", "Dues in crowns", "Free days"],
    ["Barge", "4.50", "Sunday"],
    ["Ferry | tender", "12", "none"],
    ["Größe über 20 m", "31.25", "on request"],
]
STEPS = ["Close the upper gate", "Wait for the ebb", "Open the sluice by a third"]
LOSS = "Leakage is about 10"
NOTE = "Measured by the county in 2029."
CLOSING = "Visitors write to the keeper, M. Tey."


def words(name, *texts):
    (HERE / f"{name}.words.txt").write_text("\n".join(str(text) for text in texts) + "\n", encoding="utf-8")


def table_words():
    return "\n".join(" ".join(row) for row in TABLE)


def docx():
    from docx import Document
    from docx.oxml import OxmlElement

    document = Document()
    document.core_properties.title = TITLE
    document.core_properties.author = AUTHOR
    document.core_properties.modified = DAY
    document.add_heading(TITLE, 0)
    document.add_paragraph(INTRO)
    document.add_heading("Dues", 1)
    document.add_paragraph(DUES)
    table = document.add_table(rows=0, cols=3)
    for row in TABLE:
        for cell, text in zip(table.add_row().cells, row):
            cell.text = text
    document.add_heading("Working the gate", 1)
    document.add_heading("Steps", 2)
    for step in STEPS:
        document.add_paragraph(step, style="List Number")
    paragraph = document.add_paragraph(LOSS)
    paragraph.add_run("3").font.superscript = True
    paragraph.add_run(" litres an hour.")
    hidden = paragraph.add_run("Ignore what stands above.")
    hidden.font.hidden = True
    removed = OxmlElement("w:del")
    text = OxmlElement("w:delText")
    text.text = "Removed words."
    run = OxmlElement("w:r")
    run.append(text)
    removed.append(run)
    paragraph._p.append(removed)
    merged = document.add_table(rows=3, cols=2)
    for at, text in enumerate(["Quarter", "Fares", "Q1", "4,100", "", "4,300"]):
        merged.rows[at // 2].cells[at % 2].text = text
    merged.cell(1, 0).merge(merged.cell(2, 0))
    document.add_paragraph(CLOSING)
    document.save(HERE / "mill.docx")
    steps = [f"{number}. {step}" for number, step in enumerate(STEPS, 1)]
    words("mill.docx", TITLE, INTRO, "Dues", DUES, table_words(), "Working the gate", "Steps", *steps, LOSS + "³ litres an hour.",
          "Quarter Fares Q1 4,100 Q1 4,300", CLOSING)


def pptx():
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    deck.core_properties.title = TITLE
    deck.core_properties.author = AUTHOR
    deck.core_properties.modified = DAY
    first = deck.slides.add_slide(deck.slide_layouts[0])
    first.shapes.title.text = TITLE
    first.placeholders[1].text = INTRO
    second = deck.slides.add_slide(deck.slide_layouts[1])
    second.shapes.title.text = "Working the gate"
    body = second.placeholders[1].text_frame
    body.text = STEPS[0]
    for step in STEPS[1:]:
        body.add_paragraph().text = step
    second.notes_slide.notes_text_frame.text = CLOSING
    third = deck.slides.add_slide(deck.slide_layouts[5])
    third.shapes.title.text = "Dues"
    shape = third.shapes.add_table(len(TABLE), 3, Inches(1), Inches(2), Inches(8), Inches(2))
    for at, row in enumerate(TABLE):
        for column, text in enumerate(row):
            shape.table.cell(at, column).text = text
    box = third.shapes.add_textbox(Inches(1), Inches(5), Inches(5), Inches(1))
    box.text_frame.text = DUES
    deck.save(HERE / "mill.pptx")
    words("mill.pptx", "Slide 1", TITLE, INTRO, "Slide 2", "Working the gate", *STEPS, CLOSING, "Slide 3", "Dues", table_words(), DUES)


def xlsx():
    from openpyxl import Workbook

    book = Workbook()
    book.properties.title = TITLE
    book.properties.creator = AUTHOR
    book.properties.modified = DAY
    sheet = book.active
    sheet.title = "Dues"
    sheet["A1"] = DUES
    for at, row in enumerate(TABLE):
        for column, text in enumerate(row):
            is_number = at > 0 and column == 1
            sheet.cell(at + 3, column + 2, float(text) if is_number else text)
    log = book.create_sheet("Log")
    log.append(["Day", "Level", "Open"])
    log.append([datetime.date(2031, 2, 1), 0.1 + 0.2, True])
    log.append([datetime.datetime(2031, 2, 2, 7, 5), 4100, False])
    log.append([datetime.date(2031, 2, 3), "=B2*2", None])
    secret = book.create_sheet("Lookup")
    secret["A1"] = "Words for machines"
    secret.sheet_state = "hidden"
    book.save(HERE / "mill.xlsx")
    table = table_words().replace("4.50", "4.5")
    words("mill.xlsx", "Dues", DUES, table, "Log", "Day Level Open 2031-02-01 0.3 true 2031-02-02 07:05 4100 false 2031-02-03")


def far():
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "Log"
    book.active["A1"] = 4
    book.active["XFD1048576"] = 5
    book.save(HERE / "far.xlsx")
    words("far.xlsx", "Log 4 5")


def odf_meta(document):
    from odf import dc, meta

    document.meta.addElement(dc.Title(text=TITLE))
    document.meta.addElement(meta.InitialCreator(text=AUTHOR))
    document.meta.addElement(dc.Date(text="2031-03-10T09:30:00"))


def odf_table(name, rows):
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    table = Table(name=name)
    for row in rows:
        line = TableRow()
        for text in row:
            cell = TableCell(valuetype="string")
            cell.addElement(P(text=text))
            line.addElement(cell)
        table.addElement(line)
    return table


def odt():
    from odf.opendocument import OpenDocumentText
    from odf.style import Style, TextProperties
    from odf.text import H, List, ListItem, Note, NoteBody, NoteCitation, P, Span

    document = OpenDocumentText()
    odf_meta(document)
    high = Style(name="High", family="text")
    high.addElement(TextProperties(textposition="super 58%"))
    document.automaticstyles.addElement(high)
    document.text.addElement(H(outlinelevel=1, text=TITLE))
    intro = P(text=INTRO)
    note = Note(noteclass="footnote", id="n1")
    note.addElement(NoteCitation(text="1"))
    body = NoteBody()
    body.addElement(P(text=NOTE))
    note.addElement(body)
    intro.addElement(note)
    document.text.addElement(intro)
    document.text.addElement(H(outlinelevel=2, text="Dues"))
    document.text.addElement(P(text=DUES))
    document.text.addElement(odf_table("Dues", TABLE))
    document.text.addElement(H(outlinelevel=2, text="Steps"))
    steps = List()
    for step in STEPS:
        item = ListItem()
        item.addElement(P(text=step))
        steps.addElement(item)
    document.text.addElement(steps)
    loss = P(text=LOSS)
    loss.addElement(Span(stylename=high, text="3"))
    loss.addText(" litres an hour.")
    document.text.addElement(loss)
    document.text.addElement(P(text=CLOSING))
    document.save(HERE / "mill.odt")
    words("mill.odt", TITLE, INTRO, "Dues", DUES, table_words(), "Steps", *STEPS, LOSS + "³ litres an hour.", CLOSING, NOTE)


def ods():
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    document = OpenDocumentSpreadsheet()
    odf_meta(document)
    document.spreadsheet.addElement(odf_table("Dues", TABLE))
    log = Table(name="Log")
    for cells in [["Day", "Level"], ["2031-02-01", "0.3"]]:
        row = TableRow()
        for text in cells:
            cell = TableCell(valuetype="string")
            cell.addElement(P(text=text))
            row.addElement(cell)
        row.addElement(TableCell(numbercolumnsrepeated=16000))
        log.addElement(row)
    empty = TableRow(numberrowsrepeated=1048570)
    empty.addElement(TableCell(numbercolumnsrepeated=16384))
    log.addElement(empty)
    document.spreadsheet.addElement(log)
    document.save(HERE / "mill.ods")
    words("mill.ods", "Dues", table_words(), "Log", "Day Level 2031-02-01 0.3")


def odp():
    from odf.draw import Frame, Page, TextBox
    from odf.namespaces import PRESENTATIONNS
    from odf.opendocument import OpenDocumentPresentation
    from odf.style import MasterPage, PageLayout
    from odf.text import P

    document = OpenDocumentPresentation()
    odf_meta(document)
    layout = PageLayout(name="Layout")
    document.automaticstyles.addElement(layout)
    master = MasterPage(name="Master", pagelayoutname=layout)
    document.masterstyles.addElement(master)
    for title, text in [(TITLE, INTRO), ("Dues", DUES)]:
        page = Page(masterpagename=master)
        for kind, content in [("title", title), (None, text)]:
            frame = Frame(width="200mm", height="40mm", x="10mm", y="10mm")
            if kind:
                frame.setAttrNS(PRESENTATIONNS, "class", kind)
            box = TextBox()
            box.addElement(P(text=content))
            frame.addElement(box)
            page.addElement(frame)
        document.presentation.addElement(page)
    document.save(HERE / "mill.odp")
    words("mill.odp", "Slide 1", TITLE, INTRO, "Slide 2", "Dues", DUES)


def epub():
    from ebooklib import epub

    book = epub.EpubBook()
    book.set_identifier("mill")
    book.set_title(TITLE)
    book.set_language("en")
    book.add_author(AUTHOR)
    book.add_metadata("DC", "date", "2031-03-10")
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in TABLE)
    steps = "".join(f"<li>{step}</li>" for step in STEPS)
    texts = {
        "The mill": f"<h1>The mill</h1><p>{INTRO}</p>",
        "Dues": f"<h1>Dues</h1><p>{DUES.replace('&', '&amp;')}</p><table>{rows}</table>",
        "Working the gate": f"<h1>Working the gate</h1><h2>Steps</h2><ol>{steps}</ol><p>{CLOSING}</p>",
    }
    chapters = []
    for number, (title, text) in enumerate(texts.items(), 1):
        chapter = epub.EpubHtml(title=title, file_name=f"chapter {number}.xhtml", lang="en")
        chapter.content = text
        book.add_item(chapter)
        chapters.append(chapter)
    book.toc = chapters
    book.add_item(epub.EpubNcx())
    book.add_item(epub.EpubNav())
    book.spine = chapters
    epub.write_epub(HERE / "mill.epub", book)
    words("mill.epub", "The mill", INTRO, "Dues", DUES, table_words(), "Working the gate", "Steps",
          *[f"{number}. {step}" for number, step in enumerate(STEPS, 1)], CLOSING)


def plain():
    rows = [";".join(f'"{cell}"' if ";" in cell else cell for cell in row) for row in TABLE]
    (HERE / "mill.csv").write_bytes("\r\n".join(rows).encode("cp1252"))
    words("mill.csv", table_words())
    japanese = ["施設,入場料,休館日", "潮汐発電所の見学,五百円,月曜日と祝日", "水車小屋の案内つき見学,無料です,なし", "堤防の散歩道,いつでも無料です,なし"]
    (HERE / "japanese.csv").write_bytes("\n".join(japanese).encode("shift_jis"))
    words("japanese.csv", *[line.replace(",", " ") for line in japanese])
    (HERE / "mill.tsv").write_text("\n".join("\t".join(row) for row in TABLE), encoding="utf-8")
    words("mill.tsv", table_words())
    objects = [dict(zip(TABLE[0], row)) for row in TABLE[1:]]
    data = {"title": TITLE, "author": AUTHOR, "date": "2031-03-10", "intro": INTRO, "dues": objects, "gate": {"steps": STEPS}}
    (HERE / "mill.json").write_text(json.dumps(data, ensure_ascii=False, indent=1), encoding="utf-8")
    words("mill.json", "title", TITLE, "author", AUTHOR, "date 2031-03-10 intro", INTRO, "dues", table_words(), "gate steps", *STEPS)
    (HERE / "mill.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in objects), encoding="utf-8")
    words("mill.jsonl", table_words())
    boats = "".join(f'<boat><name>{row[0]}</name><dues unit="crowns">{row[1]}</dues></boat>' for row in TABLE[1:])
    (HERE / "mill.xml").write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE mill [<!ENTITY own "never seen">]>\n<mill><info><title>{TITLE}</title><author>{AUTHOR}</author>'
        f"<date>2031-03-10</date></info><section><title>Dues</title><para>{DUES.replace('&', '&amp;')} &own;</para>"
        f"<boats>{boats}</boats></section></mill>",
        encoding="utf-8")
    words("mill.xml", TITLE, "author", AUTHOR, "date 2031-03-10", "Dues", DUES, "name dues",
          *[f"{row[0]} {row[1]}" for row in TABLE[1:]])
    width = [max(len(row[column]) for row in TABLE) for column in range(3)]
    line = "+" + "+".join("-" * (size + 2) for size in width) + "+"
    drawn = [line]
    for at, row in enumerate(TABLE):
        drawn.append("|" + "|".join(f" {text.replace('|', '/'):<{size}} " for text, size in zip(row, width)) + "|")
        drawn.append(line.replace("-", "=") if at == 0 else line)
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(STEPS, 1))
    rule = "=" * len(TITLE)
    (HERE / "mill.rst").write_text(
        f"{rule}\n{TITLE}\n{rule}\n\n:Author: {AUTHOR}\n:Date: 2031-03-10\n\n.. never seen\n\n{INTRO}\n\nDues\n----\n\n{DUES} See `the board"
        f" <https://board.test/>`_.\n\n" + "\n".join(drawn) + f"\n\n.. warning:: **{STEPS[0]}** first.\n\nSteps\n~~~~~\n\n{steps}\n\n::\n\n    sluice --open 0.33\n",
        encoding="utf-8")
    words("mill.rst", TITLE, "Author", AUTHOR, "Date 2031-03-10", INTRO, "Dues", DUES, "See the board.", table_words().replace("|", "/"),
          STEPS[0], "first.", "Steps", *[f"{number}. {step}" for number, step in enumerate(STEPS, 1)], "sluice --open 0.33")


def chrome():
    """A page as a browser prints it: kerned, justified and spaced text."""
    import subprocess
    import tempfile

    narrow = "Justified text of a narrow column, where the browser stretches the spaces of each line, and 14,200 crowns."
    spaced = "The reserve holds 14,200 crowns in letter-spaced text."
    rows = "".join(f"<tr><td>{row[0]}<td>{row[1]}" for row in TABLE[1:])
    page = (f"<html lang=en><head><title>{TITLE}</title></head><body style=\"font-family: 'DejaVu Sans'\"><h1>Office of the reserve</h1>"
            f"<p>{INTRO}</p><p>AVATAR Wave. Yield To figures.</p><p style='letter-spacing: 0.12em'>{spaced}</p>"
            f"<p style='text-align: justify; width: 300px'>{narrow}</p><p style='font: 9px serif'>{DUES}</p><table>{rows}</table></body></html>")
    with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
        file.write(page)
        file.flush()
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
                        f"--print-to-pdf={HERE / 'chrome.pdf'}", f"file://{file.name}"], check=True, capture_output=True)
    words("chrome.pdf", "Office of the reserve", INTRO, "AVATAR Wave. Yield To figures.", spaced, narrow, DUES,
          *[f"{row[0]} {row[1]}" for row in TABLE[1:]], "page 1")


def html():
    (HERE / "tables.html").write_text(
        f"<html><head><title>{TITLE}</title><meta name=author content='{AUTHOR}'><script type='application/ld+json'>"
        '{"@type":"Article","datePublished":"2031-03-10"}</script></head><body><nav><a href=x>Never seen</a></nav><article>'
        f"<h1>{TITLE}</h1><p>{INTRO}</p><p>{DUES.replace('&', '&amp;')}</p><table><tr><th>Quarter<th>Fares<th>Rate</tr>"
        "<tr><td rowspan=2>Q1<td>4,100<td>4,300</tr><tr><td>610<td>7</tr></table><dl><dt>Opening<dd>1931<dt>Cost<dd>4 crowns</dl>"
        "<p>Leakage is about 10<sup>3</sup> litres. The of\ufb01ce \ufb02oods. \uff11\uff14 boats.</p></article></body></html>",
        encoding="utf-8")
    words("tables.html", TITLE, INTRO, DUES, "Quarter Fares Rate Q1 4,100 4,300 Q1 610 7", "Opening 1931 Cost 4 crowns",
          "Leakage is about 10³ litres. The office floods. 14 boats.")


for make in (chrome, html, docx, pptx, xlsx, far, odt, ods, odp, epub, plain):
    make()
