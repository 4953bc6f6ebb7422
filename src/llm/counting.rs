//! Counts tokens exactly, by the tables that vendors have published for their tokenizers.
//!
//! Tables are part of the binary, packed, and are laid out in memory when the first text is counted with them, for as
//! long as the process lives: 12 to 24 MB and a tenth of a second each. Who never counts pays nothing.

use std::sync::OnceLock;

use tiktoken::CoreBpe;

use super::limits::Tokenizer;

/// Texts are counted in pieces of so many bytes at most: the memory that a piece takes while it is counted is many
/// times its size, and its time grows a little faster than it when it is one long word.
const PIECE_BYTES: usize = 16 * 1024;

impl Tokenizer {
    /// Returns whether its tokens can be counted.
    pub fn is_published(self) -> bool {
        self.table().is_some()
    }

    /// Returns how many tokens `text` is: exactly, but for a few in each 16 KiB without a line that begins with a
    /// letter or a digit. Marks that have a meaning of their own for a model count as the text that they are. An
    /// estimate where the tokenizer is not published.
    ///
    /// Takes 30 ms for each megabyte of prose, and up to ten times as long for one word of that length.
    pub fn count(self, text: &str) -> u32 {
        let Some(table) = self.table() else { return self.estimate(text) };
        let encoding = table.load();
        u32::try_from(pieces(text).map(|piece| encoding.count(piece)).sum::<usize>()).unwrap_or(u32::MAX)
    }

    fn table(self) -> Option<&'static Table> {
        static TABLES: [Table; 4] =
            [Table::of("o200k_base"), Table::of("cl100k_base"), Table::of("qwen2"), Table::of("mistral_v3")];
        let [o200k, cl100k, qwen2, tekken] = &TABLES;
        match self {
            Self::O200k => Some(o200k),
            Self::Cl100k => Some(cl100k),
            Self::Qwen2 => Some(qwen2),
            Self::Tekken => Some(tekken),
            Self::Frugal | Self::Careful => None,
        }
    }
}

/// The table of one tokenizer.
struct Table {
    /// As the crate calls it.
    name: &'static str,
    loaded: OnceLock<&'static CoreBpe>,
}

impl Table {
    const fn of(name: &'static str) -> Self {
        Self { name, loaded: OnceLock::new() }
    }

    fn load(&self) -> &'static CoreBpe {
        self.loaded.get_or_init(|| {
            tracing::debug!(tokenizer = self.name, "loading the table of a tokenizer");
            tiktoken::get_encoding(self.name).expect("a feature in Cargo.toml brings each table, and a test loads it")
        })
    }
}

/// Cuts `text` into pieces, each as long as can be.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, behind) = rest.split_at(piece_end(rest));
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Finds the end of a piece: before the last line that begins with a letter or a digit, since no token reaches over its
/// beginning; anywhere when there is none.
fn piece_end(text: &str) -> usize {
    if text.len() <= PIECE_BYTES {
        return text.len();
    }
    let most = text.floor_char_boundary(PIECE_BYTES);
    let lines = text[..most].rmatch_indices('\n').map(|(at, _)| at + 1);
    lines.into_iter().find(|&at| text[at..].starts_with(char::is_alphanumeric)).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    const PUBLISHED: [Tokenizer; 4] = [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Qwen2, Tokenizer::Tekken];

    /// The numbers are those of OpenAI's own package (`tiktoken` 0.14 of PyPI) with the tables that the vendors
    /// publish: its own two, that of the package `dashscope` (Qwen), and that of `mistral-common` (Tekken of September
    /// 2024).
    #[test]
    fn counts_are_those_of_the_vendors() {
        let check = |text: &str, expected: [u32; 4]| {
            assert_eq!(PUBLISHED.map(|tokenizer| tokenizer.count(text)), expected, "{text}");
        };
        check("", [0, 0, 0, 0]);
        check(
            "The harbour of Skelderwick pays for its tide gate out of dues that every ship owes when it enters, and out of a loan that the council took up in the spring of last year. According to the annual report, maintenance was deferred twice because the main bearing had to be replaced earlier than planned.",
            [61, 61, 61, 63],
        );
        check(
            "深度研究报告指出，港口的潮汐闸门由船舶进港时缴纳的费用以及市议会去年春天借入的贷款共同支付。根据年度报告，由于主轴承的更换早于计划，维护工作被推迟了两次。请用中文总结主要结论，并列出引用来源。",
            [77, 119, 61, 95],
        );
        check(
            "  Don't PANIC!!  They'LL see 1234567 ½ of it…\r\n\r\n\tİstanbul — naïve cafe\u{301}\n/path//to\n   \n x",
            [34, 35, 39, 44],
        );
        check(
            "fn pieces(text: &str) -> impl Iterator<Item = &str> {\n    let mut rest = text;\n    std::iter::from_fn(move || {\n        let (piece, behind) = rest.split_at(piece_end(rest));\n        rest = behind;\n        (!piece.is_empty()).then_some(piece)\n    })\n}\n",
            [66, 66, 66, 70],
        );
        check("👩‍👩‍👧 🇩🇪 🏴󠁧󠁢󠁳󠁣󠁴󠁿 ❤️‍🔥 👍🏽", [45, 52, 40, 66]);
        check(
            r#"{"queries": ["tide gate dues 2029", "council loan 412,000"], "topic": "general", "days": 30, "ids": [1001, 1002, 2047], "zh": "\u6f6e\u6c50"}"#,
            [63, 62, 76, 77],
        );
        check("<|endoftext|><|im_start|>user", [13, 13, 13, 13]);
        check("ท่าเรือจ่ายค่าประตูน้ำ يدفع الميناء تكاليف بوابة المد", [21, 37, 25, 25]);
    }

    /// Each of them is longer than a piece; the numbers come from where those above do.
    #[test]
    fn long_texts_count_as_they_do_in_one_piece() {
        let check = |text: &str, times: usize, expected: [u32; 4], most: u32| {
            let text = text.repeat(times);
            for (tokenizer, expected) in PUBLISHED.into_iter().zip(expected) {
                let counted = tokenizer.count(&text);
                assert!(counted.abs_diff(expected) <= most, "{counted} of {expected} by {tokenizer:?}");
            }
        };
        check("The tide gate stands open.\n", 8_000, [48_000; 4], 0);
        check("潮汐闸门由港口税支付。", 20_000, [240_000, 300_000, 180_000, 280_000], 80);
    }

    #[test]
    fn pieces_end_before_a_line_where_no_token_reaches_over_its_beginning() {
        let long = "x".repeat(PIECE_BYTES - 10);
        let lengths = |text: &str| pieces(text).map(str::len).collect::<Vec<_>>();
        assert_eq!(lengths(""), [0; 0]);
        assert_eq!(lengths("short\nlines"), [11]);
        assert_eq!(lengths(&format!("{long}\nabc\n\n/def 12345")), [PIECE_BYTES - 9, 15]);
        assert_eq!(lengths(&format!("{long}港港港港")), [PIECE_BYTES - 1, 3], "characters stay whole");
    }

    #[test]
    fn work_grows_with_the_length_of_hostile_texts() {
        for tokenizer in PUBLISHED {
            tokenizer.count("loaded");
            for shape in
                ["a", "Aa", " ", "\n", " \n", "\n\n/", "-", "7", "'", "\u{301}", "\u{200d}", "港", "👩‍👩‍👧 ", "\u{a0}x"]
            {
                growth::check(shape, PIECE_BYTES, |text| assert!(tokenizer.count(text) > 0));
            }
        }
    }
}
