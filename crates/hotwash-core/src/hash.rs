//! Hashes that are kept or shown: which text it was exactly.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// SHA-256 of some bytes, one after the other, in hexadecimal.
pub fn sha256(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// A hash of several texts, which also tells where one ends and the next begins.
pub fn of_texts(texts: &[&str]) -> String {
    let lengths: Vec<[u8; 8]> = texts.iter().map(|text| (text.len() as u64).to_be_bytes()).collect();
    let parts: Vec<&[u8]> =
        lengths.iter().zip(texts).flat_map(|(length, text)| [&length[..], text.as_bytes()]).collect();
    sha256(&parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_run_together_and_texts_do_not() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(&[]), empty);
        assert_eq!(sha256(&[b"ab", b"c"]), sha256(&[b"abc"]));
        assert_ne!(of_texts(&["ab", "c"]), of_texts(&["a", "bc"]));
    }
}
