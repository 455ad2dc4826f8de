//! When to try again, and how long to wait before: a plan without a clock, and a gate that all threads of a backend go
//! through.

use hotwash_core::sessions::Timestamp;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// How patient a backend is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How often a prompt is sent at most.
    pub attempts: u32,
    /// How often it is at most where nothing came back in time: such an attempt is slow, and may have been paid for.
    pub timeouts: u32,
    /// How often it is at most where the answer broke off or did not come: what may have been paid for each time must not
    /// pass a cap.
    pub unclear: u32,
    /// The wait after the first failure; it doubles with each.
    pub first: Duration,
    /// The longest wait, where the server names none.
    pub longest: Duration,
    /// All waits for one prompt together.
    pub total: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Retries {
            attempts: 6,
            timeouts: 2,
            unclear: u32::MAX,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
            total: Duration::from_secs(600),
        }
    }
}

/// Why an attempt came to nothing, where another one may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setback {
    /// The server named a time to wait.
    Named(Duration),
    /// It failed without naming one, or the connection did.
    Failed,
    /// Nothing came back in time.
    TimedOut,
}

/// The attempts of one prompt.
#[derive(Debug)]
pub(crate) struct Tries<'a> {
    policy: &'a Retries,
    random: Random,
    timeouts: u32,
    unclear: u32,
    waited: Duration,
    /// How many attempts were made.
    pub(crate) made: u32,
}

impl<'a> Tries<'a> {
    /// Those of something that is asked, which its waits depend on.
    pub(crate) fn new(policy: &'a Retries, asked: &[u8]) -> Tries<'a> {
        Tries { policy, random: Random::new(xxh3_64(asked)), timeouts: 0, unclear: 0, waited: Duration::ZERO, made: 0 }
    }

    /// How long to wait before the next attempt; none where it is time to give up. `lost`: nobody can tell whether the
    /// last one was paid for.
    pub(crate) fn next(&mut self, setback: Setback, lost: bool) -> Option<Duration> {
        self.timeouts += u32::from(setback == Setback::TimedOut);
        self.unclear += u32::from(lost);
        let Retries { attempts, timeouts, unclear, .. } = *self.policy;
        if self.made >= attempts || self.timeouts >= timeouts.max(1) || self.unclear >= unclear.max(1) {
            return None;
        }
        let wait = match setback {
            // A little more than was named, so that not everybody comes back in the same moment.
            Setback::Named(time) => time + self.spread(),
            Setback::Failed | Setback::TimedOut => {
                let doubled = self.policy.first.saturating_mul(1 << self.made.saturating_sub(1).min(20));
                self.random.up_to(doubled.min(self.policy.longest))
            }
        };
        self.spend(wait).then_some(wait)
    }

    /// A little time, each time another.
    pub(crate) fn spread(&mut self) -> Duration {
        self.random.up_to(Duration::from_millis(500))
    }

    /// Counts a wait against the whole. Says whether there was room for it.
    pub(crate) fn spend(&mut self, wait: Duration) -> bool {
        let fits = self.waited + wait <= self.policy.total;
        if fits {
            self.waited += wait;
        }
        fits
    }
}

/// Numbers that spread waits, from a seed: the same prompt waits the same.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        // Xorshift stands still at zero.
        Random(seed ^ 0x9E37_79B9_7F4A_7C15 | 1)
    }

    fn up_to(&mut self, most: Duration) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let share = (self.0 >> 11) as f64 / (1u64 << 53) as f64;
        most.mul_f64(share)
    }
}

/// The gate in front of a backend. When the server says to wait, everybody does.
#[derive(Debug, Default)]
pub(crate) struct Gate(Mutex<Option<Timestamp>>);

impl Gate {
    /// Nobody goes through before then.
    pub(crate) fn close_until(&self, then: Timestamp) {
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *until = (*until).max(Some(then));
    }

    /// How long it stays closed.
    pub(crate) fn closed_for(&self, now: Timestamp) -> Duration {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.map_or(0, |until| until.0.saturating_sub(now.0));
        Duration::from_millis(left.max(0) as u64)
    }
}

/// How long the headers of an answer tell to wait after it failed.
pub(crate) fn named<'a>(header: impl Fn(&str) -> Option<&'a str>, now: Timestamp) -> Option<Duration> {
    if let Some(ms) = header("retry-after-ms").and_then(|ms| ms.trim().parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    if let Some(text) = header("retry-after") {
        let seconds = text.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        return seconds.or_else(|| http_date(text).map(|then| until(then, now)));
    }
    used_up(header, now)
}

/// How long the headers of any answer tell to wait because something is used up: requests, or tokens.
pub(crate) fn used_up<'a>(header: impl Fn(&str) -> Option<&'a str>, now: Timestamp) -> Option<Duration> {
    let anthropic = ["requests", "tokens", "input-tokens", "output-tokens"].into_iter().filter_map(|what| {
        let remaining = header(&format!("anthropic-ratelimit-{what}-remaining"))?;
        let reset = header(&format!("anthropic-ratelimit-{what}-reset"))?;
        (remaining.trim() == "0").then(|| Timestamp::parse(reset.trim().as_bytes()))?.map(|then| until(then, now))
    });
    let openai = ["requests", "tokens"].into_iter().filter_map(|what| {
        let remaining = header(&format!("x-ratelimit-remaining-{what}"))?;
        let reset = header(&format!("x-ratelimit-reset-{what}"))?;
        (remaining.trim() == "0").then(|| spelled(reset.trim()))?
    });
    anthropic.chain(openai).max()
}

fn until(then: Timestamp, now: Timestamp) -> Duration {
    Duration::from_millis(then.0.saturating_sub(now.0).max(0) as u64)
}

/// A date as HTTP writes it: `Wed, 21 Oct 2026 07:28:00 GMT`.
pub(crate) fn http_date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_whitespace().skip(1);
    let (day, month, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Timestamp::parse(format!("{year}-{month:02}-{day:0>2}T{time}Z").as_bytes())
}

/// A length of time as some servers spell it: `6m0s`, `1.5s`, `20ms`.
fn spelled(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at_checked(digits)?;
        let unit = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit)?;
        let scale = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * scale;
        rest = tail;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// Answers after which the same may be asked again.
pub(crate) fn may_repeat(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500 | 502 | 503 | 504 | 529)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp(1_790_000_000_000); // 2026-09-21T14:13:20Z

    #[test]
    fn headers_name_a_time() {
        for (headers, named_ms, used_up_ms) in [
            (vec![("retry-after", "7")], Some(7000), None),
            (vec![("retry-after", "0.25")], Some(250), None),
            (vec![("retry-after-ms", "1500"), ("retry-after", "9")], Some(1500), None),
            (vec![("retry-after", "Mon, 21 Sep 2026 14:13:30 GMT")], Some(10_000), None),
            (vec![("retry-after", "Mon, 21 Sep 2026 14:00:00 GMT")], Some(0), None),
            (vec![("retry-after", "soon")], None, None),
            (vec![("retry-after", "-3")], None, None),
            (vec![("retry-after", "NaN")], None, None),
            (
                vec![
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2026-09-21T14:13:50Z"),
                    ("anthropic-ratelimit-requests-remaining", "12"),
                    ("anthropic-ratelimit-requests-reset", "2026-09-21T15:13:50Z"),
                ],
                Some(30_000),
                Some(30_000),
            ),
            (
                vec![("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1m2.5s")],
                Some(62_500),
                Some(62_500),
            ),
            (vec![("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "20ms")], Some(20), Some(20)),
            (vec![("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "20 é")], None, None),
            (vec![], None, None),
        ] {
            let header = |name: &str| headers.iter().find(|(header, _)| *header == name).map(|(_, value)| *value);
            let ms = |time: Option<Duration>| time.map(|time| time.as_millis());
            assert_eq!((ms(named(header, NOW)), ms(used_up(header, NOW))), (named_ms, used_up_ms), "{headers:?}");
        }
    }

    #[test]
    fn a_gate_opens_at_the_latest_time_it_was_given() {
        let gate = Gate::default();
        assert_eq!(gate.closed_for(NOW), Duration::ZERO);
        gate.close_until(Timestamp(NOW.0 + 5000));
        gate.close_until(Timestamp(NOW.0 + 2000));
        assert_eq!(gate.closed_for(NOW), Duration::from_secs(5));
        assert_eq!(gate.closed_for(Timestamp(NOW.0 + 6000)), Duration::ZERO);
    }

    #[test]
    fn what_may_have_been_paid_for_is_tried_as_often_as_it_may_be() {
        for (unclear, lost, again) in [(1, true, false), (1, false, true), (2, true, true)] {
            let policy = Retries { unclear, ..Retries::default() };
            let mut tries = Tries { made: 1, ..Tries::new(&policy, b"") };
            assert_eq!(tries.next(Setback::Failed, lost).is_some(), again, "{unclear} {lost}");
        }
    }

    proptest! {
        #[test]
        fn waits_are_bounded_and_end(seed: u64, setbacks in proptest::collection::vec(0u8..3, 1..40), named_s in 0u64..400) {
            let policy = Retries::default();
            let mut tries = Tries::new(&policy, &seed.to_be_bytes());
            let mut total = Duration::ZERO;
            for (n, setback) in setbacks.iter().enumerate() {
                tries.made += 1;
                let setback = match setback {
                    0 => Setback::Named(Duration::from_secs(named_s)),
                    1 => Setback::Failed,
                    _ => Setback::TimedOut,
                };
                let Some(wait) = tries.next(setback, true) else { break };
                prop_assert!(n + 1 < policy.attempts as usize);
                if let Setback::Named(time) = setback {
                    prop_assert!(wait >= time);
                } else {
                    prop_assert!(wait <= policy.longest.min(policy.first * (1 << n)));
                }
                total += wait;
                prop_assert!(total <= policy.total);
            }
        }
    }
}
