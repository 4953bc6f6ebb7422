//! Language as data: words and sentences of a text, what they are about, and the language it is in.
//!
//! Built on the crates of the field (Unicode's borders, Snowball's stems, NLTK's stop words, trigrams for languages);
//! what is added here is what those leave out: numbers and abbreviations, months, related words across languages, and
//! scripts without spaces. Knows nothing of questions, pages or models.

mod blocks;
mod dates;
mod language;
mod markup;
mod months;
mod sentences;
mod tables;
mod terms;
mod thesaurus;
mod words;

pub use blocks::{Sentence, is_row, is_signature, list_item, row_name, split};
pub use dates::{date_at_start, date_in, date_of_line, dates_in, is_date, is_year, years_in};
pub use language::{Language, code_of_script};
pub use markup::{is_fence, plain};
pub use months::{month, month_by_name, month_names};
pub use sentences::{CLOSING, ends_between, sentences};
pub use terms::{is_stop_word, is_stop_word_of_any, stem, terms};
pub use thesaurus::{related, related_in_compound};
pub use words::{
    Marked, codes, fold, has_phrase, is_code, is_in, is_number, is_unspaced, lower_words, marked_words, word_count,
    words,
};

/// Returns the first `chars` characters of `text`.
pub fn start(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// Returns as many whole words of `text` as its first `chars` characters have; part of a word that alone is longer.
pub fn whole_words(text: &str, chars: usize) -> &str {
    let head = start(text, chars);
    let end = if head.len() < text.len() { head.rfind(char::is_whitespace) } else { None };
    end.map(|end| head[..end].trim_end()).filter(|words| !words.is_empty()).unwrap_or(head)
}
