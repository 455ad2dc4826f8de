//! Which stretch of time: anchored to the newest session, never to today.

use crate::errors::Failure;
use crate::screen::numbers::count;
use crate::screen::time::Clock;
use hotwash_core::sessions::Timestamp;
use hotwash_engine::stores::{Query, Store};

const HOUR_MS: i64 = 3_600_000;

/// One end of a stretch of time as somebody says it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bound {
    /// No bound.
    All,
    /// So many hours before the newest session.
    Ago(i64),
    /// A day.
    Day(jiff::civil::Date),
}

fn parse(option: &str, text: &str) -> Result<Bound, Failure> {
    let wrong = || {
        Failure::new(format!("{option} is `{text}`, which is no time"))
            .hint("say 24h, 7d or 2w (counted back from the newest session), a date such as 2026-11-01, or all")
    };
    if text == "all" {
        return Ok(Bound::All);
    }
    let unit = |name: char| Some(i64::from(text.strip_suffix(name)?.parse::<u32>().ok()?));
    let hours = unit('h').or_else(|| Some(unit('d')? * 24)).or_else(|| Some(unit('w')? * 24 * 7));
    match hours {
        Some(hours) => Ok(Bound::Ago(hours)),
        None => text.parse().map(Bound::Day).map_err(|_| wrong()),
    }
}

/// Whether a text says how far back to look.
pub(crate) fn is_time(text: &str) -> bool {
    parse("", text).is_ok()
}

/// Since when, counted back from now: for what is elsewhere, where nobody here knows the newest. At most ten years,
/// because nothing is asked for without an end.
pub(crate) fn back_from_now(text: &str, now: Timestamp, clock: &Clock) -> Result<Timestamp, Failure> {
    const LONGEST: i64 = 10 * 365 * 24;
    let ago = |hours: i64| Timestamp(now.0 - hours.min(LONGEST) * HOUR_MS);
    Ok(match parse("--since", text)? {
        Bound::All => ago(LONGEST),
        Bound::Ago(hours) => ago(hours),
        Bound::Day(day) => clock.start_of(day, 0).map_or(ago(LONGEST), |day| day.max(ago(LONGEST))),
    })
}

/// A stretch of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// Sessions that ended at or after.
    pub(crate) since: Option<Timestamp>,
    /// Sessions that began before.
    pub(crate) until: Option<Timestamp>,
    /// In words, such as `7 days up to the newest`.
    pub(crate) words: String,
}

impl Window {
    /// A query, within this stretch of time.
    pub(crate) fn within(&self, query: &Query) -> Query {
        Query { since: self.since, until: self.until, ..query.clone() }
    }

    /// Settles a stretch of time by what is in the store. `query` holds whatever else sessions are picked by.
    pub(crate) fn of(
        since: &str,
        until: Option<&str>,
        clock: &Clock,
        store: &dyn Store,
        query: &Query,
    ) -> Result<Window, Failure> {
        let (from, to) = (parse("--since", since)?, until.map(|until| parse("--until", until)).transpose()?);
        let newest = |until: Option<Timestamp>| -> Result<Option<Timestamp>, Failure> {
            let newest = store.newest(&Query { since: None, until, ..query.clone() })?;
            Ok(newest.map(|newest| until.map_or(newest, |until| newest.min(until))))
        };
        let until = match to {
            None | Some(Bound::All) => None,
            Some(Bound::Day(day)) => clock.start_of(day, 1),
            Some(Bound::Ago(hours)) => newest(None)?.map(|newest| Timestamp(newest.0 - hours * HOUR_MS)),
        };
        let (since, words) = match from {
            Bound::All => (None, "all sessions".to_owned()),
            Bound::Day(day) => (clock.start_of(day, 0), format!("since {day}")),
            Bound::Ago(hours) => {
                let long = if hours % 24 == 0 { count(hours as u64 / 24, "day") } else { count(hours as u64, "hour") };
                let end = if until.is_some() { "the newest then" } else { "the newest" };
                (newest(until)?.map(|newest| Timestamp(newest.0 - hours * HOUR_MS)), format!("{long} up to {end}"))
            }
        };
        // An amount of time is counted back from --until, so that only a day can be after it.
        if matches!(from, Bound::Day(_)) && until.is_some_and(|until| since.is_some_and(|since| since >= until)) {
            return Err(Failure::new(format!("--until ends before --since begins, at {}", clock.moment(since)))
                .hint("give an earlier --since, or leave one of the two out"));
        }
        Ok(Window { since, until, words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_say_them() {
        for (text, hours) in [("24h", 24), ("7d", 168), ("2w", 336), ("0d", 0)] {
            assert_eq!(parse("--since", text).unwrap(), Bound::Ago(hours), "{text}");
        }
        assert_eq!(parse("--since", "all").unwrap(), Bound::All);
        assert!(matches!(parse("--since", "2026-11-01").unwrap(), Bound::Day(_)));
        for text in ["", "d", "-7d", "7", "7m", "yesterday", "2026-13-01", "99999999999d"] {
            assert!(parse("--since", text).is_err(), "{text}");
        }
    }
}
