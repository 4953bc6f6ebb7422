//! Tables that lost their lines, as in text taken from PDF files: rows with numbers at their ends, under a row that
//! names the columns.

/// Writes `text` with such tables in bars again; everything else stays as it is.
pub(super) fn restored(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut restored = String::with_capacity(text.len());
    let (mut rows_left, mut columns) = (0, 0);
    let mut next = 0;
    for line in text.lines() {
        if line.trim().is_empty() {
            if rows_left == 0 {
                restored.push('\n');
            }
            continue;
        }
        if rows_left == 0 {
            rows_left = table_length(&lines[next..]);
            if rows_left > 0 {
                columns = number_columns(lines[next + 1]);
                restored.push('\n');
            }
        }
        next += 1;
        match rows_left {
            0 => restored.push_str(line),
            _ => {
                restored.push_str(&with_bars(line, columns));
                rows_left -= 1;
            }
        }
        restored.push('\n');
    }
    restored
}

/// Returns the number of lines of the table that begins here, header included; 0 when none does.
fn table_length(lines: &[&str]) -> usize {
    let [header, rows @ ..] = lines else { return 0 };
    let columns = rows.first().map_or(0, |row| number_columns(row));
    let words = header.split_whitespace().count();
    let is_header = columns > 0 && words > columns && words <= columns + 3 && is_bare(header) && header.len() < 60;
    if !is_header {
        return 0;
    }
    let length = rows.iter().take_while(|row| is_bare(row) && number_columns(row) == columns).count();
    if length >= 2 { length + 1 } else { 0 }
}

/// Returns how many numbers end the line, after at least one word.
fn number_columns(line: &str) -> usize {
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbers = words.iter().rev().take_while(|word| is_figure(word)).count();
    // `22 May 2035` is a date, whose year is no column.
    let dated = numbers > 0 && numbers < words.len() && is_month(words[words.len() - numbers - 1]);
    if dated {
        return 0;
    }
    if numbers < words.len() && words[0].chars().any(char::is_alphabetic) { numbers } else { 0 }
}

fn is_month(word: &str) -> bool {
    const MONTHS: &str = "January Jan February Feb March Mar April Apr May June Jun July Jul August Aug September Sep Sept October Oct \
        November Nov December Dec Januar Februar März Mär Mai Juni Juli Oktober Okt Dezember Dez";
    MONTHS.split_whitespace().any(|month| month == word.trim_end_matches('.'))
}

/// Returns whether it is a figure: `3,020`, `-881,000`, `12%` or the dash that stands for nothing.
fn is_figure(word: &str) -> bool {
    matches!(word, "-" | "–" | "—")
        || word.chars().any(|char| char.is_ascii_digit())
            && word.chars().all(|char| char.is_ascii_digit() || "-+.,%€$£−".contains(char))
            && !word.ends_with(['.', ','])
}

/// Returns whether the line is neither a sentence nor a row that has its bars already.
fn is_bare(line: &str) -> bool {
    !line.trim_end().ends_with(['.', '!', '?', ':', ',', ';']) && !line.contains(['|', '\t']) && !line.contains("  ")
}

fn with_bars(line: &str, columns: usize) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, cells) = words.split_at(words.len() - columns.min(words.len()));
    format!("| {} | {} |", name.join(" "), cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_get_their_lines_back() {
        let text = "It was a year.\n\nMWh 2029 2030\n\nHeron 3,020 3,050\n\nOld Skua - 2,480\n\nOf this it is said.";
        let expected = "It was a year.\n\n\n| MWh | 2029 | 2030 |\n| Heron | 3,020 | 3,050 |\n| Old Skua | - | 2,480 |\n\nOf this it is said.\n";
        assert_eq!(restored(text), expected);
    }

    #[test]
    fn prose_stays_as_it_is() {
        let check = |text: &str| assert_eq!(restored(text), text);
        check("It began in 2029\nand it ended in 2030\nor so.\n");
        check("| a | 1 |\n| b | 2 |\n| c | 3 |\n");
        check("");
    }
}
