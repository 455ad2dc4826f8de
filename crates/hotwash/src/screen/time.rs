//! Moments for people, in their zone or in UTC.

use hotwash_core::sessions::Timestamp;
use jiff::tz::TimeZone;
use jiff::{Zoned, civil};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// How moments are shown.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// Known from the first moment on that is shown.
    zone: OnceLock<TimeZone>,
}

/// How the days of a list are shown.
pub(crate) struct Days<'c> {
    clock: &'c Clock,
    with_year: bool,
}

impl Days<'_> {
    /// How many columns a day takes.
    pub(crate) fn columns(&self) -> usize {
        if self.with_year { "28 Oct 2026".len() } else { "28 Oct".len() }
    }

    /// "8 Oct", or "8 Oct 2026".
    pub(crate) fn day(&self, at: Option<Timestamp>) -> String {
        if self.with_year { self.clock.date(at) } else { self.clock.day(at) }
    }
}

impl Clock {
    /// In the local zone, or in UTC. To find the local one takes a look at all zones that there are, so somebody else does
    /// that meanwhile, for whoever asks later.
    pub(crate) fn new(utc: bool) -> Clock {
        if utc {
            return Clock { zone: TimeZone::UTC.into() };
        }
        let _ = std::thread::Builder::new().spawn(TimeZone::system);
        Clock { zone: OnceLock::new() }
    }

    fn time_zone(&self) -> TimeZone {
        self.zone.get_or_init(TimeZone::system).clone()
    }

    fn zoned(&self, at: Timestamp) -> Option<Zoned> {
        jiff::Timestamp::from_millisecond(at.0).ok().map(|at| at.to_zoned(self.time_zone()))
    }

    fn show(&self, at: Timestamp, form: &str) -> String {
        self.zoned(at).map_or_else(|| "?".into(), |at| at.strftime(form).to_string())
    }

    /// Days in one style for a list: without the year where all of them are in the same one.
    pub(crate) fn days(&self, all: impl Iterator<Item = Option<Timestamp>>) -> Days<'_> {
        let years: BTreeSet<i16> = all.flatten().filter_map(|at| Some(self.zoned(at)?.year())).collect();
        Days { clock: self, with_year: years.len() > 1 }
    }

    /// "8 Oct".
    pub(crate) fn day(&self, at: Option<Timestamp>) -> String {
        at.map_or_else(|| "?".into(), |at| self.show(at, "%-d %b"))
    }

    /// "8 Oct 2026".
    pub(crate) fn date(&self, at: Option<Timestamp>) -> String {
        at.map_or_else(|| "?".into(), |at| self.show(at, "%-d %b %Y"))
    }

    /// "Thu 8 Oct 2026 15:16".
    pub(crate) fn moment(&self, at: Option<Timestamp>) -> String {
        at.map_or_else(|| "?".into(), |at| self.show(at, "%a %-d %b %Y %H:%M"))
    }

    /// "15:16:04".
    pub(crate) fn time(&self, at: Option<Timestamp>) -> String {
        at.map_or_else(|| "        ".into(), |at| self.show(at, "%H:%M:%S"))
    }

    /// "5 - 11 Oct 2026", "29 Apr - 13 May 2026", "8 Oct 2026".
    pub(crate) fn span(&self, from: Option<Timestamp>, to: Option<Timestamp>) -> String {
        let (Some(first), Some(last)) = (from.and_then(|at| self.zoned(at)), to.and_then(|at| self.zoned(at))) else {
            return self.date(to);
        };
        let begin = match (first.year() == last.year(), first.month() == last.month(), first.day() == last.day()) {
            (true, true, true) => return self.date(to),
            (true, true, false) => first.strftime("%-d"),
            (true, false, _) => first.strftime("%-d %b"),
            _ => first.strftime("%-d %b %Y"),
        };
        format!("{begin} - {}", self.date(to))
    }

    /// The zone in which times are shown, such as `CET`.
    pub(crate) fn zone(&self, at: Option<Timestamp>) -> String {
        at.map_or_else(String::new, |at| self.show(at, "%Z"))
    }

    /// The first moment of a day, or of the day after it.
    pub(crate) fn start_of(&self, day: civil::Date, days_later: i64) -> Option<Timestamp> {
        let day = day.checked_add(jiff::Span::new().days(days_later)).ok()?;
        day.to_zoned(self.time_zone()).ok().map(|at| Timestamp(at.timestamp().as_millisecond()))
    }
}
