//! Dates and times.

use chrono::{DateTime, Local, SecondsFormat, Utc};
use std::time::{SystemTime, UNIX_EPOCH};

/// `2024-05-17T09:30:01Z`.
pub(super) fn rfc3339(time: SystemTime) -> Option<String> {
    utc(time).map(|date| date.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// `2024-05-17 09:30:01.000000`, from nanoseconds since 1970.
pub(super) fn with_micros(nanos: u64) -> String {
    let date = DateTime::<Utc>::from_timestamp((nanos / 1_000_000_000) as i64, (nanos % 1_000_000_000) as u32);
    date.map(|date| date.format("%Y-%m-%d %H:%M:%S%.6f").to_string()).unwrap_or_default()
}

/// `Fri May 17 09:30:01 2024` in the local time zone, the format of `ctime`.
pub(super) fn ctime(time: SystemTime) -> Option<String> {
    utc(time).map(|date| date.with_timezone(&Local).format("%a %b %e %H:%M:%S %Y").to_string())
}

/// `None` outside the years of the calendar; modification times of files can be there.
fn utc(time: SystemTime) -> Option<DateTime<Utc>> {
    let (seconds, nanos) = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (i64::try_from(after.as_secs()).ok()?, after.subsec_nanos()),
        Err(before) => (-i64::try_from(before.duration().as_secs()).ok()?, 0),
    };
    DateTime::from_timestamp(seconds, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_utc() {
        let time = UNIX_EPOCH + Duration::new(1_700_000_000, 5_000);
        assert_eq!(rfc3339(time).as_deref(), Some("2023-11-14T22:13:20Z"));
        assert_eq!(with_micros(1_700_000_000_000_005_000), "2023-11-14 22:13:20.000005");
        assert_eq!(with_micros(u64::MAX), "2554-07-21 23:34:33.709551");
    }

    #[test]
    fn a_time_outside_the_calendar_has_no_date() {
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(2)).as_deref(), Some("1969-12-31T23:59:58Z"));
        let far = UNIX_EPOCH.checked_add(Duration::from_secs(1 << 60)).expect("a valid system time");
        assert_eq!((rfc3339(far), ctime(far)), (None, None));
    }
}
