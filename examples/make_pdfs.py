#!/usr/bin/env python3
"""Regenerate the PDF files of the example library.

The five PDF documents below examples/library/ are made from the text in this
script, so that they can be reviewed and changed like source code. The output
is deterministic: the same version of reportlab writes the same bytes.

    python3 -m venv venv
    venv/bin/pip install reportlab==5.1.0
    venv/bin/python examples/make_pdfs.py

The contract summary uses an embedded, subsetted TrueType font (Bitstream Vera,
which comes with reportlab); the other files use the standard PDF fonts. So
both ways of storing text are exercised when the library is indexed.
"""

import os
from xml.sax.saxutils import escape

import reportlab
from reportlab import rl_config
from reportlab.lib import colors
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import (
    ListFlowable,
    ListItem,
    PageBreak,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)

rl_config.invariant = 1  # fixed dates and document ids
rl_config.useA85 = 0  # plain deflate streams

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "library")

# Block kinds: a string is a paragraph; ("h", text) a heading; ("list", [..]) a
# bulleted list; ("table", rows) a table with a header row; ("meta", text) a
# small line under the title; ("page",) a page break.

HANDBOOK_2030 = [
    ("meta", "Fifth edition, issued 15 September 2030 by Tobias Wrenfield, head of operations"),
    ("meta", "This edition replaces all earlier ones. Please destroy old copies."),
    ("h", "1 Whom this book is for"),
    "It is for everybody who works on, in or above the water for the Tarnvey Tidal Cooperative, including divers "
    "and the engineers of our suppliers. Where it differs from a supplier's manual, the stricter rule counts.",
    ("h", "2 Duty desk"),
    "The control room on Mole Street is staffed day and night. Shifts change at 06:00 and 18:00. The duty desk "
    "answers on extension 31 and listens on VHF channel 12. The exclusion zone around the turbines is set by the "
    "harbour master; the notice in force hangs beside the desk.",
    ("h", "3 Work from the boat"),
    "The workboat Wrasse leaves the Mole with a crew of three or not at all: a skipper, a deckhand and a "
    "person who does nothing but watch. Nobody goes out above wind force 5. Before the boat enters the exclusion "
    "zone the rotor is locked and the skipper hears the words \"locked and tagged\" from the desk.",
    ("page",),
    ("h", "4 Diving"),
    "Divers work only around slack water. Nobody enters the water while the current is above 0.3 m/s, measured at "
    "the depth of the work and not at the surface. The working window is at most 25 minutes for each slack. "
    "A standby diver sits dressed on deck. A dive that has been broken off is not resumed on the same tide.",
    ("h", "5 Inspections"),
    "Every turbine is inspected every six months. Bolts of the blade roots are tightened to 480 Nm. Seals are changed when "
    "they are harder than 75 Shore A, and at the latest after two years.",
    ("h", "6 Wildlife"),
    "The sonar stops a turbine when a seal or a porpoise comes within 300 metres. The rotor may start again after "
    "20 minutes without a contact. Every stop is reported to Dr Liesbet Anyango.",
    ("page",),
    ("h", "7 Alarms"),
    "A red alarm locks the rotor by itself. The duty operator informs the head of operations within 15 minutes and "
    "the supplier before 09:00 on the same day. Nobody guesses at a cause in writing before the machine has been looked at.",
    ("h", "8 Records"),
    "Logs, delivery notes and dive sheets are kept for ten years in the workshop.",
    ("h", "9 What is new in this edition"),
    ("table", [
        ["Subject", "Third edition, 2028", "This edition"],
        ["Crew of the workboat", "two", "three"],
        ["Current for divers, at most", "0.5 m/s", "0.3 m/s"],
        ["Working window per slack", "40 minutes", "25 minutes"],
        ["Inspection interval", "twelve months", "six months"],
        ["Stopping distance for seals", "150 metres", "300 metres"],
        ["Records kept for", "six years", "ten years"],
    ]),
    "The fourth edition of 2029 was never printed; it differed from the third only in the telephone numbers.",
]

HANDBOOK_2028 = [
    ("meta", "Third edition, issued 1 February 2028 by Tobias Wrenfield, head of operations"),
    ("h", "1 Whom this book is for"),
    "It is for everybody who works on, in or above the water for the Tarnvey Tidal Cooperative. It has been "
    "enlarged by a chapter on wildlife, because our environment officer has asked for one, and it already takes "
    "account of the second turbine, which will be installed this autumn.",
    ("h", "2 Duty desk"),
    "The control room on Mole Street is staffed from 06:00 to 22:00; at night the duty operator sleeps next door. "
    "The duty desk answers on extension 14 and listens on VHF channel 12. The exclusion zone is 200 metres, see "
    "Notice 4/2027 of the harbour office.",
    ("h", "3 Work from the boat"),
    "The workboat Wrasse leaves the Mole with a crew of two, a skipper and a deckhand. Nobody goes out above wind "
    "force 5. Before the boat enters the exclusion zone the rotor is locked.",
    ("page",),
    ("h", "4 Diving"),
    "Divers work only around slack water. Nobody enters the water while the current is above 0.5 m/s. The working "
    "window is at most 40 minutes for each slack. A standby diver sits dressed on deck.",
    ("h", "5 Inspections"),
    "Every turbine is inspected every twelve months, if possible in March. Bolts of the blade roots are tightened "
    "to 450 Nm. Seals are changed when they look worn.",
    ("h", "6 Wildlife"),
    "The sonar stops a turbine when a seal or a porpoise comes within 150 metres. The rotor may start again after "
    "ten minutes without a contact. Every stop is reported to Dr Liesbet Anyango.",
    ("h", "7 Alarms"),
    "A red alarm locks the rotor by itself. The duty operator informs the head of operations in the morning, or at "
    "once if somebody is hurt.",
    ("h", "8 Records"),
    "Logs and dive sheets are kept for six years.",
]

INCIDENT = [
    ("meta", "Final report, 20 January 2031"),
    ("meta", "Author: Tobias Wrenfield. Checked by Ysolde Farr. Replaces the note of 14 November 2030."),
    ("h", "1 Summary"),
    "On Monday 11 November 2030 at 02:47 the turbine Petrel stopped with a red alarm. It was back in service on "
    "30 November 2030 at 16:20, after 19 days. Nobody was hurt and nothing was spilled. The cause was a faulty "
    "seal in blade 2, which let sea water into the pitch bearing until the bearing seized.",
    ("h", "2 What happened"),
    ("table", [
        ["Time", "Event"],
        ["11 Nov, 02:47", "Alarm; Bram Lockyer locks the rotor"],
        ["11 Nov, 08:10", "Hovendrift informed by telephone"],
        ["13 Nov", "Camera shows kelp around the hub"],
        ["15 Nov, 09:30", "Hovendrift's engineer arrives"],
        ["16 Nov", "Divers remove the kelp; blade 2 still does not move"],
        ["22 Nov", "Blade 2 lifted on board the barge Oline"],
        ["30 Nov, 16:20", "Petrel back in service"],
    ]),
    ("page",),
    ("h", "3 Cause"),
    "The seals of Petrel were renewed on 3 July 2030 with parts from batch HR-2217. Two of the six seals taken out in "
    "November had a hardness of 88 Shore A; at most 75 is allowed. The seal of blade 2 had cracked along half "
    "its length. Salt water washed the grease out of the bearing within weeks.",
    "The first assumption, that marine growth had blocked the blade, was wrong. The kelp had gathered only after the "
    "rotor had stopped. It should not have been written down as a cause before the machine was opened.",
    "Seals of the same batch sat in Skua and were changed on 8 December 2030. Heron has seals of an older make.",
    ("h", "4 Cost"),
    ("table", [
        ["Item", "EUR"],
        ["Barge, divers and crew", "38,700"],
        ["Bearing, seals and other parts", "21,500"],
        ["Power bought in for the 158 MWh lost", "23,200"],
        ["Total", "83,400"],
    ]),
    "A claim against the supplier was sent with this report. Its outcome is not known at the time of writing.",
    ("page",),
    ("h", "5 Recommendations"),
    ("list", [
        "R1: Measure the hardness of every seal before it is fitted, and write its batch number into the log.",
        "R2: Listen to the pitch bearings with a microphone at every slack water and raise an alarm when they get louder.",
        "R3: Keep two spare bearing sets in Skelderwick. The set for Petrel took eight days to arrive.",
    ]),
    ("h", "6 What went well"),
    "The night shift reacted within a minute. The repair was done without a single dive above the limit for "
    "current in the new handbook. The island was never without power, because the Pellermouth cable carried the "
    "whole load for five hours on 22 November, when Heron and Skua were stopped to let the barge work.",
    ("h", "7 Related documents"),
    "Outage log 2030, number 08. Operations handbook, fifth edition, chapters 4, 5 and 7. Contract TTC-2026-03 "
    "with Hovendrift Rotorbau GmbH.",
]

ANNUAL = [
    ("meta", "Tarnvey Tidal Cooperative. Approved by the board for the general meeting; 24 February 2031"),
    ("h", "A year with three turbines, mostly"),
    "On 22 May 2030 Skua went into service and for the first time the island had three turbines. For nineteen days in "
    "November it had two again. What happened to Petrel is told in incident report IR-2030-07; here it is enough to "
    "say that the year was still the best so far. We produced 8,240 MWh, two fifths more than in 2029.",
    ("table", [
        ["MWh", "2029", "2030"],
        ["Heron", "3,020", "3,050"],
        ["Petrel", "2,860", "2,710"],
        ["Skua", "-", "2,480"],
        ["Total", "5,880", "8,240"],
    ]),
    "Of this, 6,910 MWh were used on the island, 1,120 MWh went to the mainland and 210 MWh were lost in the cables. "
    "The island used 12,900 MWh in all, so that 5,990 MWh had to be bought in.",
    ("page",),
    ("h", "Members and staff"),
    "During the year 168 people joined and 27 left. On 31 December 2030 the cooperative had 1,187 members, against "
    "1,046 a year before. Fourteen people work for us, two of them apprentices.",
    ("h", "Accounts"),
    ("table", [
        ["Income and expenditure 2030", "EUR"],
        ["Power sold on the island", "2,431,000"],
        ["Power sold to the mainland", "92,000"],
        ["Other income", "31,000"],
        ["Power bought in", "-881,000"],
        ["Wages and salaries", "-624,000"],
        ["Loans and interest", "-553,000"],
        ["Maintenance and repairs", "-322,000"],
        ["Insurance, office, other", "-116,000"],
        ["Surplus", "58,000"],
    ]),
    "The surplus goes into the repair reserve, which thereby grows from EUR 412,000 to EUR 470,000. The payment agreed "
    "with Hovendrift in February 2031 will appear in the accounts of next year.",
    ("page",),
    ("h", "Wildlife"),
    "Dr Liesbet Anyango counted 158 grey seals in September, seven more than in 2029. Her report is available "
    "at the office.",
    ("h", "Outlook"),
    "For 2031, our first full year with three machines, we expect 10,700 MWh. The new tariffs came into force on "
    "1 January. The battery in the ice house, decided on 11 February, will keep us busy until the autumn of 2032. "
    "After that the second shore cable has its turn.",
    ("h", "Thanks"),
    "To the crew of the Oline, who lifted a blade of three tonnes in a swell that had no business being there; to the "
    "bakery in Upper Town, which sent rolls to the control room every morning for nineteen days; and to 1,187 owners who "
    "asked when Petrel would be back, but seldom more than once a day.",
    "Ottoline Varga, chair, and Seraphine Mokrani, managing director",
]

CONTRACT = [
    ("meta", "Summary for members, prepared by Seraphine Mokrani, 8 October 2030"),
    ("meta", "The full contract may be read in the office. Only its wording is binding."),
    ("h", "Parties and subject"),
    "The contract was signed on 22 August 2026 between the Tarnvey Tidal Cooperative and Hovendrift Rotorbau GmbH, "
    "Norderwarf (“Lieferung und Wartung von Gezeitenturbinen”). It covers the delivery of Heron and "
    "Petrel, an option on a third turbine and the service for all of them. The option was taken up on "
    "12 January 2029 and became Skua.",
    ("h", "Prices"),
    ("table", [
        ["Turbine", "Price", "Warranty ends"],
        ["Heron", "€4.10 million", "17 June 2032"],
        ["Petrel", "€3.75 million", "5 October 2033"],
        ["Skua", "€5.20 million", "22 May 2035"],
    ]),
    "Installation is not included. The warranty runs for 60 months from the day on which a turbine goes into service.",
    ("page",),
    ("h", "Service"),
    ("list", [
        "Response time: 72 hours. By then an engineer (“Monteur”) must be on the island, counted from a call by telephone.",
        "For each day begun after that, Hovendrift pays a penalty of EUR 1,200.",
        "Delays of the ferry or of trains are Hovendrift's own risk.",
        "Spare parts are kept available for 15 years.",
    ]),
    ("h", "Liability"),
    "Where a delivered part is faulty, Hovendrift bears the cost of repair and of the power that has to be bought in. "
    "Its liability is limited to EUR 75,000 for each incident, penalties included. Growth on the blades, "
    "collisions and errors in operation are the cooperative's own affair.",
    ("h", "End of the contract"),
    "The service part runs until 31 December 2036. It is prolonged by two years at a time unless one side gives notice "
    "of nine months. Disputes go first to a mediator, whom the two mayors name together, and only then to the court "
    "in Pellermouth.",
]

DOCUMENTS = [
    ("handbook.pdf", "Operations handbook, fifth edition", "Tobias Wrenfield", HANDBOOK_2030, False),
    ("archive/handbook-2028.pdf", "Operations handbook, third edition", "Tobias Wrenfield", HANDBOOK_2028, False),
    ("reports/incident-ir-2030-07.pdf", "Incident report IR-2030-07: Petrel out of service", "Tobias Wrenfield", INCIDENT, False),
    ("reports/annual-report-2030.pdf", "Annual report 2030", "Tarnvey Tidal Cooperative", ANNUAL, False),
    ("contracts/hovendrift-summary.pdf", "Contract TTC-2026-03 with Hovendrift Rotorbau: a summary", "Seraphine Mokrani", CONTRACT, True),
]


def fonts(embedded):
    if not embedded:
        return "Times-Roman", "Times-Bold", "Times-Italic"
    folder = os.path.join(os.path.dirname(reportlab.__file__), "fonts")
    for name, file in (("Vera", "Vera.ttf"), ("VeraBd", "VeraBd.ttf")):
        pdfmetrics.registerFont(TTFont(name, os.path.join(folder, file)))
    return "Vera", "VeraBd", "Vera"


def build(path, title, author, blocks, embedded):
    regular, bold, italic = fonts(embedded)
    size = 9.5 if embedded else 10.5
    body = ParagraphStyle("body", fontName=regular, fontSize=size, leading=size * 1.35, spaceAfter=6)
    head = ParagraphStyle("head", parent=body, fontName=bold, fontSize=size + 2, leading=size * 1.6, spaceBefore=8, keepWithNext=1)
    name = ParagraphStyle("name", parent=body, fontName=bold, fontSize=size + 6, leading=size * 2.1, spaceAfter=8)
    meta = ParagraphStyle("meta", parent=body, fontName=italic, spaceAfter=3)
    cell = ParagraphStyle("cell", parent=body, spaceAfter=0)
    strong = ParagraphStyle("strong", parent=cell, fontName=bold)

    story = [Paragraph(escape(title), name)]
    for block in blocks:
        if isinstance(block, str):
            story.append(Paragraph(escape(block), body))
        elif block[0] == "h":
            story.append(Paragraph(escape(block[1]), head))
        elif block[0] == "meta":
            story.append(Paragraph(escape(block[1]), meta))
        elif block[0] == "list":
            items = [ListItem(Paragraph(escape(text), body)) for text in block[1]]
            story.append(ListFlowable(items, bulletType="bullet", start="-", bulletFontName=regular, leftIndent=12))
        elif block[0] == "table":
            rows = block[1]
            data = [[Paragraph(escape(c), strong if i == 0 else cell) for c in row] for i, row in enumerate(rows)]
            longest = [max(15, max(len(row[i]) for row in rows)) for i in range(len(rows[0]))]
            width = A5[0] - 36 * mm - 12
            widths = [width * n / max(sum(longest), 45) for n in longest]
            table = Table(data, colWidths=widths, hAlign="LEFT", repeatRows=1)
            table.setStyle(TableStyle([
                ("LINEBELOW", (0, 0), (-1, 0), 0.8, colors.black),
                ("LINEBELOW", (0, 1), (-1, -1), 0.3, colors.grey),
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ]))
            story += [table, Spacer(1, 8)]
        elif block[0] == "page":
            story.append(PageBreak())

    def footer(canvas, doc):
        canvas.saveState()
        canvas.setFont(regular, 7.5)
        canvas.drawString(18 * mm, 10 * mm, title)
        canvas.drawRightString(A5[0] - 18 * mm, 10 * mm, "Page %d" % doc.page)
        canvas.restoreState()

    target = os.path.join(LIBRARY, *path.split("/"))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    SimpleDocTemplate(
        target, pagesize=A5, title=title, author=author, subject="Fathom example library", creator="make_pdfs.py",
        leftMargin=18 * mm, rightMargin=18 * mm, topMargin=16 * mm, bottomMargin=18 * mm,
    ).build(story, onFirstPage=footer, onLaterPages=footer)


if __name__ == "__main__":
    for document in DOCUMENTS:
        build(*document)
        print(document[0])
