//! Keys of the API: who may do what with a service that knows its users.

use serde::{Deserialize, Serialize};

use super::{ApiKeyId, Owner, Timestamp, UseLimits};

/// What a key allows; each scope includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyScope {
    /// Reading what belongs to the owner.
    Read,
    /// Starting, changing, cancelling and deleting it too.
    Write,
    /// Seeing what belongs to everybody, and managing keys.
    Admin,
}

impl KeyScope {
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// Returns the scope of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

/// A key without its secret, which nobody has but its holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApiKey {
    pub id: ApiKeyId,
    /// What it is for, in words. Shape: 1 to 200 characters.
    pub name: String,
    pub owner: Owner,
    pub scope: KeyScope,
    pub created_at: Timestamp,
    /// From then on it is refused; `None`: never.
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// To a minute.
    pub last_used_at: Option<Timestamp>,
    /// What it may use, beside what its owner may.
    pub limits: UseLimits,
    /// Who vouched for the owner, of a key that was made at a sign-in through others; nobody knows its secret.
    pub issuer: Option<String>,
}

impl ApiKey {
    /// Returns whether the key is accepted at that time.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// A key or link that was revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoked<T> {
    pub what: T,
    /// It counted until then.
    pub is_new: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_until_it_expires_or_is_revoked() {
        let key = ApiKey {
            id: ApiKeyId::new(),
            name: "ci".to_owned(),
            owner: Owner::local(),
            scope: KeyScope::Read,
            created_at: Timestamp(0),
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            limits: UseLimits::default(),
            issuer: None,
        };
        assert!(key.is_valid(Timestamp(i64::MAX)));
        let ends = ApiKey { expires_at: Some(Timestamp(10)), ..key.clone() };
        assert!(ends.is_valid(Timestamp(9)) && !ends.is_valid(Timestamp(10)));
        assert!(!ApiKey { revoked_at: Some(Timestamp(1)), ..key }.is_valid(Timestamp(0)));
    }

    #[test]
    fn scopes_are_ordered_and_have_names() {
        assert!(KeyScope::Read < KeyScope::Write && KeyScope::Write < KeyScope::Admin);
        for scope in KeyScope::ALL {
            assert_eq!(KeyScope::parse(scope.as_str()), Some(scope));
        }
        assert_eq!(KeyScope::parse("root"), None);
    }
}
