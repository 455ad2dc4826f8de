//! Reads a transcript once, line by line, in constant memory, and keeps what it needs to go on when the file grows.

use super::decode;
use super::place::Memory;
use super::record::{self, Record};
use crate::sources::json::Cursor;
use crate::sources::{Agent, langfuse};
use hotwash_core::facts::calls::KeySet;
use hotwash_core::sessions::topic::Decisions;
use hotwash_core::sessions::{Event, EventId, Key, Pieces, Timestamp, copies};
use hotwash_core::text::Text;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::sync::Arc;

/// How much is read at a time. It fits the processor's second cache together with what is being worked on.
const WINDOW: usize = 128 * 1024;
/// What is enough for a short one.
const FIRST_WINDOW: usize = 32 * 1024;
/// A longer line is passed over, with a warning: no memory is worth it.
pub const LONGEST_LINE: usize = 24 * 1024 * 1024;

/// Room for the ids of most transcripts' records, so that it need not grow.
const USUAL_RECORDS: usize = 200;

/// What reading itself has to say about a transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Lines that are not blank.
    pub lines: u64,
    /// Lines that could not be decoded to their end, or hold something that is no object.
    pub malformed_lines: u64,
    /// Lines that hold several objects without a newline between them.
    pub glued_lines: u64,
    /// Objects that stood in the transcript before.
    pub duplicate_lines: u64,
    /// Lines over the limit, passed over.
    pub oversized_lines: u64,
}

impl Reading {
    /// Adds another's counts.
    pub fn add(&mut self, other: &Reading) {
        self.each(other, |mine, others| *mine += others);
    }

    /// What came after an earlier reading of the same transcript.
    #[must_use]
    pub fn since(mut self, earlier: &Reading) -> Reading {
        self.each(earlier, |mine, others| *mine -= others);
        self
    }

    fn each(&mut self, other: &Reading, change: impl Fn(&mut u64, u64)) {
        let Reading { lines, malformed_lines, glued_lines, duplicate_lines, oversized_lines } = other;
        change(&mut self.lines, *lines);
        change(&mut self.malformed_lines, *malformed_lines);
        change(&mut self.glued_lines, *glued_lines);
        change(&mut self.duplicate_lines, *duplicate_lines);
        change(&mut self.oversized_lines, *oversized_lines);
    }
}

/// A transcript being read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Transcript {
    /// The pieces so far, with their facts.
    pub pieces: Pieces,
    /// What reading has to say so far.
    pub reading: Reading,
    /// Bytes up to the end of the last line that ended in a newline.
    pub offset: u64,
    line: u32,
    seen: KeySet<Key>,
    #[serde(skip)]
    decoder: Decoder,
    /// What is known of its prompts.
    #[serde(skip)]
    topics: Arc<Decisions>,
}

/// Which decoder reads the lines, with what it remembers of those before. Only Claude Code's forgets nothing that counts
/// when it is put away.
#[derive(Clone, Debug)]
enum Decoder {
    ClaudeCode(Memory),
    Langfuse(Box<langfuse::decode::Memory>),
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::ClaudeCode(Memory::default())
    }
}

impl Decoder {
    fn new(agent: Agent) -> Decoder {
        match agent {
            Agent::ClaudeCode => Decoder::default(),
            Agent::Langfuse => Decoder::Langfuse(Box::default()),
        }
    }

    #[inline]
    fn read_line(
        &mut self,
        line: &[u8],
        number: u32,
        reading: &mut Reading,
        seen: &mut KeySet<Key>,
        tell: &mut dyn FnMut(&Event<'_>),
    ) {
        match self {
            Decoder::ClaudeCode(memory) => read_line(line, number, reading, seen, memory, tell),
            Decoder::Langfuse(memory) => langfuse::decode::read_line(line, number, reading, memory, &mut |event| {
                // What another transcript owns was put there before.
                if event.origin.key.is_none_or(|key| !seen.contains(&key)) {
                    tell(event);
                }
            }),
        }
    }
}

impl Transcript {
    /// A transcript whose events with these keys are another's and are passed over.
    pub fn without(foreign: Vec<Key>) -> Transcript {
        let pieces = if foreign.is_empty() { Pieces::default() } else { Pieces::forked() };
        Transcript { pieces, seen: foreign.into_iter().collect(), ..Transcript::default() }
    }

    /// A transcript that is not cut into pieces.
    pub fn whole() -> Transcript {
        Transcript { pieces: Pieces::whole(), ..Transcript::default() }
    }

    /// The same, written by this agent.
    #[must_use]
    pub fn by(self, agent: Agent) -> Transcript {
        Transcript { decoder: Decoder::new(agent), ..self }
    }

    /// The same, cut by what is known of its prompts.
    #[must_use]
    pub fn knowing(self, topics: &Arc<Decisions>) -> Transcript {
        Transcript { topics: Arc::clone(topics), ..self }
    }

    /// Takes in a line, without its newline.
    pub fn line(&mut self, line: &[u8]) {
        let Transcript { pieces, reading, seen, decoder, topics, .. } = self;
        self.line += 1;
        let number = self.line.min(EventId::LAST_LINE);
        decoder.read_line(line, number, reading, seen, &mut |event| pieces.event(event, &**topics));
    }

    /// Reads on to the end. `unfinished` is shown the state before a last line without a newline, which may yet grow.
    ///
    /// `window` is working memory that may be used again for the next transcript.
    pub fn read(
        &mut self,
        input: &mut dyn Read,
        window: &mut Window,
        unfinished: impl FnOnce(&Self),
    ) -> io::Result<()> {
        let offset = self.offset;
        let mut ended = 0;
        self.seen.reserve(USUAL_RECORDS);
        let mut lines = Lines::new(window);
        loop {
            match lines.next(input)? {
                Line::Whole(line) => {
                    ended += line.len() as u64 + 1;
                    self.line(line);
                }
                Line::TooLong(length) => {
                    ended += length;
                    self.line += 1;
                    self.reading.lines += 1;
                    self.reading.oversized_lines += 1;
                }
                Line::Last(line) => {
                    self.offset = offset + ended;
                    unfinished(self);
                    self.line(line);
                    return Ok(());
                }
                Line::End => {
                    self.offset = offset + ended;
                    unfinished(self);
                    return Ok(());
                }
            }
        }
    }
}

/// Tells `tell` the events of some lines of a transcript, given as ranges with both ends.
pub fn lines(
    agent: Agent,
    input: &mut dyn Read,
    window: &mut Window,
    wanted: &[(u32, u32)],
    tell: &mut dyn FnMut(&Event<'_>),
) -> io::Result<()> {
    let mut cutter = Lines::new(window);
    let (mut reading, mut seen, mut number) = (Reading::default(), KeySet::default(), 0);
    let mut decoder = Decoder::new(agent);
    let mut wanted = wanted.iter().copied().peekable();
    while let Some((from, to)) = wanted.peek().copied() {
        let line = cutter.next(input)?;
        number += 1;
        match line {
            Line::Whole(line) | Line::Last(line) if number >= from => {
                decoder.read_line(line, number, &mut reading, &mut seen, tell);
            }
            // What is not told may still have to be known.
            Line::Whole(line) if agent != Agent::ClaudeCode => {
                decoder.read_line(line, number, &mut reading, &mut seen, &mut |_| {});
            }
            Line::End => break,
            _ => {}
        }
        if number == to {
            wanted.next();
        }
    }
    Ok(())
}

/// The records of a transcript that have an id, in order, with their times. Also what reading has to say about a
/// transcript of Claude Code of which all of these are another's.
pub fn records(agent: Agent, input: &mut dyn Read) -> io::Result<(copies::Records, Reading)> {
    let mut reading = Reading::default();
    if agent != Agent::ClaudeCode {
        let mut records = copies::Records::new();
        lines(agent, input, &mut Window::default(), &[(1, u32::MAX)], &mut |event| {
            if let Some(key) = event.origin.key
                && records.last().is_none_or(|(last, _)| *last != key)
            {
                records.push((key, event.origin.at));
            }
        })?;
        return Ok((records, reading));
    }
    let mut window = Window::default();
    let mut lines = Lines::new(&mut window);
    let (mut records, mut memory) = (Vec::new(), Memory::default());
    loop {
        match lines.next(input)? {
            Line::Whole(line) | Line::Last(line) => {
                let (mut cursor, mut objects) = (Cursor::new(line), 0);
                reading.lines += u64::from(cursor.peek().is_some());
                while let Some(byte) = cursor.peek() {
                    let mut record = Record::default();
                    if byte != b'{' || record::read(&mut cursor, &mut record, &mut memory).is_err() {
                        reading.malformed_lines += 1;
                        break;
                    }
                    objects += 1;
                    if !record.uuid.is_empty() {
                        records.push((Key::of(record.uuid), Timestamp::parse(record.timestamp.raw())));
                    }
                }
                reading.glued_lines += u64::from(objects > 1);
            }
            Line::TooLong(_) => {
                reading.lines += 1;
                reading.oversized_lines += 1;
            }
            Line::End => {
                reading.duplicate_lines = records.len() as u64;
                return Ok((records, reading));
            }
        }
    }
}

/// The ids of the records at the beginning of a transcript that are another's, of which only the keys of its messages
/// and prompts are known: all up to the last one known, and the results that belong to it.
pub(crate) fn copied(input: &mut dyn Read, known: &KeySet<Key>) -> io::Result<Vec<Key>> {
    let mut window = Window::default();
    let mut lines = Lines::new(&mut window);
    let (mut ids, mut copied, mut follows) = (Vec::new(), 0, false);
    let mut memory = Memory::default();
    loop {
        let (Line::Whole(line) | Line::Last(line)) = (match lines.next(input)? {
            Line::TooLong(_) => continue,
            Line::End => break,
            line => line,
        }) else {
            continue;
        };
        let (mut cursor, mut record) = (Cursor::new(line), Record::default());
        while cursor.peek() == Some(b'{') && record::read(&mut cursor, &mut record, &mut memory).is_ok() {
            let message = &record.message;
            let is_known = |id: Text<'_>| !id.is_empty() && known.contains(&Key::of(id));
            let result = matches!(&message.content, record::Content::Blocks(blocks)
                if blocks.iter().any(|block| block.kind.is("tool_result")));
            follows = is_known(record.uuid) || is_known(message.head.id) || follows && result;
            if !record.uuid.is_empty() {
                ids.push(Key::of(record.uuid));
            }
            if follows {
                copied = ids.len();
            }
            record = Record::default();
        }
    }
    ids.truncate(copied);
    Ok(ids)
}

/// Decodes a line: a run of objects, as a rule one.
pub(crate) fn read_line(
    line: &[u8],
    number: u32,
    reading: &mut Reading,
    seen: &mut KeySet<Key>,
    memory: &mut Memory,
    tell: &mut dyn FnMut(&Event<'_>),
) {
    let (mut cursor, mut objects) = (Cursor::new(line), 0);
    while let Some(byte) = cursor.peek() {
        if objects == 0 {
            reading.lines += 1;
        }
        let mut record = Record::default();
        if byte != b'{' || record::read(&mut cursor, &mut record, memory).is_err() {
            reading.malformed_lines += 1;
            break;
        }
        objects += 1;
        let key = (!record.uuid.is_empty()).then(|| Key::of(record.uuid));
        if key.is_none_or(|key| seen.insert(key)) {
            decode::events(&record, key, number, tell);
        } else {
            reading.duplicate_lines += 1;
        }
    }
    reading.glued_lines += u64::from(objects > 1);
}

/// A line of the input.
enum Line<'b> {
    /// One that ended in a newline.
    Whole(&'b [u8]),
    /// The last one, without a newline; not empty.
    Last(&'b [u8]),
    /// One over the limit; its length with its newline, if it has one.
    TooLong(u64),
    /// Nothing is left.
    End,
}

/// Working memory for reading.
#[derive(Clone, Debug, Default)]
pub struct Window(Vec<u8>);

/// Cuts input into lines through one window that grows only for a line that needs it.
struct Lines<'w> {
    buffer: &'w mut Vec<u8>,
    from: usize,
    to: usize,
    done: bool,
}

impl<'w> Lines<'w> {
    fn new(window: &'w mut Window) -> Self {
        Lines { buffer: &mut window.0, from: 0, to: 0, done: false }
    }

    fn next(&mut self, input: &mut dyn Read) -> io::Result<Line<'_>> {
        let mut searched = self.from;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.to]) {
                let line = self.from..searched + at;
                self.from = searched + at + 1;
                // Whether a line is too long must not depend on how much was read at once.
                let too_long = line.len() > LONGEST_LINE;
                return Ok(if too_long {
                    Line::TooLong(line.len() as u64 + 1)
                } else {
                    Line::Whole(&self.buffer[line])
                });
            }
            if self.done {
                let rest = self.from..self.to;
                self.from = self.to;
                return Ok(if rest.is_empty() { Line::End } else { Line::Last(&self.buffer[rest]) });
            }
            searched = self.to;
            if self.to - self.from > LONGEST_LINE {
                return self.pass_over(input);
            }
            searched -= self.make_room();
            self.fill(input)?;
        }
    }

    /// Moves the open line to the front, or grows the window for it. Says how far it moved.
    fn make_room(&mut self) -> usize {
        let moved = self.from;
        let open = self.to - self.from;
        let was_full = self.to == self.buffer.len();
        if self.buffer.is_empty() {
            *self.buffer = vec![0; FIRST_WINDOW];
        } else if open == 0 && self.buffer.len() > WINDOW * 4 {
            // The long line is over: give its room back.
            *self.buffer = vec![0; WINDOW];
        } else {
            if self.from > 0 {
                self.buffer.copy_within(self.from..self.to, 0);
            }
            let room = self.buffer.len() - open;
            if room < WINDOW.min(self.buffer.len()) / 2 || was_full && self.buffer.len() < WINDOW {
                let doubled = self.buffer.len() * 2;
                self.buffer.resize(doubled, 0);
            }
        }
        (self.from, self.to) = (0, open);
        moved
    }

    fn fill(&mut self, input: &mut dyn Read) -> io::Result<()> {
        // Also where a long line has left more room: what is read at once should fit the cache.
        let end = self.buffer.len().min(self.to + WINDOW);
        loop {
            match input.read(&mut self.buffer[self.to..end]) {
                Ok(0) => self.done = true,
                Ok(read) => self.to += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }

    /// Throws a line over the limit away, up to and with its newline.
    fn pass_over(&mut self, input: &mut dyn Read) -> io::Result<Line<'_>> {
        let mut length = (self.to - self.from) as u64;
        *self.buffer = vec![0; WINDOW];
        loop {
            (self.from, self.to) = (0, 0);
            self.fill(input)?;
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[..self.to]) {
                self.from = at + 1;
                return Ok(Line::TooLong(length + at as u64 + 1));
            }
            length += self.to as u64;
            if self.done {
                return Ok(Line::TooLong(length));
            }
        }
    }
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
        let mut window = Window::default();
        let (mut lines, mut drip) = (Lines::new(&mut window), Drip(input, step));
        let mut seen = Vec::new();
        loop {
            match lines.next(&mut drip).unwrap() {
                Line::Whole(line) => seen.push(String::from_utf8_lossy(line).into_owned()),
                Line::Last(line) => seen.push(format!("{}$", String::from_utf8_lossy(line))),
                Line::TooLong(length) => seen.push(format!("({length})")),
                Line::End => return seen,
            }
        }
    }

    #[test]
    fn a_copy_is_counted_as_one_that_is_read_without_its_records() {
        let text = "{\"uuid\":\"a\",\"type\":\"user\"}\n\n  \t\r\n\x0c\n{\"type\":\"x\"}{\"uuid\":\"b\"}\nnonsense\n\
            {\"uuid\":\"c\"} {\"uuid\"\n{\"uuid\":\"a\"}\n[]\n{\"uuid\":\"d\"}";
        for length in (0..=text.len()).filter(|length| text.is_char_boundary(*length)) {
            let input = &text.as_bytes()[..length];
            let (records, reading) = super::records(Agent::ClaudeCode, &mut &*input).unwrap();
            let mut transcript = Transcript::without(records.iter().map(|(key, _)| *key).collect());
            transcript.read(&mut &*input, &mut Window::default(), |_| {}).unwrap();
            assert_eq!(reading, transcript.reading, "{length}");
        }
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
        let mut window = Window::default();
        let (mut lines, mut input) = (Lines::new(&mut window), Endless(0));
        for _ in 0..3 {
            assert!(matches!(lines.next(&mut input).unwrap(), Line::TooLong(length) if length == 100 << 20));
            assert!(lines.buffer.capacity() < 3 * LONGEST_LINE);
        }
    }

    #[test]
    fn a_line_over_the_limit_is_passed_over() {
        let text = format!("a\n{}\nb\n", "x".repeat(LONGEST_LINE * 2));
        assert_eq!(cut(text.as_bytes(), 1 << 20), ["a".to_string(), format!("({})", LONGEST_LINE * 2 + 1), "b".into()]);
    }
}
