//! From the toy's lines to our events.

use super::super::Decoder;
use hotwash_core::facts::calls::KeySet;
use hotwash_core::records::Reading;
use hotwash_core::sessions::{Event, EventId, Key, Kind, Message, Origin, Prompt, PromptVia, Timestamp, Usage};
use hotwash_core::text::Text;

pub(super) const DECODER: u32 = 1;

/// Every line stands by itself.
pub(super) struct Lines;

impl Decoder for Lines {
    fn line(
        &mut self,
        line: &[u8],
        number: u32,
        reading: &mut Reading,
        seen: &mut KeySet<Key>,
        tell: &mut dyn FnMut(&Event<'_>),
    ) {
        reading.lines += 1;
        let parts = std::str::from_utf8(line).ok().map(|line| line.split('\t').collect::<Vec<_>>());
        let Some(&[kind @ ("asks" | "says"), id, words]) = parts.as_deref() else {
            reading.malformed_lines += 1;
            return;
        };
        let key = Key::of(Text::plain(id));
        if !seen.insert(key) {
            reading.duplicate_lines += 1;
            return;
        }
        let at = Some(Timestamp(i64::from(number) * 60_000));
        let origin =
            Origin { id: EventId(number), key: Some(key), at, session: Text::plain("toy"), ..Origin::default() };
        let mut tell = |kind: &Kind<'_>| tell(&Event { origin: &origin, kind });
        if kind == "asks" {
            return tell(&Kind::Prompt(Prompt { words, via: PromptVia::Typed, images: 0 }));
        }
        let usage = Usage { output: 5, ..Usage::default() };
        tell(&Kind::Message(Message { key, model: Text::plain("toy-1"), usage, agent: Text::default() }));
        tell(&Kind::Says(Text::plain(words)));
    }
}
