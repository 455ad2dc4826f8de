//! Counts in sentences.

/// "1 read", "31 reads".
pub(super) fn count(n: u64, noun: &str) -> String {
    count_behind("", n, noun)
}

/// "no error in 31 reads".
pub(super) fn count_behind(words: &str, n: u64, noun: &str) -> String {
    let mut out = String::with_capacity(ROOM);
    out.push_str(words);
    push_count(&mut out, n, noun);
    out
}

/// "7 of 31 reads repeat": the noun goes by the whole, the verb (one, many) by the part.
pub(super) fn of(part: u64, whole: u64, noun: &str, verb: (&str, &str)) -> String {
    let mut out = String::with_capacity(ROOM);
    push_number(&mut out, part);
    out.push_str(" of ");
    push_count(&mut out, whole, noun);
    out.push(' ');
    out.push_str(choose(part, verb));
    out
}

/// The word for one or the word for many.
pub(super) fn choose<'a>(n: u64, (one, many): (&'a str, &'a str)) -> &'a str {
    if n == 1 { one } else { many }
}

/// "182,400".
pub(super) fn number(n: u64) -> String {
    number_behind("", n)
}

/// "up to 182,400".
pub(super) fn number_behind(words: &str, n: u64) -> String {
    let mut out = String::with_capacity(ROOM);
    out.push_str(words);
    push_number(&mut out, n);
    out
}

/// Room for most sentences.
const ROOM: usize = 96;

/// Adds "1 read" or "31 reads".
pub(super) fn push_count(out: &mut String, n: u64, noun: &str) {
    push_number(out, n);
    out.push(' ');
    out.push_str(noun);
    if n != 1 {
        out.push('s');
    }
}

pub(super) fn push_number(out: &mut String, n: u64) {
    if n >= 1000 {
        push_number(out, n / 1000);
        out.push(',');
    }
    let digit = |unit: u64| char::from(b'0' + (n / unit % 10) as u8);
    if n >= 100 {
        out.push(digit(100));
    }
    if n >= 10 {
        out.push(digit(10));
    }
    out.push(digit(1));
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
