//! Charts of office documents as tables: the numbers that they were drawn from stand in them.

use std::{
    collections::{BTreeMap, HashMap},
    ops::RangeInclusive,
};

use calamine::{ExcelDateTime, ExcelDateTimeType};

use super::{
    number_format,
    package::{Package, Relation},
    table, text,
    xml::Element,
};

/// Lines, bars or the like of one chart, and points of each; what follows is not read.
const MAX_SERIES: usize = 60;
const MAX_POINTS: usize = 2_000;

/// Days that Excel knows, from 1900 to 9999.
const DAYS: RangeInclusive<f64> = 1.0..=2_958_465.0;

/// Texts or numbers by their places.
type Points = BTreeMap<usize, String>;

struct Series {
    name: String,
    categories: Points,
    values: Points,
}

/// Returns what the charts say that a part shows, by the ids of their relations.
pub(super) fn all(package: &mut Package<'_>, relations: &HashMap<String, Relation>) -> HashMap<String, String> {
    let charts = relations.iter().filter(|(_, relation)| relation.kind == "chart");
    let read = charts.filter_map(|(id, chart)| Some((id.clone(), text(&package.extra(&chart.target)?.root))));
    read.collect()
}

/// Returns what a chart says: its title, and a table for the series that share their categories.
fn text(root: &Element) -> String {
    let Some(chart) = root.child("chart") else { return String::new() };
    let counts_from_1904 = root.has_switched_on("date1904");
    let area = chart.child("plotArea");
    let axis = |names: &[&str]| {
        let axes = area.into_iter().flat_map(Element::elements).filter(|axis| names.contains(&&*axis.name));
        let titles: Vec<String> = axes.filter_map(title).collect();
        titles.join(", ")
    };
    let (categories, units) = (axis(&["catAx", "dateAx"]), axis(&["valAx"]));
    let units = if units.is_empty() { units } else { format!("({units})") };
    let mut pieces = vec![text::one_line(&format!("{} {units}", title(chart).unwrap_or_default()))];
    // Series that a filter took out of the chart stand deeper.
    let plots = area.into_iter().flat_map(Element::elements);
    let all = plots.flat_map(|plot| std::iter::once(plot).chain(plot.elements())).filter(|it| &*it.name == "ser");
    let all: Vec<Series> = all.take(MAX_SERIES).map(|series| Series::of(series, counts_from_1904)).collect();
    for alike in all.chunk_by(|one, next| one.categories == next.categories) {
        pieces.push(table::markdown(rows(&categories, alike)));
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces.join("\n\n")
}

/// Returns the title of a chart or an axis.
fn title(element: &Element) -> Option<String> {
    let title = element.at(&["title", "tx"])?;
    let mut lines = Vec::new();
    for name in ["p", "v"] {
        title.each(name, &mut |line| lines.push(line_of(line)));
    }
    Some(text::one_line(&lines.join(" "))).filter(|title| !title.is_empty())
}

/// Returns a paragraph of a title; what goes on behind a break is another word.
fn line_of(paragraph: &Element) -> String {
    if paragraph.elements().next().is_none() {
        return paragraph.text();
    }
    let runs = paragraph.elements().map(|run| if &*run.name == "br" { " ".to_owned() } else { run.text() });
    runs.collect()
}

/// Returns the rows of a table, a column for each series.
fn rows(categories: &str, series: &[Series]) -> Vec<Vec<String>> {
    let head = std::iter::once(categories.to_owned()).chain(series.iter().map(|series| series.name.clone()));
    let mut places: Vec<usize> = series.iter().flat_map(|series| series.values.keys().copied()).collect();
    places.sort_unstable();
    places.dedup();
    let cell = |points: &Points, place: usize| points.get(&place).cloned().unwrap_or_default();
    let row = |place: usize| {
        let category = series.first().map(|series| cell(&series.categories, place)).unwrap_or_default();
        std::iter::once(category).chain(series.iter().map(|series| cell(&series.values, place))).collect()
    };
    std::iter::once(head.collect()).chain(places.into_iter().map(row)).collect()
}

impl Series {
    fn of(element: &Element, counts_from_1904: bool) -> Self {
        let points_of = |names: [&str; 2]| {
            let found = names.iter().find_map(|name| element.child(name));
            found.map(|found| points(found, counts_from_1904)).unwrap_or_default()
        };
        let name = element.child("tx").and_then(|name| name.find("v")).and_then(Element::line);
        Self {
            name: name.unwrap_or_default(),
            categories: points_of(["cat", "xVal"]),
            values: points_of(["val", "yVal"]),
        }
    }
}

/// Returns the points below an element; of those in several levels, the outer names stand before the inner ones.
fn points(element: &Element, counts_from_1904: bool) -> Points {
    let mut levels = Vec::new();
    element.each("lvl", &mut |level| levels.push(level));
    let mut levels = levels.into_iter().map(|level| points_of_level(level, |value| value.to_owned()));
    let Some(mut inner) = levels.next() else {
        let format = element.find("formatCode").map(Element::text);
        return points_of_level(element, |value| match &format {
            Some(format) => shown(value, format, counts_from_1904),
            None => value.to_owned(),
        });
    };
    for outer in levels {
        for (place, name) in &mut inner {
            if let Some((_, above)) = outer.range(..=*place).next_back() {
                *name = format!("{above} {name}");
            }
        }
    }
    inner
}

fn points_of_level(level: &Element, shown: impl Fn(&str) -> String) -> Points {
    let mut points = Points::new();
    level.each("pt", &mut |point| {
        let place = point.attribute("idx").and_then(|place| place.parse().ok()).filter(|place| *place < MAX_POINTS);
        let value = point.child("v").and_then(Element::line);
        if let (Some(place), Some(value)) = (place, value) {
            points.insert(place, shown(&value));
        }
    });
    points
}

/// Returns a number as its format shows it: as a share or a day, else plain.
fn shown(value: &str, format: &str, counts_from_1904: bool) -> String {
    let Ok(number) = value.parse::<f64>() else { return value.to_owned() };
    if format.contains('%') {
        return format!("{}%", number_format::plain(number * 100.0));
    }
    let format = without_place(format);
    let says_day = ["yy", "mmm", "d"].iter().any(|part| format.to_ascii_lowercase().contains(part));
    if says_day && DAYS.contains(&number) && !format.contains(['"', '[', '0', '#']) {
        let day = ExcelDateTime::new(number, ExcelDateTimeType::DateTime, counts_from_1904);
        let (year, month, day, ..) = day.to_ymd_hms_milli();
        return format!("{year:04}-{month:02}-{day:02}");
    }
    number_format::plain(number)
}

/// Returns a format without the place whose language it is for, which stands before it: `[$-409]mmm yy`.
fn without_place(format: &str) -> &str {
    format.strip_prefix("[$-").and_then(|rest| rest.split_once(']')).map_or(format, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::{super::xml, *};

    fn points(kind: &str, format: &str, values: &[&str]) -> String {
        let points: String =
            values.iter().enumerate().map(|(at, value)| format!("<pt idx='{at}'><v>{value}</v></pt>")).collect();
        format!("<{kind}><formatCode>{format}</formatCode>{points}</{kind}>")
    }

    fn series(name: &str, categories: &str, values: &str) -> String {
        format!("<ser><tx><strRef><v>{name}</v></strRef></tx><cat>{categories}</cat><val>{values}</val></ser>")
    }

    fn read(title: &str, inside: &str) -> String {
        let title = format!("<title><tx><rich><p><r><t>{title}</t></r></p></rich></tx></title>");
        let source = format!("<chartSpace><chart>{title}<plotArea>{inside}</plotArea></chart></chartSpace>");
        text(&xml::parse(&source).unwrap().root)
    }

    #[test]
    fn series_are_columns_beside_their_categories() {
        let years = points("strCache", "", &["2023", "2024"]);
        let fares = series("Fares", &years, &points("numCache", "General", &["4.6", "5.2"]));
        let shares = series("Share", &years, &points("numCache", "0%", &["0.31", "0.14"]));
        let axis = "<valAx><title><tx><rich><p><r><t>EUR</t></r><br/><r><t>mil</t></r><r><t>lion</t></r></p></rich></tx></title></valAx>";
        assert_eq!(
            read("Revenue", &format!("<barChart>{fares}{shares}</barChart>{axis}")),
            "Revenue (EUR million)\n\n| | Fares | Share |\n| --- | --- | --- |\n| 2023 | 4.6 | 31% |\n| 2024 | 5.2 | 14% |"
        );
        let days = points("numCache", "d.m.yyyy", &["45352"]);
        let other = series("Dues", &days, &points("numCache", "General", &["7"]));
        assert_eq!(read("", &other), "| | Dues |\n| --- | --- |\n| 2024-03-01 | 7 |");
    }

    #[test]
    fn days_are_counted_as_the_chart_says() {
        let day = |format: &str, before: &str| {
            let series = series("Dues", &points("numCache", format, &["45352"]), &points("numCache", "", &["7"]));
            let source = format!("<chartSpace>{before}<chart><plotArea>{series}</plotArea></chart></chartSpace>");
            let text = text(&xml::parse(&source).unwrap().root);
            text.lines().last().unwrap_or_default().to_owned()
        };
        assert_eq!(day("[$-409]mmm\\-yy;@", ""), "| 2024-03-01 | 7 |");
        assert_eq!(day("d.m.yyyy", "<date1904 val='0'/>"), "| 2024-03-01 | 7 |");
        assert_eq!(day("d.m.yyyy", "<date1904 val='1'/>"), "| 2028-03-02 | 7 |");
        assert_eq!(day("d.m.yyyy", "<date1904/>"), "| 2028-03-02 | 7 |");
    }

    #[test]
    fn series_that_a_filter_took_out_are_not_shown() {
        let values = points("numCache", "", &["5"]);
        let filtered = format!(
            "<extLst><ext><filteredBarSeries>{}</filteredBarSeries></ext></extLst>",
            series("Costs", "", &values)
        );
        let said = read("Two  lines", &format!("<barChart>{}{filtered}</barChart>", series("Dues", "", &values)));
        assert_eq!(said, "Two lines\n\nDues\n5");
    }

    #[test]
    fn the_lines_of_a_title_are_apart() {
        let lines =
            "<title><tx><rich><p><r><t>Rev</t></r><r><t>enue</t></r></p><p><r><t>EUR</t></r></p></rich></tx></title>";
        let source = format!("<chartSpace><chart>{lines}<plotArea/></chart></chartSpace>");
        assert_eq!(text(&xml::parse(&source).unwrap().root), "Revenue EUR");
    }

    #[test]
    fn categories_of_several_levels_are_one() {
        let point = |at: usize, text: &str| format!("<pt idx='{at}'><v>{text}</v></pt>");
        let quarters = point(0, "Q3") + &point(1, "Q4") + &point(2, "Q1");
        let years = point(0, "2023") + &point(2, "2024");
        let levels = format!("<multiLvlStrCache><lvl>{quarters}</lvl><lvl>{years}</lvl></multiLvlStrCache>");
        let read = read("", &series("Dues", &levels, &points("numCache", "General", &["1", "2", "3"])));
        assert!(read.ends_with("| 2023 Q3 | 1 |\n| 2023 Q4 | 2 |\n| 2024 Q1 | 3 |"), "{read}");
    }

    #[test]
    fn a_chart_of_a_million_points_is_bounded() {
        let far = "<pt idx='999999999'><v>1</v></pt>".repeat(3) + &points("numCache", "", &["5"; 5_000]);
        let read = read("Tides", &series("Height", "", &far));
        assert_eq!(read.lines().count(), MAX_POINTS + 3, "a line for each, below the title and the name");
    }
}
