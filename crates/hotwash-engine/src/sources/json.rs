//! A cursor over JSON that reads what it is asked for and skips the rest.
//!
//! Transcripts are gigabytes of long strings that nothing needs, so the cursor never builds a tree and never decodes a
//! string it passes over: it looks for the closing quote and goes on. The grammar outside strings is checked in full,
//! because a broken record must not be taken for a whole one; inside strings anything goes, control characters, unknown
//! escapes and invalid UTF-8 included. A value of an unexpected type is skipped, not an error. Containers nest at most
//! [`DEEPEST`] deep, the outermost counted, whether they are read or skipped; what goes deeper is malformed.
//!
//! A newline is white space or part of a string like any other character, unless the cursor is to stay in its line.

use hotwash_core::text::Text;
use wide::u8x16;

/// The bytes are no JSON at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

type Result<T> = std::result::Result<T, Malformed>;

/// How deep containers may nest: a word has as many bits.
const DEEPEST: u32 = u128::BITS;

/// Counts stop here: more than anything recorded counts, and little enough that sums of them stay within 64 bits.
const LARGEST_COUNT: i64 = 1 << 40;

/// A place in JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    /// What is still to be read.
    rest: &'a [u8],
    /// How many containers are being read around this place. What readers ask for is never [`DEEPEST`] deep.
    depth: u32,
}

impl<'a> Cursor<'a> {
    /// At the beginning.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { rest: bytes, depth: 0 }
    }

    /// What is still to be read.
    #[cfg(test)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// What the cursor has passed over since `earlier` was still to be read.
    #[inline]
    pub(crate) fn since(&self, earlier: &'a [u8]) -> &'a [u8] {
        earlier.get(..earlier.len() - self.rest.len()).unwrap_or_default()
    }

    /// Goes on by so many bytes.
    #[inline]
    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// The next byte that is no white space; none at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        match self.rest.first() {
            Some(&byte) if byte > b' ' => Some(byte),
            _ => self.peek_behind_space(),
        }
    }

    /// Apart from [`Cursor::peek`] because clients write no white space.
    #[cold]
    fn peek_behind_space(&mut self) -> Option<u8> {
        loop {
            match self.rest.first().copied() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.advance(1),
                next => return next,
            }
        }
    }

    /// Passes over these bytes, if they stand here.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "comparing with constants takes few instructions, a call many")]
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> bool {
        match self.rest.split_at_checked(bytes.len()) {
            Some((next, rest)) if next == bytes => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Reads an object, handing over each key with the cursor at its value; `each` must consume the value.
    #[inline]
    pub(crate) fn object(&mut self, each: impl FnMut(&mut Self, &[u8]) -> Result<()>) -> Result<()> {
        self.depth += 1;
        self.pairs(b'{', each)
    }

    /// Goes into an object, if it begins with these bytes. [`Cursor::more_pairs`] or [`Cursor::leave`] must follow.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as above")]
    pub(crate) fn enter(&mut self, bytes: &[u8]) -> bool {
        if self.pass(bytes) {
            self.depth += 1;
            return true;
        }
        false
    }

    /// Goes out of an object, behind a pair, if these bytes end it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as above")]
    pub(crate) fn leave(&mut self, bytes: &[u8]) -> bool {
        if self.pass(bytes) {
            self.depth -= 1;
            return true;
        }
        false
    }

    /// Reads what is left of an object, behind a pair, and goes out of it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most often nothing is left")]
    pub(crate) fn more_pairs(&mut self, each: impl FnMut(&mut Self, &[u8]) -> Result<()>) -> Result<()> {
        if self.leave(b"}") { Ok(()) } else { self.pairs(b',', each) }
    }

    #[inline]
    fn pairs(&mut self, mut before: u8, mut each: impl FnMut(&mut Self, &[u8]) -> Result<()>) -> Result<()> {
        let mut decoded = Vec::new();
        loop {
            let key = match self.usual_key(before) {
                Some(key) => key,
                None if before == b',' && self.pass(b"}") => break,
                None => match self.any_key(before, &mut decoded)? {
                    Some(key) => key,
                    None => break,
                },
            };
            each(self, key)?;
            before = b',';
        }
        self.depth -= 1;
        Ok(())
    }

    /// Reads an array, with the cursor at each value; `each` must consume it.
    #[inline]
    pub(crate) fn array(&mut self, mut each: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(b'[')?;
        if self.peek() == Some(b']') {
            self.advance(1);
            return Ok(());
        }
        self.depth += 1;
        loop {
            self.peek();
            each(self)?;
            if self.more(b']')? {
                continue;
            }
            self.depth -= 1;
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

    /// Reads a string; empty if the value is something else. It is written where it belongs: what a function gives back
    /// in memory is copied from there, and the processor waits for that to arrive.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    pub(crate) fn text(&mut self, text: &mut Text<'a>) -> Result<()> {
        match self.word() {
            Some(word) => *text = Text::verbatim(word),
            None => drop(self.text_if(text)?),
        }
        Ok(())
    }

    /// The same for a string that most often is longer than a word.
    #[inline]
    pub(crate) fn long_text(&mut self, text: &mut Text<'a>) -> Result<()> {
        self.text_if(text).map(drop)
    }

    /// Reads a string, which most often has this length; empty if the value is something else.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    pub(crate) fn text_of<const LENGTH: usize>(&mut self, text: &mut Text<'a>) -> Result<()> {
        match self.plain::<LENGTH>() {
            Some(plain) => *text = Text::verbatim(plain),
            None => drop(self.text_if(text)?),
        }
        Ok(())
    }

    /// Skips a value, which most often is a string of this length.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    pub(crate) fn skip_of<const LENGTH: usize>(&mut self) -> Result<()> {
        if self.plain::<LENGTH>().is_some() { Ok(()) } else { self.skip_any() }
    }

    /// Skips a value, which most often is a string of less than two chunks.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    pub(crate) fn skip_short(&mut self) -> Result<()> {
        if self.short_string() { Ok(()) } else { self.skip_any() }
    }

    /// Skips a value, which most often is a long string. Gives the inside of one.
    #[inline]
    pub(crate) fn skip_long(&mut self) -> Result<&'a [u8]> {
        if self.rest.first() == Some(&b'"') { self.long_inside(0) } else { self.skip_any().map(|()| [].as_slice()) }
    }

    /// Skips a value, which most often is a long string that stood elsewhere, too, with this inside: comparing takes less
    /// time than looking for the end.
    #[inline]
    pub(crate) fn skip_again(&mut self, inside: &[u8]) -> Result<()> {
        if !self.again(inside) {
            self.skip_long()?;
        }
        Ok(())
    }

    /// Reads a string, which most often stood elsewhere, too, as this text; none if the value is something else.
    #[inline]
    pub(crate) fn text_again(&mut self, earlier: Text<'a>) -> Result<Option<Text<'a>>> {
        if self.again(earlier.raw()) {
            return Ok(Some(earlier));
        }
        let mut text = Text::default();
        Ok(self.text_if(&mut text)?.then_some(text))
    }

    /// Passes over a string with this inside, if it stands here.
    #[inline]
    fn again(&mut self, inside: &[u8]) -> bool {
        let string = self.rest.strip_prefix(b"\"").and_then(|string| string.strip_prefix(inside));
        let Some([b'"', rest @ ..]) = string else { return false };
        self.rest = rest;
        true
    }

    /// Skips a value, which most often is a short number.
    #[inline]
    pub(crate) fn skip_number(&mut self) -> Result<()> {
        if self.short_number().is_some() { Ok(()) } else { self.skip_any() }
    }

    /// Whether the value is `true`.
    #[inline]
    pub(crate) fn is_true(&mut self) -> Result<bool> {
        if self.pass(b"false") {
            return Ok(false);
        }
        let is_true = self.peek() == Some(b't');
        self.skip_any()?;
        Ok(is_true)
    }

    /// A whole number, if the value is one or can be cut to one.
    pub(crate) fn integer(&mut self) -> Result<Option<i64>> {
        let starts = self.peek();
        let from = self.rest;
        if let Some(number) = self.short_number() {
            return Ok(Some(number));
        }
        self.skip()?;
        if !matches!(starts, Some(b'-' | b'0'..=b'9')) {
            return Ok(None);
        }
        let text = std::str::from_utf8(self.since(from)).map_err(|_| Malformed)?;
        Ok(text.parse().ok().or_else(|| text.parse::<f64>().ok().map(|number| number as i64)))
    }

    /// A number as nearly all are: a few digits, and a comma or a bracket behind them. Does not move if there is none.
    #[inline]
    fn short_number(&mut self) -> Option<i64> {
        let next = self.rest.first_chunk()?;
        let digits = u64::from_le_bytes(*next) ^ ZEROS;
        // The highest bit of the first byte that is no digit, and perhaps of some behind it.
        let others = (digits.wrapping_add(EACH_BYTE * 0x76) | digits) & (EACH_BYTE * 0x80);
        let length = others.trailing_zeros() as usize / 8;
        let zero_in_front = length > 1 && next[0] == b'0';
        if others == 0 || length == 0 || zero_in_front || !matches!(next[length], b',' | b'}' | b']') {
            return None;
        }
        // The digits move to the end of the word, then ones join to tens, tens to hundreds, hundreds to thousands.
        let ones = digits << (64 - 8 * length);
        let tens = (ones * 10 + (ones >> 8)) & (0x00FF_00FF_00FF_00FF);
        let hundreds = (tens * 100 + (tens >> 16)) & 0x0000_FFFF_0000_FFFF;
        self.advance(length);
        Some(((hundreds * 10_000 + (hundreds >> 32)) & 0xFFFF_FFFF) as i64)
    }

    /// A count; zero if the value is no number.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    pub(crate) fn count(&mut self) -> Result<u64> {
        match self.short_number() {
            Some(number) => Ok(number as u64),
            None => Ok(self.count_if()?.unwrap_or(0)),
        }
    }

    /// A count, if the value is a number: at least zero, at most [`LARGEST_COUNT`].
    pub(crate) fn count_if(&mut self) -> Result<Option<u64>> {
        Ok(self.integer()?.map(|number| number.clamp(0, LARGEST_COUNT) as u64))
    }

    /// Reads a value as `read` does and gives its bytes, too.
    #[inline]
    pub(crate) fn raw(&mut self, read: impl FnOnce(&mut Self) -> Result<()>) -> Result<&'a [u8]> {
        self.peek();
        let from = self.rest;
        read(self)?;
        Ok(self.since(from))
    }

    /// Skips a value.
    #[inline]
    pub(crate) fn skip(&mut self) -> Result<()> {
        if self.word().is_some() { Ok(()) } else { self.skip_any() }
    }

    #[inline(never)]
    fn skip_any(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'"') => self.string(&mut Text::default()),
            Some(b'{' | b'[') => self.skip_container(),
            Some(_) => self.scalar(),
            None => Err(Malformed),
        }
    }

    /// Skips an object or array, checking its grammar. The kinds of the containers around are bits of a word, so that
    /// nothing recurses and nothing is allocated.
    #[inline(never)]
    fn skip_container(&mut self) -> Result<()> {
        let mut kinds: u128 = 0; // the lowest bit is the innermost container: 1 for an object
        let mut depth = 0;
        let deepest = DEEPEST - self.depth;
        loop {
            // A value is expected here.
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    if depth == deepest {
                        return Err(Malformed);
                    }
                    depth += 1;
                    kinds = kinds << 1 | u128::from(open == b'{');
                    if self.usual_key(b'{').is_some() {
                        continue;
                    }
                    self.advance(1);
                    let close = if open == b'{' { b'}' } else { b']' };
                    if self.peek() != Some(close) {
                        if open == b'{' {
                            self.skip_key()?;
                        }
                        continue;
                    }
                    self.advance(1);
                    depth -= 1;
                    kinds >>= 1;
                }
                Some(b'"') => {
                    if !self.short_string() {
                        self.string(&mut Text::default())?;
                    }
                }
                Some(_) => self.scalar()?,
                None => return Err(Malformed),
            }
            // A value has ended: a comma goes on, closing brackets end more.
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let object = kinds & 1 == 1;
                if object && self.usual_key(b',').is_some() {
                    break;
                }
                if self.more(if object { b'}' } else { b']' })? {
                    if object {
                        self.skip_key()?;
                    }
                    break;
                }
                depth -= 1;
                kinds >>= 1;
            }
        }
    }

    /// Behind `before`, an opening brace or a comma: a short key and its colon, as clients write them. Does not move if
    /// there is something else.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    fn usual_key(&mut self, before: u8) -> Option<&'a [u8]> {
        let next: &[u8; CHUNK + AROUND_KEY] = self.rest.first_chunk()?;
        if next[0] != before || next[1] != b'"' {
            return None;
        }
        let length = plain_length(next[2..].first_chunk()?)?;
        if next[length + 2] != b'"' || next[length + 3] != b':' {
            return None;
        }
        self.advance(length + AROUND_KEY);
        Some(&next[2..length + 2])
    }

    /// Any key behind `before`, an opening brace or a comma; none where the object ends.
    #[inline(never)]
    fn any_key<'k>(&mut self, before: u8, decoded: &'k mut Vec<u8>) -> Result<Option<&'k [u8]>>
    where
        'a: 'k,
    {
        match self.peek() {
            Some(b'}') if before == b',' => {
                self.advance(1);
                return Ok(None);
            }
            Some(byte) if byte == before => self.advance(1),
            _ => return Err(Malformed),
        }
        match self.peek() {
            Some(b'"') => {}
            Some(b'}') if before == b'{' => {
                self.advance(1);
                return Ok(None);
            }
            _ => return Err(Malformed),
        }
        let mut key = Text::default();
        self.string(&mut key)?;
        self.expect(b':')?;
        if let Some(key) = key.as_verbatim() {
            return Ok(Some(key));
        }
        *decoded = key.to_str().into_owned().into_bytes();
        Ok(Some(decoded))
    }

    #[inline]
    fn skip_key(&mut self) -> Result<()> {
        if self.peek() != Some(b'"') {
            return Err(Malformed);
        }
        if !self.short_string() {
            self.string(&mut Text::default())?;
        }
        self.expect(b':')
    }

    /// After a value: true behind a comma, false behind the closing bracket.
    #[inline]
    fn more(&mut self, close: u8) -> Result<bool> {
        match self.peek() {
            Some(b',') => {
                self.advance(1);
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.advance(1);
                Ok(false)
            }
            _ => Err(Malformed),
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek() == Some(byte) {
            self.advance(1);
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    /// A short string in which nothing is escaped, as most names and words are. Does not move if there is something
    /// else. It is worth a copy of this wherever a value is read.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    fn word(&mut self) -> Option<&'a [u8]> {
        let next: &[u8; CHUNK + 1] = self.rest.first_chunk()?;
        let (b'"', chunk) = next.split_first()? else { return None };
        let length = plain_length(chunk.first_chunk()?)?;
        if chunk[length] != b'"' {
            return None;
        }
        self.advance(length + 2);
        Some(&chunk[..length])
    }

    /// Passes over a string of less than two chunks in which nothing is escaped. Does not move if there is something else.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    fn short_string(&mut self) -> bool {
        let Some([b'"', inside @ ..]) = self.rest.first_chunk::<{ 2 * CHUNK + 1 }>() else { return false };
        let (chunks, _) = inside.as_chunks();
        let marks = marks_of(&chunks[0]) | marks_of(&chunks[1]) << CHUNK;
        let length = marks.trailing_zeros() as usize;
        if inside.get(length) != Some(&b'"') {
            return false;
        }
        self.advance(length + 2);
        true
    }

    /// A string of this length in which nothing is escaped, as ids and times are: nothing in them is below a quote, which
    /// is asked of all chunks at once. Does not move if there is something else.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
    fn plain<const LENGTH: usize>(&mut self) -> Option<&'a [u8]> {
        let (string, rest) = self.rest.split_at_checked(LENGTH + 2)?;
        let [b'"', inside @ .., b'"'] = string else { return None };
        let (chunks, _) = inside.as_chunks();
        let last = inside.last_chunk()?;
        let lowest = chunks.iter().fold(u8x16::new(*last), |lowest, chunk| lowest.min(u8x16::new(*chunk)));
        let low = lowest.min(u8x16::splat(b'"')).simd_eq(lowest);
        let marks = chunks.iter().fold(low | places(*last, b'\\'), |marks, chunk| marks | places(*chunk, b'\\'));
        if marks.to_bitmask() != 0 {
            return None;
        }
        self.rest = rest;
        Some(inside)
    }

    /// Reads a string, if the value is one, and says whether; skips anything else.
    #[inline(never)]
    pub(crate) fn text_if(&mut self, text: &mut Text<'a>) -> Result<bool> {
        if self.peek() == Some(b'"') {
            return self.string(text).map(|()| true);
        }
        *text = Text::default();
        self.skip_any().map(|()| false)
    }

    /// At an opening quote: reads the string. Ids, times and paths are not much longer than words.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "called from few places, often")]
    fn string(&mut self, text: &mut Text<'a>) -> Result<()> {
        let inside = self.rest.get(1..).unwrap_or_default();
        let Some(block) = inside.first_chunk::<BLOCK>() else { return self.last_string(text) };
        // All of the block at once: how long strings are is anybody's guess.
        let (chunks, _) = block.as_chunks();
        let marks = |n: usize| u64::from(marks_of(&chunks[n])) << (n * CHUNK);
        let marks = marks(0) | marks(1) | marks(2) | marks(3);
        let length = marks.trailing_zeros() as usize;
        *text = if block.get(length) == Some(&b'"') {
            self.advance(length + 2);
            Text::verbatim(&block[..length])
        } else {
            Text::json(self.long_inside(length)?)
        };
        Ok(())
    }

    /// At an opening quote near the end of the bytes: reads the string.
    #[inline(never)]
    fn last_string(&mut self, text: &mut Text<'a>) -> Result<()> {
        let inside = self.long_inside(0)?;
        *text = if inside.contains(&b'\\') { Text::json(inside) } else { Text::verbatim(inside) };
        Ok(())
    }

    /// At an opening quote: the inside of the string, whatever it holds. Neither a quote nor a newline stands in its first
    /// `clear` bytes.
    #[inline(never)]
    fn long_inside(&mut self, clear: usize) -> Result<&'a [u8]> {
        let string = self.rest;
        let mut from = 1 + clear;
        loop {
            let end = closing(string, from).ok_or(Malformed)?;
            if string[end] == b'"' {
                return Ok(self.inside(end));
            }
            from = end + 1;
        }
    }

    /// At an opening quote: the inside of the string that ends with the quote at this place. Goes on behind it.
    #[inline]
    fn inside(&mut self, end: usize) -> &'a [u8] {
        let string = self.rest;
        self.advance(end + 1);
        string.get(1..end).unwrap_or_default()
    }

    /// A number, `true`, `false` or `null`.
    #[inline]
    fn scalar(&mut self) -> Result<()> {
        if self.pass(b"null") || self.pass(b"false") || self.pass(b"true") || self.short_number().is_some() {
            return Ok(());
        }
        self.any_number()
    }

    #[inline(never)]
    fn any_number(&mut self) -> Result<()> {
        let rest = self.rest;
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
        self.advance(end);
        Ok(())
    }
}

/// A string of at most this length is read in one go.
const BLOCK: usize = 64;

/// How many bytes are compared together: what every processor that we build for can.
const CHUNK: usize = 16;

/// A one in each byte of a word, and the digit.
const EACH_BYTE: u64 = u64::from_le_bytes([1; 8]);
const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// What stands around a key: a brace or a comma, two quotes, and the colon.
const AROUND_KEY: usize = 4;

/// Where a byte stands in a chunk: those places are all ones, the others zero.
#[inline]
fn places(chunk: [u8; CHUNK], byte: u8) -> u8x16 {
    u8x16::new(chunk).simd_eq(u8x16::splat(byte))
}

/// Where a plain string may end in a chunk, at a quote, a backslash or a newline: a bit for each place.
#[inline]
fn marks_of(chunk: &[u8; CHUNK]) -> u32 {
    marked(chunk).to_bitmask()
}

#[inline]
fn marked(chunk: &[u8; CHUNK]) -> u8x16 {
    places(*chunk, b'"') | places(*chunk, b'\\') | places(*chunk, b'\n')
}

/// How many bytes stand before the first mark of a chunk, if it has one.
#[inline]
fn plain_length(chunk: &[u8; CHUNK]) -> Option<usize> {
    let marks = marks_of(chunk);
    (marks != 0).then(|| marks.trailing_zeros() as usize % CHUNK)
}

/// Where the first quote that is not escaped or the first newline of a string stands, from one of its bytes on. The
/// string comes with its opening quote.
#[inline]
fn closing(string: &[u8], from: usize) -> Option<usize> {
    let rest = string.get(from..).unwrap_or_default();
    let mut ends = memchr::memchr2_iter(b'"', b'\n', rest).map(|end| from + end);
    ends.find(|end| string[*end] == b'\n' || !escaped(string, *end))
}

/// Whether a byte of a string is escaped: it stands behind an odd number of backslashes. The string comes with its
/// opening quote.
#[inline]
fn escaped(string: &[u8], byte: usize) -> bool {
    match &string[..byte] {
        [.., before] if *before != b'\\' => false,
        before @ [.., b'\\', _] => escaped_by_many(before),
        before => !before.is_empty(),
    }
}

#[cold]
#[inline(never)]
fn escaped_by_many(before: &[u8]) -> bool {
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
