//! Moments, in milliseconds since 1970, and the ISO 8601 form that agents record.
//!
//! Time zones and calendars for people are the front end's; this is only what arithmetic needs.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A moment: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Reads `2026-10-05T09:14:03.250Z`, with or without a fraction, with `Z` or an offset.
    pub fn parse(text: &[u8]) -> Option<Timestamp> {
        let number = |range: std::ops::Range<usize>| -> Option<i64> {
            text.get(range)?
                .iter()
                .try_fold(0i64, |value, digit| digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0')))
        };
        let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if separators
            .iter()
            .any(|&(at, byte)| text.get(at) != Some(&byte) && !(at == 10 && text.get(at) == Some(&b' ')))
        {
            return None;
        }
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 24 || minute > 59 || second > 60 {
            return None;
        }
        let mut rest = text.get(19..)?;
        let mut millis = 0;
        if let Some(fraction) = rest.strip_prefix(b".") {
            let digits = fraction.iter().take_while(|digit| digit.is_ascii_digit()).count();
            let places = fraction[..digits].iter().chain([b'0', b'0', b'0'].iter()).take(3);
            millis = places.fold(0, |millis, digit| millis * 10 + i64::from(digit - b'0'));
            rest = &fraction[digits..];
        }
        let offset_minutes = match rest {
            b"" | b"Z" | b"z" => 0,
            [sign @ (b'+' | b'-'), h1, h2, tail @ ..] if h1.is_ascii_digit() && h2.is_ascii_digit() => {
                let minutes: Vec<u8> = tail.iter().copied().filter(u8::is_ascii_digit).collect();
                let hours = i64::from(h1 - b'0') * 10 + i64::from(h2 - b'0');
                let minutes = match minutes[..] {
                    [m1, m2] => i64::from(m1 - b'0') * 10 + i64::from(m2 - b'0'),
                    [] => 0,
                    _ => return None,
                };
                if *sign == b'+' { hours * 60 + minutes } else { -(hours * 60 + minutes) }
            }
            _ => return None,
        };
        let days = days_from_civil(year, month, day);
        Some(Timestamp((((days * 24 + hour) * 60 + minute - offset_minutes) * 60 + second) * 1000 + millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, ms) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second, milli) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar; no year is before 0.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years are counted from March, so that the leap day is the last one, and from 400 years earlier, so that none is
    // negative and small numbers do.
    let (year, month, day) = ((year + 400 - i64::from(month <= 2)) as u32, month as u32, day as u32);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    i64::from(year * 365 + year / 4 - year / 100 + year / 400 + day_of_year) - 719_468 - 146_097
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_agents_write() {
        for (text, shown) in [
            ("1970-01-01T00:00:00Z", Some("1970-01-01T00:00:00.000Z")),
            ("2026-10-05T09:14:03.250Z", Some("2026-10-05T09:14:03.250Z")),
            ("2024-02-29T23:59:59.9Z", Some("2024-02-29T23:59:59.900Z")),
            ("2026-10-05T09:14:03.123456+02:00", Some("2026-10-05T07:14:03.123Z")),
            ("2026-13-05T09:14:03Z", None),
            ("yesterday", None),
            ("", None),
            ("2026-10-05T09:14:03+2", None),
        ] {
            assert_eq!(Timestamp::parse(text.as_bytes()).map(|at| at.to_string()).as_deref(), shown, "{text}");
        }
    }

    proptest! {
        #[test]
        fn shown_and_read_again(ms in -60_000_000_000_000i64..250_000_000_000_000) {
            let at = Timestamp(ms);
            prop_assert_eq!(Timestamp::parse(at.to_string().as_bytes()), Some(at));
        }

        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Timestamp::parse(&bytes);
        }
    }
}
