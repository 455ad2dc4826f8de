//! Which stretch of time: anchored to the newest session, never to today.

use super::words::count;
use crate::records::Query;
use crate::sessions::Timestamp;

const HOUR_MS: i64 = 3_600_000;

/// One end of a stretch of time as somebody says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// No bound.
    All,
    /// So many hours before the newest session.
    Ago(i64),
    /// A day.
    Day {
        /// As it was written.
        name: String,
        /// Its first moment.
        starts: Timestamp,
        /// The first moment of the next day.
        ends: Timestamp,
    },
}

impl Bound {
    /// Reads `24h`, `7d`, `2w`, `all` or a day. `day` says when a day starts and ends where it is read; which zone that is
    /// in, core does not know.
    pub fn parse(text: &str, day: impl Fn(&str) -> Option<(Timestamp, Timestamp)>) -> Option<Bound> {
        if text == "all" {
            return Some(Bound::All);
        }
        let unit = |name: char| Some(i64::from(text.strip_suffix(name)?.parse::<u32>().ok()?));
        let hours = unit('h').or_else(|| Some(unit('d')? * 24)).or_else(|| Some(unit('w')? * 24 * 7));
        match hours {
            Some(hours) => Some(Bound::Ago(hours)),
            None => day(text).map(|(starts, ends)| Bound::Day { name: text.to_owned(), starts, ends }),
        }
    }

    /// Since when, counted back from now: for what is elsewhere, where nothing here knows the newest session. At most ten
    /// years, because nothing is asked for without an end.
    pub fn back_from(&self, now: Timestamp) -> Timestamp {
        const LONGEST: i64 = 10 * 365 * 24;
        let ago = |hours: i64| Timestamp(now.0 - hours.min(LONGEST) * HOUR_MS);
        match self {
            Bound::All => ago(LONGEST),
            Bound::Ago(hours) => ago(*hours),
            Bound::Day { starts, .. } => (*starts).max(ago(LONGEST)),
        }
    }
}

/// A stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Sessions that ended at or after.
    pub since: Option<Timestamp>,
    /// Sessions that began before.
    pub until: Option<Timestamp>,
    /// In words, such as `7 days up to the newest`.
    pub words: String,
}

/// Why there is no stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsettled<E> {
    /// It ends before it begins, which is then.
    Backwards(Timestamp),
    /// The newest session could not be asked for.
    Newest(E),
}

impl Window {
    /// A query, within this stretch of time.
    #[must_use]
    pub fn within(&self, query: &Query) -> Query {
        Query { since: self.since, until: self.until, ..query.clone() }
    }

    /// Settles a stretch of time. `newest` tells the end of the newest session that began before a moment.
    pub fn of<E>(
        from: &Bound,
        to: Option<&Bound>,
        newest: impl Fn(Option<Timestamp>) -> Result<Option<Timestamp>, E>,
    ) -> Result<Window, Unsettled<E>> {
        let newest = |until: Option<Timestamp>| match newest(until) {
            Ok(newest) => Ok(newest.map(|newest| until.map_or(newest, |until| newest.min(until)))),
            Err(error) => Err(Unsettled::Newest(error)),
        };
        let until = match to {
            None | Some(Bound::All) => None,
            Some(Bound::Day { ends, .. }) => Some(*ends),
            Some(Bound::Ago(hours)) => newest(None)?.map(|newest| Timestamp(newest.0 - hours * HOUR_MS)),
        };
        let (since, words) = match from {
            Bound::All => (None, "all sessions".to_owned()),
            Bound::Day { name, starts, .. } => {
                // An amount of time is counted back from `until`, so that only a day can be after it.
                if until.is_some_and(|until| *starts >= until) {
                    return Err(Unsettled::Backwards(*starts));
                }
                (Some(*starts), format!("since {name}"))
            }
            Bound::Ago(hours) => {
                let long =
                    if hours % 24 == 0 { count(*hours as u64 / 24, "day") } else { count(*hours as u64, "hour") };
                let end = if until.is_some() { "the newest then" } else { "the newest" };
                (newest(until)?.map(|newest| Timestamp(newest.0 - hours * HOUR_MS)), format!("{long} up to {end}"))
            }
        };
        Ok(Window { since, until, words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * HOUR_MS;

    /// Days are numbered from 1970 on.
    fn parse(text: &str) -> Option<Bound> {
        let day = |text: &str| text.strip_prefix("day-")?.parse::<i64>().ok();
        Bound::parse(text, |text| day(text).map(|day| (Timestamp(day * DAY), Timestamp((day + 1) * DAY))))
    }

    #[test]
    fn times_as_people_say_them() {
        for (text, hours) in [("24h", 24), ("7d", 168), ("2w", 336), ("0d", 0)] {
            assert_eq!(parse(text), Some(Bound::Ago(hours)), "{text}");
        }
        assert_eq!(parse("all"), Some(Bound::All));
        assert!(matches!(parse("day-3"), Some(Bound::Day { .. })));
        for text in ["", "d", "-7d", "7", "7m", "yesterday", "99999999999d"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn windows_are_counted_back_from_the_newest() {
        let newest = |until: Option<Timestamp>| Ok::<_, ()>(Some(Timestamp(until.map_or(20 * DAY, |_| 12 * DAY))));
        let window = |from: &str, to: Option<&str>| {
            Window::of(&parse(from).unwrap(), to.map(|to| parse(to).unwrap()).as_ref(), newest)
        };
        let of = |since: Option<i64>, until: Option<i64>, words: &str| {
            let at = |days: i64| Timestamp(days * DAY);
            Ok(Window { since: since.map(at), until: until.map(at), words: words.into() })
        };
        assert_eq!(window("all", None), of(None, None, "all sessions"));
        assert_eq!(window("7d", None), of(Some(13), None, "7 days up to the newest"));
        assert_eq!(window("7d", Some("day-15")), of(Some(5), Some(16), "7 days up to the newest then"));
        assert_eq!(window("1d", Some("1w")), of(Some(11), Some(13), "1 day up to the newest then"));
        assert_eq!(window("day-3", Some("day-3")), of(Some(3), Some(4), "since day-3"));
        assert_eq!(window("day-4", Some("day-3")), Err(Unsettled::Backwards(Timestamp(4 * DAY))));
        let unknown = Window::of(&Bound::Ago(1), None, |_| Err("no store"));
        assert_eq!(unknown, Err(Unsettled::Newest("no store")));
        let nothing = Window::of(&Bound::Ago(24), None, |_| Ok::<_, ()>(None)).unwrap();
        assert_eq!((nothing.since, nothing.until), (None, None));
    }

    #[test]
    fn what_is_elsewhere_is_counted_back_from_now() {
        let now = Timestamp(400 * DAY);
        assert_eq!(Bound::Ago(48).back_from(now), Timestamp(398 * DAY));
        assert_eq!(parse("day-399").unwrap().back_from(now), Timestamp(399 * DAY));
        assert_eq!(Bound::All.back_from(now), Bound::Ago(i64::MAX / HOUR_MS).back_from(now));
    }
}
