//! Text as a source recorded it, decoded only when somebody looks.
//!
//! Most bytes of a transcript are strings that no fact needs. A [`Text`] therefore borrows the recorded bytes, JSON
//! escapes and all, and [`Text::to_str`] decodes them on demand. Decoding never fails: a lone surrogate or an invalid
//! byte becomes U+FFFD, an escape that JSON does not know stands for the character behind the backslash.

use std::borrow::Cow;
use std::fmt;

/// A string borrowed from a source's bytes.
#[derive(Clone, Copy, Default)]
pub struct Text<'a> {
    bytes: &'a [u8],
    form: Form,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Plain,
    Json,
}

impl<'a> Text<'a> {
    /// Text that is what it says.
    pub const fn plain(text: &'a str) -> Self {
        Text { bytes: text.as_bytes(), form: Form::Plain }
    }

    /// The inside of a JSON string, escapes not yet resolved.
    pub const fn json(bytes: &'a [u8]) -> Self {
        Text { bytes, form: Form::Json }
    }

    /// The inside of a JSON string in which nothing is escaped.
    pub const fn verbatim(bytes: &'a [u8]) -> Self {
        Text { bytes, form: Form::Plain }
    }

    /// The bytes of the text, if it is known that nothing has to be resolved in them.
    pub const fn as_verbatim(self) -> Option<&'a [u8]> {
        match self.form {
            Form::Plain => Some(self.bytes),
            Form::Json => None,
        }
    }

    /// The recorded bytes.
    pub const fn raw(self) -> &'a [u8] {
        self.bytes
    }

    /// Whether there is nothing at all.
    pub const fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The text itself. Borrows where nothing has to be resolved.
    pub fn to_str(self) -> Cow<'a, str> {
        if self.form == Form::Plain || memchr::memchr(b'\\', self.bytes).is_none() {
            return valid(self.bytes);
        }
        let mut out = Vec::with_capacity(self.bytes.len());
        unescape(self.bytes, &mut out);
        Cow::Owned(match String::from_utf8(out) {
            Ok(text) => text,
            Err(invalid) => String::from_utf8_lossy(invalid.as_bytes()).into_owned(),
        })
    }

    /// Whether the text is exactly this ASCII word. Does not allocate unless the recorded form is escaped.
    pub fn is(self, word: &str) -> bool {
        self.bytes == word.as_bytes() || self.form == Form::Json && self.to_str() == word
    }

    /// A decoded text of at most about `bytes` bytes from the start: cheap to call on a text of megabytes.
    pub fn head(self, bytes: usize) -> Cow<'a, str> {
        self.beginning(bytes).to_str()
    }

    /// [`Text::head`] before it is decoded.
    #[must_use]
    pub fn beginning(self, bytes: usize) -> Text<'a> {
        Text { bytes: cut_front(self.bytes, bytes), form: self.form }
    }

    /// A decoded text of at most about `bytes` bytes from the end.
    pub fn tail(self, bytes: usize) -> Cow<'a, str> {
        self.ending(bytes).to_str()
    }

    /// [`Text::tail`] before it is decoded.
    #[must_use]
    pub fn ending(self, bytes: usize) -> Text<'a> {
        Text { bytes: cut_back(self.bytes, bytes), form: self.form }
    }

    /// Whether there is nothing but white space.
    pub fn is_blank(self) -> bool {
        self.to_str().trim().is_empty()
    }
}

/// Bytes as text. Checked as a whole first: piece by piece costs several times as much.
fn valid(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Cuts after at most `limit` bytes, and not inside an escape or a character.
fn cut_front(bytes: &[u8], limit: usize) -> &[u8] {
    if bytes.len() <= limit {
        return bytes;
    }
    let mut end = limit;
    // A backslash within the last bytes could begin an escape that the cut would split (at most `\ud83d\ude00`).
    if let Some(at) = memchr::memrchr(b'\\', &bytes[end.saturating_sub(12)..end]) {
        end = end.saturating_sub(12) + at;
        // The second half of a surrogate pair goes with the first.
        if let Some(first) = end.checked_sub(6)
            && bytes[first..].starts_with(b"\\u")
            && hex4(&bytes[first + 2..end]).is_some_and(|unit| low_half(unit, &bytes[end..]).is_some())
        {
            end = first;
        }
        while end > 0 && bytes[end - 1] == b'\\' {
            end -= 1;
        }
    }
    while end > 0 && bytes[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    &bytes[..end]
}

fn cut_back(bytes: &[u8], limit: usize) -> &[u8] {
    if bytes.len() <= limit {
        return bytes;
    }
    let mut start = bytes.len() - limit;
    // Begin behind the next space: a space is never part of an escape.
    start += memchr::memchr(b' ', &bytes[start..]).map_or(0, |at| at + 1);
    &bytes[start..]
}

/// Resolves JSON escapes. `out` may end up with surrogate halves replaced by U+FFFD, never with invalid ones.
fn unescape(mut bytes: &[u8], out: &mut Vec<u8>) {
    loop {
        bytes = copy_plain(bytes, out);
        // A backslash at the very end escapes nothing.
        let [_, escape, behind @ ..] = bytes else { return };
        bytes = behind;
        match *escape {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => {
                let character = match hex4(bytes) {
                    Some(unit) => {
                        bytes = &bytes[4..];
                        match low_half(unit, bytes) {
                            Some(low) => {
                                bytes = &bytes[6..];
                                char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
                            }
                            None => char::from_u32(unit),
                        }
                    }
                    None => None,
                };
                let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(other),
        }
    }
}

/// Copies what stands before the next backslash, and gives back the rest.
fn copy_plain<'b>(bytes: &'b [u8], out: &mut Vec<u8>) -> &'b [u8] {
    let plain = memchr::memchr(b'\\', bytes).unwrap_or(bytes.len());
    out.extend_from_slice(&bytes[..plain]);
    &bytes[plain..]
}

/// The second half of a surrogate pair, when `unit` is a first half and one follows.
fn low_half(unit: u32, rest: &[u8]) -> Option<u32> {
    if !(0xD800..0xDC00).contains(&unit) || !rest.starts_with(b"\\u") {
        return None;
    }
    hex4(&rest[2..]).filter(|low| (0xDC00..0xE000).contains(low))
}

fn hex4(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.get(..4)?;
    digits.iter().try_fold(0, |value, &digit| Some(value * 16 + char::from(digit).to_digit(16)?))
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str(), f)
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.form == other.form && self.bytes == other.bytes) || self.to_str() == other.to_str()
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::plain(text)
    }
}

/// One text or several that belong together, such as the blocks of a tool's result. Shown joined by newlines.
#[derive(Clone, Copy)]
pub enum Body<'a> {
    /// The common case.
    One(Text<'a>),
    /// Several blocks, in order; also none at all.
    Many(&'a [Text<'a>]),
}

impl<'a> Body<'a> {
    /// The texts in order.
    pub fn parts(&self) -> &[Text<'a>] {
        match self {
            Body::One(text) => std::slice::from_ref(text),
            Body::Many(texts) => texts,
        }
    }

    /// The whole text.
    pub fn to_str(&self) -> Cow<'a, str> {
        match self {
            Body::One(text) | Body::Many([text]) => text.to_str(),
            Body::Many(texts) => Cow::Owned(texts.iter().map(|text| text.to_str()).collect::<Vec<_>>().join("\n")),
        }
    }

    /// The beginning, at most about `bytes` long.
    pub fn head(&self, bytes: usize) -> Cow<'a, str> {
        self.parts().first().map_or(Cow::Borrowed(""), |text| text.head(bytes))
    }

    /// The end, at most about `bytes` long.
    pub fn tail(&self, bytes: usize) -> Cow<'a, str> {
        self.parts().last().map_or(Cow::Borrowed(""), |text| text.tail(bytes))
    }

    /// How many bytes were recorded.
    pub fn len(&self) -> usize {
        self.parts().iter().map(|text| text.raw().len()).sum()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.parts().iter().all(|text| text.is_empty())
    }
}

impl Default for Body<'_> {
    fn default() -> Self {
        Body::Many(&[])
    }
}

impl fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_resolve_and_broken_ones_never_fail() {
        for (raw, text) in [
            (r"plain", "plain"),
            (r"a\nb\t\\\/", "a\nb\t\\/"),
            (r"\u00e9\u4e2d", "é中"),
            (r"\ud83d\ude00!", "😀!"),
            (r"\ud83d!", "\u{FFFD}!"),
            (r"\ude00\ud83d", "\u{FFFD}\u{FFFD}"),
            (r"\ud83d\n", "\u{FFFD}\n"),
            (r"\u12", "\u{FFFD}12"),
            (r"\x", "x"),
            ("end\\", "end"),
        ] {
            assert_eq!(Text::json(raw.as_bytes()).to_str(), text, "{raw}");
        }
        assert_eq!(Text::json(b"a\xffb").to_str(), "a\u{FFFD}b");
    }

    #[test]
    fn cutting_never_splits_a_pair() {
        let text = Text::json(br"a\ud83d\ude00bc\\\ud83d\ude00\ud83d\ude00defghij\ud83d");
        let whole = text.to_str();
        for limit in 0..80 {
            assert!(whole.starts_with(&*text.head(limit)), "{limit}: {}", text.head(limit));
        }
    }

    proptest! {
        #[test]
        fn what_serde_json_writes_reads_back(text in ".*") {
            let quoted = serde_json::to_string(&text).unwrap();
            let inside = &quoted.as_bytes()[1..quoted.len() - 1];
            prop_assert_eq!(Text::json(inside).to_str(), text.as_str());
        }

        #[test]
        fn cutting_never_splits_an_escape(text in "[a\u{e9}\u{1F600}\n\"\\\\ ]{0,60}", limit in 0usize..60) {
            let quoted = serde_json::to_string(&text).unwrap();
            let inside = Text::json(&quoted.as_bytes()[1..quoted.len() - 1]);
            prop_assert!(text.starts_with(&*inside.head(limit)));
            prop_assert!(inside.head(limit).len() <= limit);
        }

        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80), limit in 0usize..90) {
            let text = Text::json(&bytes);
            let _ = (text.to_str(), text.head(limit), text.tail(limit));
        }
    }
}
