//! Numbers as people read them.

use hotwash_core::facts::Cost;
pub(crate) use hotwash_core::reports::words::{count, grouped, points};

/// "950", "12.4 k", "3.1 M".
pub(crate) fn short(n: u64) -> String {
    match n {
        0..1000 => n.to_string(),
        1000..1_000_000 => format!("{:.1} k", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} M", n as f64 / 1e6),
        _ => format!("{:.1} G", n as f64 / 1e9),
    }
}

/// "812 B", "3.4 MB".
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..1000 => format!("{n} B"),
        1000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.2} GB", n as f64 / 1e9),
    }
}

/// "$1.24", "at least $0.30" where a part has no price or tokens were counted too low, "unknown" where all of it has no price.
pub(crate) fn cost(cost: &Cost) -> String {
    match (cost.dollars(), cost.known.0) {
        (Some(dollars), _) if cost.partial => format!("at least ${dollars:.2}"),
        (Some(dollars), _) => format!("${dollars:.2}"),
        (None, 0) => "unknown".into(),
        (None, _) => format!("at least ${:.2}", cost.known.dollars()),
    }
}

/// The same for a column: `$1.24`, `>=$0.30`, `?`.
pub(crate) fn cost_short(cost: &Cost) -> String {
    match (cost.dollars(), cost.known.0) {
        (Some(dollars), _) if cost.partial => format!(">=${dollars:.2}"),
        (Some(dollars), _) => format!("${dollars:.2}"),
        (None, 0) => "?".into(),
        (None, _) => format!(">=${:.2}", cost.known.dollars()),
    }
}

/// "45s", "38m", "1h09".
pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        _ => format!("{}h{:02}", seconds / 3600, seconds / 60 % 60),
    }
}

/// "40 ms", "2.1 s", "3m12".
pub(crate) fn elapsed(milliseconds: i64) -> String {
    match milliseconds {
        ..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format!("{:.1} s", milliseconds as f64 / 1e3),
        60_000..3_600_000 => format!("{}m{:02}", milliseconds / 60_000, milliseconds / 1000 % 60),
        _ => duration(milliseconds as u64 / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words() {
        assert_eq!([duration(45), duration(2280), duration(4140)], ["45s", "38m", "1h09"]);
        assert_eq!([elapsed(40), elapsed(2100), elapsed(192_000)], ["40 ms", "2.1 s", "3m12"]);
        assert_eq!([short(950), short(12_400), short(3_100_000)], ["950", "12.4 k", "3.1 M"]);
    }
}
