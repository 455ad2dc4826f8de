//! Counts in sentences.

/// "1 read", "31 reads".
pub(super) fn count(n: u64, noun: &str) -> String {
    count_behind("", n, noun)
}

/// "no error in 31 reads".
pub(super) fn count_behind(words: &str, n: u64, noun: &str) -> String {
    format!("{words}{} {noun}{}", number(n), if n == 1 { "" } else { "s" })
}

/// "7 of 31 reads repeat": the noun goes by the whole, the verb (one, many) by the part.
pub(super) fn of(part: u64, whole: u64, noun: &str, verb: (&str, &str)) -> String {
    format!("{} of {} {}", number(part), count(whole, noun), choose(part, verb))
}

/// The word for one or the word for many.
pub(super) fn choose<'a>(n: u64, (one, many): (&'a str, &'a str)) -> &'a str {
    if n == 1 { one } else { many }
}

/// "182,400".
pub(super) fn number(n: u64) -> String {
    if n >= 1000 { format!("{},{:03}", number(n / 1000), n % 1000) } else { n.to_string() }
}

/// "up to 182,400".
pub(super) fn number_behind(words: &str, n: u64) -> String {
    format!("{words}{}", number(n))
}

/// Adds "1 read" or "31 reads".
pub(super) fn push_count(out: &mut String, n: u64, noun: &str) {
    out.push_str(&count(n, noun));
}

/// Adds "182,400".
pub(super) fn push_number(out: &mut String, n: u64) {
    out.push_str(&number(n));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_many() {
        assert_eq!(count(0, "read"), "0 reads");
        assert_eq!(count(1, "read"), "1 read");
        assert_eq!(of(7, 31, "read", ("repeats", "repeat")), "7 of 31 reads repeat");
        assert_eq!(of(1, 31, "read", ("repeats", "repeat")), "1 of 31 reads repeats");
        assert_eq!(of(1, 1, "read", ("repeats", "repeat")), "1 of 1 read repeats");
    }

    #[test]
    fn long_numbers_are_grouped() {
        for (n, words) in [(0, "0"), (999, "999"), (1000, "1,000"), (150_000, "150,000"), (1_234_567, "1,234,567")] {
            assert_eq!(number(n), words);
        }
    }
}
