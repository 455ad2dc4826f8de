//! A cursor over JSON that reads what it is asked for and skips the rest.
//!
//! Transcripts are gigabytes of long strings that nothing needs, so the cursor never builds a tree and never decodes a
//! string it passes over: it looks for the closing quote and goes on. The grammar outside strings is checked in full,
//! because a broken record must not be taken for a whole one; inside strings anything goes, control characters, unknown
//! escapes and invalid UTF-8 included. A value of an unexpected type is skipped, not an error.

use hotwash_core::text::Text;
use std::borrow::Cow;

/// The bytes are no JSON at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

type Result<T> = std::result::Result<T, Malformed>;

/// A place in JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// The next byte that is no white space; none at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                next => return next.copied(),
            }
        }
    }

    /// Reads an object, handing over each key with the cursor at its value; `each` must consume the value.
    #[inline]
    pub(crate) fn object(&mut self, mut each: impl FnMut(&mut Self, &[u8]) -> Result<()>) -> Result<()> {
        self.expect(b'{')?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(Malformed);
            }
            let key = self.inside()?;
            self.expect(b':')?;
            self.peek();
            if key.contains(&b'\\') {
                let key: Cow<'_, str> = Text::json(key).to_str();
                each(self, key.as_bytes())?;
            } else {
                each(self, key)?;
            }
            if self.more(b'}')? {
                continue;
            }
            return Ok(());
        }
    }

    /// Reads an array, with the cursor at each value; `each` must consume it.
    #[inline]
    pub(crate) fn array(&mut self, mut each: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(b'[')?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.peek();
            each(self)?;
            if self.more(b']')? {
                continue;
            }
            return Ok(());
        }
    }

    /// Reads an object if there is one here, else skips the value.
    #[inline]
    pub(crate) fn object_or_skip(&mut self, each: impl FnMut(&mut Self, &[u8]) -> Result<()>) -> Result<()> {
        if self.peek() == Some(b'{') { self.object(each) } else { self.skip() }
    }

    /// Reads an array if there is one here, else skips the value.
    #[inline]
    pub(crate) fn array_or_skip(&mut self, each: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if self.peek() == Some(b'[') { self.array(each) } else { self.skip() }
    }

    /// A string; empty if the value is something else.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<Text<'a>> {
        Ok(self.text_if()?.unwrap_or_default())
    }

    /// A string, if the value is one.
    #[inline]
    pub(crate) fn text_if(&mut self) -> Result<Option<Text<'a>>> {
        if self.peek() == Some(b'"') {
            return Ok(Some(Text::json(self.inside()?)));
        }
        self.skip()?;
        Ok(None)
    }

    /// Whether the value is `true`.
    pub(crate) fn is_true(&mut self) -> Result<bool> {
        self.peek();
        Ok(self.raw()? == b"true")
    }

    /// A whole number, if the value is one or can be cut to one.
    pub(crate) fn integer(&mut self) -> Result<Option<i64>> {
        let starts = self.peek();
        let raw = self.raw()?;
        if !matches!(starts, Some(b'-' | b'0'..=b'9')) {
            return Ok(None);
        }
        let text = std::str::from_utf8(raw).map_err(|_| Malformed)?;
        Ok(text.parse().ok().or_else(|| text.parse::<f64>().ok().map(|number| number as i64)))
    }

    /// A count: a number of at least zero, else zero.
    pub(crate) fn count(&mut self) -> Result<u64> {
        Ok(self.integer()?.map_or(0, |number| number.max(0) as u64))
    }

    /// Skips a value and gives its bytes.
    #[inline]
    pub(crate) fn raw(&mut self) -> Result<&'a [u8]> {
        self.peek();
        let from = self.at;
        self.skip()?;
        Ok(&self.bytes[from..self.at])
    }

    /// Skips a value.
    pub(crate) fn skip(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'"') => self.inside().map(drop),
            Some(b'{' | b'[') => self.skip_container(),
            Some(_) => self.scalar(),
            None => Err(Malformed),
        }
    }

    /// Skips an object or array, checking its grammar. The kinds of the containers around are bits of a word, so that
    /// nothing recurses and nothing is allocated; what nests deeper than a word has bits is taken for malformed.
    fn skip_container(&mut self) -> Result<()> {
        let mut kinds: u128 = 0; // the lowest bit is the innermost container: 1 for an object
        let mut depth = 0u32;
        loop {
            // A value is expected here.
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    if depth == u128::BITS {
                        return Err(Malformed);
                    }
                    self.at += 1;
                    depth += 1;
                    kinds = kinds << 1 | u128::from(open == b'{');
                    let close = if open == b'{' { b'}' } else { b']' };
                    if self.peek() != Some(close) {
                        if open == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                    self.at += 1;
                    depth -= 1;
                    kinds >>= 1;
                }
                Some(b'"') => self.inside().map(drop)?,
                Some(_) => self.scalar()?,
                None => return Err(Malformed),
            }
            // A value has ended: a comma goes on, closing brackets end more.
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let object = kinds & 1 == 1;
                if self.more(if object { b'}' } else { b']' })? {
                    if object {
                        self.key()?;
                    }
                    break;
                }
                depth -= 1;
                kinds >>= 1;
            }
        }
    }

    fn key(&mut self) -> Result<()> {
        if self.peek() != Some(b'"') {
            return Err(Malformed);
        }
        self.inside()?;
        self.expect(b':')
    }

    /// After a value: true behind a comma, false behind the closing bracket.
    #[inline]
    fn more(&mut self, close: u8) -> Result<bool> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(Malformed),
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    /// At an opening quote: the inside of the string.
    #[inline]
    fn inside(&mut self) -> Result<&'a [u8]> {
        let from = self.at + 1;
        let mut at = from;
        loop {
            at += memchr::memchr(b'"', self.bytes.get(at..).unwrap_or_default()).ok_or(Malformed)?;
            // A quote behind an odd number of backslashes is escaped. Looking back from quotes is cheaper than
            // stopping at every backslash: code has far more line ends than quotes.
            let slashes = self.bytes[from..at].iter().rev().take_while(|byte| **byte == b'\\').count();
            at += 1;
            if slashes % 2 == 0 {
                self.at = at;
                return Ok(&self.bytes[from..at - 1]);
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn scalar(&mut self) -> Result<()> {
        let rest = &self.bytes[self.at..];
        for word in [&b"true"[..], b"false", b"null"] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(());
            }
        }
        let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut end = usize::from(rest.first() == Some(&b'-'));
        match (rest.get(end), digits(end)) {
            (_, 0) => return Err(Malformed),
            (Some(b'0'), _) => end += 1,
            (_, whole) => end += whole,
        }
        if rest.get(end) == Some(&b'.') {
            let fraction = digits(end + 1);
            if fraction == 0 {
                return Err(Malformed);
            }
            end += 1 + fraction;
        }
        if matches!(rest.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent == 0 {
                return Err(Malformed);
            }
            end += 1 + sign + exponent;
        }
        self.at += end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skips(text: &str) -> bool {
        let mut cursor = Cursor::new(text.as_bytes());
        cursor.skip().is_ok() && cursor.peek().is_none()
    }

    #[test]
    fn whole_values_are_skipped() {
        for text in [
            "{}",
            "[]",
            r#"{"a":1}"#,
            r#"[1,-2.5e+7,"x",null,true,false,{"a":[{}]}]"#,
            r#""a\"b\\""#,
            " { \"a\" : [ ] } ",
            "\"raw \n newline\"",
            r#""\x odd escape""#,
            "0",
            "-0.5",
        ] {
            assert!(skips(text), "{text}");
        }
    }

    #[test]
    fn broken_values_are_not() {
        for text in [
            "",
            "{",
            "[",
            "{]",
            "[}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            "[1,]",
            "[,1]",
            "{a:1}",
            "nul",
            "truely",
            "01",
            "1.",
            "1e",
            "-",
            "+1",
            r#""open"#,
            r#""open\""#,
            "[1 2]",
            r#"{"a":1 "b":2}"#,
            "NaN",
            "{}x",
        ] {
            assert!(!skips(text), "{text}");
        }
    }

    #[test]
    fn nesting_has_a_limit_and_no_stack() {
        assert!(skips(&format!("{}{}", "[".repeat(128), "]".repeat(128))));
        assert!(!skips(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))));
    }

    #[test]
    fn values_of_the_wrong_type_are_skipped() {
        let mut cursor = Cursor::new(br#"{"a":[1],"b":"x","c":12.9,"d":true,"e":"true"}"#);
        let mut seen = Vec::new();
        cursor
            .object(|cursor, key| {
                seen.push(match key {
                    b"a" => format!("{:?}", cursor.text()?),
                    b"b" | b"c" => format!("{:?}", cursor.integer()?),
                    _ => format!("{:?}", cursor.is_true()?),
                });
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, [r#""""#, "None", "Some(12)", "true", "false"]);
    }
}
