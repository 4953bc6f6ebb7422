//! Why a token is not taken.

use crate::net;

/// Why a token is not taken; for the log, not for its bearer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Refused {
    #[error("the token cannot be used: {0}")]
    Malformed(String),
    #[error("its key is not among those of the issuer")]
    UnknownKey,
    #[error("{0}")]
    Invalid(String),
    /// The issuer could not be asked; trying again may help.
    #[error("the issuer cannot be asked: {0}")]
    Unreachable(String),
}

impl From<net::Error> for Refused {
    fn from(error: net::Error) -> Self {
        Self::Unreachable(error.to_string())
    }
}

impl From<reqwest::Error> for Refused {
    fn from(error: reqwest::Error) -> Self {
        net::Error::from(error).into()
    }
}
