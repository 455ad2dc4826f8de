//! Cuts a shell command into its segments.
//!
//! A scanner for the grammar people and agents really type: quotes, escapes, heredocs, comments, subshells and
//! substitutions. It is lenient: what a shell would refuse (an open quote, a stray `)`) is read as far as it makes
//! sense, and no input makes it fail. It expands nothing, and what a word means is left to the classifiers.

use std::borrow::Cow;

use super::segment::{self, Operator, Segment};
use super::skip::{Heredoc, is_special, line_end, memchr_from, skip_expansion, skip_heredocs, skip_parens, slice};

/// The segments of a command, in order: split at unquoted `&& || ; | &` and newlines, heredoc bodies and comments gone.
pub fn segments(command: &str) -> Vec<Segment<'_>> {
    let mut scanner = Scanner::new(command);
    scanner.run();
    scanner.segments
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    /// How many of `if`, `for`, `{` and the like are open.
    compounds: usize,
    word: Option<Word<'a>>,
    /// What the next finished word is for.
    expects: Expects,
    words: Vec<Cow<'a, str>>,
    outputs: Vec<Cow<'a, str>>,
    inputs: Vec<Cow<'a, str>>,
    heredoc: bool,
    heredocs: Vec<Heredoc<'a>>,
    /// A `)` has just closed a group: an operator or a redirection now belongs to the segment before it.
    closed: bool,
    segments: Vec<Segment<'a>>,
}

/// A word being read: a slice of the command for as long as nothing was left out of the middle.
enum Word<'a> {
    Slice { start: usize, end: usize },
    Owned(Cow<'a, str>),
}

#[derive(Clone, Copy, PartialEq)]
enum Expects {
    Word,
    Output,
    /// After `>&`: a file descriptor, or the file of csh's spelling.
    Duplicate,
    Input,
    Heredoc {
        dash: bool,
    },
    /// A here-string's text, or `<&`'s descriptor: read and dropped.
    Nothing,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            compounds: 0,
            word: None,
            expects: Expects::Word,
            words: Vec::new(),
            outputs: Vec::new(),
            inputs: Vec::new(),
            heredoc: false,
            heredocs: Vec::new(),
            closed: false,
            segments: Vec::new(),
        }
    }

    fn run(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\r' => {
                    self.end_word();
                    self.at += 1;
                }
                b'\n' => {
                    self.end_segment(Operator::Seq);
                    self.at += 1;
                    self.at = skip_heredocs(self.text, self.at, &mut self.heredocs);
                }
                b'#' if self.word.is_none() => self.at = line_end(self.bytes, self.at),
                b';' => self.operator(Operator::Seq, 1),
                b'&' => match self.peek(1) {
                    Some(b'&') => self.operator(Operator::And, 2),
                    Some(b'>') => {
                        self.end_word();
                        self.at += 1;
                        self.redirect_output();
                    }
                    _ => self.operator(Operator::Background, 1),
                },
                b'|' => match self.peek(1) {
                    Some(b'|') => self.operator(Operator::Or, 2),
                    Some(b'&') => self.operator(Operator::Pipe, 2),
                    _ => self.operator(Operator::Pipe, 1),
                },
                b'(' => self.open_paren(),
                b')' => self.close_paren(),
                b'<' => self.redirect_input(),
                b'>' => {
                    self.drop_descriptor();
                    self.redirect_output();
                }
                _ => self.word_part(byte),
            }
        }
        self.end_segment(Operator::End);
        if let Some(last) = self.segments.last_mut()
            && last.operator != Operator::Background
        {
            // `ls;` and `ls` are the same command.
            last.operator = Operator::End;
        }
    }

    /// One piece of a word: a quoted run, an escape, an expansion or plain characters.
    fn word_part(&mut self, byte: u8) {
        let start = self.at;
        match byte {
            b'\\' if self.peek(1) == Some(b'\n') => self.at += 2,
            b'\\' => {
                let end = self.after_char(start + 1);
                self.push(start + 1, end);
                self.at = end;
            }
            b'\'' => {
                let end = memchr_from(b'\'', self.bytes, start + 1);
                self.push(start + 1, end);
                self.at = end + 1;
            }
            b'"' => self.double_quoted(),
            b'$' if self.peek(1) == Some(b'\'') => {
                let mut end = start + 2;
                while !matches!(self.bytes.get(end), None | Some(b'\'')) {
                    end += if self.bytes.get(end) == Some(&b'\\') { 2 } else { 1 };
                }
                let end = end.min(self.bytes.len());
                self.push(start + 2, end);
                self.at = end + 1;
            }
            b'$' | b'`' => {
                let end = skip_expansion(self.text, start);
                self.push(start, end);
                self.at = end;
            }
            _ => {
                let plain = self.bytes.get(start + 1..).unwrap_or_default();
                let length = plain.iter().position(|byte| is_special(*byte)).unwrap_or(plain.len());
                self.push(start, start + 1 + length);
                self.at = start + 1 + length;
            }
        }
    }

    fn double_quoted(&mut self) {
        let mut from = self.at + 1;
        let mut at = from;
        self.push(from, from);
        loop {
            match self.bytes.get(at) {
                None | Some(b'"') => break,
                Some(b'\\') => {
                    let next = self.bytes.get(at + 1);
                    if matches!(next, Some(b'"' | b'\\' | b'$' | b'`' | b'\n')) {
                        self.push(from, at);
                        from = if next == Some(&b'\n') { at + 2 } else { at + 1 };
                    }
                    at += 2;
                }
                Some(b'$' | b'`') => at = skip_expansion(self.text, at),
                Some(_) => at += 1,
            }
        }
        let end = at.min(self.bytes.len());
        self.push(from, end);
        self.at = end + 1;
    }

    fn operator(&mut self, operator: Operator, length: usize) {
        self.end_segment(operator);
        self.at += length;
    }

    fn open_paren(&mut self) {
        if self.word.is_some() && self.peek(1) == Some(b')') {
            // `name()` begins a function; what follows is its body.
            self.word = None;
            self.words.clear();
            self.at += 2;
        } else if self.word.is_some() || self.peek(1) == Some(b'(') {
            // An array assignment or arithmetic: one word, whatever is inside.
            let end = skip_parens(self.text, self.at + 1);
            self.push(self.at, end);
            self.at = end;
        } else {
            self.closed = false;
            self.depth += 1;
            self.at += 1;
        }
    }

    fn close_paren(&mut self) {
        self.end_segment(Operator::End);
        self.depth = self.depth.saturating_sub(1);
        if let Some(last) = self.segments.last_mut() {
            last.level = self.depth + self.compounds;
            self.closed = true;
        }
        self.at += 1;
    }

    fn redirect_input(&mut self) {
        if self.peek(1) == Some(b'(') {
            // Process substitution is a word.
            let end = skip_parens(self.text, self.at + 2);
            self.push(self.at, end);
            self.at = end;
            return;
        }
        self.drop_descriptor();
        let (expects, length) = match (self.peek(1), self.peek(2)) {
            (Some(b'<'), Some(b'<')) => (Expects::Nothing, 3),
            (Some(b'<'), Some(b'-')) => (Expects::Heredoc { dash: true }, 3),
            (Some(b'<'), _) => (Expects::Heredoc { dash: false }, 2),
            (Some(b'&'), _) => (Expects::Nothing, 2),
            (Some(b'>'), _) => (Expects::Output, 2),
            _ => (Expects::Input, 1),
        };
        self.heredoc |= length == 3 || matches!(expects, Expects::Heredoc { .. });
        self.expects = expects;
        self.at += length;
    }

    /// At the `>` of a redirection.
    fn redirect_output(&mut self) {
        let (expects, length) = match self.peek(1) {
            Some(b'(') => {
                let end = skip_parens(self.text, self.at + 2);
                self.push(self.at, end);
                self.at = end;
                return;
            }
            Some(b'&') => (Expects::Duplicate, 2),
            Some(b'>' | b'|') => (Expects::Output, 2),
            _ => (Expects::Output, 1),
        };
        self.expects = expects;
        self.at += length;
    }

    /// The `2` of `2>` is no word; any other word before a redirection ends there.
    fn drop_descriptor(&mut self) {
        if let Some(Word::Slice { start, end }) = self.word {
            let digits = self.bytes.get(start..end).unwrap_or_default();
            // A quoted number stands a byte away from the operator.
            if end == self.at && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
                self.word = None;
            }
        }
        self.end_word();
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let word = match word {
            Word::Slice { start, end } => Cow::Borrowed(slice(self.text, start, end)),
            Word::Owned(text) => text,
        };
        match std::mem::replace(&mut self.expects, Expects::Word) {
            Expects::Word => self.words.push(word),
            Expects::Output => self.outputs.push(word),
            Expects::Duplicate => {
                if word != "-" && !word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
                    self.outputs.push(word);
                }
            }
            Expects::Input => self.inputs.push(word),
            Expects::Heredoc { dash } => self.heredocs.push(Heredoc { delimiter: word, dash }),
            Expects::Nothing => {}
        }
    }

    fn end_segment(&mut self, operator: Operator) {
        self.end_word();
        self.expects = Expects::Word;
        if self.closed && self.words.is_empty() {
            if let Some(last) = self.segments.last_mut() {
                last.operator = operator;
                last.outputs.append(&mut self.outputs);
                last.inputs.append(&mut self.inputs);
                last.heredoc |= std::mem::take(&mut self.heredoc);
            }
            self.closed = operator == Operator::End;
            return;
        }
        self.closed = false;
        if self.words.is_empty() && self.outputs.is_empty() && self.inputs.is_empty() {
            return;
        }
        if let Some(last) = self.segments.last_mut()
            && last.operator == Operator::End
        {
            // A `)` with a word right after it, as in the patterns of `case`.
            last.operator = Operator::Seq;
        }
        let words = std::mem::take(&mut self.words);
        self.compounds = segment::compounds(&words, self.compounds);
        self.segments.push(Segment {
            head: segment::head(&words),
            words,
            outputs: std::mem::take(&mut self.outputs),
            inputs: std::mem::take(&mut self.inputs),
            heredoc: std::mem::take(&mut self.heredoc),
            operator,
            level: self.depth + self.compounds,
        });
    }

    /// Appends a slice of the command to the current word.
    fn push(&mut self, start: usize, end: usize) {
        self.word = Some(match self.word.take() {
            None => Word::Slice { start, end },
            Some(Word::Slice { start: first, end: last }) if last == start => Word::Slice { start: first, end },
            Some(word) => {
                let mut text = match word {
                    Word::Slice { start, end } => slice(self.text, start, end).to_owned(),
                    Word::Owned(text) => text.into_owned(),
                };
                text.push_str(slice(self.text, start, end));
                Word::Owned(Cow::Owned(text))
            }
        });
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// The end of the character that begins at `at`.
    fn after_char(&self, at: usize) -> usize {
        let width = self.text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        at + width
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
