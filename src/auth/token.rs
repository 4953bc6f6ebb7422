//! The text of a key: a name by which it is found, and a secret that is compared.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

use crate::domain::{ApiKeyId, digest};

/// What a text is a secret of. The beginnings differ, so that neither passes for the other, and so that programs that
/// look for leaked secrets know a key when they see one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Key,
    Session,
    /// A link that shows a thread.
    Share,
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Key => "fathom_",
            Self::Session => "fathoms_",
            Self::Share => "fathomlink_",
        }
    }
}

/// A key or session with its secret. Shape: the prefix, 32 hexadecimal digits, `_`, and 43 characters of base64url.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    pub id: ApiKeyId,
    secret: [u8; 32],
}

/// Makes a token of two random UUIDs, of which six bits each are fixed: 244 bits of the system's randomness.
pub fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(Uuid::new_v4().as_bytes());
    bytes[16..].copy_from_slice(Uuid::new_v4().as_bytes());
    bytes
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Token {
    /// Returns a new one, with a random secret.
    #[expect(clippy::new_without_default, reason = "a default secret would be a random one")]
    pub fn new() -> Self {
        Self { id: ApiKeyId::new(), secret: random() }
    }

    /// Reads what [`Token::text`] wrote.
    pub fn parse(text: &str, kind: Kind) -> Option<Self> {
        let (id, secret) = text.strip_prefix(kind.prefix())?.split_once('_')?;
        if id.len() != 32 {
            return None;
        }
        let secret = URL_SAFE_NO_PAD.decode(secret).ok()?.try_into().ok()?;
        Some(Self { id: ApiKeyId(Uuid::try_parse(id).ok()?), secret })
    }

    /// Writes the token as its holder gets it.
    pub fn text(&self, kind: Kind) -> String {
        format!("{}{}_{}", kind.prefix(), self.id.0.simple(), URL_SAFE_NO_PAD.encode(self.secret))
    }

    /// Returns the SHA-256 of the secret. Nothing slower is needed: it cannot be guessed.
    pub fn hash(&self) -> [u8; 32] {
        digest::sha256(&self.secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let token = Token::new();
        let text = token.text(Kind::Key);
        assert_eq!(Token::parse(&text, Kind::Key), Some(token.clone()));
        assert_eq!(Token::parse(&text, Kind::Session), None);
        assert_eq!(Token::parse(&token.text(Kind::Share), Kind::Key), None);
        assert_ne!(Token::new().hash(), token.hash());
        for bad in ["", "fathom_", "fathom__", "fathom_x_y", &text[1..], &text[..text.len() - 1], &format!("{text}A")] {
            assert_eq!(Token::parse(bad, Kind::Key), None, "{bad}");
        }
        assert!(!format!("{token:?}").contains(&URL_SAFE_NO_PAD.encode(token.secret)));
    }
}
