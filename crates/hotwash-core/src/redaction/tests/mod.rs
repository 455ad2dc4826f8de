//! Nothing planted gets out, nothing innocent is harmed. Every secret here is put together at run time, so that no
//! scanner trips over this repository.

mod forms;
mod innocent;
mod kinds;
mod planted;
mod properties;
mod types;

use super::{Machine, Rules};

/// A machine with something to hide.
fn rules() -> Rules {
    Rules::new(Machine {
        home_dirs: vec!["/srv/people/marguerite".to_owned()],
        user_names: vec!["marguerite".to_owned(), "root".to_owned(), "al".to_owned()],
        host_names: vec!["thinkfast.corp.example".to_owned()],
        secrets: vec![env_secret(), "on".to_owned()],
        key: [9; 32],
    })
}

fn env_secret() -> String {
    ["plain", "words", "from", "env"].join("~")
}

/// Letters that look random and are the same in every run.
fn random(alphabet: &str, length: usize, seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            letters[(state >> 33) as usize % letters.len()]
        })
        .collect()
}

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEXES: &str = "0123456789abcdef";

fn base64(text: &str) -> String {
    const TABLE: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let mut bits = 0u32;
        for i in 0..3 {
            bits = bits << 8 | u32::from(chunk.get(i).copied().unwrap_or_default());
        }
        for i in 0..4 {
            let sextet = (bits >> (18 - 6 * i)) & 63;
            out.push(if i <= chunk.len() { char::from(TABLE[sextet as usize]) } else { '=' });
        }
    }
    out
}
