//! Whose threads and runs they are, and who asks for them.

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};

use super::{ApiKey, ApiKeyId};

/// A user, as the service tells users apart. Shape: 1 to 200 characters, trimmed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    /// Longer names are cut.
    pub const MAX_CHARS: usize = 200;

    /// The one owner of a service that does not tell users apart, and of what the command line creates.
    pub fn local() -> Self {
        Self("local".into())
    }

    /// The owner of that name; [`Owner::local`] for an empty one.
    pub fn named(name: &str) -> Self {
        let name: String = name.trim().chars().take(Self::MAX_CHARS).collect();
        match name.trim_end() {
            "" => Self::local(),
            name => Self(name.into()),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for Owner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who asks, and what they may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Whose the threads and runs are that this caller creates.
    pub owner: Owner,
    pub reach: Reach,
    /// The key with which they ask, where the service asks for one.
    pub key: Option<Arc<ApiKey>>,
}

/// Whose threads and runs a caller may see and change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everybody's: users share the service, and owners only take turns.
    Shared,
    /// Their own; those of others do not exist for them.
    Own,
}

impl Caller {
    /// The user of a service that does not tell users apart.
    pub fn local() -> Self {
        Self { owner: Owner::local(), reach: Reach::Shared, key: None }
    }

    pub fn key_id(&self) -> Option<ApiKeyId> {
        self.key.as_ref().map(|key| key.id)
    }

    /// The owner whose threads and runs the caller sees; `None`: everybody's.
    pub fn sees_only(&self) -> Option<&Owner> {
        match self.reach {
            Reach::Shared => None,
            Reach::Own => Some(&self.owner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_and_bounded_and_never_empty() {
        let check = |name: &str, expected: &str| assert_eq!(Owner::named(name).as_str(), expected);
        check(" ann ", "ann");
        check(" \t", "local");
        check(&format!("{} b", "a".repeat(199)), &"a".repeat(199));
        check(&"ü".repeat(300), &"ü".repeat(200));
    }
}
