//! A title and a paragraph for a session, without a model: from the first prompt, the last answer and the facts.
//!
//! What comes in is whole and redacted; here it is shortened. Redacting what comes out once more changes nothing and
//! makes it `Redacted` again.

use super::{Goal, JudgeStatus, Outcome};
use crate::facts::Facts;
use crate::facts::speech::as_written;

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
    /// The agent's last words.
    pub last_answer: Option<&'a str>,
}

/// A line that names the session: its given name, or what was asked for first.
pub fn title(told: &Told<'_>) -> String {
    let given = told.title.map(str::trim).filter(|title| !title.is_empty());
    let asked = || told.first_prompt.map(|prompt| without_courtesy(&first_sentence(&as_written(prompt))));
    let title = given.map(str::to_owned).or_else(asked).filter(|title| !title.is_empty());
    let title = title.or_else(|| told.last_answer.map(first_sentence)).unwrap_or_default();
    shortened(&title, TITLE_CHARS)
}

/// A paragraph: what was asked for, what was done, what came of it, and the agent's last words.
pub fn paragraph(told: &Told<'_>, facts: &Facts, outcome: &Outcome) -> String {
    let mut sentences = Vec::new();
    let asked = told.first_prompt.map(|prompt| first_sentence(&as_written(prompt))).filter(|asked| !asked.is_empty());
    if let Some(asked) = asked {
        sentences.push(format!("Asked: “{}”", shortened(&asked, QUOTE_CHARS)));
    }
    sentences.push(done(facts));
    sentences.push(came_of(outcome));
    let answer = told.last_answer.map(first_sentence).filter(|answer| !answer.is_empty());
    if let Some(answer) = answer.filter(|_| !facts.ending.last_answer.is_empty()) {
        sentences.push(format!("The agent's last words begin: “{}”", shortened(&answer, QUOTE_CHARS)));
    }
    sentences.iter().map(|sentence| ended(sentence)).collect::<Vec<_>>().join(" ")
}

/// A sentence with a full stop, where a quote does not end it already.
fn ended(sentence: &str) -> String {
    let over = ["?”", "!”", ".”", "…”", "。”", "？”", "！”", "."].iter().any(|end| sentence.ends_with(end));
    if over { sentence.to_owned() } else { format!("{sentence}.") }
}

fn done(facts: &Facts) -> String {
    let edits = &facts.edits;
    let turns = count(facts.prompts.turns, "turn");
    let changed = match edits.files_edited {
        0 if facts.goal.changed_by_other_means.is_empty() => "nothing changed".to_owned(),
        0 => "no file changed by a file tool".to_owned(),
        files => format!("{} changed (+{} −{})", count(files, "file"), edits.lines_added, edits.lines_removed),
    };
    let checked = match facts.verification.verified {
        Some(true) => ", checked by a green run",
        Some(false) if !facts.verification.ended_red.is_empty() => ", with the last run red",
        Some(false) => ", with no run after the last change",
        None => "",
    };
    let commits = match facts.verification.git_commits.count() {
        0 => String::new(),
        n => format!(", {}", count(n, "commit")),
    };
    format!("In {turns}, {changed}{checked}{commits}")
}

fn came_of(outcome: &Outcome) -> String {
    let what = capital(outcome.intended.intent.singular());
    let why = outcome.reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("; ");
    match (outcome.status, outcome.goal) {
        (JudgeStatus::NoGoal, _) => "No goal was established".to_owned(),
        (_, Goal::Complete) => format!("{what}: complete ({why})"),
        (_, Goal::Failed) => format!("{what}: failed ({why})"),
        (_, Goal::Undecided) => format!("{what}: undecided ({why})"),
    }
}

/// The first sentence of some words, or their first line where they are no sentence.
fn first_sentence(words: &str) -> String {
    // The client writes this in front of a plan; the plan's heading says more.
    let says = |line: &String| !line.is_empty() && line != "Implement the following plan:";
    let line = words.lines().map(plain_line).find(says).unwrap_or_default();
    let line = line.strip_prefix("Plan: ").unwrap_or(&line).to_owned();
    let ends = |(at, c): &(usize, char)| {
        let rest = line.get(at + c.len_utf8()..).unwrap_or_default();
        matches!(c, '。' | '！' | '？') || matches!(c, '.' | '!' | '?') && rest.starts_with(' ') && *at >= 8
    };
    let end = line.char_indices().find(ends).map_or(line.len(), |(at, c)| at + c.len_utf8());
    line.get(..end).unwrap_or(&line).trim_end_matches(':').to_owned()
}

/// A line with its white space folded and without the signs of Markdown.
fn plain_line(line: &str) -> String {
    let line = line.trim_start_matches(['#', '*', '-', '>', ' ', '\t']);
    line.split_whitespace().collect::<Vec<_>>().join(" ").replace("**", "").replace('`', "")
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
            let after = rest.get(courtesy.len()..).unwrap_or_default();
            let spaced = courtesy.is_ascii() && after.starts_with(' ') || !courtesy.is_ascii() && !after.is_empty();
            if head.eq_ignore_ascii_case(courtesy) && spaced && after.trim().chars().count() > 2 {
                rest = after.trim_start();
                asked |= courtesy.contains("you") || courtesy.contains("we");
                continue 'again;
            }
        }
        break;
    }
    capital(if asked { rest.trim_end_matches('?') } else { rest })
}

fn capital(words: &str) -> String {
    let mut chars = words.chars();
    let Some(first) = chars.next() else {
        return String::new();
    };
    first.to_uppercase().chain(chars).collect()
}

/// At most so many characters, cut at a word where one ends near.
fn shortened(words: &str, most: usize) -> String {
    if words.chars().count() <= most {
        return words.to_owned();
    }
    let cut: String = words.chars().take(most.saturating_sub(1)).collect();
    let at = cut.rfind(' ').filter(|at| at * 3 > cut.len() * 2).unwrap_or(cut.len());
    format!("{}…", cut.get(..at).unwrap_or(&cut).trim_end_matches([',', ';', ':', ' ']))
}

fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::testing::facts_of;
    use crate::outcomes::offline;

    fn titled(prompt: &str) -> String {
        title(&Told { first_prompt: Some(prompt), ..Told::default() })
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
        let given = Told { title: Some("Parser work"), first_prompt: Some("fix it"), last_answer: None };
        assert_eq!(title(&given), "Parser work");
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
            title: None,
        };
        assert_eq!(
            paragraph(&told, &facts, &offline(&facts)),
            "Asked: “fix the parser”. In 1 turn, 1 file changed (+1 −1), with no run after the last change. \
             Bug fix: undecided (claimed, not backed: e4 says “should work now”, and no run came after the last edit e2). \
             The agent's last words begin: “It should work now.”"
        );
    }
}
