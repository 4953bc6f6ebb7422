//! What kind of line a line is, as CommonMark has it: fences, headings over source lists, definitions.
//!
//! Lists and block quotations are followed as far as single lines show. Where that is not far enough, a line counts as
//! text, which is the safe side: text is cleaned, code is not.

use super::{
    address::{self, is_address},
    entries::{Form, label},
    ids::ids_in,
    scan::OPENING,
};
use crate::text::is_in;

/// Behind the last full stop in the name of a file that a link leads to.
const FILE_ENDINGS: &str = "pdf htm html md txt csv doc docx xls xlsx ppt pptx";

/// Headings under which models list sources, lower case.
const SOURCE_HEADINGS: [&str; 83] = [
    "sources",
    "source list",
    "sources used",
    "sources cited",
    "list of sources",
    "references",
    "reference list",
    "sources and references",
    "references and sources",
    "bibliography",
    "works cited",
    "citations",
    "quellen",
    "quellenverzeichnis",
    "quellenangaben",
    "literatur",
    "literaturverzeichnis",
    "références",
    "bibliographie",
    "fuentes",
    "referencias",
    "bibliografía",
    "fonti",
    "riferimenti",
    "bibliografia",
    "fontes",
    "referências",
    "bronnen",
    "bronnenlijst",
    "источники",
    "список источников",
    "المصادر",
    "المراجع",
    "来源",
    "sources & references",
    "references & sources",
    "sources and further reading",
    "sources & further reading",
    "cited sources",
    "cited references",
    "quellennachweise",
    "einzelnachweise",
    "quellen und literatur",
    "verwendete quellen",
    "引用来源",
    "参考链接",
    "参考来源列表",
    "资料来源",
    "資料來源",
    "参考文献",
    "参考资料",
    "参考来源",
    "出典",
    "출처",
    "참고문헌",
    "список литературы",
    "список использованных источников",
    "литература",
    "использованная литература",
    "список літератури",
    "джерела",
    "參考文獻",
    "參考資料",
    "资料出处",
    "參考書目",
    "参考文献一覧",
    "参考サイト",
    "قائمة المراجع",
    "źródła",
    "kaynakça",
    "kaynaklar",
    "källor",
    "referenser",
    "kilder",
    "lähteet",
    "források",
    "zdroje",
    "tài liệu tham khảo",
    "daftar pustaka",
    "πηγές",
    "βιβλιογραφία",
    "מקורות",
    "संदर्भ",
];
/// A heading with one of these in it may stand over sources too, lower case.
const SOURCE_WORDS: [&str; 28] = [
    "source",
    "reference",
    "citation",
    "bibliograph",
    "bibliograf",
    "further reading",
    "quelle",
    "literatur",
    "nachweis",
    "référence",
    "fuente",
    "referencia",
    "fonti",
    "riferiment",
    "fontes",
    "referência",
    "bronnen",
    "источник",
    "ссылк",
    "المصادر",
    "المراجع",
    "来源",
    "文献",
    "文獻",
    "литератур",
    "資料",
    "出典",
    "출처",
];
/// A longer heading says more than that sources follow.
const LONGEST_HEADING: usize = 120;
/// A line over a list is shorter.
const LONGEST_LEAD: usize = 60;
/// The kind of a line shows within so many bytes, or it is an ordinary one.
const HEAD_BYTES: usize = 256;
/// Marks of the shortest fence around code.
pub(super) const SHORTEST_FENCE: usize = 3;
/// Lists in lists that are followed.
const LISTS: usize = 32;

/// What the first characters of a line show.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    Undecided,
    /// The whole line is needed to know.
    Whole,
    Ordinary,
}

/// Judges the beginning of a line.
pub(super) fn head(line: &str) -> Head {
    if line.len() > HEAD_BYTES {
        return Head::Ordinary;
    }
    let rest = without_containers(line);
    match rest.bytes().next() {
        None => Head::Undecided,
        Some(b'#' | b'`' | b'~' | b'[' | b'$' | b'\\') => Head::Whole,
        Some(_) if rest.starts_with(OPENING) => Head::Whole,
        Some(_)
            if behind_title(rest)
                .is_some_and(|list| list.starts_with(['[', '【', '［']) || begins_with_digit(list)) =>
        {
            Head::Whole
        }
        Some(_) if is_part_of_marker(rest) || may_be_title(line.trim()) => Head::Undecided,
        Some(_) => Head::Ordinary,
    }
}

/// Returns a line behind the markers of quotations and list items.
pub(super) fn without_containers(line: &str) -> &str {
    let mut rest = line.trim_start();
    loop {
        let inner = match rest.strip_prefix('>') {
            Some(inner) => Some(inner),
            None => marker(rest).filter(|&width| rest[width..].starts_with([' ', '\t'])).map(|width| &rest[width..]),
        };
        match inner {
            Some(inner) => rest = inner.trim_start(),
            None => return rest,
        }
    }
}

/// Returns the bytes of the list marker (`-`, `12.`) that `text` begins with.
fn marker(text: &str) -> Option<usize> {
    let digits = text.bytes().take(10).take_while(u8::is_ascii_digit).count();
    match text.as_bytes().get(digits)? {
        b'-' | b'*' | b'+' if digits == 0 => Some(1),
        b'.' | b')' if (1..=9).contains(&digits) => Some(digits + 1),
        _ => None,
    }
}

fn is_part_of_marker(rest: &str) -> bool {
    marker(rest) == Some(rest.len()) || (rest.len() <= 9 && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns how many backticks open a block of code that says that it is Markdown.
pub(super) fn opens_markdown(line: &str) -> Option<usize> {
    let name = line.trim_start_matches('`');
    let count = line.len() - name.len();
    let is_markdown = matches!(name.trim().to_ascii_lowercase().as_str(), "markdown" | "md");
    (count >= SHORTEST_FENCE && is_markdown).then_some(count)
}

/// Returns whether a line is the end of a block of code that so many backticks have opened, and nothing else.
pub(super) fn closes_code(line: &str, count: usize) -> bool {
    let line = line.trim_end();
    line.len() >= count && line.bytes().all(|byte| byte == b'`')
}

/// An open fenced code block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    count: usize,
    /// Block quotations it stands in.
    quotes: usize,
    /// Where the content of the list item it stands in begins; 0 outside of lists.
    column: usize,
}

/// What a line inside a fenced code block is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inside {
    Code,
    Closing,
    /// The quotation or list item has ended, and the block with it.
    Outside,
}

impl Fence {
    /// Returns the line that closes it; `None` where it ends with the quotation or list item that it stands in.
    pub(super) fn end(&self) -> Option<String> {
        (self.quotes == 0 && self.column == 0).then(|| self.mark.to_string().repeat(self.count))
    }

    /// Judges a whole line.
    pub(super) fn judge(&self, line: &str) -> Inside {
        let Some(rest) = behind_quotes(line, self.quotes) else { return Inside::Outside };
        let (indent, text) = indented(rest);
        let text = text.trim_end();
        if text.is_empty() {
            return Inside::Code;
        }
        if indent < self.column {
            return Inside::Outside;
        }
        let closes = text.len() >= self.count && text.chars().all(|c| c == self.mark) && indent - self.column <= 3;
        if closes { Inside::Closing } else { Inside::Code }
    }
}

fn behind_quotes(line: &str, quotes: usize) -> Option<&str> {
    let mut rest = line;
    for _ in 0..quotes {
        let (indent, text) = indented(rest);
        rest = text.strip_prefix('>').filter(|_| indent <= 3)?;
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    Some(rest)
}

/// Returns the columns of white space at the front, a tab reaching to the next fourth, and the rest.
fn indented(line: &str) -> (usize, &str) {
    let mut column = 0;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b' ' => column += 1,
            b'\t' => column += 4 - column % 4,
            _ => return (column, &line[at..]),
        }
    }
    (column, "")
}

/// The list items that are open, by the column at which their content begins.
#[derive(Debug, Default)]
pub(super) struct Lists {
    columns: Vec<usize>,
    quotes: usize,
}

impl Lists {
    /// Returns whether a line that follows a blank one is indented so far that it is code. An item of a list is not,
    /// which models indent as they like.
    pub(super) fn is_indented(&self, line: &str) -> bool {
        let (mut quotes, mut rest) = (0, line);
        while let Some(inner) = behind_quotes(rest, 1) {
            (quotes, rest) = (quotes + 1, inner);
        }
        let (column, text) = indented(rest);
        let open = self.columns.iter().rev().find(|&&open| open <= column).filter(|_| quotes == self.quotes);
        column - open.copied().unwrap_or(0) >= 4 && !text.trim().is_empty() && item(text).is_none()
    }

    /// Follows a line outside of fenced code; returns the fence that it opens.
    pub(super) fn follow(&mut self, line: &str) -> Option<Fence> {
        let (mut quotes, mut rest) = (0, line);
        while let Some(inner) = behind_quotes(rest, 1) {
            (quotes, rest) = (quotes + 1, inner);
        }
        let (mut column, mut text) = indented(rest);
        if text.trim_end().is_empty() {
            return None;
        }
        if std::mem::replace(&mut self.quotes, quotes) != quotes {
            self.columns.clear();
        }
        while self.columns.last().is_some_and(|&last| last > column) {
            self.columns.pop();
        }
        while let Some((width, content)) = item(text) {
            if column - self.columns.last().copied().unwrap_or(0) > 3 || self.columns.len() == LISTS {
                return None;
            }
            column += width;
            self.columns.push(column);
            text = content;
        }
        let base = self.columns.last().copied().unwrap_or(0);
        let (mark, count) = opening(text).filter(|_| column - base <= 3)?;
        Some(Fence { mark, count, quotes, column: base })
    }
}

/// Returns the width of a list marker with the space behind it, and the item's first text.
fn item(text: &str) -> Option<(usize, &str)> {
    let width = marker(text)?;
    let (spaces, content) = indented(&text[width..]);
    let content = (1..=4).contains(&spaces).then_some(content).filter(|content| !content.trim().is_empty())?;
    Some((width + spaces, content))
}

/// Returns mark and length of the fence that a line's text may open: backticks have no backtick behind them.
fn opening(text: &str) -> Option<(char, usize)> {
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let count = text.bytes().take_while(|&byte| char::from(byte) == mark).count();
    (count >= 3 && (mark == '~' || !text[count..].contains('`'))).then_some((mark, count))
}

/// Returns the bytes before a fence that CommonMark might see on this line, wherever its containers begin.
pub(super) fn possible_fence(line: &str) -> Option<usize> {
    let rest = without_containers(line);
    opening(rest).map(|_| line.len() - rest.len())
}

/// Returns whether the line, once whole, could be a title like `**Sources:**`.
fn may_be_title(trimmed: &str) -> bool {
    let title = trimmed.trim_start_matches(['*', '_', ' ']).to_lowercase();
    let begins = |heading: &str| {
        let rest = title.strip_prefix(heading);
        heading.starts_with(title.as_str())
            || rest.is_some_and(|rest| rest.chars().all(|c| matches!(c, '*' | '_' | ' ' | ':' | '：')))
    };
    title.is_empty() || SOURCE_HEADINGS.iter().any(|heading| begins(heading))
}

fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns what stands behind `Sources:` on its line.
pub(super) fn behind_title(line: &str) -> Option<&str> {
    let (title, rest) = line.split_once([':', '：']).filter(|(title, _)| title.len() <= LONGEST_HEADING)?;
    let title = title.trim_matches(['*', '_', ' ']).to_lowercase();
    SOURCE_HEADINGS.contains(&title.as_str()).then(|| rest.trim_start_matches(['*', '_', ' ']))
}

/// Returns whether this is a list of sources in one line, or the first one of such a list: `Sources: [1] Title,
/// https://…`.
pub(super) fn is_list_in_line(line: &str) -> bool {
    let Some(list) = behind_title(line.trim()) else { return false };
    let is_numbered = |form| matches!(form, Form::Bracket | Form::Ordered);
    address::holds_address(list) && label(list).label.is_some_and(|label| is_numbered(label.form))
}

/// Returns whether the line says of what follows that it is sources, as `Sources consulted:`.
pub(super) fn announces_sources(trimmed: &str) -> bool {
    let title = trimmed.trim_end_matches(['*', '_']);
    let fits = title.len() <= LONGEST_LEAD && title.ends_with([':', '：']) && !title.contains(['[', '.']);
    fits && SOURCE_WORDS.iter().any(|word| title.to_lowercase().contains(word))
}

/// Returns level and title of a Markdown heading.
pub(super) fn heading(trimmed: &str) -> Option<(usize, &str)> {
    let level = trimmed.bytes().take_while(|&byte| byte == b'#').count();
    (1..=6).contains(&level).then(|| (level, trimmed[level..].trim()))
}

/// A heading over a source list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SourceHeading {
    /// 7 for a bold or plain line that serves as one.
    pub level: usize,
    /// It says nothing but that sources follow.
    pub certain: bool,
    /// Nothing but its place on a line of its own makes it a heading.
    pub plain: bool,
}

/// Reads a heading over a source list, or what may be one.
pub(super) fn source_heading(trimmed: &str) -> Option<SourceHeading> {
    let (level, title) = heading(trimmed).unwrap_or((7, trimmed));
    let plain = !(level < 7 || title.starts_with(['*', '_']) || title.ends_with([':', '：']));
    if title.len() > LONGEST_HEADING {
        return None;
    }
    // A plain line is held back only while it can become a title, so no more is forgiven here than there.
    let around = |c: char| if level < 7 { !c.is_alphabetic() } else { matches!(c, '*' | '_' | ' ' | ':' | '：') };
    let title = title.trim_matches(around).to_lowercase();
    let certain = SOURCE_HEADINGS.contains(&title.as_str());
    let perhaps = || level < 7 && SOURCE_WORDS.iter().any(|word| title.contains(word));
    (certain || perhaps()).then_some(SourceHeading { level, certain, plain })
}

/// Returns whether the line is a heading, or one in bold letters.
pub(super) fn is_title(trimmed: &str) -> bool {
    let bold = trimmed.strip_prefix("**").map(|rest| rest.trim_end_matches([':', '：', ' ']));
    let bold = bold.and_then(|rest| rest.strip_suffix("**").or(rest.strip_suffix(":**")));
    heading(trimmed).is_some() || bold.is_some_and(|title| title.len() <= LONGEST_HEADING && !title.contains("**"))
}

/// Returns whether this is the line between the head and the body of a table.
pub(super) fn is_table_rule(trimmed: &str) -> bool {
    trimmed.starts_with('|') && trimmed.contains("--") && trimmed.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

/// Returns whether a formula of several lines begins here: `$$` or `\[`, not closed on its line.
pub(super) fn opens_formula(line: &str) -> bool {
    let text = without_containers(line).trim_end();
    let open = |mark: &str, end: &str| text.strip_prefix(mark).is_some_and(|rest| !rest.contains(end));
    open("$$", "$$") || open("\\[", "\\]")
}

/// Returns whether such a formula ends with this text.
pub(super) fn ends_formula(text: &str) -> bool {
    let text = text.trim_end_matches([' ', '.', ',']);
    text.ends_with("$$") || text.ends_with("\\]")
}

/// Returns whether this is the text of a footnote: `[^1]: …`. One that is called by the id of a source is none, and
/// neither is a single word: Markdown without footnotes takes it for the target of a label, and shows nothing of it.
pub(super) fn is_footnote(line: &str) -> bool {
    without_containers(line).strip_prefix("[^").and_then(|rest| rest.split_once(']')).is_some_and(|(label, rest)| {
        !label.is_empty()
            && !label.contains('[')
            && ids_in(label).is_empty()
            && !label.contains(char::is_whitespace)
            && rest.strip_prefix(':').is_some_and(|rest| target(rest).is_none())
    })
}

/// Returns whether this is a line of dashes or of equals signs, which makes the one above it a heading.
pub(super) fn is_underline(trimmed: &str) -> bool {
    ["-", "="].iter().any(|sign| !trimmed.is_empty() && trimmed.trim_start_matches(sign).is_empty())
}

/// Returns whether this is a rule across the page: `---`, `***`, `_ _ _`.
pub(super) fn is_thematic_break(trimmed: &str) -> bool {
    let is_of = |sign: char| {
        trimmed.chars().all(|c| c == sign || c.is_whitespace()) && trimmed.chars().filter(|c| *c == sign).count() >= 3
    };
    ['-', '*', '_'].into_iter().any(is_of)
}

/// Returns whether the line begins with the marker of a list.
pub(super) fn is_item(trimmed: &str) -> bool {
    marker(trimmed).is_some_and(|width| trimmed[width..].starts_with([' ', '\t']))
}

/// Returns whether a line belongs to a list, when the list has no heading of its own.
pub(super) fn is_list_line(trimmed: &str) -> bool {
    let first = trimmed.chars().next();
    first.is_none_or(|first| ("-*+•".contains(first) || OPENING.contains(&first)) || first.is_ascii_digit())
        || is_reference(trimmed)
}

/// Returns whether it is an item of a list that is no sentence. Under a heading like "Sources" it may be the title of a
/// source. A mark of emphasis makes an item of nothing but a label, as in `**1.** Title`.
pub(super) fn is_short_item(trimmed: &str) -> bool {
    let rest = without_containers(trimmed);
    let is_labelled = || rest.starts_with(['*', '_']) && label(rest).label.is_some();
    let is_item = rest.len() < trimmed.len() || rest.starts_with('•') || is_labelled();
    is_item && !rest.trim_end_matches(['*', '_']).ends_with(['.', '。', '!', '?', '！', '？', ':', '：'])
}

/// Returns whether a line under a heading like "Sources" names a source, rather than says something. It does with an
/// address, an id or a number in brackets at its front.
pub(super) fn is_reference(trimmed: &str) -> bool {
    let rest = behind_marker(trimmed);
    let cites = rest.starts_with(OPENING)
        || rest.starts_with('^')
        || ids_in(rest).first().is_some_and(|(start, _, _)| *start == 0);
    cites || address::holds_address(rest)
}

/// Returns whether a line begins with an address, behind markers of lists and words like `URL:`.
pub(super) fn begins_with_address(line: &str) -> bool {
    let rest = behind_marker(line.trim());
    let word = rest.split_once([':', '：']).filter(|(word, _)| word.len() <= 12 && !word.contains(['/', ' ']));
    let behind = word.map(|(_, rest)| rest.trim_start_matches(['*', '_', ' ']));
    [Some(rest), behind].into_iter().flatten().any(|text| is_address(text.trim_start_matches(['<', '(', '（'])))
}

fn behind_marker(trimmed: &str) -> &str {
    without_containers(trimmed).trim_start_matches(['•', '*', '_', ' '])
}

/// Returns the label whose target the line defines, as in `[label]: target`.
pub(super) fn definition(line: &str) -> Option<&str> {
    let label = without_containers(line).strip_prefix('[')?;
    let (label, rest) = label.split_once("]:")?;
    if label.contains(['[', ']']) || label.trim().is_empty() {
        return None;
    }
    target(rest).filter(|target| is_place(target)).map(|_| label)
}

/// Returns the word that is all of a text but for white space and a title in quotation marks, as Markdown reads what
/// defines a link.
pub(super) fn target(text: &str) -> Option<&str> {
    let (word, title) = text.trim().split_once([' ', '\t']).unwrap_or((text.trim(), ""));
    let title = title.trim();
    let quoted = title.starts_with(['"', '\'', '(']) && title.ends_with(['"', '\'', ')']);
    (title.is_empty() || quoted).then_some(word)
}

/// Returns whether a word is more likely a place than said of a label, as `5.2%`, `9:00` and `Estimated.` are.
pub(super) fn is_place(word: &str) -> bool {
    let has_scheme = || word.starts_with(char::is_alphabetic) && address::behind_scheme(word).is_some();
    let names_file = || word.split('.').skip(1).any(|part| part.starts_with(char::is_alphabetic));
    // Scripts without spaces make a word of a whole remark, such as `单位：元/吨。`.
    let is_remark = || word.contains(|c: char| c >= '\u{2E80}');
    let has_mark = || word.starts_with(['/', '#']) || word.contains(['/', '#']) && !is_remark();
    word.contains('<') || has_mark() || has_scheme() || names_file()
}

/// Returns whether the last word of a text is the name of a file, as in `harbour tariff 2031.pdf`.
pub(super) fn ends_with_file(text: &str) -> bool {
    let is_file = |(name, ending): (&str, &str)| !name.is_empty() && is_in(FILE_ENDINGS, &ending.to_ascii_lowercase());
    text.split_whitespace().next_back().and_then(|word| word.rsplit_once('.')).is_some_and(is_file)
}
