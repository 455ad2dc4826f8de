//! Amounts in words.

/// "182,400".
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// "1 session", "31 sessions".
pub fn count(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Of 100: thousandths become whole points, cut, so that 69.9 never looks like a 70 that is Good.
pub fn points(thousandths: u32) -> u32 {
    thousandths / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_in_words() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(
            [count(1, "session"), count(0, "session"), count(1200, "session")],
            ["1 session", "0 sessions", "1,200 sessions"]
        );
        assert_eq!([points(699), points(700)], [69, 70]);
    }
}
