//! How many tokens a text is estimated to be.

use crate::redaction::weight;

/// What a call, and what came of one, counts beside its text.
pub const PER_STEP: usize = 200;

/// A quarter of a token for each ASCII character, a whole one for each other.
pub fn of_text(text: &str) -> usize {
    weight(text).div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_characters_are_a_token_and_one_that_is_not_ascii_is_one() {
        for (text, tokens) in [("", 0), ("abcd", 1), ("abcde", 2), ("中文", 2), ("é", 1), ("ab中", 2)] {
            assert_eq!(of_text(text), tokens, "{text}");
        }
    }
}
