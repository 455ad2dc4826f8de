//! What a file is that is no transcript, for the person who gave it.

use memchr::memchr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Looks at so much of it.
const LOOKED_AT: u64 = 4096;
/// How compressed and packed files begin.
const PACKED: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "compressed with gzip: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first"),
    (b"\xfd7zXZ\0", "compressed with xz: unpack it first"),
    (b"BZh", "compressed with bzip2: unpack it first"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
];

/// What a file is instead of a transcript, where its first bytes tell.
pub fn instead(path: &Path) -> io::Result<Option<&'static str>> {
    let mut head = Vec::new();
    File::open(path)?.take(LOOKED_AT).read_to_end(&mut head)?;
    Ok(told_by(&head))
}

fn told_by(head: &[u8]) -> Option<&'static str> {
    if head.is_empty() {
        return Some("an empty file");
    }
    if let Some((_, what)) = PACKED.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(what);
    }
    // Every second byte of Western text in UTF-16 is a zero; text in UTF-8 has none.
    let zeros = |first: usize| head.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let mostly = |zeros: usize| zeros * 4 > head.len();
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || mostly(zeros(0)) || mostly(zeros(1)) {
        return Some("UTF-16 text: transcripts are UTF-8");
    }
    if memchr(0, head).is_some() {
        return Some("binary data");
    }
    match head.trim_ascii_start().first() {
        None => Some("nothing but white space"),
        Some(b'{') => None,
        Some(_) => Some("not JSON lines"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_what_a_file_is() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        for (head, what) in [
            (&b""[..], Some("an empty file")),
            (b"\x1f\x8b\x08\0\0\0", Some("compressed with gzip: unpack it first")),
            (b"PK\x03\x04\x14\0", Some("a zip archive: unpack it first")),
            (b"\xff\xfe{\0", Some("UTF-16 text: transcripts are UTF-8")),
            (&utf16("{\"type\":\"user\"}"), Some("UTF-16 text: transcripts are UTF-8")),
            (b"\x7fELF\x02\x01\x01\0garbage", Some("binary data")),
            (b" \n\r\n", Some("nothing but white space")),
            (b"hello there", Some("not JSON lines")),
            (b"\n{\"type\":\"event_msg\"}", None),
        ] {
            assert_eq!(told_by(head), what, "{}", String::from_utf8_lossy(head));
        }
    }
}
