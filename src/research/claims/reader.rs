//! The tokens around a place of a text, as those need them who read figures there.

use std::borrow::Cow;

use super::tokens::Token;

/// Reads what begins at a token.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads what begins at the token with this index.
    pub fn at(text: &'a str, tokens: &'a [Token<'a>], at: usize) -> Self {
        Self { text, tokens, at }
    }

    pub fn token(self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).copied()
    }

    /// Returns the text of so many tokens.
    pub fn text_of(self, tokens: usize) -> &'a str {
        let (first, last) = (self.token(0), tokens.checked_sub(1).and_then(|last| self.token(last)));
        first.zip(last).and_then(|(first, last)| self.text.get(first.at..last.end())).unwrap_or_default()
    }

    /// Returns the text from a token on.
    pub fn rest(self, ahead: usize) -> &'a str {
        self.token(ahead).and_then(|token| self.text.get(token.at..)).unwrap_or_default()
    }

    /// Returns the same, so many tokens before.
    pub fn back(self, count: usize) -> Option<Self> {
        Some(Self { at: self.at.checked_sub(count)?, ..self })
    }

    /// Returns the same, so many tokens behind.
    pub fn on(self, count: usize) -> Self {
        Self { at: self.at + count, ..self }
    }

    /// Returns whether the tokens stand together without a space.
    pub fn is_glued(self, ahead: usize) -> bool {
        let pair = self.token(ahead).zip(self.token(ahead + 1));
        pair.is_some_and(|(one, next)| one.end() == next.at)
    }

    /// Returns the word at a token, in lower case.
    pub fn word(self, ahead: usize) -> Option<Cow<'a, str>> {
        self.token(ahead).filter(Token::is_word).map(|token| lower(token.text))
    }
}

/// Returns the word in lower case. Most words are, and a page has thousands.
pub fn lower(word: &str) -> Cow<'_, str> {
    match word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(word.to_lowercase()),
    }
}
