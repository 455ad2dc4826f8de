//! Any bytes at all: the fast path and the oracle make the same of them.

#![no_main]

use hotwash_engine::sources::claude_code::oracle::difference;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|transcript: &[u8]| {
    if let Some(difference) = difference(transcript) {
        panic!("{difference}");
    }
});
