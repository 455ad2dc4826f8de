//! JSON as a tree, parsed the plain way: one function per rule of the grammar, every string decoded at once.
//!
//! As lenient as the cursor of the fast path, by the same few rules. Outside strings the grammar of JSON holds, numbers
//! included. Inside strings anything goes: control characters stay, an escape that JSON does not know stands for the
//! character behind the backslash, a broken `\u` or half a surrogate pair and invalid UTF-8 become U+FFFD. Containers
//! nest at most [`DEEPEST`] deep, the outermost counted. Of a key that comes twice the last counts.

use std::ops::Range;

/// How deep containers may nest.
const DEEPEST: usize = 128;

/// A value and the bytes it was written as.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) span: Range<usize>,
}

/// A JSON value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// Parses the value that begins at `at`, behind white space; gives it and the place behind it.
pub(super) fn parse(bytes: &[u8], at: usize) -> Option<(Node, usize)> {
    let mut parser = Parser { bytes, at, depth: 0 };
    let node = parser.value()?;
    Some((node, parser.at))
}

/// The first place from `at` on that is no white space.
pub(super) fn behind_space(bytes: &[u8], at: usize) -> usize {
    (at..bytes.len()).find(|&at| !b" \t\r\n".contains(&bytes[at])).unwrap_or(bytes.len())
}

struct Parser<'b> {
    bytes: &'b [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn space(&mut self) {
        self.at = behind_space(self.bytes, self.at);
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Goes past `word` if it stands here.
    fn take(&mut self, word: &str) -> bool {
        let here = self.rest().starts_with(word.as_bytes());
        self.at += if here { word.len() } else { 0 };
        here
    }

    fn value(&mut self) -> Option<Node> {
        self.space();
        let from = self.at;
        let first = *self.rest().first()?;
        let value = match first {
            b'{' => self.deeper(Self::object)?,
            b'[' => self.deeper(Self::array)?,
            b'"' => Value::Text(self.string()?),
            _ if self.take("null") => Value::Null,
            _ if self.take("true") => Value::Bool(true),
            _ if self.take("false") => Value::Bool(false),
            _ => Value::Number(self.number()?),
        };
        Some(Node { value, span: from..self.at })
    }

    fn deeper(&mut self, container: fn(&mut Self) -> Option<Value>) -> Option<Value> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let value = container(self)?;
        self.depth -= 1;
        Some(value)
    }

    fn object(&mut self) -> Option<Value> {
        let mut entries = Vec::new();
        self.take("{");
        self.space();
        if self.take("}") {
            return Some(Value::Object(entries));
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            if !self.take(":") {
                return None;
            }
            entries.push((key, self.value()?));
            self.space();
            if self.take("}") {
                return Some(Value::Object(entries));
            }
            if !self.take(",") {
                return None;
            }
        }
    }

    fn array(&mut self) -> Option<Value> {
        let mut items = Vec::new();
        self.take("[");
        self.space();
        if self.take("]") {
            return Some(Value::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.space();
            if self.take("]") {
                return Some(Value::Array(items));
            }
            if !self.take(",") {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<String> {
        let from = self.at;
        self.take("-");
        if !self.take("0") {
            self.digits()?;
        }
        if self.take(".") {
            self.digits()?;
        }
        if self.take("e") || self.take("E") {
            let _signed = self.take("+") || self.take("-");
            self.digits()?;
        }
        Some(String::from_utf8_lossy(&self.bytes[from..self.at]).into_owned())
    }

    /// One digit at least.
    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while self.rest().first().is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }

    fn string(&mut self) -> Option<String> {
        if !self.take("\"") {
            return None;
        }
        let mut out = Vec::new();
        loop {
            match self.byte()? {
                b'"' => return Some(String::from_utf8_lossy(&out).into_owned()),
                b'\\' => match self.byte()? {
                    b'n' => out.push(b'\n'),
                    b't' => out.push(b'\t'),
                    b'r' => out.push(b'\r'),
                    b'b' => out.push(b'\x08'),
                    b'f' => out.push(b'\x0c'),
                    b'u' => out.extend(self.unicode().to_string().bytes()),
                    other => out.push(other),
                },
                other => out.push(other),
            }
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// The character of a `\u` escape, or of two that are a surrogate pair.
    fn unicode(&mut self) -> char {
        let Some(first) = self.unit() else { return '\u{FFFD}' };
        let behind_first = self.at;
        if self.take("\\u")
            && let Some(second) = self.unit()
            && let Some(Ok(pair)) = char::decode_utf16([first, second]).next()
            && u32::from(pair) > 0xFFFF
        {
            return pair;
        }
        self.at = behind_first;
        char::from_u32(u32::from(first)).unwrap_or('\u{FFFD}')
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        let unit = u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        self.at += 4;
        Some(unit)
    }
}
