//! Putting redacted texts together with words of our own, without leaving the type.

use super::Redacted;
use super::clean::{cut_into, grouped};
use super::rules::Mark;
use std::fmt::{Display, Write as _};

/// A text in the making: every part of it is redacted, a number, or a word of the program itself.
#[derive(Clone, Debug, Default)]
pub struct Compose(String);

impl Compose {
    /// Nothing yet.
    pub fn new() -> Compose {
        Compose::default()
    }

    /// Words of the program.
    pub fn own(&mut self, words: &'static str) -> &mut Compose {
        self.0.push_str(words);
        self
    }

    /// Something that has no words of anybody in it: a number, an event's id, a name of ours.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and ids are written as they are")]
    pub fn plain(&mut self, value: impl Plain) -> &mut Compose {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{value}");
        self
    }

    /// A mark that was made for a text.
    pub fn mark(&mut self, mark: &Mark) -> &mut Compose {
        self.0.push_str(mark.as_str());
        self
    }

    /// Words that were redacted.
    pub fn words(&mut self, words: &Redacted<String>) -> &mut Compose {
        self.0.push_str(&words.0);
        self
    }

    /// Words that were redacted, each line behind a mark of the program's and ended, cut in the middle so that they
    /// weigh about `most`. Gives the number of characters that were cut.
    pub fn lines(&mut self, mark: &'static str, words: &Redacted<String>, most: usize) -> usize {
        let mut text = String::new();
        let cut = cut_into(&mut text, &words.0, most);
        for line in text.lines() {
            for part in [mark, line, "\n"] {
                self.0.push_str(part);
            }
        }
        cut
    }

    /// A number with its thousands apart: 12,340.
    pub fn number(&mut self, number: usize) -> &mut Compose {
        self.0.push_str(&grouped(number));
        self
    }

    /// What another has put together.
    pub fn append(&mut self, other: &Compose) -> &mut Compose {
        self.0.push_str(&other.0);
        self
    }

    /// What has come together.
    pub fn finish(self) -> Redacted<String> {
        Redacted(self.0)
    }

    /// What has come together so far.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Things that can hold nobody's words.
pub trait Plain: Display {}

impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for usize {}
impl Plain for i64 {}
impl Plain for f64 {}
impl Plain for &'static str {}
impl Plain for crate::sessions::EventId {}
