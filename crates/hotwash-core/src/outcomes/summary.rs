//! A title and a paragraph for a session, without a model: from the first prompt, the last answer and the facts.
//!
//! What comes in is whole and redacted; here it is shortened. Redacting what comes out once more changes nothing and
//! makes it `Redacted` again.

use super::{Goal, JudgeStatus, Outcome};
use crate::facts::Facts;
use crate::facts::speech::first_line;
use crate::facts::wanted::{Telling, is_listed, telling};

/// A title is at most this long, in characters.
const TITLE_CHARS: usize = 80;
/// A quote is at most this long.
const QUOTE_CHARS: usize = 240;

/// The words of a session, redacted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told<'a> {
    /// The name that a person or the agent gave it.
    pub title: Option<&'a str>,
    /// The first prompt.
    pub first_prompt: Option<&'a str>,
    /// The first words that say what is wanted.
    pub wanted: Option<&'a str>,
    /// The agent's last words.
    pub last_answer: Option<&'a str>,
}

/// What a session is called and what is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// A line that names it.
    pub title: String,
    /// A paragraph.
    pub paragraph: String,
}

impl Summary {
    /// Sums up a session.
    pub fn of(told: &Told<'_>, facts: &Facts, outcome: &Outcome) -> Summary {
        let asked = asked(told);
        let asked = asked.as_deref();
        Summary { title: title(told, asked), paragraph: paragraph(told, asked, facts, outcome) }
    }
}

/// A line that names the session: its given name, the first request that says something, or else what the agent said of
/// the result.
fn title(told: &Told<'_>, asked: Option<&str>) -> String {
    let given = told.title.map(|title| title.trim().to_owned()).filter(|title| telling(title) != Telling::Nothing);
    let wanted = || told.wanted.or(told.first_prompt).and_then(telling_sentence).map(|said| without_courtesy(&said));
    let answered = || told.last_answer.and_then(telling_sentence);
    let asked = || asked.filter(|asked| !asked.is_empty()).map(without_courtesy);
    let title = given.or_else(wanted).or_else(answered).or_else(asked).unwrap_or_default();
    match cut(&title, TITLE_CHARS) {
        Some(cut) => [cut, "…"].concat(),
        None => title,
    }
}

/// A paragraph: what was asked for, what was done, what came of it, and the agent's last words.
fn paragraph(told: &Told<'_>, asked: Option<&str>, facts: &Facts, outcome: &Outcome) -> String {
    let answered = !facts.ending.last_answer.is_empty();
    let answer = told.last_answer.filter(|_| answered).and_then(first_sentence);
    let sentences = [
        asked.map(|asked| quote("Asked: “", asked)),
        Some(done(facts)),
        Some(came_of(outcome)),
        answer.map(|answer| quote("The agent's last words begin: “", &answer)),
    ];
    sentences.into_iter().flatten().map(ended).collect::<Vec<_>>().join(" ")
}

fn quote(what: &str, words: &str) -> String {
    match cut(words, QUOTE_CHARS) {
        Some(cut) => format!("{what}{cut}…”"),
        None => format!("{what}{words}”"),
    }
}

/// A sentence with a full stop, where a quote does not end it already.
fn ended(sentence: String) -> String {
    let quoted = sentence.strip_suffix('”');
    let over = quoted.is_some_and(|quoted| quoted.ends_with(['?', '!', '.', '…', '。', '？', '！']));
    if over || sentence.ends_with('.') { sentence } else { sentence + "." }
}

fn done(facts: &Facts) -> String {
    let edits = &facts.edits;
    let mut parts = vec![format!("In {}", count(facts.prompts.turns, "turn"))];
    match edits.files_edited {
        // What was not recorded is not nothing.
        _ if !facts.knows("files_edited") => {}
        0 if facts.goal.changed_by_other_means.is_empty() => parts.push("nothing changed".to_owned()),
        0 => parts.push("no file changed by a file tool".to_owned()),
        files if facts.knows("lines_added") && facts.knows("lines_removed") => {
            let lines = format!("(+{} −{})", edits.lines_added, edits.lines_removed);
            parts.push(format!("{} changed {lines}", count(files, "file")));
        }
        files => parts.push(format!("{} changed", count(files, "file"))),
    }
    let checked = match facts.verification.verified {
        Some(true) => Some("checked by a green run"),
        Some(false) if !facts.verification.ended_red.is_empty() => Some("with the last run red"),
        Some(false) if !facts.verification.unread_run.is_empty() => {
            Some("with a run of unknown result after the last change")
        }
        Some(false) => Some("with no run after the last change"),
        None => None,
    };
    parts.extend(checked.map(str::to_owned));
    let commits = facts.verification.git_commits.count();
    if commits > 0 {
        parts.push(count(commits, "commit"));
    }
    parts.join(", ")
}

fn came_of(outcome: &Outcome) -> String {
    if outcome.status == JudgeStatus::NoGoal {
        return "No goal was established".to_owned();
    }
    let goal = match outcome.goal {
        Goal::Complete => "complete",
        Goal::Failed => "failed",
        Goal::Undecided => "undecided",
    };
    let reasons: Vec<&str> = outcome.reasons.iter().map(|reason| &*reason.text).collect();
    format!("{}: {goal} ({})", capital(outcome.intended.intent.singular()), reasons.join("; "))
}

/// The first sentence of the first prompt.
fn asked(told: &Told<'_>) -> Option<String> {
    first_line(told.first_prompt?, sentence).filter(|asked| !asked.is_empty())
}

/// The first sentence of a person's own words that says what is wanted, with a short one before it that leads there.
fn telling_sentence(words: &str) -> Option<String> {
    let mut little: Option<String> = None;
    let found = first_line(words, |line| {
        if is_listed(line) {
            return None;
        }
        let mut rest = line.trim_start_matches(|c: char| c.is_whitespace() || c == '-' || c == '*');
        while !rest.is_empty() {
            let (first, behind) = split_sentence(rest);
            let said = sentence(first).map(|said| without_number(&said).to_owned()).unwrap_or_default();
            match (telling(&said), &little) {
                (Telling::Enough, Some(lead)) if lead.len() <= LEAD_BYTES => return Some(format!("{lead}: {said}")),
                (Telling::Enough, _) => return Some(said),
                (Telling::Little, None) => {
                    let lead = |c: char| {
                        c.is_whitespace() || c.is_ascii_digit() || c.is_ascii_punctuation() && !matches!(c, '?' | '`')
                    };
                    little = Some(said.trim_end_matches(lead).to_owned()).filter(|said| !said.is_empty());
                }
                _ => {}
            }
            rest = behind;
        }
        None
    });
    found.or(little)
}

/// A lead ("Fix:") is no longer than this.
const LEAD_BYTES: usize = 24;

/// A line's first sentence, and the rest of the line.
fn split_sentence(line: &str) -> (&str, &str) {
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if matches!(c, '。' | '！' | '？') {
            return line.split_at(at + c.len_utf8());
        }
        // Not behind the number of a step.
        let ends = matches!(before, '.' | '!' | '?') && c.is_whitespace();
        if ends && line.get(..at).is_some_and(|words| words.chars().any(char::is_alphabetic)) {
            return line.split_at(at);
        }
        before = c;
    }
    (line, "")
}

/// A step without its number.
fn without_number(words: &str) -> &str {
    let digits = words.bytes().take_while(u8::is_ascii_digit).count();
    let rest = words.get(digits..).unwrap_or_default();
    match rest.strip_prefix(['.', ')']) {
        Some(rest) if digits > 0 && rest.starts_with(' ') => rest.trim_start(),
        _ => words,
    }
}

/// The first sentence of some words, or their first line where they are no sentence.
fn first_sentence(words: &str) -> Option<String> {
    words.lines().find_map(sentence).filter(|said| !said.is_empty())
}

/// The first sentence of a line, with white space folded and without the signs of Markdown; nothing where the line says
/// nothing.
fn sentence(line: &str) -> Option<String> {
    let line = line.trim_start_matches(['#', '*', '-', '>', ' ', '\t']);
    let sentence = made_plain(line);
    // The client writes this in front of a plan; the plan's heading says more.
    if sentence.is_empty() || sentence == "Implement the following plan:" {
        return None;
    }
    Some(sentence.strip_prefix(PLAN).unwrap_or(&sentence).trim_end_matches(':').to_owned())
}

/// The first sentence of any line.
fn made_plain(line: &str) -> String {
    let mut sentence = String::new();
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let from = sentence.len();
        sentence.push_str(&without_signs(word));
        let wide = |(_, c): &(usize, char)| matches!(c, '。' | '！' | '？');
        if !word.is_ascii()
            && let Some((at, c)) = sentence.get(from..).and_then(|word| word.char_indices().find(wide))
        {
            sentence.truncate(from + at + c.len_utf8());
            break;
        }
        if words.peek().is_some() {
            if ends_sentence(&sentence) {
                break;
            }
            sentence.push(' ');
        }
    }
    sentence
}

/// Whether words are a sentence, if a space follows.
fn ends_sentence(words: &str) -> bool {
    has_stop(words) && words.strip_prefix(PLAN).unwrap_or(words).len() > 8
}

fn has_stop(words: &str) -> bool {
    matches!(words.as_bytes().last(), Some(b'.' | b'!' | b'?'))
}

/// How the heading of a plan begins.
const PLAN: &str = "Plan: ";

/// Words without the signs of Markdown.
fn without_signs(words: &str) -> String {
    words.replace("**", "").replace('`', "")
}

/// "can you please add a test?" is "Add a test".
fn without_courtesy(sentence: &str) -> String {
    const COURTESIES: &[&str] = &[
        "hi,",
        "hi",
        "hey,",
        "hey",
        "hello,",
        "hello",
        "ok,",
        "ok",
        "okay,",
        "so",
        "and",
        "also",
        "now",
        "can you",
        "could you",
        "would you",
        "can we",
        "could we",
        "please",
        "i want you to",
        "i'd like you to",
        "kannst du",
        "bitte",
        "könntest du",
        "peux-tu",
        "pourrais-tu",
        "puedes",
        "por favor",
        "você pode",
        "请",
        "帮我",
    ];
    let mut rest = sentence.trim();
    let mut asked = false;
    'again: loop {
        for courtesy in COURTESIES {
            let Some(head) = rest.get(..courtesy.len()) else { continue };
            if !head.eq_ignore_ascii_case(courtesy) {
                continue;
            }
            let after = rest.get(courtesy.len()..).unwrap_or_default();
            let spaced = courtesy.is_ascii() && after.starts_with(' ') || !courtesy.is_ascii() && !after.is_empty();
            if spaced && after.trim().chars().count() > 2 {
                rest = after.trim_start();
                asked |= courtesy.contains("you") || courtesy.contains("we");
                continue 'again;
            }
        }
        break;
    }
    let rest = if asked { rest.trim_end_matches('?') } else { rest };
    capital(rest)
}

fn capital(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

/// What is left of words that have more than so many characters, for a `…` behind it: cut at a word where one ends near.
fn cut(words: &str, most: usize) -> Option<&str> {
    let mut ends = words.char_indices().map(|(end, _)| end).skip(most.saturating_sub(1));
    let (end, _) = (ends.next()?, ends.next()?);
    let cut = words.get(..end).unwrap_or(words);
    let at = cut.rfind(' ').filter(|at| at * 3 > cut.len() * 2).unwrap_or(cut.len());
    Some(cut.get(..at).unwrap_or(cut).trim_end_matches([',', ';', ':', ' ']))
}

fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::testing::facts_of;
    use crate::outcomes::offline;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_cut_has_too_many_characters(words in "[a-cé— ,]{0,20}", most in 2..12usize) {
            let cut = cut(&words, most);
            prop_assert_eq!(cut.is_some(), words.chars().count() > most);
            prop_assert!(cut.is_none_or(|cut| words.starts_with(cut) && cut.chars().count() < most));
        }
    }

    fn titled(prompt: &str) -> String {
        let told = Told { first_prompt: Some(prompt), ..Told::default() };
        title(&told, asked(&told).as_deref())
    }

    #[test]
    fn a_title_is_what_was_asked_for_first() {
        for (prompt, expected) in [
            ("can you please add a test for the parser?", "Add a test for the parser"),
            ("```\ncode\n```\nwhy does this fail? I tried all.", "Why does this fail?"),
            ("Fix `src/a.rs`. It is broken.", "Fix src/a.rs."),
            ("Implement the following plan:\n\n# Plan: Keep long words\n\nSo.", "Keep long words"),
            ("请修复登录问题。谢谢", "修复登录问题。"),
            ("", ""),
        ] {
            assert_eq!(titled(prompt), expected, "{prompt}");
        }
        let long = titled(&"a long wish ".repeat(20));
        assert!(long.chars().count() <= TITLE_CHARS && long.ends_with('…'), "{long}");
        let given = Told { title: Some("Parser work"), first_prompt: Some("fix it"), ..Told::default() };
        assert_eq!(title(&given, asked(&given).as_deref()), "Parser work");
    }

    #[test]
    fn a_title_says_something() {
        for (words, expected) in [
            (
                "can you take a look at this? The prompt should have been stopped here.",
                "The prompt should have been stopped here.",
            ),
            (
                "can you fix:\n1. Critical: three functions are there twice",
                "Fix: Critical: three functions are there twice",
            ),
            (
                "when running:\n❯ tool enable\nI'd like us to show more of what is set up.",
                "When running: I'd like us to show more of what is set up.",
            ),
            (
                "I got this feedback on this branch, can you check:\nThe default case is there twice.",
                "The default case is there twice.",
            ),
            ("• running the tool 2.13\n• by using it you agree\nadd it to the release", "Add it to the release"),
            ("Did you push?", "Did you push?"),
            ("fix: 1.\nTwo functions are there twice", "Fix: Two functions are there twice"),
            (
                "when running:\n✓ Enabled (by hand)\nthe tool should show more of it",
                "When running: the tool should show more of it",
            ),
        ] {
            let told =
                Told { wanted: Some(words), last_answer: Some("The parser reads tokens now."), ..Told::default() };
            assert_eq!(title(&told, None), expected, "{words}");
        }
        // What nobody could tell is what the agent says of it.
        for nothing in ["yes and yes", "9", "continue", "Merged"] {
            let answer = Some("Done. All three parsers read tokens now.");
            let told = Told { first_prompt: Some(nothing), last_answer: answer, ..Told::default() };
            assert_eq!(title(&told, Some(nothing)), "All three parsers read tokens now.", "{nothing}");
            let given = Told { title: Some(nothing), wanted: Some("sort the apples"), ..Told::default() };
            assert_eq!(title(&given, None), "Sort the apples", "{nothing}");
        }
    }

    #[test]
    fn a_paragraph_tells_what_was_asked_done_and_came_of_it() {
        let facts = facts_of(
            "
            e1 user  fix the parser
            e2 Edit  a.rs -a +b
            e3 ok
            e4 says  It should work now. Try it.
        ",
        );
        let told = Told {
            first_prompt: Some("fix the parser"),
            last_answer: Some("It should work now. Try it."),
            ..Told::default()
        };
        assert_eq!(
            Summary::of(&told, &facts, &offline(&facts)).paragraph,
            "Asked: “fix the parser”. In 1 turn, 1 file changed (+1 −1), with no run after the last change. \
             Bug fix: undecided (claimed, not backed: e4 says “should work now”, and no run came after the last edit e2). \
             The agent's last words begin: “It should work now.”"
        );
    }
}
