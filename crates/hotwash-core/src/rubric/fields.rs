//! Typed values out of a TOML table, each with its line, and a problem noted for each that is not as it should be.
//!
//! A getter always gives a value: where the file's is missing or wrong it notes the problem and gives an empty one,
//! marked [`At::is_set`] = false. Reading goes on to the end that way and finds everything at once; the half-empty
//! rubric never leaves this folder, because a single problem makes the whole an error.

use std::cell::RefCell;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;

/// A value and the line it was found on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct At<T> {
    pub(super) value: T,
    /// `None` where the file has no such value, or a wrong one that has been reported.
    pub(super) line: Option<usize>,
}

impl<T> At<T> {
    /// Whether the value is the file's: other rules only look at those, so that one mistake is reported once.
    pub(super) fn is_set(&self) -> bool {
        self.line.is_some()
    }
}

/// Line numbers of a source text, and the problems found in it so far.
pub(super) struct Notes {
    line_starts: Vec<usize>,
    problems: RefCell<Vec<Problem>>,
}

impl Notes {
    pub(super) fn new(source: &str) -> Self {
        let line_starts =
            std::iter::once(0).chain(memchr::memchr_iter(b'\n', source.as_bytes()).map(|i| i + 1)).collect();
        Self { line_starts, problems: RefCell::default() }
    }

    /// The line a span begins on, counted from 1.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.line_starts.partition_point(|start| *start <= span.start)
    }

    pub(super) fn add(&self, line: Option<usize>, rule: &'static str, message: impl Into<String>) {
        self.push(line, rule, message.into(), None);
    }

    pub(super) fn add_with_hint(
        &self,
        line: Option<usize>,
        rule: &'static str,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.push(line, rule, message.into(), hint);
    }

    /// All problems in the order of their lines.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
        problems
    }

    fn push(&self, line: Option<usize>, rule: &'static str, message: String, hint: Option<String>) {
        self.problems.borrow_mut().push(Problem { line, rule, message, hint });
    }
}

/// A table being read. Keys it was asked for are the ones it may have; [`Fields::finish`] reports all others.
pub(super) struct Fields<'a> {
    pub(super) notes: &'a Notes,
    /// Where the table begins: the place of what is missing from it.
    pub(super) line: usize,
    /// What the table is, for messages: "the rubric", "dimension `x`".
    what: String,
    table: &'a DeTable<'a>,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(notes: &'a Notes, what: impl Into<String>, table: &'a DeTable<'a>, line: usize) -> Self {
        Self { notes, line, what: what.into(), table, known: Vec::new() }
    }

    /// Gives the table a better name, once its own is known.
    pub(super) fn call(&mut self, what: String) {
        self.what = what;
    }

    pub(super) fn what(&self) -> &str {
        &self.what
    }

    /// A string that must be there and not be blank.
    pub(super) fn string(&mut self, key: &'static str) -> At<String> {
        self.required(key, "a string", non_blank)
    }

    /// A string that may be left out.
    pub(super) fn optional_string(&mut self, key: &'static str) -> At<String> {
        self.optional(key, "a string", non_blank)
    }

    /// A number, whole or not.
    pub(super) fn number(&mut self, key: &'static str) -> At<f64> {
        self.required(key, "a number", number)
    }

    /// A number that may be left out.
    pub(super) fn optional_number(&mut self, key: &'static str) -> At<f64> {
        self.optional(key, "a number", number)
    }

    /// A whole number from 0 up.
    pub(super) fn count(&mut self, key: &'static str) -> At<usize> {
        self.required(key, "a whole number, 0 or more", count)
    }

    /// A whole number from 0 up that may be left out.
    pub(super) fn optional_count(&mut self, key: &'static str) -> At<usize> {
        self.optional(key, "a whole number, 0 or more", count)
    }

    /// A list of strings that must be there; each string has its line.
    pub(super) fn strings(&mut self, key: &'static str) -> At<Vec<At<String>>> {
        let array = self.required(key, "a list of strings", array);
        self.each_string(key, array)
    }

    /// A list of strings that may be left out.
    pub(super) fn optional_strings(&mut self, key: &'static str) -> Vec<String> {
        let array = self.optional(key, "a list of strings", array);
        let strings = self.each_string(key, array).value;
        strings.into_iter().map(|string| string.value).collect()
    }

    /// Every key of the table with its string, for tables whose keys are names of other things.
    pub(super) fn pairs(&self) -> Vec<(String, At<String>)> {
        let mut pairs = Vec::new();
        for (key, value) in self.table {
            let line = Some(self.notes.line(&key.span()));
            match non_blank(value.get_ref()) {
                Ok(value) => pairs.push((key.get_ref().to_string(), At { value, line })),
                Err(words) => {
                    let words = words.unwrap_or_else(|| type_words(value.get_ref()).to_owned());
                    let message = format!("`{}` of {} must be a string, not {words}", key.get_ref(), self.what);
                    self.notes.add(line, "type", message);
                }
            }
        }
        pairs
    }

    /// A table that may be left out.
    pub(super) fn optional_table(&mut self, key: &'static str, what: String) -> Option<Fields<'a>> {
        let found = self.optional(key, "a table", table);
        let line = found.line?;
        Some(Fields::new(self.notes, what, found.value?, line))
    }

    /// The tables of a list that must be there.
    pub(super) fn tables(&mut self, key: &'static str, what: &str) -> At<Vec<Fields<'a>>> {
        let array = self.required(key, "a list of tables", array);
        self.each_table(key, what, array)
    }

    /// The tables of a list that may be left out.
    pub(super) fn optional_tables(&mut self, key: &'static str, what: &str) -> At<Vec<Fields<'a>>> {
        let array = self.optional(key, "a list of tables", array);
        self.each_table(key, what, array)
    }

    /// Keys nobody asked for, as they are in the file.
    pub(super) fn unasked(&self) -> impl Iterator<Item = (&'a str, usize)> {
        self.table.keys().filter_map(|key| {
            let name: &str = key.get_ref();
            let asked = self.known.contains(&name);
            (!asked).then(|| (name, self.notes.line(&key.span())))
        })
    }

    /// Accepts a key without reading it, where something else is wrong and reading it would only add noise.
    pub(super) fn allow(&mut self, key: &'static str) {
        self.known.push(key);
    }

    /// Reports every key nobody asked for.
    pub(super) fn finish(self) {
        for (key, line) in self.unasked() {
            let message = format!("{} has no key `{key}`", self.what);
            let hint = did_you_mean(key, self.known.iter().copied())
                .or_else(|| Some(format!("keys are {}", listed(&self.known))));
            self.notes.add_with_hint(Some(line), "unknown-key", message, hint);
        }
    }

    fn required<T: Default>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&'a DeValue<'a>) -> Result<T, Option<String>>,
    ) -> At<T> {
        if !self.table.contains_key(key) {
            let message = format!("{} needs a key `{key}`: {expected}", self.what);
            self.notes.add(Some(self.line), "missing-key", message);
        }
        self.optional(key, expected, read)
    }

    /// `read` fails with the words for what it found, or with nothing where the type says it all.
    fn optional<T: Default>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&'a DeValue<'a>) -> Result<T, Option<String>>,
    ) -> At<T> {
        self.known.push(key);
        let Some((found_key, found)) = self.table.get_key_value(key) else {
            return At::default();
        };
        // The key's line: a value may begin on a later one, and a list of tables spans many.
        let line = self.notes.line(&found_key.span());
        match read(found.get_ref()) {
            Ok(value) => At { value, line: Some(line) },
            Err(words) => {
                let words = words.unwrap_or_else(|| type_words(found.get_ref()).to_owned());
                let message = format!("`{key}` of {} must be {expected}, not {words}", self.what);
                self.notes.add(Some(line), "type", message);
                At::default()
            }
        }
    }

    fn each_string(&self, key: &str, array: At<Items<'a>>) -> At<Vec<At<String>>> {
        let mut strings = Vec::new();
        for item in array.value {
            let line = Some(self.notes.line(&item.span()));
            match non_blank(item.get_ref()) {
                Ok(value) => strings.push(At { value, line }),
                Err(words) => {
                    let words = words.unwrap_or_else(|| type_words(item.get_ref()).to_owned());
                    let message = format!("`{key}` of {} must hold strings, not {words}", self.what);
                    self.notes.add(line, "type", message);
                }
            }
        }
        At { value: strings, line: array.line }
    }

    fn each_table(&self, key: &str, what: &str, array: At<Items<'a>>) -> At<Vec<Fields<'a>>> {
        let mut tables = Vec::new();
        for (i, item) in array.value.iter().enumerate() {
            let line = self.notes.line(&item.span());
            if let Some(table) = item.get_ref().as_table() {
                let what = format!("{what} {}", i + 1);
                tables.push(Fields::new(self.notes, what, table, line));
            } else {
                let words = type_words(item.get_ref());
                let message = format!("`{key}` of {} must hold tables, not {words}", self.what);
                self.notes.add(Some(line), "type", message);
            }
        }
        At { value: tables, line: array.line }
    }
}

/// "did you mean `x`?" for the candidate that looks most like `word`, if any looks like it at all.
pub(super) fn did_you_mean<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    // A third of the letters may be wrong: enough for a slip, too few to turn one real key into another.
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edits(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// "`a`, `b`, `c`".
pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// How many letters to insert, drop, replace or swap with their neighbour to turn `a` into `b`.
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    // Names are short; a long one is no slip of the keyboard and must not cost a quadratic table.
    if a.len().max(b.len()) > 64 {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

fn non_blank(value: &DeValue<'_>) -> Result<String, Option<String>> {
    let string = value.as_str().ok_or(None)?;
    if string.trim().is_empty() {
        return Err(Some("an empty one".to_owned()));
    }
    Ok(string.to_owned())
}

fn number(value: &DeValue<'_>) -> Result<f64, Option<String>> {
    let number: f64 = match value {
        DeValue::Float(float) => float.as_str().parse().map_err(|_| None)?,
        DeValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).map_err(|_| Some(integer.to_string()))? as f64
        }
        _ => return Err(None),
    };
    if number.is_finite() { Ok(number) } else { Err(Some(number.to_string())) }
}

fn count(value: &DeValue<'_>) -> Result<usize, Option<String>> {
    let integer = value.as_integer().ok_or(None)?;
    usize::from_str_radix(integer.as_str(), integer.radix()).map_err(|_| Some(integer.to_string()))
}

/// The values of a TOML list.
type Items<'a> = &'a [Spanned<DeValue<'a>>];

fn array<'a>(value: &'a DeValue<'a>) -> Result<Items<'a>, Option<String>> {
    Ok(value.as_array().ok_or(None)?)
}

// An option, because a getter needs an empty value to give where there is no table.
fn table<'a>(value: &'a DeValue<'a>) -> Result<Option<&'a DeTable<'a>>, Option<String>> {
    let table = value.as_table().ok_or(None)?;
    Ok(Some(table))
}

fn type_words(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with decimals",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
