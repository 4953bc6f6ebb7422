//! What was used, by day or month and owner, with the models that were called.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Runs;
use crate::{
    domain::{Caller, ModelUsage, Owner, Timestamp},
    store::{self, Store, UsageFilter, UsageRow},
};

/// Rows that one question may have, by day, owner and model.
pub const MAX_ROWS: u32 = 50_000;

/// The length of the periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    #[default]
    Day,
    Month,
}

impl Period {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// Returns the period of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Day, Self::Month].into_iter().find(|period| period.as_str() == name)
    }

    /// Returns where a question about the time before `to` begins unless it says so: thirty days, or twelve months.
    pub fn usual_start(self, to: Timestamp) -> Timestamp {
        match self {
            Self::Day => to.minus(crate::domain::time::days(29)).day(),
            // One after the other, since their lengths differ.
            Self::Month => (0..11).fold(to.month(), |month, _| month.minus(crate::domain::time::days(1)).month()),
        }
    }

    /// Returns the name of the period, as in `2026-11-21` or `2026-11`.
    fn name(self, day: Timestamp) -> String {
        let length = match self {
            Self::Day => 10,
            Self::Month => 7,
        };
        day.to_date().chars().take(length).collect()
    }
}

/// What an owner used in a period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnerUsage {
    /// Shape: `2026-11-21` or `2026-11`; UTC.
    pub period: String,
    pub owner: Owner,
    pub runs: u64,
    pub searches: u64,
    #[serde(flatten)]
    pub total: ModelUsage,
    pub by_model: BTreeMap<String, ModelUsage>,
}

/// Returns what was used, by period and owner, the newest period first; `None` when that is more than can be summed up
/// at once.
///
/// # Errors
/// Those of the store.
pub async fn usage(store: &Store, filter: &UsageFilter, by: Period) -> Result<Option<Vec<OwnerUsage>>, store::Error> {
    let rows = store.usage_by_day(filter, MAX_ROWS + 1).await?;
    Ok((rows.len() <= MAX_ROWS as usize).then(|| summed(rows, by)))
}

fn summed(rows: Vec<UsageRow>, by: Period) -> Vec<OwnerUsage> {
    let mut periods: BTreeMap<(String, Owner), OwnerUsage> = BTreeMap::new();
    for row in rows {
        let period = by.name(row.day);
        let entry = periods.entry((period.clone(), row.owner.clone())).or_insert_with(|| OwnerUsage {
            period,
            owner: row.owner.clone(),
            runs: 0,
            searches: 0,
            total: ModelUsage::default(),
            by_model: BTreeMap::new(),
        });
        entry.runs += row.runs;
        entry.searches += row.searches;
        if let Some(model) = row.model {
            for usage in [&mut entry.total, entry.by_model.entry(model).or_default()] {
                usage.calls += row.calls;
                usage.tokens += row.tokens;
            }
        }
    }
    let mut periods: Vec<_> = periods.into_values().collect();
    periods.sort_by(|a, b| b.period.cmp(&a.period).then_with(|| a.owner.cmp(&b.owner)));
    periods
}

impl Runs {
    /// Returns what the caller may see of what was used: their own, or of everybody for who sees everybody's.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn usage(
        &self,
        caller: &Caller,
        filter: UsageFilter,
        by: Period,
    ) -> Result<Option<Vec<OwnerUsage>>, store::Error> {
        match filter.seen_by(caller) {
            Some(filter) => usage(&self.parts.store, &filter, by).await,
            None => Ok(Some(Vec::new())),
        }
    }
}

impl UsageFilter {
    /// Returns what the caller may see of it; `None`: nothing.
    pub(super) fn seen_by(self, caller: &Caller) -> Option<Self> {
        match (caller.sees_only(), &self.owner) {
            (Some(own), Some(named)) if own != named => None,
            (Some(own), _) => Some(Self { owner: Some(own.clone()), ..self }),
            (None, _) => Some(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Cost, Usage};

    #[test]
    fn twelve_months_are_shown_whatever_their_lengths() {
        for (to, from) in [("2026-01-01", "2025-02-01"), ("2026-01-31", "2025-02-01"), ("2026-12-31", "2026-01-01")] {
            let start = Period::Month.usual_start(Timestamp::of_date(to).unwrap());
            assert_eq!(start.to_date(), from, "to {to}");
        }
    }

    #[test]
    fn days_add_up_to_months_and_models_to_sums() {
        let row = |day: &str, owner: &str, model: Option<&str>, calls, cost| UsageRow {
            day: Timestamp::of_date(day).unwrap(),
            owner: Owner::named(owner),
            model: model.map(str::to_owned),
            runs: u64::from(model.is_none()),
            searches: 2 * u64::from(model.is_none()),
            calls,
            tokens: Usage { input_tokens: calls * 10, cost, ..Usage::default() },
        };
        let rows = vec![
            row("2026-11-20", "ann", None, 0, None),
            row("2026-11-20", "ann", Some("a:x"), 3, Some(Cost(5))),
            row("2026-11-21", "ann", None, 0, None),
            row("2026-11-21", "ann", Some("a:x"), 1, Some(Cost(7))),
            row("2026-11-21", "ann", Some("b:y"), 2, None),
            row("2026-11-21", "bob", None, 0, None),
        ];
        let months = summed(rows.clone(), Period::Month);
        assert_eq!(
            months.iter().map(|month| (&*month.period, month.runs)).collect::<Vec<_>>(),
            [("2026-11", 2), ("2026-11", 1)]
        );
        let ann = &months[0];
        assert_eq!((ann.searches, ann.total.calls, ann.total.tokens.input_tokens), (4, 6, 60));
        assert_eq!(
            (ann.total.tokens.cost, ann.by_model["a:x"].calls, ann.by_model["b:y"].tokens.cost),
            (Some(Cost(12)), 4, None)
        );
        let days = summed(rows, Period::Day);
        let named: Vec<_> = days.iter().map(|day| (&*day.period, day.owner.as_str())).collect();
        assert_eq!(named, [("2026-11-21", "ann"), ("2026-11-21", "bob"), ("2026-11-20", "ann")]);
    }
}
