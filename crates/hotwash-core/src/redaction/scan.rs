//! One look at one text: every rule is tried where its anchor stands, and what it finds is put in order.

use std::ops::Range;

use memchr::memmem;

use super::bytes::{
    ALNUM, Alphabet, DIGIT, DOTTED, HEX, LOWER, URL_SAFE, WIDE, has, is_at, is_before, only, run_end, run_start, slice,
};
use super::placeholder::{Kind, inside_placeholder, placeholder_at};
use super::providers::{IN_RUNS, Left, Pattern};
use super::rules::{Anchor, Literal, Rules};
use super::{base64, contacts, keywords, paths, places, shapes};

/// Something private, where it stands, and the value that its placeholder is made from.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
    /// The value, where it is not the text at the range.
    pub(super) value: Option<Vec<u8>>,
}

/// Finds what is private in the text as it stands, and in the base64 in it.
pub(super) fn scan(text: &str, rules: &Rules) -> Vec<Hit> {
    let mut hits = plain(text.as_bytes(), rules);
    let bytes = text.as_bytes();
    hits.extend(shapes::alone(bytes).map(|range| Hit { range, kind: Kind::Secret("key"), value: None }));
    base64::runs(bytes, |range| {
        let run = slice(bytes, range.start, range.end);
        words(run, range.start, &mut hits);
        let shape = shapes::find(bytes, &range);
        hits.extend(shape.map(|(range, kind)| Hit { range, kind: Kind::Secret(kind), value: None }));
        let mut inner: Option<Hit> = None;
        base64::readable(run, |decoded| {
            if inner.is_none() {
                inner = encoded(decoded, rules);
            }
        });
        if let Some(hit) = inner {
            hits.push(Hit { range, ..hit });
        }
    });
    in_order(bytes, hits)
}

/// What of the decoded text would have to go, as the value of the whole run.
fn encoded(decoded: &str, rules: &Rules) -> Option<Hit> {
    let bytes = decoded.as_bytes();
    let mut hits = plain(bytes, rules);
    base64::runs(bytes, |run| {
        words(slice(bytes, run.start, run.end), run.start, &mut hits);
    });
    let hits = in_order(bytes, hits);
    // Digits that pass for a card or a telephone come up by chance in decoded noise.
    let hit = hits.into_iter().filter(|h| !matches!(h.kind, Kind::Card | Kind::Phone)).min_by_key(|h| h.kind.rank())?;
    let kind = if hit.kind == Kind::Home { Kind::Secret("path") } else { hit.kind };
    let value = slice(bytes, hit.range.start, hit.range.end).to_vec();
    Some(Hit { range: 0..0, kind, value: Some(value) })
}

fn plain(text: &[u8], rules: &Rules) -> Vec<Hit> {
    let mut scanner = Scanner { text, hits: Vec::new(), runs: [(0, 0, 0); 4], next_run: 0, done: 0 };
    rules.anchors.find(text, |number, found| {
        if let Some(anchor) = rules.kinds.get(number) {
            scanner.at(anchor, found);
        }
    });
    let mut hits = scanner.hits;
    for sign in memchr::memchr_iter(b'@', text) {
        if let Some(range) = contacts::email(text, sign) {
            hits.push(Hit { range, kind: Kind::Email, value: None });
        }
    }
    contacts::numbers(text, |range, kind| {
        hits.push(Hit { range, kind, value: None });
    });
    hits
}

struct Scanner<'t> {
    text: &'t [u8],
    hits: Vec<Hit>,
    /// The last runs measured, by alphabet: a text made of anchors must not cost its square.
    runs: [(Alphabet, usize, usize); 4],
    next_run: usize,
    /// Up to where a private key or a quoted value has already taken everything.
    done: usize,
}

impl Scanner<'_> {
    fn at(&mut self, anchor: &Anchor, found: Range<usize>) {
        let text = self.text;
        let hit = match anchor {
            Anchor::Provider(pattern) => self.provider(pattern, found).map(|r| {
                if pattern.kind == "aws" {
                    let secret = places::aws_secret(text, &r);
                    self.hits.extend(secret.map(|range| Hit { range, kind: Kind::Secret("aws"), value: None }));
                }
                (r, Kind::Secret(pattern.kind))
            }),
            Anchor::Place(place) => {
                place.find(text, &found, &mut |range| {
                    self.hits.push(Hit { range, kind: Kind::Secret(place.kind), value: None });
                });
                None
            }
            Anchor::Form(form) => {
                form.find(text, &found, &mut |range| {
                    self.hits.push(Hit { range, kind: Kind::Secret(form.kind), value: None });
                });
                None
            }
            Anchor::Literal(literal) => known(text, literal, &found).then_some((found, literal.kind)),
            _ if found.start < self.done => None,
            Anchor::Keyword(keyword) => keywords::value_after(text, &found, keyword).map(|range| {
                self.done = self.done.max(range.end);
                (range, Kind::Secret(keyword.kind))
            }),
            Anchor::Pem => pem(text, found).map(|range| {
                self.done = range.end;
                (range, Kind::Secret("pem"))
            }),
            Anchor::Putty => {
                self.done = text.len();
                Some((found.start..text.len(), Kind::Secret("putty")))
            }
            Anchor::Jwt => self.jwt(found.start).map(|r| (r, Kind::Secret("jwt"))),
            Anchor::Url => contacts::userinfo(text, found.end).map(|r| (r, Kind::Secret("url"))),
            Anchor::Home => paths::home(text, &found).map(|r| (r, Kind::Home)),
            Anchor::Telegram => self.telegram(found).map(|r| (r, Kind::Secret("telegram"))),
        };
        if let Some((range, kind)) = hit {
            self.hits.push(Hit { range, kind, value: None });
        }
    }

    fn run_end(&mut self, from: usize, alphabet: Alphabet) -> usize {
        for (known, start, end) in self.runs {
            if known == alphabet && start <= from && from < end {
                return end;
            }
        }
        let end = run_end(self.text, from, alphabet);
        if let Some(slot) = self.runs.get_mut(self.next_run % 4) {
            *slot = (alphabet, from, end);
            self.next_run += 1;
        }
        end
    }

    fn provider(&mut self, pattern: &Pattern, found: Range<usize>) -> Option<Range<usize>> {
        let text = self.text;
        let start = match pattern.left {
            Left::Word if is_before(text, found.start, ALNUM | WIDE) => return None,
            Left::Any | Left::Word => found.start,
            Left::Inside => run_start(text, found.start, pattern.alphabet, 128),
        };
        let end = self.run_end(found.end, pattern.alphabet);
        let (body, from) = match pattern.left {
            Left::Inside => (end - start, start),
            _ => (end - found.end, found.end),
        };
        let value = slice(text, from, end);
        (body >= pattern.min && pattern.check.holds(value) && !is_dummy(value)).then_some(start..end)
    }

    /// Two or three parts of base64 with dots between them, the first of which is a JSON object.
    fn jwt(&mut self, start: usize) -> Option<Range<usize>> {
        let header = self.run_end(start, URL_SAFE);
        if header - start < 12 || self.text.get(header) != Some(&b'.') {
            return None;
        }
        let end = self.run_end(start, DOTTED);
        (end - header > 12).then_some(start..end)
    }

    /// `123456789:AA…`
    fn telegram(&mut self, found: Range<usize>) -> Option<Range<usize>> {
        let start = run_start(self.text, found.start, DIGIT, 12);
        let end = self.run_end(found.start + 1, URL_SAFE);
        ((7..=12).contains(&(found.start - start)) && end - found.start > 28).then_some(start..end)
    }
}

/// `xxxxxxxx` in the place of a token.
fn is_dummy(value: &[u8]) -> bool {
    value.iter().all(|b| matches!(b, b'x' | b'X' | b'*' | b'.' | b'-'))
}

/// The private key that starts here, up to its end or, where that is missing, to the end of the text.
fn pem(text: &[u8], found: Range<usize>) -> Option<Range<usize>> {
    let label_end =
        run_end(text, found.end, ALNUM | super::bytes::SPACE | super::bytes::UNDERSCORE).min(found.end + 64);
    let label = slice(text, found.end, label_end);
    memmem::find(label, b"PRIVATE").or_else(|| memmem::find(label, b"OpenVPN Static key"))?;
    let rest = slice(text, label_end, text.len());
    if let Some(end) = memmem::find(rest, b"-----END ") {
        let close = label_end + end + b"-----END ".len();
        let tail = slice(text, close, text.len().min(close + 64));
        let dashes = memmem::find(tail, b"-----").map_or(tail.len(), |i| i + 5);
        return Some(found.start..close + dashes);
    }
    // Code that looks for keys quotes the first line and goes on; a key would follow at once.
    let after = rest.strip_prefix(b"-----").unwrap_or(rest);
    let quoted = matches!(after.first(), Some(b'"' | b'\'' | b'`'));
    let key_follows = {
        let near = slice(after, 0, after.len().min(400));
        let mut any = false;
        base64::runs(near, |run| {
            any |= run.len() >= 32
                && has(slice(near, run.start, run.end), DIGIT)
                && has(slice(near, run.start, run.end), LOWER);
        });
        any
    };
    (!quoted || key_follows).then_some(found.start..text.len())
}

/// Finds the tokens whose prefix is too common for an anchor, among the words of a long run.
fn words(run: &[u8], offset: usize, hits: &mut Vec<Hit>) {
    if run.len() < SHORTEST_WORD {
        return;
    }
    let mut start = 0;
    for word in run.split(|b| !b.is_ascii_alphanumeric()) {
        let rest = slice(run, start, run.len());
        let mut hit = |length: usize, kind| {
            let from = offset + start;
            hits.push(Hit { range: from..from + length, kind: Kind::Secret(kind), value: None });
        };
        if rest.len() >= SHORTEST_WORD
            && matches!(rest[0], b'S' | b'A' | b'a' | b'c' | b'd' | b'i' | b'n' | b'p' | b'r' | b'x')
        {
            for pattern in IN_RUNS {
                let prefix = pattern.prefix.len();
                if rest.starts_with(pattern.prefix.as_bytes()) {
                    let end = run_end(rest, prefix, pattern.alphabet);
                    if end - prefix >= pattern.min && pattern.check.holds(slice(rest, prefix, end)) {
                        hit(end, pattern.kind);
                    }
                }
            }
        }
        // Mailchimp: hex digits and a data centre, as in `…-us12`.
        if (30..=34).contains(&word.len()) && slice(rest, word.len(), word.len() + 3) == b"-us" && only(word, HEX) {
            hit(run_end(rest, word.len() + 3, DIGIT), "mailchimp");
        }
        start += word.len() + 1;
    }
}

/// The length of the shortest token that [`IN_RUNS`] knows.
const SHORTEST_WORD: usize = 24;

fn known(text: &[u8], literal: &Literal, found: &Range<usize>) -> bool {
    !literal.whole_word || !(is_before(text, found.start, ALNUM | WIDE) || is_at(text, found.end, ALNUM | WIDE))
}

/// Sorts the hits, joins those that overlap, and drops those that lie in a placeholder.
pub(super) fn in_order(text: &[u8], mut hits: Vec<Hit>) -> Vec<Hit> {
    if hits.is_empty() {
        return hits;
    }
    hits.retain(|h| {
        h.range.start < h.range.end
            && !inside_placeholder(text, h.range.start, h.range.end)
            && placeholder_at(text, h.range.start) != Some(h.range.end)
    });
    hits.sort_by_key(|h| (h.range.start, std::cmp::Reverse(h.range.end)));
    let mut joined: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match joined.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                let end = last.range.end.max(hit.range.end);
                if hit.kind.rank() < last.kind.rank() {
                    let value = hit.value.unwrap_or_else(|| slice(text, hit.range.start, hit.range.end).to_vec());
                    last.kind = hit.kind;
                    last.value = Some(value);
                } else if end != last.range.end && last.value.is_none() {
                    last.value = Some(slice(text, last.range.start, last.range.end).to_vec());
                }
                last.range.end = end;
            }
            _ => joined.push(hit),
        }
    }
    joined
}
