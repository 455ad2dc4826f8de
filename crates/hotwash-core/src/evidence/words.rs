//! Words as they are meant, whatever they are disguised as.

use super::tripwire::{Class, unseen};
use std::collections::HashMap;
use std::ops::Range;

/// Words that are looked for within others, by the letter that they begin with.
pub(super) type Inside = HashMap<char, Vec<(&'static str, Class)>>;

/// A word of a text.
pub(super) struct Token<'t> {
    /// Where it stands.
    pub(super) range: Range<usize>,
    /// Where it begins, in characters that can be seen.
    pub(super) place: usize,
    /// What it is, where that is known already.
    pub(super) class: Option<Class>,
    plain: &'t str,
    folded: &'t str,
    digits: &'t str,
}

impl<'t> Token<'t> {
    /// What it may say: as it stands, with lookalikes folded, with digits read as letters.
    pub(super) fn forms(&self) -> impl Iterator<Item = &'t str> {
        [self.plain, self.folded, self.digits].into_iter().filter(|form| !form.is_empty())
    }
}

/// Whether a character is of a script in which words are looked for wherever they begin: nothing stands between them
/// (Chinese, Japanese, Thai), or other words are written onto them (Korean, Arabic, Hebrew, Hindi).
pub(super) fn is_dense(c: char) -> bool {
    matches!(
        c,
        '\u{590}'..='\u{6ff}'
            | '\u{900}'..='\u{97f}'
            | '\u{e00}'..='\u{e7f}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
    )
}

/// How many bytes of a text a word at its beginning takes, whatever stands between its letters unseen.
fn begins(text: &str, word: &str) -> Option<usize> {
    let mut letters = text.char_indices().filter(|(_, c)| !unseen(*c));
    let mut end = 0;
    for wanted in word.chars() {
        let (at, c) = letters.next().filter(|(_, c)| *c == wanted)?;
        end = at + c.len_utf8();
    }
    Some(end)
}

/// Words of letters that stand apart.
const APART: &[&str] = &[
    "ignore",
    "disregard",
    "previous",
    "prior",
    "instructions",
    "judge",
    "grader",
    "evaluator",
    "score",
    "criteria",
    "verdict",
    "override",
    "system",
    "prompt",
    "give",
    "mark",
    "full",
    "session",
    "perfect",
    "complete",
    "met",
    "goal",
];

/// How far apart words of two lines are at least.
const LINE: usize = 12;

/// Shows each word of a text to `tell`, in order. `inside` are words that are looked for within others.
pub(super) fn each(text: &str, inside: &Inside, tell: &mut dyn FnMut(Token<'_>)) {
    let mut buffer = Buffer::default();
    let mut start: Option<usize> = None;
    let mut end = 0;
    // Letters that stand apart, and where they began.
    let mut apart = String::new();
    let mut apart_from = 0;
    let mut seen = 0;
    let mut place = 0;
    for (at, c) in text.char_indices() {
        if !c.is_ascii() && unseen(c) && !matches!(c, '\u{e0020}'..='\u{e007e}') {
            continue;
        }
        seen += if c == '\n' { LINE } else { 1 };
        let width = c.len_utf8();
        let c = match c {
            '\u{e0020}'..='\u{e007e}' => char::from_u32(c as u32 - 0xe0000).unwrap_or(' '),
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(' '),
            other => other,
        };
        let number = start.is_some() && matches!(c, '.' | '/' | '%') && buffer.is_number();
        if c.is_alphanumeric() && !is_dense(c)
            || number
            || matches!(c, '@' | '$' | '!' | '|') && start.is_some() && next_is_letter(text, at)
        {
            if start.is_none() {
                (start, place) = (Some(at), seen);
            }
            buffer.push(c);
            end = at + width;
            continue;
        }
        if let Some(from) = start.take() {
            if buffer.single() {
                if apart.is_empty() {
                    apart_from = from;
                }
                apart.push_str(&buffer.folded());
            } else if !apart.is_empty() {
                joined(&apart, apart_from..from, place, tell);
                apart.clear();
            }
            buffer.tell(from..end, place, tell);
        }
        if is_dense(c) {
            let rest = text.get(at..).unwrap_or_default();
            let words = inside.get(&c).into_iter().flatten();
            let found = words.filter_map(|(word, class)| Some((begins(rest, word)?, *class)));
            if let Some((length, class)) = found.max_by_key(|(length, _)| *length) {
                let range = at..at + length;
                tell(Token { range, place: seen, class: Some(class), plain: "", folded: "", digits: "" });
            }
        }
    }
    if let Some(from) = start {
        if buffer.single() {
            apart.push_str(&buffer.folded());
        }
        buffer.tell(from..end, place, tell);
    }
    joined(&apart, apart_from..text.len(), seen, tell);
}

fn next_is_letter(text: &str, at: usize) -> bool {
    text.as_bytes().get(at + 1).is_some_and(u8::is_ascii_alphabetic)
}

/// Words that single letters make up together.
fn joined(apart: &str, range: Range<usize>, place: usize, tell: &mut dyn FnMut(Token<'_>)) {
    if apart.chars().count() < 5 {
        return;
    }
    let mut found: Vec<(usize, &str)> = APART.iter().flat_map(|word| apart.match_indices(word)).collect();
    found.sort_unstable();
    for (_, word) in found {
        tell(Token { range: range.clone(), place, class: None, plain: word, folded: "", digits: "" });
    }
}

/// The word that is being read.
#[derive(Default)]
struct Buffer {
    plain: String,
    folded: String,
    digits: String,
}

impl Buffer {
    /// Longer ones are no words.
    const LONGEST: usize = 40;

    fn push(&mut self, c: char) {
        if self.plain.len() < Self::LONGEST {
            if c.is_ascii() {
                self.plain.push(c.to_ascii_lowercase());
            } else {
                self.plain.extend(c.to_lowercase());
            }
        }
    }

    fn is_number(&self) -> bool {
        self.plain.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'/' | b'%'))
            && !self.plain.is_empty()
    }

    fn single(&self) -> bool {
        let mut characters = self.plain.chars();
        characters.next().is_some_and(char::is_alphabetic) && characters.next().is_none()
    }

    fn folded(&self) -> String {
        self.plain.chars().map(fold).collect()
    }

    fn tell(&mut self, range: Range<usize>, place: usize, tell: &mut dyn FnMut(Token<'_>)) {
        let ascii = self.plain.is_ascii();
        self.folded.clear();
        self.digits.clear();
        if self.is_number() {
            let length = self.plain.trim_end_matches(['.', '/']).len();
            self.plain.truncate(length);
        } else {
            if !ascii {
                self.folded.extend(self.plain.chars().map(fold));
            }
            let mixed = |c: char| c.is_ascii_digit() || matches!(c, '@' | '$' | '!' | '|');
            if self.plain.contains(mixed) {
                let plain = if ascii { &self.plain } else { &self.folded };
                self.digits.extend(plain.chars().map(letter));
            }
        }
        tell(Token { range, place, class: None, plain: &self.plain, folded: &self.folded, digits: &self.digits });
        self.plain.clear();
    }
}

/// The letter that a digit stands for.
fn letter(c: char) -> char {
    match c {
        '0' => 'o',
        '1' | '!' | '|' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '6' | '9' => 'g',
        '7' => 't',
        '8' => 'b',
        other => other,
    }
}

/// The Latin letter that another looks like, or is with an accent.
fn fold(c: char) -> char {
    match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'а' | 'α' | 'ɑ' => 'a',
        'ç' | 'ć' | 'č' | 'с' | 'ϲ' => 'c',
        'ď' | 'đ' | 'ԁ' => 'd',
        'è'..='ë' | 'ē' | 'ė' | 'ę' | 'ě' | 'е' | 'ё' | 'ε' => 'e',
        'ɡ' | 'ğ' => 'g',
        'һ' => 'h',
        'ì'..='ï' | 'ī' | 'ı' | 'і' | 'ι' | 'ї' => 'i',
        'ј' => 'j',
        'κ' | 'к' => 'k',
        'ӏ' | 'ł' | 'ľ' | 'ĺ' => 'l',
        'м' => 'm',
        'ñ' | 'ń' | 'ň' | 'η' | 'п' => 'n',
        'ò'..='ö' | 'ø' | 'ō' | 'ő' | 'о' | 'ο' | 'σ' => 'o',
        'р' | 'ρ' => 'p',
        'ř' | 'ŕ' => 'r',
        'ѕ' | 'ś' | 'š' | 'ş' | 'ș' => 's',
        'т' | 'τ' | 'ť' | 'ț' | 'ţ' => 't',
        'ù'..='ü' | 'ū' | 'ů' | 'ű' | 'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ѡ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'ý' | 'ÿ' | 'у' | 'γ' => 'y',
        'ž' | 'ź' | 'ż' => 'z',
        other => other,
    }
}
