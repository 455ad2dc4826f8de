//! What a prompt says: what it asks for, and how it takes what was done. One pass over the person's own words.
//!
//! A prompt is read sentence by sentence. The first cue of a sentence says what the sentence asks for, because people
//! put it there: "explain why we add it" is a question, "add why we do it" a change. A look at something ("check",
//! "look at") yields to what is asked beside it. Of several sentences, one that wants work done outweighs one that
//! wants to know.

use super::phrases::{Found, Phrases, bare, before, behind, is_one_of, sentence_ends, turned_round, words_before};
use super::speech::Speech;
use std::sync::LazyLock;

pub(super) const ASKS: &str = include_str!("../../data/phrases/asks.txt");
pub(super) const REACTIONS: &str = include_str!("../../data/phrases/reactions.txt");

/// What a prompt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// To be told something.
    Question,
    /// To find something out.
    Investigation,
    /// To judge work.
    Review,
    /// To plan or design.
    Plan,
    /// A change that is small by its words.
    SmallChange,
    /// To mend something.
    BugFix,
    /// Something new.
    Feature,
    /// Another shape for the same behaviour.
    Refactor,
    /// A change; how big does not show.
    Change,
    /// Nothing in so many words: something is wrong.
    Symptom,
}

impl Ask {
    fn of(name: &str) -> Option<Ask> {
        Some(match name {
            "question" => Ask::Question,
            "investigation" => Ask::Investigation,
            "review" => Ask::Review,
            "plan" => Ask::Plan,
            "small_change" => Ask::SmallChange,
            "bug_fix" => Ask::BugFix,
            "feature" => Ask::Feature,
            "refactor" => Ask::Refactor,
            "change" => Ask::Change,
            "symptom" => Ask::Symptom,
            _ => return None,
        })
    }

    /// Something is to be different afterwards.
    pub fn wants_change(self) -> bool {
        matches!(self, Ask::SmallChange | Ask::BugFix | Ask::Feature | Ask::Refactor | Ask::Change)
    }
}

/// How a cue counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Wherever it stands.
    Plain,
    /// Not as a noun ("the fix") and not in a condition ("if I add it").
    Verb,
    /// At the beginning of a sentence only.
    Lead,
    /// Only where the sentence asks for nothing else.
    Soft,
    /// Never: it hides what it begins with.
    Void,
}

impl Manner {
    fn of(name: &str) -> Option<Manner> {
        Some(match name {
            "plain" => Manner::Plain,
            "verb" => Manner::Verb,
            "lead" => Manner::Lead,
            "soft" => Manner::Soft,
            "void" => Manner::Void,
            _ => return None,
        })
    }
}

/// How a person's words take what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// It was accepted.
    Accepted,
    /// The person is tired of it.
    Frustrated,
    /// What was done does not work.
    Broken,
    /// What was done is not right yet.
    Corrected,
    /// The goal was given up.
    Abandoned,
}

/// What a prompt says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// What it asks for.
    pub ask: Option<Ask>,
    /// It says that something is wrong, whatever it asks for.
    pub symptom: bool,
    /// How it takes what was done.
    pub reaction: Option<Reaction>,
    /// It takes note of what was done, and says nothing else.
    pub acknowledged: bool,
    /// It gives leave to do what was proposed.
    pub go_ahead: bool,
    /// It wants the work committed, pushed or put up for merging.
    pub commit: bool,
    /// It puts tests off.
    pub tests_later: bool,
    /// It says what to keep to, or to keep off.
    pub limits: bool,
    /// It says in which form it wants the reply.
    pub answer: bool,
}

#[derive(Clone, Copy, Debug)]
enum Meaning {
    Reaction(Reaction),
    Acknowledged,
    GoAhead,
    Commit,
    TestsLater,
    Limits,
    Answer,
    HandsOff,
    Ask(Ask, Manner),
}

impl Meaning {
    /// What the phrases of a section mean.
    fn of(section: &str) -> Option<Meaning> {
        if let Some((ask, manner)) = section.split_once(' ') {
            return Some(Meaning::Ask(Ask::of(ask)?, Manner::of(manner)?));
        }
        Some(match section {
            "accepted" => Meaning::Reaction(Reaction::Accepted),
            "frustrated" => Meaning::Reaction(Reaction::Frustrated),
            "broken" => Meaning::Reaction(Reaction::Broken),
            "corrected" => Meaning::Reaction(Reaction::Corrected),
            "abandoned" => Meaning::Reaction(Reaction::Abandoned),
            "acknowledged" => Meaning::Acknowledged,
            "go_ahead" => Meaning::GoAhead,
            "commit" => Meaning::Commit,
            "tests_later" => Meaning::TestsLater,
            "limits" => Meaning::Limits,
            "answer" => Meaning::Answer,
            "hands_off" => Meaning::HandsOff,
            _ => return None,
        })
    }
}

/// Acceptance is short; a long text is a task.
const SHORT: usize = 160;
/// "Thanks" at the end of a request is a courtesy; at its beginning it is a word on what was done.
const OPENING_BYTES: usize = 40;
/// An "ok" with more behind it is about that.
const TERSE: usize = 24;
/// Leave to go on and wishes to commit are short, too.
const BRIEF: usize = 240;

/// Hears what somebody said.
pub fn heard(speech: &Speech<'_>) -> Heard {
    const COMMITS: &[&str] = &["commit", "push", "merge", "提交", "コミット"];
    static MEANINGS: LazyLock<Phrases<Meaning>> = LazyLock::new(|| Phrases::new(&[ASKS, REACTIONS], Meaning::of));
    let words: &str = &speech.words;
    let short = words.len() <= SHORT || words.chars().nth(SHORT).is_none();
    let mut heard = Heard::default();
    // The heaviest complaint counts.
    let mut complaint: Option<Reaction> = None;
    let (mut accepted, mut hands_off) = (None, false);
    let mut asked = Asked::default();
    for found in MEANINGS.find(words) {
        match found.meaning {
            Meaning::Reaction(Reaction::Abandoned) if turned_round(words, found.start) => {}
            Meaning::Reaction(Reaction::Accepted) => {
                if short && accepted.is_none() && accepts(words, &found) {
                    accepted = Some(found.start);
                }
            }
            Meaning::Reaction(reaction) => {
                if complaint.is_none_or(|known| weight(reaction) > weight(known)) {
                    complaint = Some(reaction);
                }
            }
            Meaning::Acknowledged => heard.acknowledged |= found.start == 0 && words.len() <= TERSE,
            Meaning::GoAhead => heard.go_ahead |= words.len() <= BRIEF && !turned_round(words, found.start),
            Meaning::Commit => heard.commit |= words.len() <= BRIEF && !turned_round(words, found.start),
            Meaning::TestsLater => heard.tests_later = true,
            Meaning::Limits => heard.limits = true,
            Meaning::Answer => heard.answer = true,
            Meaning::HandsOff => hands_off = true,
            Meaning::Ask(ask, manner) => asked.hear(words, &Cue { ask, manner, start: found.start, end: found.end }),
        }
    }
    // The shortest way to say it.
    let trimmed = words.trim_end_matches(['.', '!']);
    heard.commit |= COMMITS.iter().any(|word| word.eq_ignore_ascii_case(trimmed));
    heard.ask = asked.weighed(hands_off).or_else(|| asks_on(words));
    heard.symptom = asked.symptom;
    // "If I commit now, what happens?" wants to know.
    heard.commit &= !matches!(heard.ask, Some(Ask::Question | Ask::Investigation));
    // What goes with a commit ("and update the description") is no further work.
    if heard.commit && matches!(heard.ask, Some(Ask::Change | Ask::SmallChange)) {
        heard.ask = None;
    }
    heard.acknowledged &= heard.ask.is_none() && !heard.go_ahead;
    let accepts = accepted.filter(|at| heard.ask.is_none() || *at <= OPENING_BYTES).map(|_| Reaction::Accepted);
    heard.reaction = complaint.or(accepts);
    heard
}

fn weight(reaction: Reaction) -> u32 {
    match reaction {
        Reaction::Accepted => 0,
        Reaction::Corrected => 1,
        Reaction::Abandoned => 2,
        Reaction::Broken => 3,
        Reaction::Frustrated => 4,
    }
}

/// Whether a word of acceptance is meant so: no wish ("would be great"), no "thanks, but".
fn accepts(words: &str, found: &Found<Meaning>) -> bool {
    const WISHES: &[&str] =
        &["would", "could", "might", "'d", "it'd", "that'd", "be", "wäre", "serait", "sería", "estaría", "seria"];
    const NOT: &[&str] = &["nicht", "kein", "keine", "not", "if", "wenn", "pas", "si", "to", "no", "não"];
    const BUT: &[&str] = &["but", "however", "except", "although", "aber", "mais", "pero", "mas", "sauf", "salvo"];
    let rest = words.get(found.end..).unwrap_or_default();
    let but = rest.split_whitespace().any(|word| is_one_of(bare(word), BUT));
    let but = but || ["但", "不过", "でも", "しかし", "けど"].iter().any(|word| rest.contains(word));
    !but && !turned_round(words, found.start)
        && !before(words, found.start, 2, WISHES)
        && !behind(words, found.end, 2, NOT)
}

#[derive(Clone, Copy, Debug)]
struct Cue {
    ask: Ask,
    manner: Manner,
    start: usize,
    end: usize,
}

/// What a prompt asks for, and whether it says that something is wrong, from its cues in order.
#[derive(Debug, Default)]
struct Asked {
    symptom: bool,
    soft: Option<Ask>,
    /// What was asked for last.
    last: Option<Ask>,
    /// The first thing that is work, the first of those that change nothing, and the first that somebody wonders about.
    work: Option<Ask>,
    reading: Option<Ask>,
    wonders: Option<Ask>,
    /// Up to here cues stand in one that voids them.
    hidden: usize,
    /// Where the last cue was taken. Of those at one place the first is the longest and stands for it: "make sure" is no
    /// "make", "write me a plan" no "write".
    taken: Option<usize>,
    /// Where the last cue began.
    seen: usize,
    /// The sentence has said what it asks for.
    decided: bool,
    /// Something is there twice, or for nothing: to mend that is to give the code another shape.
    untidy: bool,
}

impl Asked {
    fn hear(&mut self, words: &str, cue: &Cue) {
        if cue.ask == Ask::Symptom {
            self.symptom = true;
            return;
        }
        if cue.start < self.hidden || self.taken == Some(cue.start) {
            return;
        }
        self.taken = Some(cue.start);
        self.untidy |= cue.ask == Ask::Refactor && cue.manner == Manner::Plain;
        self.decided = self.decided && !sentence_ends(words, self.seen, cue.start);
        self.seen = cue.start;
        match cue.manner {
            Manner::Void => self.hidden = cue.end,
            // A small thing tells more than a look.
            Manner::Soft => self.soft = self.soft.filter(|_| cue.ask != Ask::SmallChange).or(Some(cue.ask)),
            // "Find out why, and fix it" asks for both; "explain why we add and remove it" does not.
            _ if self.decided && !(self.last == Some(Ask::Investigation) && goes_on(words, cue)) => {}
            _ if stands(words, cue) => {
                self.asks_for(cue.ask);
                self.decided = true;
            }
            _ => {}
        }
    }

    fn asks_for(&mut self, ask: Ask) {
        self.last = Some(ask);
        if matches!(ask, Ask::Investigation | Ask::Question) {
            self.wonders.get_or_insert(ask);
            return;
        }
        self.work.get_or_insert(ask);
        if !ask.wants_change() {
            self.reading.get_or_insert(ask);
        }
    }

    /// What all of it asks for together.
    fn weighed(&self, hands_off: bool) -> Option<Ask> {
        let symptom = self.symptom;
        let (work, soft) = if hands_off { (self.reading, Some(Ask::Investigation)) } else { (self.work, self.soft) };
        match work {
            // "Change it, it crashes" and "it crashes, add a check" are about the crash.
            Some(Ask::Change) if symptom => return Some(Ask::BugFix),
            // "Add a comment": what is changed tells the size.
            Some(Ask::Change) if soft == Some(Ask::SmallChange) => return soft,
            Some(Ask::BugFix) if self.untidy && !symptom => return Some(Ask::Refactor),
            Some(work) => return Some(work),
            None => {}
        }
        match self.wonders {
            Some(Ask::Question) if symptom => Some(Ask::Investigation),
            Some(wonders) => Some(wonders),
            None if symptom && !hands_off => Some(Ask::BugFix),
            None => soft,
        }
    }
}

fn asks_on(words: &str) -> Option<Ask> {
    words.trim_end().ends_with(['?', '？']).then_some(Ask::Question)
}

fn goes_on(words: &str, cue: &Cue) -> bool {
    const AND: &[&str] = &["and", "then", "und", "dann", "et", "puis", "y", "luego", "e", "depois"];
    cue.ask != Ask::Question && before(words, cue.start, 1, AND)
}

/// "What we create" tells; "can we create" asks.
fn told(words: &str, at: usize) -> bool {
    const PRONOUNS: &[&str] =
        &["i", "you", "we", "they", "it", "he", "she", "i'll", "we'll", "they'll", "i've", "we've"];
    const MODALS: &[&str] = &["can", "could", "should", "would", "will", "shall", "must", "may", "please", "want"];
    let mut before = words_before(words, at);
    before.next().is_some_and(|word| is_one_of(word, PRONOUNS))
        && before.next().is_none_or(|word| !is_one_of(word, MODALS))
}

/// Whether a cue counts where it stands.
fn stands(words: &str, cue: &Cue) -> bool {
    #[rustfmt::skip]
    const ARTICLES: &[&str] = &[
        "the", "a", "an", "this", "that", "these", "those", "my", "your", "our", "their", "its", "last", "any", "each",
        "every", "no", "first", "of", "new", "is", "was", "been", "by", "on", "in", "as", "per", "for", "with",
    ];
    #[rustfmt::skip]
    const FILLERS: &[&str] = &[
        "and", "but", "so", "ok", "okay", "hm", "hmm", "also", "now", "then", "well", "question", "q", "yes", "no", "oh",
        "ah", "hi", "hey", "hello", "please", "thanks", "", "und", "aber", "et", "mais", "y", "pero", "e", "mas",
    ];
    const CONDITIONS: &[&str] =
        &["if", "when", "don't", "not", "without", "never", "didn't", "did", "doesn't", "won't"];
    match cue.manner {
        Manner::Lead => words_before(words, cue.start).all(|word| is_one_of(word, FILLERS)),
        Manner::Verb => {
            !before(words, cue.start, 1, ARTICLES)
                && !told(words, cue.start)
                && !before(words, cue.start, 3, CONDITIONS)
                // A part of a name: `--add`, `run.sh`, "test-repo".
                && !words.get(..cue.start).unwrap_or_default().ends_with(['-', '_', '.', '/', '`', '"', '<'])
                && !words.get(cue.end..).unwrap_or_default().starts_with(['-', '_', '/', '`', '>', '='])
        }
        Manner::Plain | Manner::Soft | Manner::Void => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::speech::speech;
    use super::*;

    fn reaction(words: &str) -> Option<Reaction> {
        heard(&speech(words)).reaction
    }

    fn ask(words: &str) -> Option<Ask> {
        heard(&speech(words)).ask
    }

    #[test]
    fn reactions_in_several_languages() {
        for (words, expected) in [
            ("thanks, that works", Some(Reaction::Accepted)),
            ("Perfect!", Some(Reaction::Accepted)),
            ("still broken :(", Some(Reaction::Broken)),
            ("never mind, I'll do it myself", Some(Reaction::Frustrated)),
            ("let’s try something else", Some(Reaction::Abandoned)),
            ("funktioniert nicht", Some(Reaction::Broken)),
            ("Danke, passt", Some(Reaction::Accepted)),
            ("ça ne marche pas", Some(Reaction::Broken)),
            ("gracias!", Some(Reaction::Accepted)),
            ("ainda não funciona", Some(Reaction::Broken)),
            ("还是不行", Some(Reaction::Broken)),
            ("that's wrong", Some(Reaction::Corrected)),
            ("ありがとう", Some(Reaction::Accepted)),
            ("now add a greatest common divisor", None),
            ("the superclass needs a method", None),
            ("thorough", None),
        ] {
            assert_eq!(reaction(words), expected, "{words}");
        }
    }

    #[test]
    fn a_courtesy_a_wish_and_a_but_are_no_acceptance() {
        for words in [
            "it would be great if you added a test",
            "nice to have",
            "das passt noch nicht",
            "please add a test for the parser and run it, thanks",
            "thanks, but the header is still red",
            "could you do that? that would be awesome",
        ] {
            assert_ne!(reaction(words), Some(Reaction::Accepted), "{words}");
        }
        assert_eq!(reaction("great, now add a test"), Some(Reaction::Accepted));
    }

    #[test]
    fn what_is_asked_for() {
        use Ask::{BugFix, Change, Feature, Investigation, Plan, Question, Refactor, Review, SmallChange};
        for (words, expected) in [
            ("what does the parser do?", Some(Question)),
            ("can you help me understand what this is doing?", Some(Question)),
            ("What do you think about renaming it?", Some(Question)),
            ("how do I add a column?", Some(Question)),
            ("should that be there?", Some(Question)),
            ("why does it fail?", Some(Investigation)),
            ("can you check if the hook is called? don't change anything", Some(Investigation)),
            ("find out where the time goes", Some(Investigation)),
            ("find out why it is slow and fix it", Some(BugFix)),
            ("explore the code, then write me a plan. No code yet.", Some(Plan)),
            ("what does it do? and why twice?", Some(Question)),
            ("makes sense, I'll write it up", None),
            ("can you review the change in this branch", Some(Review)),
            ("write a plan for the migration", Some(Plan)),
            ("let's brainstorm", Some(Plan)),
            ("fix the typo in the readme", Some(BugFix)),
            ("can you add a comment there?", Some(SmallChange)),
            ("rename it to cleanup", Some(SmallChange)),
            ("can you add a standard license?", Some(SmallChange)),
            ("the login fails on Safari, please fix it", Some(BugFix)),
            ("make lint is showing errors, can you take a look?", Some(BugFix)),
            ("make test fails", Some(BugFix)),
            ("implement dark mode", Some(Feature)),
            ("Look at TASK.md and start implementing it", Some(Feature)),
            ("can we add a column for the branch?", Some(Change)),
            ("it breaks on the files that we create, I get an error", Some(BugFix)),
            ("let's completely remove the start command", Some(Change)),
            ("refactor the parser", Some(Refactor)),
            ("simplify the code added in this branch", Some(Refactor)),
            ("yes", None),
            ("continue", None),
            ("hm, and this?", Some(Question)),
            ("make sure of it", None),
        ] {
            assert_eq!(ask(words), expected, "{words}");
        }
    }
}
