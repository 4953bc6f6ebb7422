//! A link by which anybody may read a thread.

use serde::Serialize;

use super::{ShareId, Timestamp};

/// A link without its secret, which nobody has but those who were given it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    pub id: ShareId,
    pub created_at: Timestamp,
    /// From then on nothing is found by it; `None`: never.
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl Share {
    /// Returns whether the link shows the thread at that time.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}
