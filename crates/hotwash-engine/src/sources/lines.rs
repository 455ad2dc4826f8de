//! Cuts input into lines, through one window of memory that is used again and again.

use memchr::{memchr, memrchr};
use std::io::{self, Read};
use std::ops::Range;

/// How much is read at a time. It fits the processor's second cache together with what is being worked on.
const WINDOW: usize = 128 * 1024;
/// Room for a long line: those with pictures come by the hundred. The system gives memory when it is first written to, so
/// where lines are short it costs nothing, and a window that has room from the start is not copied into a larger one.
const USUAL_ROOM: usize = 2 * 1024 * 1024;
/// An open line of at most this length is moved to the front of the window, where the cache knows the memory.
const SHORT_LINE: usize = 16 * 1024;
/// The system copies to a place that is 1 to 15 bytes further in its page than what it copies at a third of its speed, and to
/// one that is up to 31 bytes further still slower than elsewhere. It copies whole pages as a rule.
const CACHE_LINE: usize = 64;
/// A longer line is passed over, with a warning: no memory is worth it.
pub const LONGEST_LINE: usize = 24 * 1024 * 1024;

/// A line of the input.
pub(super) enum Line<'b> {
    /// One that ended in a newline.
    Whole(&'b [u8]),
    /// The last one, without a newline; not empty.
    Last(&'b [u8]),
    /// One over the limit; its length with its newline, if it has one.
    TooLong(u64),
}

/// Lines that are in the window at the same time: whole ones, or another by itself.
pub(super) struct Chunk<'b> {
    whole: &'b [u8],
    other: Option<Line<'b>>,
}

impl<'b> Iterator for Chunk<'b> {
    type Item = Line<'b>;

    #[inline]
    fn next(&mut self) -> Option<Line<'b>> {
        let Some(end) = memchr(b'\n', self.whole) else { return self.other.take() };
        let (line, rest) = self.whole.split_at(end);
        self.whole = rest.get(1..).unwrap_or_default();
        // Whether a line is too long must not depend on how much was read at once.
        Some(if end > LONGEST_LINE { Line::TooLong(end as u64 + 1) } else { Line::Whole(line) })
    }
}

/// Working memory, for one input after another.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// As long as was needed so far; the rest of its room was never written to.
    bytes: Vec<u8>,
    /// Which of them are the end of the input that was read last.
    end: Range<usize>,
}

impl Buffer {
    /// The end of the input that was read last, as far as it is still there; nothing unless it ended in a newline.
    pub(super) fn end(&self) -> &[u8] {
        &self.bytes[self.end.clone()]
    }
}

/// Cuts input into lines through one window that grows only for a line that needs it.
pub(super) struct Lines<'w> {
    buffer: &'w mut Vec<u8>,
    /// Where the window begins.
    front: usize,
    /// What is left of it.
    from: usize,
    to: usize,
    /// See [`Buffer`].
    end: &'w mut Range<usize>,
    done: bool,
}

impl<'w> Lines<'w> {
    pub(super) fn new(buffer: &'w mut Buffer) -> Self {
        let Buffer { bytes, end } = buffer;
        *end = 0..0;
        if bytes.capacity() >= 2 * USUAL_ROOM {
            // There were very long lines in the input before: their room is given back.
            *bytes = Vec::new();
        }
        Lines { buffer: bytes, front: 0, from: 0, to: 0, end, done: false }
    }

    /// The next lines; none at the end.
    pub(super) fn chunk(&mut self, input: &mut dyn Read) -> io::Result<Option<Chunk<'_>>> {
        let mut searched = self.from;
        loop {
            if let Some(last) = memrchr(b'\n', &self.buffer[searched..self.to]) {
                let whole = self.from..searched + last + 1;
                self.from = whole.end;
                return Ok(Some(Chunk { whole: &self.buffer[whole], other: None }));
            }
            if self.done {
                let rest = self.from..self.to;
                self.from = self.to;
                let last = (!rest.is_empty()).then(|| Line::Last(&self.buffer[rest]));
                return Ok(last.map(|last| Chunk { whole: &[], other: Some(last) }));
            }
            if self.to - self.from > LONGEST_LINE {
                let length = self.pass_over(input)?;
                return Ok(Some(Chunk { whole: &[], other: Some(Line::TooLong(length)) }));
            }
            self.make_room();
            searched = self.to;
            self.fill(input)?;
        }
    }

    /// Makes room behind the open line: moves it to the front, or grows the window for it.
    fn make_room(&mut self) {
        let (open, room) = (self.to - self.from, self.buffer.capacity());
        if open > SHORT_LINE && room - self.to >= WINDOW {
            // There is room, and moving a long line costs more than the cache gains.
            return;
        }
        if room - open < WINDOW + CACHE_LINE {
            let mut larger = Vec::with_capacity((room * 2).max(USUAL_ROOM));
            let front = front(&larger, open);
            larger.resize(front, 0);
            larger.extend_from_slice(&self.buffer[self.from..self.to]);
            *self.buffer = larger;
            (self.front, self.from, self.to) = (front, front, front + open);
            return;
        }
        let front = front(self.buffer, open);
        if open == 0 {
            // Unless more comes.
            *self.end = self.front..self.to;
        } else {
            self.buffer.copy_within(self.from..self.to, front);
        }
        (self.front, self.from, self.to) = (front, front, front + open);
    }

    fn fill(&mut self, input: &mut dyn Read) -> io::Result<()> {
        // Also where a long line has left more room: what is read at once should fit the cache.
        let end = self.to + WINDOW;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        loop {
            match input.read(&mut self.buffer[self.to..end]) {
                Ok(0) => self.done = true,
                Ok(read) => (self.to, *self.end) = (self.to + read, 0..0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }

    /// Throws a line over the limit away, up to and with its newline. Says how long it was.
    fn pass_over(&mut self, input: &mut dyn Read) -> io::Result<u64> {
        let mut length = (self.to - self.from) as u64;
        *self.buffer = Vec::with_capacity(USUAL_ROOM);
        loop {
            (self.front, self.from, self.to) = (0, 0, 0);
            self.fill(input)?;
            if let Some(at) = memchr(b'\n', &self.buffer[..self.to]) {
                self.from = at + 1;
                return Ok(length + at as u64 + 1);
            }
            length += self.to as u64;
            if self.done {
                return Ok(length);
            }
        }
    }
}

/// Where in a window to put an open line so that what is read behind it begins with a line of the cache.
fn front(window: &[u8], open: usize) -> usize {
    (window.as_ptr().addr() + open).wrapping_neg() % CACHE_LINE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(buffer.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn cut(input: &[u8], step: usize) -> Vec<String> {
        let mut buffer = Buffer::default();
        let (mut lines, mut drip) = (Lines::new(&mut buffer), Drip(input, step));
        let mut seen = Vec::new();
        while let Some(chunk) = lines.chunk(&mut drip).unwrap() {
            seen.extend(chunk.map(|line| match line {
                Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                Line::Last(line) => format!("{}$", String::from_utf8_lossy(line)),
                Line::TooLong(length) => format!("({length})"),
            }));
        }
        seen
    }

    #[test]
    fn lines_are_the_same_however_they_arrive() {
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(cut(b"a\nbc\n\nd", step), ["a", "bc", "", "d$"]);
            assert_eq!(cut(b"", step), Vec::<String>::new());
            assert_eq!(cut(b"\n", step), [""]);
        }
        let long = "x".repeat(3 * WINDOW);
        let text = format!("{long}\nshort\n{long}");
        assert_eq!(cut(text.as_bytes(), 100_000), [long.clone(), "short".into(), format!("{long}$")]);
    }

    #[test]
    fn the_end_of_an_input_that_ended_in_a_newline_is_still_there() {
        let long = "x".repeat(3 * WINDOW);
        let mut buffer = Buffer::default();
        for (input, least) in [
            ("a\nbc\n".to_string(), 5),
            ("a\nbc".to_string(), 0),
            (String::new(), 0),
            (format!("{long}\n"), WINDOW),
            (format!("a\n{long}"), 0),
            (format!("{long}\n{}", "ab\n".repeat(WINDOW)), 2),
            (format!("{}\na\n", "x".repeat(LONGEST_LINE * 2)), 2),
            ("\n".repeat(1 << 16), 1 << 16),
            ("\n".repeat(WINDOW), 1 << 16),
            // Lines that are moved to the front with what comes behind them.
            ("abcdef\n".repeat(WINDOW), 1),
        ] {
            for step in [1 << 16, WINDOW, usize::MAX] {
                let (mut lines, mut drip) = (Lines::new(&mut buffer), Drip(input.as_bytes(), step));
                while lines.chunk(&mut drip).unwrap().is_some() {}
                let end = buffer.end();
                assert!(input.as_bytes().ends_with(end) && end.len() >= least, "{} of {}", end.len(), input.len());
                assert!(least > 0 || end.is_empty());
            }
        }
    }

    #[test]
    fn lines_are_the_same_wherever_in_the_window_they_stand() {
        let lengths =
            [5, SHORT_LINE, 3 * WINDOW, 90, SHORT_LINE + 1, WINDOW - 1, 7 * WINDOW, 0, 2 * SHORT_LINE, 40 * WINDOW];
        let lines: Vec<String> = (0..60).map(|n| format!("{n},").repeat(lengths[n % 10] / 3)).collect();
        for step in [SHORT_LINE, WINDOW - 7, usize::MAX] {
            assert!(cut((lines.join("\n") + "\n").as_bytes(), step) == lines, "{step}");
        }
    }

    #[test]
    fn room_for_very_long_lines_is_given_back_with_the_next_input() {
        let mut buffer = Buffer::default();
        let long = format!("{}\nshort\nopen", "x".repeat(3 * USUAL_ROOM));
        for (text, needs) in [(long.as_str(), 4 * USUAL_ROOM), ("short\n", USUAL_ROOM), ("short\n", USUAL_ROOM)] {
            let (mut lines, mut drip) = (Lines::new(&mut buffer), Drip(text.as_bytes(), WINDOW));
            while lines.chunk(&mut drip).unwrap().is_some() {}
            assert!((needs..2 * needs).contains(&buffer.bytes.capacity()), "{}", buffer.bytes.capacity());
        }
    }

    #[test]
    fn what_is_read_begins_with_a_line_of_the_cache() {
        /// Notes where it is asked to write to, once lines were moved.
        struct Noting<'b>(Drip<'b>, Vec<usize>);
        impl Read for Noting<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.1.push(into.as_ptr().addr() % CACHE_LINE);
                self.0.read(into)
            }
        }
        let text = (0..9000).map(|n| "x".repeat(n % 90) + "\n").collect::<String>();
        let (mut buffer, mut input) = (Buffer::default(), Noting(Drip(text.as_bytes(), 5003), Vec::new()));
        let mut lines = Lines::new(&mut buffer);
        while lines.chunk(&mut input).unwrap().is_some() {}
        assert!(input.1.len() > 50 && input.1.iter().all(|at| *at == 0), "{:?}", input.1);
    }

    #[test]
    fn no_line_makes_the_window_outgrow_its_limit() {
        /// Endless lines, each of 100 MB.
        struct Endless(usize);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let line = 100 << 20;
                let some = buffer.len().min(line - self.0 % line);
                buffer[..some].fill(b'x');
                if (self.0 + some).is_multiple_of(line) {
                    buffer[some - 1] = b'\n';
                }
                self.0 += some;
                Ok(some)
            }
        }
        let mut buffer = Buffer::default();
        let (mut lines, mut input) = (Lines::new(&mut buffer), Endless(0));
        for _ in 0..3 {
            let line = lines.chunk(&mut input).unwrap().and_then(|mut chunk| chunk.next());
            assert!(matches!(line, Some(Line::TooLong(length)) if length == 100 << 20));
            assert!(lines.buffer.capacity() < 3 * LONGEST_LINE);
        }
    }

    #[test]
    fn a_line_over_the_limit_is_passed_over() {
        let text = format!("a\n{}\nb\n", "x".repeat(LONGEST_LINE * 2));
        assert_eq!(cut(text.as_bytes(), 1 << 20), ["a".to_string(), format!("({})", LONGEST_LINE * 2 + 1), "b".into()]);
    }
}
