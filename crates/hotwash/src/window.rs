//! Which stretch of time, as it is said on the command line.

use crate::errors::Failure;
use crate::screen::time::Clock;
use hotwash_core::reports::{Bound, Unsettled, Window};
use hotwash_core::sessions::Timestamp;
use hotwash_engine::stores::{Query, Store};

fn parse(option: &str, text: &str, clock: &Clock) -> Result<Bound, Failure> {
    let day = |text: &str| {
        let day = text.parse().ok()?;
        Some((clock.start_of(day, 0)?, clock.start_of(day, 1)?))
    };
    Bound::parse(text, day).ok_or_else(|| {
        Failure::new(format!("{option} is `{text}`, which is no time"))
            .hint("say 24h, 7d or 2w (counted back from the newest session), a date such as 2026-11-01, or all")
    })
}

/// Whether a text says how far back to look.
pub(crate) fn is_time(text: &str) -> bool {
    let day = |text: &str| text.parse::<jiff::civil::Date>().is_ok().then_some((Timestamp(0), Timestamp(0)));
    Bound::parse(text, day).is_some()
}

/// Since when, counted back from now: for what is elsewhere, where nothing here knows the newest.
pub(crate) fn back_from_now(text: &str, now: Timestamp, clock: &Clock) -> Result<Timestamp, Failure> {
    Ok(parse("--since", text, clock)?.back_from(now))
}

/// Settles a stretch of time by what is in the store. `query` holds whatever else sessions are picked by.
pub(crate) fn settle(
    since: &str,
    until: Option<&str>,
    clock: &Clock,
    store: &dyn Store,
    query: &Query,
) -> Result<Window, Failure> {
    let from = parse("--since", since, clock)?;
    let to = until.map(|until| parse("--until", until, clock)).transpose()?;
    let newest = |until| store.newest(&Query { since: None, until, ..query.clone() });
    Window::of(&from, to.as_ref(), newest).map_err(|why| match why {
        Unsettled::Newest(error) => error.into(),
        Unsettled::Backwards(begins) => {
            Failure::new(format!("--until ends before --since begins, at {}", clock.moment(Some(begins))))
                .hint("give an earlier --since, or leave one of the two out")
        }
    })
}
