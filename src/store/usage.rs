//! What was used, as the ledger has it.

use super::{
    Admission, Error, Store,
    attempts::{ask, attempt},
};
use crate::domain::{Allowance, ApiKeyId, ModelUsage, Owner, Timestamp, Usage};

/// Whose use is asked for, and of when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageFilter {
    /// `None`: everybody's.
    pub owner: Option<Owner>,
    /// Of runs that were created from then on.
    pub from: Timestamp,
    /// And before then.
    pub to: Timestamp,
}

/// What an owner's runs of one day (UTC) have used. A run counts for the day on which it was created.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageRow {
    /// Its beginning.
    pub day: Timestamp,
    pub owner: Owner,
    /// The model that was called; `None` for the row that counts the runs and their searches.
    pub model: Option<String>,
    pub runs: u64,
    pub searches: u64,
    /// Of the model, as the tokens.
    pub calls: u64,
    pub tokens: Usage,
}

/// What the calls of runs of one role to one model have used, at one place in their journals.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceUsage {
    /// The key of the steps, or the first part of it for what agents did and for pages.
    pub place: String,
    pub role: String,
    pub model: String,
    pub used: ModelUsage,
}

/// What runs have used, by place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageByPlace {
    /// That have not been deleted.
    pub runs: u64,
    pub places: Vec<PlaceUsage>,
}

impl Store {
    /// Returns what an owner and, if one is named, a key have left of what `admission` lets them use; nothing of what
    /// is without a limit.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn allowances(
        &self,
        of: (&Owner, Option<ApiKeyId>),
        admission: &Admission,
        now: Timestamp,
    ) -> Result<Vec<Allowance>, Error> {
        ask!(self, engine => engine.allowances(of, admission, now).await)
    }

    /// Returns what was used, by day, owner and model in this order; at most `limit` rows.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn usage_by_day(&self, filter: &UsageFilter, limit: u32) -> Result<Vec<UsageRow>, Error> {
        ask!(self, engine => engine.usage_by_day(filter, limit).await)
    }

    /// Returns what the calls of runs used, by their places in the journals; `None` for more runs than `most`. Runs
    /// that have been deleted left no journal.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn usage_by_place(&self, filter: &UsageFilter, most: u32) -> Result<Option<UsageByPlace>, Error> {
        ask!(self, engine => engine.usage_by_place(filter, most).await)
    }
}
