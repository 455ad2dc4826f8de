//! Where a record was made, which clients write alike in line after line.
//!
//! A run of such pairs is remembered: its bytes, and where in them the values are. Where the same bytes come again, they
//! are compared as a whole and not read again. The same bytes at the same place of the grammar mean the same: a run
//! begins behind a key of a record and ends with the quote that closes a string.

use crate::sources::json::{Cursor, Malformed};
use hotwash_core::sessions::PlaceHash;
use hotwash_core::text::Text;

type Result<T> = std::result::Result<T, Malformed>;

/// A pair that says where a record was made, or one that stands among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Session,
    Version,
    Cwd,
    Branch,
    Agent,
    Entrypoint,
    /// Told apart from the texts, being a flag.
    Sidechain,
    /// Of no interest here.
    Other,
}

/// How many parts are texts: they come first.
const TEXTS: usize = Part::Entrypoint as usize + 1;

impl Part {
    /// The part under this key.
    #[inline]
    pub(crate) fn of(key: &[u8]) -> Option<Part> {
        Some(match key.len() {
            3 if key == b"cwd" => Part::Cwd,
            4 if key == b"slug" => Part::Other,
            7 if key == b"version" => Part::Version,
            7 if key == b"agentId" => Part::Agent,
            8 if key == b"userType" => Part::Other,
            9 if key == b"sessionId" => Part::Session,
            9 if key == b"gitBranch" => Part::Branch,
            10 if key == b"entrypoint" => Part::Entrypoint,
            10 if key == b"session_id" => Part::Other,
            11 if key == b"isSidechain" => Part::Sidechain,
            _ => return None,
        })
    }
}

/// How much of a place was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Extent {
    #[default]
    Nothing,
    /// Whether it is a side chain, by itself.
    Flag,
    More,
}

/// What was read of a place. Few look at it: most records were made where the one before was.
#[derive(Clone, Copy, Debug, Default)]
enum Texts<'a> {
    #[default]
    None,
    /// A run that was known, and where in it they are.
    Known(&'a [u8], Ranges),
    /// Anything else.
    Each([Text<'a>; TEXTS]),
}

/// Where in a run texts begin and end; nothing begins and ends at the first byte.
type Ranges = [(u32, u32); TEXTS];

/// Where a record was made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place<'a> {
    texts: Texts<'a>,
    pub(crate) is_sidechain: bool,
    read: Extent,
    /// Of the run that is all that was read of it, and of a flag before it. Nothing where there was more, or where it came
    /// for the first time.
    pub(crate) hash: Option<PlaceHash>,
}

impl<'a> Place<'a> {
    /// A part that is a text.
    #[inline]
    pub(crate) fn text(&self, part: Part) -> Text<'a> {
        self.texts.at(part as usize)
    }

    fn set(&mut self, part: Part, value: Text<'a>) {
        let mut texts = self.texts.each();
        if let Some(text) = texts.get_mut(part as usize) {
            *text = value;
        }
        self.texts = Texts::Each(texts);
    }
}

impl<'a> Texts<'a> {
    #[inline]
    fn at(&self, part: usize) -> Text<'a> {
        match self {
            Texts::None => Text::default(),
            Texts::Known(run, ranges) => {
                let (from, to) = ranges.get(part).copied().unwrap_or_default();
                Text::verbatim(run.get(from as usize..to as usize).unwrap_or_default())
            }
            Texts::Each(texts) => texts.get(part).copied().unwrap_or_default(),
        }
    }

    fn each(&self) -> [Text<'a>; TEXTS] {
        std::array::from_fn(|part| self.at(part))
    }

    /// The same with a known run behind it, which counts where both say something.
    #[cold]
    fn and(&self, run: &'a [u8], ranges: Ranges) -> Texts<'a> {
        let known = Texts::Known(run, ranges);
        Texts::Each(std::array::from_fn(|part| if ranges[part].1 == 0 { self.at(part) } else { known.at(part) }))
    }
}

/// The run that came last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    first: Option<Part>,
    /// From behind the first key to the end of the last value.
    bytes: Vec<u8>,
    is_sidechain: Option<bool>,
    texts: Ranges,
    hash: Option<PlaceHash>,
}

impl Memory {
    /// Reads the value of a part, and the parts right behind it where they are known.
    #[inline]
    pub(crate) fn read<'a>(&mut self, cursor: &mut Cursor<'a>, first: Part, place: &mut Place<'a>) -> Result<()> {
        let from = cursor.rest();
        let before = std::mem::replace(&mut place.read, Extent::More);
        if self.first != Some(first) || !cursor.pass(&self.bytes) {
            place.hash = None;
            return self.learn(cursor, first, before, place);
        }
        place.is_sidechain = self.is_sidechain.unwrap_or(place.is_sidechain);
        place.hash = match before {
            Extent::Nothing => self.hash,
            Extent::Flag => self.hash.map(|hash| hash.beside(place.is_sidechain)),
            Extent::More => None,
        };
        let run = cursor.since(from);
        match before {
            Extent::More => place.texts = place.texts.and(run, self.texts),
            Extent::Nothing | Extent::Flag => place.texts = Texts::Known(run, self.texts),
        }
        Ok(())
    }

    /// Reads parts, up to one that cannot be remembered, and remembers them. One by itself is not worth it.
    #[inline(never)]
    fn learn<'a>(&mut self, cursor: &mut Cursor<'a>, first: Part, before: Extent, place: &mut Place<'a>) -> Result<()> {
        let from = cursor.rest();
        let (mut next, mut flag) = (first, None);
        if first == Part::Sidechain {
            place.is_sidechain = cursor.is_true()?;
            flag = Some(place.is_sidechain);
            let Some(part) = cursor.next_if(Part::of) else {
                // Newer clients put other pairs behind this one.
                if before == Extent::Nothing {
                    place.read = Extent::Flag;
                }
                return Ok(());
            };
            next = part;
        }
        let (mut run, mut parts, mut texts): (&[u8], _, _) = (&[], u32::from(flag.is_some()), [(0, 0); TEXTS]);
        loop {
            if next == Part::Sidechain {
                place.is_sidechain = cursor.is_true()?;
                break;
            }
            let mut text = Text::default();
            let is_text = cursor.text_if(&mut text)?;
            place.set(next, text);
            let Some(text) = text.as_verbatim().filter(|_| is_text) else { break };
            run = cursor.since(from);
            parts += 1;
            let to = run.len() - 1; // before the closing quote
            if let Some(place) = texts.get_mut(next as usize) {
                *place = ((to - text.len()) as u32, to as u32);
            }
            match cursor.next_if(Part::of) {
                Some(part) => next = part,
                None => break,
            }
        }
        if parts > 1 {
            self.bytes.clear();
            self.bytes.extend_from_slice(run);
            // What a run means depends on the key before it.
            self.bytes.push(first as u8);
            let hash = Some(PlaceHash::of(&self.bytes));
            self.bytes.pop();
            (self.first, self.is_sidechain, self.texts, self.hash) = (Some(first), flag, texts, hash);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place<'a>(memory: &mut Memory, record: &'a str) -> (bool, Place<'a>, &'a [u8]) {
        let (mut cursor, mut place) = (Cursor::new(record.as_bytes()), Place::default());
        let read = cursor.object(|cursor, key| match Part::of(key) {
            Some(part) => memory.read(cursor, part, &mut place),
            None => cursor.skip(),
        });
        (read.is_ok(), place, cursor.rest())
    }

    fn read(memory: &mut Memory, record: &str) -> (bool, String) {
        let (is_ok, Place { texts, is_sidechain, .. }, rest) = place(memory, record);
        (is_ok, format!("{:?}, {is_sidechain} before {:?}", texts.each(), Text::json(rest)))
    }

    #[test]
    fn a_hash_stands_for_all_that_is_said_of_the_place() {
        let mut memory = Memory::default();
        let mut hash = |record: &str| place(&mut memory, record).1.hash;
        let here =
            r#"{"isSidechain":false,"userType":"x","cwd":"/a","sessionId":"s","message":"some words that follow"}"#;
        assert_eq!(hash(here), None, "it comes for the first time");
        let known = hash(here);
        assert!(known.is_some());
        assert_eq!(hash(&here.replace('}', r#","x":{}}"#)), known);
        assert_eq!(hash(&here.replace('}', r#","x":{},"version":"2"}"#)), None, "there is more");
        assert_eq!(hash(r#"{"sessionId":"t","x":"this is not worth remembering"}"#), None);
        assert_eq!(hash(here), known);
        for other in [here.replace("/a", "/b"), here.replace("false", "true"), here.replace("cwd", "gitBranch")] {
            assert_eq!(hash(&other), None, "{other} comes for the first time");
            assert_ne!(hash(&other), known, "{other}");
            assert_eq!((hash(here), hash(here)), (None, known));
        }
    }

    #[test]
    fn a_flag_by_itself_is_part_of_the_hash() {
        let mut memory = Memory::default();
        let mut hash = |record: &str| place(&mut memory, record).1.hash;
        let here = r#"{"isSidechain":false,"message":{},"cwd":"/a","sessionId":"s","more":"some words that follow"}"#;
        assert_eq!(hash(here), None, "it comes for the first time");
        let known = hash(here);
        assert!(known.is_some());
        assert_eq!(hash(here), known);
        for other in [here.replace("false", "true"), here.replace(r#""isSidechain":false,"#, "")] {
            assert_ne!(hash(&other), known, "{other}");
        }
        for more in [r#""isSidechain":true,"message":{}"#, r#""version":"1","message":{}"#] {
            assert_eq!(hash(&here.replace(r#""message":{}"#, more)), None, "there is more");
        }
    }

    #[test]
    fn what_is_remembered_changes_nothing() {
        let mut memory = Memory::default();
        for record in [
            r#"{"isSidechain":false,"userType":"x","cwd":"/a","sessionId":"s","version":"1"}"#,
            r#"{"isSidechain":false,"userType":"x","cwd":"/a","sessionId":"s","version":"1","message":{}}"#,
            r#"{"isSidechain":false,"userType":"x","cwd":"/a","sessionId":"s","version":"1","gitBranch":"b"}"#,
            r#"{"isSidechain":false,"userType":"x","cwd":"/a","sessionId":"s","version":"1","gitBranch":"b"}"#,
            r#"{"isSidechain":false,"userType":"x","cwd":"/a","sessionId":"s"}"#,
            r#"{"isSidechain":true,"userType":"x","cwd":"/a","sessionId":"s"}"#,
            r#"{"isSidechain":true,"userType":"x","cwd":"/ab","sessionId":"s"}"#,
            r#"{"isSidechain":true,"message":{},"cwd":"/ab","sessionId":"s"}"#,
            r#"{"isSidechain":true,"message":{},"cwd":"/ab","sessionId":"s","x":{},"cwd":"/ab","sessionId":"s"}"#,
            r#"{"version":"\u0031","message":{},"cwd":"/ab","sessionId":"s"}"#,
            r#"{"cwd":"\u0031","message":{},"cwd":"/ab","sessionId":"s"}"#,
            r#"{"version":"1","message":{},"cwd":"/ab","sessionId":"s","x":{},"cwd":"\u0031"}"#,
            r#"{"isSidechain":null,"cwd":"/ab","sessionId":"s"}"#,
            r#"{"isSidechain":null,"cwd":"/ab","sessionId":"s"}"#,
            r#"{"isSidechain":[1,{}],"cwd":"/ab","sessionId":7,"version":"2"}"#,
            r#"{"cwd":"/ab","cwd":"/c","sessionId":"s"}"#,
            r#"{"cwd":"/ab","cwd":"/c","sessionId":"s","cwd":null}"#,
            r#"{"cwd":"/ab","cwd":"/c","sessionId":"s","isSidechain":true,"agentId":"g"}"#,
            r#"{"agentId":"g","cwd":"/ab","cwd":"/c","sessionId":"s"x}"#,
            r#"{"agentId":"g","cwd":"/ab","cwd":"/c","sessionId":"s" , "version" : "3"}"#,
            r#"{"agentId":"g","cwd":"\u002fab","sessionId":"s"}"#,
            r#"{"agentId":"g","cwd":"\u002fab","sessionId":"s"}"#,
            r#"{"agentId":"g","cwd":"/ab","cwd":"#,
        ] {
            for _ in 0..2 {
                assert_eq!(read(&mut memory, record), read(&mut Memory::default(), record), "{record}");
            }
        }
    }
}
