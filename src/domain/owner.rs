//! Whose threads and runs they are, and who asks for them.

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};

use super::{ApiKey, ApiKeyId};

/// A user, as the service tells users apart. Shape: 1 to 200 characters, trimmed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    /// [`Owner::named`] cuts longer names, [`Owner::of_person`] refuses them.
    pub const MAX_CHARS: usize = 200;

    /// Returns the one owner of a service that does not tell users apart, and of what the command line creates.
    pub fn local() -> Self {
        Self("local".into())
    }

    /// Returns the owner of that name; [`Owner::local`] for an empty one.
    pub fn named(name: &str) -> Self {
        let name: String = name.trim().chars().take(Self::MAX_CHARS).collect();
        match name.trim_end() {
            "" => Self::local(),
            name => Self(name.into()),
        }
    }

    /// Returns the owner that somebody else vouches for: a person, so nobody whose name had to be changed first, and
    /// not [`Owner::local`].
    ///
    /// # Errors
    /// [`BadName`].
    pub fn of_person(name: &str) -> Result<Self, BadName> {
        if !(1..=Self::MAX_CHARS).contains(&name.chars().count()) {
            return Err(BadName::Length);
        }
        // Neither is stored as it came: the owner would be that of another name.
        if name.trim() != name || name.contains(char::is_control) {
            return Err(BadName::Characters);
        }
        let owner = Self(name.into());
        if owner == Self::local() { Err(BadName::Local) } else { Ok(owner) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a name is that of no person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error("a user's name has 1 to {} characters", Owner::MAX_CHARS)]
    Length,
    #[error("a user's name has no space at its ends and no control characters")]
    Characters,
    #[error("no user may have the name local, which is that of requests without a user and of the command line")]
    Local,
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
    /// Returns the user of a service that does not tell users apart.
    pub fn local() -> Self {
        Self { owner: Owner::local(), reach: Reach::Shared, key: None }
    }

    pub fn key_id(&self) -> Option<ApiKeyId> {
        self.key.as_ref().map(|key| key.id)
    }

    /// Returns the owner whose threads and runs the caller sees; `None`: everybody's.
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

    #[test]
    fn a_person_has_a_name_of_their_own() {
        let check = |name: &str, expected: Result<&str, BadName>| {
            let owner = Owner::of_person(name);
            assert_eq!(owner.as_ref().map(Owner::as_str).map_err(|bad| *bad), expected, "{name}");
        };
        check("ann", Ok("ann"));
        check("Ann de Vries", Ok("Ann de Vries"));
        check("Local", Ok("Local"));
        check(&"ü".repeat(200), Ok(&"ü".repeat(200)));
        check(&"ü".repeat(201), Err(BadName::Length));
        check("", Err(BadName::Length));
        check("local", Err(BadName::Local));
        for name in [" ", " ann", "ann ", "\u{a0}ann", "ann\u{3000}", "an\u{0}n", "an\nn", " local "] {
            check(name, Err(BadName::Characters));
        }
    }
}
