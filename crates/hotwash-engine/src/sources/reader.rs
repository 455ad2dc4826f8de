//! Reads a transcript once, line by line, in constant memory, and keeps what it needs to go on when the file grows. It is
//! the same for all agents.

pub use super::lines::LONGEST_LINE;
use super::lines::{Buffer, Line, Lines};
use super::{Agent, Decoder};
use hotwash_core::facts::calls::KeySet;
use hotwash_core::ports::source::Record;
pub use hotwash_core::records::Reading;
use hotwash_core::sessions::topic::Decisions;
use hotwash_core::sessions::{Event, EventId, Key, Pieces, copies};
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
pub struct Window(Buffer);

impl Window {
    /// The end of the transcript that was read last, as far as it is still there; nothing unless it ended in a newline.
    pub fn end(&self) -> &[u8] {
        self.0.end()
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
    /// The agent that wrote it.
    #[serde(skip)]
    pub agent: Agent,
    /// What is known of its prompts.
    #[serde(skip)]
    topics: Arc<Decisions>,
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
        self.agent = agent;
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
    fn line(&mut self, line: &[u8], decoder: &mut dyn Decoder) {
        let Transcript { pieces, reading, seen, topics, .. } = self;
        self.line += 1;
        let number = self.line.min(EventId::LAST_LINE);
        decoder.line(line, number, reading, seen, &mut |event| pieces.event(event, &**topics));
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
        let mut decoder = self.agent.decoder();
        let mut lines = Lines::new(&mut window.0);
        while let Some(chunk) = lines.chunk(input)? {
            for line in chunk {
                match line {
                    Line::Whole(line) => {
                        ended += line.len() as u64 + 1;
                        self.line(line, &mut *decoder);
                    }
                    Line::TooLong(length) => {
                        ended += length;
                        self.line += 1;
                        self.reading.add(&Reading::OVERSIZED);
                    }
                    Line::Last(line) => {
                        self.offset = offset + ended;
                        if let Some(unfinished) = unfinished.take() {
                            unfinished(self);
                        }
                        self.line(line, &mut *decoder);
                    }
                }
            }
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
    let mut cutter = Lines::new(&mut window.0);
    let (mut reading, mut seen, mut number) = (Reading::default(), KeySet::default(), 0);
    let mut decoder = agent.decoder();
    let mut wanted = wanted.iter().copied().peekable();
    while wanted.peek().is_some() {
        let Some(chunk) = cutter.chunk(input)? else { break };
        for line in chunk {
            let Some((from, to)) = wanted.peek().copied() else { break };
            number += 1;
            if let Line::Whole(line) | Line::Last(line) = line {
                if number >= from {
                    decoder.line(line, number, &mut reading, &mut seen, tell);
                } else if !agent.reads_on() {
                    // What is not told may still have to be known.
                    decoder.line(line, number, &mut reading, &mut seen, &mut |_| {});
                }
            }
            if number == to {
                wanted.next();
            }
        }
    }
    Ok(())
}

/// The records of a transcript that have an id, in order, with their times.
pub fn records(agent: Agent, input: &mut dyn Read, window: &mut Window) -> io::Result<copies::Records> {
    let mut records = copies::Records::new();
    each_record(agent, input, window, &mut |record| records.extend(record.key.map(|key| (key, record.at))))?;
    Ok(records)
}

/// The ids of the records at the beginning of a transcript that are another's, of which only the keys of its messages
/// and prompts are known: all up to the last one known, and the results that belong to it.
pub(crate) fn copied(
    agent: Agent,
    input: &mut dyn Read,
    window: &mut Window,
    known: &KeySet<Key>,
) -> io::Result<Vec<Key>> {
    let (mut ids, mut copied, mut follows) = (Vec::new(), 0, false);
    each_record(agent, input, window, &mut |record| {
        let is_known = [record.key, record.message].iter().flatten().any(|key| known.contains(key));
        follows = is_known || follows && record.is_result;
        ids.extend(record.key);
        if follows {
            copied = ids.len();
        }
    })?;
    ids.truncate(copied);
    Ok(ids)
}

fn each_record(
    agent: Agent,
    input: &mut dyn Read,
    window: &mut Window,
    show: &mut dyn FnMut(Record),
) -> io::Result<()> {
    let mut lines = Lines::new(&mut window.0);
    let mut decoder = agent.decoder();
    while let Some(chunk) = lines.chunk(input)? {
        for line in chunk {
            if let Line::Whole(line) | Line::Last(line) = line {
                decoder.records(line, show);
            }
        }
    }
    Ok(())
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
                alone.line(line.as_bytes(), &mut *Agent::default().decoder());
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
                alone.line(line.as_bytes(), &mut *Agent::default().decoder());
            }
            prop_assert_eq!(together.offset as usize, lines.rfind('\n').map_or(0, |last| last + 1));
            let facts = |transcript: &Transcript| transcript.pieces.ledger().finish(prices::shipped());
            prop_assert_eq!(together.reading, alone.reading);
            prop_assert_eq!(facts(&together), facts(&alone));
        }
    }
}
