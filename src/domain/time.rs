//! Points in time: UTC, milliseconds, RFC 3339 on the wire.

use std::{sync::LazyLock, time::Duration};

use jiff::tz::TimeZoneDatabase;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use time::{OffsetDateTime, format_description::well_known::Rfc3339, macros::format_description};

/// A point in time in whole milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// Part of the program, so that a name means the same on every machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Is that the IANA name of a time zone?
pub fn is_zone(name: &str) -> bool {
    ZONES.get(name).is_ok()
}

impl Timestamp {
    /// The system clock, now.
    pub fn now() -> Self {
        let nanoseconds = OffsetDateTime::now_utc().unix_timestamp_nanos();
        Self(i64::try_from(nanoseconds / 1_000_000).unwrap_or(i64::MAX))
    }

    /// This time plus `duration`, saturating.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// This time less `duration`, saturating.
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time from `earlier` to this one; none when clocks were set back.
    pub fn after(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.since(earlier)).unwrap_or(0))
    }

    /// Milliseconds from `earlier` to this time; negative if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The date in a time zone as prompts show it: `Mon Jan 15, 2024`. In UTC when there is no such zone.
    pub fn prompt_date(self, zone: &str) -> String {
        let instant = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        let zone = ZONES.get(zone).unwrap_or(jiff::tz::TimeZone::UTC);
        instant.to_zoned(zone).strftime("%a %b %-d, %Y").to_string()
    }

    /// RFC 3339 with milliseconds and `Z`.
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
