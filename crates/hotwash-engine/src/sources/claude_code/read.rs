//! Reads a transcript once, line by line, in constant memory, and keeps what it needs to go on when the file grows.

use super::decode;
pub use super::lines::LONGEST_LINE;
use super::lines::{Buffer, Line, Lines};
use super::record::{self, Memory, Record};
use crate::sources::json::{Cursor, Malformed};
use crate::sources::{Agent, langfuse};
use hotwash_core::facts::calls::KeySet;
pub use hotwash_core::records::Reading;
use hotwash_core::sessions::topic::Decisions;
use hotwash_core::sessions::{Event, EventId, Key, Pieces, Timestamp, copies};
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::sync::Arc;

/// Room for the ids of most transcripts' records, so that it need not grow; and for one in so many bytes of a longer one.
const USUAL_RECORDS: usize = 200;
const USUAL_BYTES: u64 = 4096;
/// A file may be of any length, and hold nothing.
const MOST_EXPECTED: u64 = 1 << 16;

/// Working memory for reading, that one transcript after another may use.
#[derive(Debug, Default)]
pub struct Window {
    bytes: Buffer,
    room: Vec<Noted<'static>>,
}

impl Window {
    /// The end of the transcript that was read last, as far as it is still there; nothing unless it ended in a newline.
    pub fn end(&self) -> &[u8] {
        self.bytes.end()
    }
}

/// A transcript being read. It is large, so it stays where it was made.
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

    /// Reads a line. What is not told yet is in the batch.
    #[inline]
    fn note<'b>(
        &mut self,
        line: &'b [u8],
        number: u32,
        reading: &mut Reading,
        seen: &mut KeySet<Key>,
        batch: &mut Batch<'b>,
        tell: &mut dyn FnMut(&Event<'_>),
    ) {
        match self {
            Decoder::ClaudeCode(memory) => batch.note(line, number, reading, seen, memory, tell),
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
    pub fn without(foreign: Vec<Key>) -> Box<Transcript> {
        let mut transcript = Box::<Transcript>::default();
        if !foreign.is_empty() {
            transcript.pieces = Pieces::forked();
        }
        transcript.seen = foreign.into_iter().collect();
        transcript
    }

    /// A transcript that is not cut into pieces.
    pub fn whole() -> Box<Transcript> {
        let mut transcript = Box::<Transcript>::default();
        transcript.pieces = Pieces::whole();
        transcript
    }

    /// The same, written by this agent.
    #[must_use]
    pub fn by(mut self: Box<Self>, agent: Agent) -> Box<Transcript> {
        self.decoder = Decoder::new(agent);
        self
    }

    /// The same, cut by what is known of its prompts.
    #[must_use]
    pub fn knowing(mut self: Box<Self>, topics: &Arc<Decisions>) -> Box<Transcript> {
        self.topics = Arc::clone(topics);
        self
    }

    /// Makes room for what so many bytes hold, as a rule.
    pub fn expect(&mut self, bytes: u64) {
        self.seen.reserve(((bytes / USUAL_BYTES).min(MOST_EXPECTED) as usize).max(USUAL_RECORDS));
    }

    /// Takes in a line, without its newline.
    pub fn line(&mut self, line: &[u8]) {
        let mut batch = Batch::default();
        self.note(line, &mut batch);
        self.tell(&mut batch);
    }

    /// Takes in a line, without its newline, up to what is told together with others.
    fn note<'b>(&mut self, line: &'b [u8], batch: &mut Batch<'b>) {
        let Transcript { pieces, reading, seen, decoder, topics, .. } = self;
        self.line += 1;
        let number = self.line.min(EventId::LAST_LINE);
        decoder.note(line, number, reading, seen, batch, &mut |event| pieces.event(event, &**topics));
    }

    /// Takes in the first of these lines like [`Transcript::note`], if it is one record and nothing else, as nearly all
    /// are. Says how long it is: where the record ends, so does the line, and need not be looked for.
    fn record<'b>(&mut self, lines: &'b [u8], batch: &mut Batch<'b>) -> Option<usize> {
        let Transcript { pieces, reading, seen, decoder, topics, .. } = self;
        let Decoder::ClaudeCode(memory) = decoder else { return None };
        let number = (self.line + 1).min(EventId::LAST_LINE);
        let length = batch.record(lines, number, reading, seen, memory, &mut |event| pieces.event(event, &**topics))?;
        self.line += 1;
        reading.lines += 1;
        Some(length)
    }

    /// Tells what was noted.
    fn tell(&mut self, batch: &mut Batch<'_>) {
        let Transcript { pieces, reading, seen, topics, .. } = self;
        batch.tell(reading, seen, &mut |event| pieces.event(event, &**topics));
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
        let mut unfinished = Some(unfinished);
        self.seen.reserve(USUAL_RECORDS);
        let Window { bytes, room } = window;
        let mut lines = Lines::new(bytes);
        while let Some(mut chunk) = lines.chunk(input)? {
            let mut batch = Batch::within(room);
            loop {
                while let Some(length) = self.record(chunk.rest(), &mut batch) {
                    ended += length as u64 + 1;
                    chunk.pass(length);
                }
                match chunk.next() {
                    None => break,
                    Some(Line::Whole(line)) => {
                        ended += line.len() as u64 + 1;
                        self.note(line, &mut batch);
                    }
                    Some(Line::TooLong(length)) => {
                        ended += length;
                        self.line += 1;
                        self.reading.add(&Reading::OVERSIZED);
                    }
                    // By itself in its chunk, so everything before it was told.
                    Some(Line::Last(line)) => {
                        self.offset = offset + ended;
                        if let Some(unfinished) = unfinished.take() {
                            unfinished(self);
                        }
                        self.note(line, &mut batch);
                    }
                }
            }
            self.tell(&mut batch);
            *room = batch.room();
        }
        self.offset = offset + ended;
        if let Some(unfinished) = unfinished {
            unfinished(self);
        }
        Ok(())
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
    let Window { bytes, room } = window;
    let mut cutter = Lines::new(bytes);
    let (mut reading, mut seen, mut number) = (Reading::default(), KeySet::default(), 0);
    let mut decoder = Decoder::new(agent);
    let mut wanted = wanted.iter().copied().peekable();
    while wanted.peek().is_some() {
        let Some(chunk) = cutter.chunk(input)? else { break };
        let mut batch = Batch::within(room);
        for line in chunk {
            let Some((from, to)) = wanted.peek().copied() else { break };
            number += 1;
            if let Line::Whole(line) | Line::Last(line) = line {
                if number >= from {
                    decoder.note(line, number, &mut reading, &mut seen, &mut batch, tell);
                } else if agent != Agent::ClaudeCode {
                    // What is not told may still have to be known.
                    decoder.note(line, number, &mut reading, &mut seen, &mut batch, &mut |_| {});
                }
            }
            if number == to {
                wanted.next();
            }
        }
        batch.tell(&mut reading, &mut seen, tell);
        *room = batch.room();
    }
    Ok(())
}

/// The records of a transcript that have an id, in order, with their times. Also what reading has to say about one of
/// Claude Code, but for records that stood elsewhere before.
pub fn records(agent: Agent, input: &mut dyn Read, window: &mut Window) -> io::Result<(copies::Records, Reading)> {
    let mut reading = Reading::default();
    if agent != Agent::ClaudeCode {
        let mut records = copies::Records::new();
        lines(agent, input, window, &[(1, u32::MAX)], &mut |event| {
            if let Some(key) = event.origin.key
                && records.last().is_none_or(|(last, _)| *last != key)
            {
                records.push((key, event.origin.at));
            }
        })?;
        return Ok((records, reading));
    }
    let mut lines = Lines::new(&mut window.bytes);
    let (mut records, mut memory) = (Vec::new(), Memory::default());
    while let Some(chunk) = lines.chunk(input)? {
        for line in chunk {
            let (Line::Whole(line) | Line::Last(line)) = line else {
                reading.add(&Reading::OVERSIZED);
                continue;
            };
            objects(line, &mut reading, |cursor, _| {
                let mut record = Record::default();
                record::read(cursor, &mut record, &mut memory)?;
                if let Some(key) = record.key {
                    records.push((key, Timestamp::parse(record.timestamp.raw())));
                }
                Ok(())
            });
        }
    }
    Ok((records, reading))
}

/// The ids of the records at the beginning of a transcript that are another's, of which only the keys of its messages
/// and prompts are known: all up to the last one known, and the results that belong to it.
pub(crate) fn copied(input: &mut dyn Read, window: &mut Window, known: &KeySet<Key>) -> io::Result<Vec<Key>> {
    let mut lines = Lines::new(&mut window.bytes);
    let (mut ids, mut copied, mut follows) = (Vec::new(), 0, false);
    let mut memory = Memory::default();
    while let Some(chunk) = lines.chunk(input)? {
        for line in chunk {
            let (Line::Whole(line) | Line::Last(line)) = line else { continue };
            let (mut cursor, mut record) = (Cursor::new(line), Record::default());
            while cursor.peek() == Some(b'{') && record::read(&mut cursor, &mut record, &mut memory).is_ok() {
                let message = &record.message;
                let id = message.head.id;
                let keys = [record.key, (!id.is_empty()).then(|| Key::of(id))];
                let is_known = keys.iter().flatten().any(|key| known.contains(key));
                let result = matches!(&message.content, record::Content::Blocks(blocks)
                    if blocks.iter().any(|block| block.kind.is("tool_result")));
                follows = is_known || follows && result;
                ids.extend(record.key);
                if follows {
                    copied = ids.len();
                }
                record = Record::default();
            }
        }
    }
    ids.truncate(copied);
    Ok(ids)
}

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a line: a run of objects, as a rule one. Counts what is wrong with it.
#[inline]
fn objects<'b>(
    line: &'b [u8],
    reading: &mut Reading,
    mut read: impl FnMut(&mut Cursor<'b>, &mut Reading) -> Result<(), Malformed>,
) {
    // Editors put a byte order mark in front of a file.
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let (mut cursor, mut objects) = (Cursor::new(line), 0);
    while let Some(byte) = cursor.peek() {
        reading.lines += u64::from(objects == 0);
        if byte != b'{' || read(&mut cursor, reading).is_err() {
            reading.malformed_lines += 1;
            break;
        }
        objects += 1;
    }
    reading.glued_lines += u64::from(objects > 1);
}

/// How many records are noted before they are told.
const BATCH: usize = 32;

/// Records that were noted and not told yet.
///
/// The processor's cache has room for the code that notes records, and nearly for the code of those who are told what
/// happened, but not for both. So some lines are noted, then all of them are told.
#[derive(Default)]
struct Batch<'b> {
    noted: Vec<Noted<'b>>,
}

/// A record, and the line it stands in.
#[derive(Debug, Default)]
struct Noted<'b> {
    line: u32,
    record: Record<'b>,
}

impl<'b> Batch<'b> {
    /// One that takes the room of another that is done.
    fn within(room: &mut Vec<Noted<'static>>) -> Batch<'b> {
        Batch { noted: std::mem::take(room) }
    }

    /// Its room, for another. What borrows from lines that are gone is not in it, which the compiler sees where the room
    /// is collected into itself.
    fn room(mut self) -> Vec<Noted<'static>> {
        self.noted.clear();
        self.noted.into_iter().map(|_| Noted::default()).collect()
    }

    /// Notes a line.
    fn note(
        &mut self,
        line: &'b [u8],
        number: u32,
        reading: &mut Reading,
        seen: &mut KeySet<Key>,
        memory: &mut Memory,
        tell: &mut dyn FnMut(&Event<'_>),
    ) {
        objects(line, reading, |cursor, reading| {
            self.make_room(reading, seen, tell);
            self.read(cursor, number, memory)
        });
    }

    /// Notes the first of these lines, if it is one record and nothing else, and says how long it is.
    fn record(
        &mut self,
        lines: &'b [u8],
        number: u32,
        reading: &mut Reading,
        seen: &mut KeySet<Key>,
        memory: &mut Memory,
        tell: &mut dyn FnMut(&Event<'_>),
    ) -> Option<usize> {
        if lines.first() != Some(&b'{') {
            return None;
        }
        self.make_room(reading, seen, tell);
        let mut cursor = Cursor::in_line(lines);
        self.read(&mut cursor, number, memory).ok()?;
        // There may be white space behind it, such as the other half of a line end.
        let is_all = cursor.rest().first() == Some(&b'\n') || cursor.peek() == Some(b'\n');
        let length = cursor.since(lines).len();
        if !is_all || length > LONGEST_LINE {
            self.noted.pop();
            return None;
        }
        Some(length)
    }

    /// Tells what was noted, if it is much.
    #[inline]
    fn make_room(&mut self, reading: &mut Reading, seen: &mut KeySet<Key>, tell: &mut dyn FnMut(&Event<'_>)) {
        if self.noted.len() >= BATCH {
            self.tell(reading, seen, tell);
        }
    }

    /// Notes an object, unless it is broken.
    fn read(&mut self, cursor: &mut Cursor<'b>, line: u32, memory: &mut Memory) -> Result<(), Malformed> {
        let before = self.noted.len();
        if before == 1 {
            // Where there is a second one, more will come.
            self.noted.reserve_exact(BATCH - before);
        }
        // Made where it will be: a record is large.
        self.noted.resize_with(before + 1, Noted::default);
        let noted = &mut self.noted[before];
        noted.line = line;
        let read = record::read(cursor, &mut noted.record, memory);
        if read.is_err() {
            self.noted.truncate(before);
        }
        read
    }

    /// Tells the events of what was noted.
    fn tell(&mut self, reading: &mut Reading, seen: &mut KeySet<Key>, tell: &mut dyn FnMut(&Event<'_>)) {
        for Noted { line, record } in &self.noted {
            if record.key.is_none_or(|key| seen.insert(key)) {
                decode::events(record, *line, tell);
            } else {
                reading.duplicate_lines += 1;
            }
        }
        self.noted.clear();
    }
}

/// Decodes lines as [`Transcript::read`] does, and tells their events.
#[cfg(any(test, feature = "oracle"))]
pub(crate) fn read_lines(
    mut lines: &[u8],
    reading: &mut Reading,
    seen: &mut KeySet<Key>,
    memory: &mut Memory,
    tell: &mut dyn FnMut(&Event<'_>),
) {
    let mut batch = Batch::default();
    for number in 1.. {
        let length = if let Some(length) = batch.record(lines, number, reading, seen, memory, tell) {
            reading.lines += 1;
            length
        } else {
            let length = memchr::memchr(b'\n', lines).unwrap_or(lines.len());
            batch.note(&lines[..length], number, reading, seen, memory, tell);
            length
        };
        match lines.get(length + 1..) {
            Some(rest) => lines = rest,
            None => break,
        }
    }
    batch.tell(reading, seen, tell);
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotwash_core::facts::Ledger;
    use hotwash_core::prices;
    use hotwash_core::redaction::{Rules, redact_facts};
    use proptest::prelude::*;

    /// A line of some kind, with an id of its own or with one that came before.
    fn line(kind: usize, id: usize) -> String {
        let said = format!(
            r#"{{"type":"assistant","uuid":"u{id}","message":{{"id":"m{id}","model":"x","content":[{{"type":"text","text":"a"}}],"usage":{{"output_tokens":{id}}}}}}}"#
        );
        let asked = format!(r#"{{"type":"user","uuid":"v{id}","message":{{"role":"user","content":"do {id}"}}}}"#);
        let (front, rest) = said.split_at(id);
        match kind {
            0 => said,
            1 => asked,
            2 => said + &asked,
            3 => asked + "{broken",
            4 => "broken".to_owned(),
            5 => String::new(),
            6 => "{}".repeat(id),
            // Cut anywhere: in a name, in a word, behind a comma. What is left may stand in the next line.
            7 => front.to_owned(),
            8 => rest.to_owned(),
            9 => format!("{front}\n{rest}"),
            10 => format!("{front}\\\n{rest}"),
            11 => asked + " ",
            12 => asked + "\r",
            _ => look_of(id, id),
        }
    }

    const TOPICS: [&str; 3] = [
        "Bake three loaves with rye flour, honey and walnuts tonight",
        "Repair the parser failing upon empty input before releasing version nine",
        "go on",
    ];
    const NOON: &str = "2026-01-01T12:00:00.000Z";

    /// A look at a file, and what it showed: perhaps the name of the next file, perhaps as much as fills the window.
    fn look_of(n: usize, id: usize) -> String {
        let (file, other, much) = (id % 6, id % 5, "x".repeat(id * 900));
        format!(
            r#"{{"type":"assistant","uuid":"c{n}","timestamp":"{NOON}","message":{{"id":"n{n}","content":[{{"type":"tool_use","id":"t{n}","name":"Read","input":{{"file_path":"/folder{file}/file{file}.rs"}}}}]}}}}
{{"type":"user","uuid":"r{n}","timestamp":"{NOON}","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{n}","content":"{much} file{other}.rs"}}]}}}}"#
        )
    }

    #[test]
    fn a_record_over_the_limit_is_passed_over_like_any_line() {
        let record = |length: usize| format!(r#"{{"type":"{}"}}"#, "x".repeat(length - 11)) + "\n";
        let lines = line(1, 1) + "\n" + &record(LONGEST_LINE) + &record(LONGEST_LINE + 1) + &line(1, 2) + "\n";
        let mut transcript = Transcript::whole();
        transcript.read(&mut lines.as_bytes(), &mut Window::default(), |_| {}).unwrap();
        let Reading { lines: read, oversized_lines, .. } = transcript.reading;
        assert_eq!((read, oversized_lines, transcript.offset), (4, 1, lines.len() as u64));
    }

    #[test]
    fn a_batch_leaves_its_room_to_the_next() {
        let (mut window, mut transcript) = (Window::default(), Transcript::whole());
        let lines: String = (0..3).map(|id| line(0, id) + "\n").collect();
        transcript.read(&mut lines.as_bytes(), &mut window, |_| {}).unwrap();
        assert_eq!((window.room.len(), window.room.capacity()), (0, BATCH));
        let place = window.room.as_ptr();
        transcript.read(&mut lines.as_bytes(), &mut window, |_| {}).unwrap();
        assert_eq!(window.room.as_ptr(), place);
    }

    /// A session in which files are looked at, prompts turn to something else and `/clear` cuts.
    fn told(steps: &[(u8, usize)]) -> String {
        let mut lines = String::new();
        for (n, (kind, id)) in steps.iter().enumerate() {
            let line = match kind {
                0 => asked(n, "<command-name>/clear</command-name>"),
                1 => asked(n, TOPICS[id % 3]),
                _ => look_of(n, *id),
            };
            lines += &(line + "\n");
        }
        lines
    }

    fn asked(n: usize, words: &str) -> String {
        format!(
            r#"{{"type":"user","uuid":"v{n}","timestamp":"{NOON}","message":{{"role":"user","content":"{words}"}}}}"#
        )
    }

    /// Facts of all pieces, and of the runs that they may be joined to.
    fn established(transcript: &mut Transcript) -> Vec<String> {
        let facts = |ledger: &Ledger| redact_facts(ledger.finish(prices::shipped()), &Rules::default()).stored();
        let pieces = transcript.pieces.parts().count();
        let mut all = Vec::new();
        for part in transcript.pieces.parts_mut() {
            all.push(facts(&part.ledger));
            all.extend((0..pieces).filter_map(|first| Some(format!("{first}: {}", facts(part.joint_mut(first)?)))));
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_looks_showed_is_known_however_they_were_read(
            steps in prop::collection::vec((0u8..9, 0usize..90), 0..50),
            put_away in 0usize..50,
        ) {
            let (mut alone, mut together, mut window) = (Transcript::default(), Transcript::default(), Window::default());
            let lines = told(&steps);
            for line in lines.split_terminator('\n') {
                alone.line(line.as_bytes());
            }
            together.read(&mut lines.as_bytes(), &mut window, |_| {}).unwrap();
            prop_assert_eq!(established(&mut together), established(&mut alone));

            let before = told(&steps[..put_away.min(steps.len())]);
            let mut first = Transcript::default();
            first.read(&mut before.as_bytes(), &mut window, |_| {}).unwrap();
            let mut second: Transcript = postcard::from_bytes(&postcard::to_allocvec(&first).unwrap()).unwrap();
            second.read(&mut &lines.as_bytes()[before.len()..], &mut window, |_| {}).unwrap();
            prop_assert_eq!(established(&mut second), established(&mut alone));
        }
    }

    proptest! {
        #[test]
        fn lines_mean_the_same_by_themselves_and_together(lines in prop::collection::vec((0usize..20, 0usize..90), 0..120)) {
            let lines: Vec<String> = lines.into_iter().map(|(kind, id)| line(kind, id)).collect();
            let lines = lines.join("\n");
            let (mut together, mut alone) = (Transcript::whole(), Transcript::whole());
            together.read(&mut lines.as_bytes(), &mut Window::default(), |_| {}).unwrap();
            for line in lines.split('\n') {
                alone.line(line.as_bytes());
            }
            prop_assert_eq!(together.offset as usize, lines.rfind('\n').map_or(0, |last| last + 1));
            let facts = |transcript: &Transcript| transcript.pieces.ledger().finish(prices::shipped());
            prop_assert_eq!(together.reading, alone.reading);
            prop_assert_eq!(facts(&together), facts(&alone));
        }
    }
}
