//! Every id is its own type, so that a run id can never be passed for a thread id.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Makes a new id; version 7, so ids sort by creation time.
            #[expect(clippy::new_without_default, reason = "a default id would be a random one")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

uuid_id!(
    /// A conversation: its messages, runs and one event log.
    ThreadId
);
uuid_id!(
    /// One turn of a thread: one background task, one journal.
    RunId
);
uuid_id!(
    /// One message of a thread.
    MessageId
);
uuid_id!(
    /// A document that was given to a thread or a collection.
    DocumentId
);
uuid_id!(
    /// Documents that an owner keeps together.
    CollectionId
);
uuid_id!(
    /// A key of the API, or a browser's session; public, unlike its secret.
    ApiKeyId
);
uuid_id!(
    /// A link that shows a thread; public, unlike its secret.
    ShareId
);

/// A source's short id inside its run, shown to models as `[S1003]`.
///
/// Shape: `researcher * 1000 + n`, both counted from 1, so that the id depends on who found it and in which order
/// that researcher did, never on how parallel researchers happened to interleave. A page that two researchers met
/// therefore has two ids; [`crate::domain::Source::aliases`] joins them.
///
/// A run that takes over sources of an earlier one keeps their ids, and numbers its own researchers on from there.
///
/// Numbers below 1,000 are never given out: prompts use them in examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceId(pub u32);

impl SourceId {
    /// The most sources one researcher can name; a call that may bring more is answered by saying so.
    pub const PER_RESEARCHER: u32 = 999;

    /// Returns the `n`-th source of the `researcher`-th researcher, both from 1.
    pub fn of(researcher: u32, n: u32) -> Self {
        Self(researcher * (Self::PER_RESEARCHER + 1) + n)
    }

    /// Returns the number of the researcher that gave the id.
    pub fn researcher(self) -> u32 {
        self.0 / (Self::PER_RESEARCHER + 1)
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "S{}", self.0)
    }
}
