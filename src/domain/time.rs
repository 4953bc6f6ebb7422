//! Points in time: UTC, milliseconds, RFC 3339 on the wire.

use std::{sync::LazyLock, time::Duration};

use jiff::tz::TimeZoneDatabase;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use time::{OffsetDateTime, format_description::well_known::Rfc3339, macros::format_description};

/// A point in time in whole milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Part of the program, so that a name means the same on every machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Returns whether that is the IANA name of a time zone.
pub fn is_zone(name: &str) -> bool {
    ZONES.get(name).is_ok()
}

/// Returns the duration of that many days.
pub fn days(days: u64) -> Duration {
    Duration::from_secs(days * 24 * 60 * 60)
}

impl Timestamp {
    /// Returns the system clock, now.
    pub fn now() -> Self {
        let nanoseconds = OffsetDateTime::now_utc().unix_timestamp_nanos();
        Self(i64::try_from(nanoseconds / 1_000_000).unwrap_or(i64::MAX))
    }

    /// Adds `duration`, saturating.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Subtracts `duration`, saturating.
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns the time from `earlier` to this one; none when clocks were set back.
    pub fn after(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.since(earlier)).unwrap_or(0))
    }

    /// Returns the milliseconds from `earlier` to this time; negative if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the beginning of this minute; UTC, as the next ones.
    pub fn minute(self) -> Self {
        Self(self.0 - self.0.rem_euclid(60_000))
    }

    /// Returns the beginning of this day.
    pub fn day(self) -> Self {
        Self(self.0 - self.0.rem_euclid(DAY))
    }

    /// Returns the beginning of the next day.
    pub fn next_day(self) -> Self {
        Self(self.day().0.saturating_add(DAY))
    }

    /// Returns the beginning of this month.
    pub fn month(self) -> Self {
        let day = i64::from(self.to_offset().day());
        Self(self.day().0.saturating_sub((day - 1) * DAY))
    }

    /// Returns the beginning of the next month.
    pub fn next_month(self) -> Self {
        // The 32nd day of a month is one of the next.
        Self(self.month().0.saturating_add(31 * DAY)).month()
    }

    /// Returns the date, UTC. Shape: `2026-11-21`.
    pub fn to_date(self) -> String {
        self.to_offset().format(format_description!("[year]-[month]-[day]")).unwrap_or_default()
    }

    /// Returns the beginning of a date that [`Self::to_date`] wrote; `None` for anything else.
    pub fn of_date(text: &str) -> Option<Self> {
        let date = time::Date::parse(text, format_description!("[year]-[month]-[day]")).ok()?;
        Some(Self(date.midnight().assume_utc().unix_timestamp().checked_mul(1_000)?))
    }

    /// Returns the date in a time zone as prompts show it: `Mon Jan 15, 2024`. In UTC when there is no such zone.
    pub fn prompt_date(self, zone: &str) -> String {
        let instant = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        let zone = ZONES.get(zone).unwrap_or(jiff::tz::TimeZone::UTC);
        instant.to_zoned(zone).strftime("%a %b %-d, %Y").to_string()
    }

    /// Returns the time in RFC 3339 with milliseconds and `Z`.
    pub fn to_rfc3339(self) -> String {
        let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
        self.to_offset().format(format).unwrap_or_default()
    }

    fn to_offset(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_rfc3339())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed = OffsetDateTime::parse(&text, &Rfc3339).map_err(D::Error::custom)?;
        let milliseconds = parsed.unix_timestamp_nanos() / 1_000_000;
        i64::try_from(milliseconds).map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_survives_its_wire_form() {
        let time = Timestamp(1_795_239_286_123);
        let wire = serde_json::to_string(&time).unwrap();
        assert_eq!(serde_json::from_str::<Timestamp>(&wire).unwrap(), time);
        assert_eq!(wire, "\"2026-11-21T05:34:46.123Z\"");
    }

    #[test]
    fn days_and_months_begin_where_the_calendar_says() {
        let check = |at: &str, month: &str, next: &str| {
            let at = Timestamp::of_date(at).unwrap().plus(Duration::from_secs(86_399));
            assert_eq!((at.month().to_date(), at.next_month().to_date()), (month.to_owned(), next.to_owned()));
        };
        check("2026-11-22", "2026-11-01", "2026-12-01");
        check("2026-12-31", "2026-12-01", "2027-01-01");
        check("2028-02-29", "2028-02-01", "2028-03-01");
        check("2026-01-31", "2026-01-01", "2026-02-01");
        let at = Timestamp(1_795_239_286_123);
        assert_eq!((at.day().to_date(), at.next_day().to_date()), ("2026-11-21".to_owned(), "2026-11-22".to_owned()));
        assert_eq!(at.minute().to_rfc3339(), "2026-11-21T05:34:00.000Z");
        for wrong in ["", "2026-11", "2026-13-01", "2026-02-30", "21.11.2026", "2026-11-21T00:00:00Z"] {
            assert_eq!(Timestamp::of_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn prompts_show_the_date_without_padding() {
        assert_eq!(Timestamp(1_705_276_800_000).prompt_date("UTC"), "Mon Jan 15, 2024");
        assert_eq!(Timestamp(1_704_240_000_000).prompt_date("UTC"), "Wed Jan 3, 2024");
        let evening = Timestamp(1_704_240_000_000 + 23 * 3_600_000);
        assert_eq!(evening.prompt_date("UTC"), "Wed Jan 3, 2024");
        assert_eq!(evening.prompt_date("Asia/Tokyo"), "Thu Jan 4, 2024");
        assert_eq!(evening.prompt_date("nowhere"), "Wed Jan 3, 2024");
        assert_eq!(["Europe/Berlin", "UTC", "Mars/Olympus", ""].map(is_zone), [true, true, false, false]);
    }
}
