//! Text that is written in hex, in rot13 or backwards.
//!
//! Hex is read wherever much of it stands together. For the others, words that nobody would leave out are looked for
//! as they would look; only where one stands, the whole is read.

use std::ops::Range;

/// The fewest digits that are worth reading.
const SHORTEST: usize = 40;

/// Instructions, previous, criteria, session, evaluator; without their first letters, which may be capitals.
const ROT13: &[&str] = &["afgehpgvba", "erivbhf", "evgrevn", "rffvba", "inyhngbe"];
const BACKWARDS: &[&str] = &["noitcurtsn", "suoiver", "airetir", "noisse", "rotaulav"];

/// The first place that says something in one of these ways which `look` finds.
pub(super) fn find(text: &str, look: fn(&str) -> Option<Range<usize>>) -> Option<Range<usize>> {
    let holds =
        |words: &[&str]| words.iter().any(|word| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some());
    let turned = || holds(ROT13).then(|| look(&text.chars().map(rot13).collect::<String>())).flatten();
    let backwards = || {
        let found = holds(BACKWARDS).then(|| look(&text.chars().rev().collect::<String>())).flatten()?;
        Some(text.len() - found.end..text.len() - found.start)
    };
    hex(text, look).or_else(turned).or_else(backwards)
}

fn rot13(c: char) -> char {
    match c {
        'a'..='m' | 'A'..='M' => char::from(c as u8 + 13),
        'n'..='z' | 'N'..='Z' => char::from(c as u8 - 13),
        other => other,
    }
}

fn hex(text: &str, look: fn(&str) -> Option<Range<usize>>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let mut at = 0;
    // Where the last digit of the shortest run is none, no run begins before it.
    while at + SHORTEST <= bytes.len() {
        let last = at + SHORTEST - 1;
        if let Some(gap) = (at..=last).rev().find(|place| !is_digit(*place)) {
            at = gap + 1;
            continue;
        }
        let end = (last..bytes.len()).find(|place| !is_digit(*place)).unwrap_or(bytes.len());
        let said = text.get(at..end).and_then(read);
        if said.is_some_and(|said| look(&said).is_some()) {
            return Some(at..end);
        }
        at = end + 1;
    }
    None
}

/// What the digits say, if it is text.
fn read(digits: &str) -> Option<String> {
    let pairs = digits.as_bytes().chunks_exact(2);
    let bytes = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    let said = String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()?;
    said.chars().all(|c| c == '\n' || !c.is_control()).then_some(said)
}
