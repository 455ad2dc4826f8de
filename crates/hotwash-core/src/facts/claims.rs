//! What an agent's closing words claim, excuse or admit. The phrases are in `data/phrases/claims.txt`.

use super::phrases::{Phrases, turned_round};
use super::speech::plain;
use std::sync::LazyLock;

pub(super) const CLAIMS: &str = include_str!("../../data/phrases/claims.txt");

/// How much of an agent's last words is looked at.
pub const CLOSING_BYTES: usize = 1000;

/// What an agent's closing message claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// That tests pass or a check is green.
    Checked,
    /// That it works, is fixed or done.
    Done,
}

#[derive(Clone, Copy)]
enum Says {
    Claim(Claim),
    Excuse,
    Admission,
}

impl Says {
    /// What the phrases of a section say.
    fn of(section: &str) -> Option<Says> {
        Some(match section {
            "checked" => Says::Claim(Claim::Checked),
            "done" => Says::Claim(Claim::Done),
            "excuse" => Says::Excuse,
            "admission" => Says::Admission,
            _ => return None,
        })
    }
}

static PHRASES: LazyLock<Phrases<Says>> = LazyLock::new(|| Phrases::new(&[CLAIMS], Says::of));

/// What an agent's closing words claim, if anything. That tests pass is the stronger claim.
pub fn claim(words: &str) -> Option<Claim> {
    heard(&plain(words)).claim.map(|(claim, _)| claim)
}

/// The first phrases of each kind in some words.
#[derive(Default)]
struct Heard {
    claim: Option<(Claim, &'static str)>,
    excuse: Option<&'static str>,
    admission: Option<&'static str>,
}

fn heard(words: &str) -> Heard {
    let (mut heard, mut done) = (Heard::default(), None);
    for found in PHRASES.find(words) {
        match found.meaning {
            Says::Excuse => heard.excuse = heard.excuse.or(Some(found.phrase)),
            Says::Admission => heard.admission = heard.admission.or(Some(found.phrase)),
            Says::Claim(_) if turned_round(words, found.start) => {}
            Says::Claim(Claim::Checked) => heard.claim = heard.claim.or(Some((Claim::Checked, found.phrase))),
            Says::Claim(Claim::Done) => done = done.or(Some((Claim::Done, found.phrase))),
        }
    }
    heard.claim = heard.claim.or(done);
    heard
}

/// What the last words of a session say of its result, as the phrases that say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closing {
    /// That it works, is fixed or done, or that tests pass.
    pub claim: Option<(Claim, &'static str)>,
    /// That what is red is not the work's fault, or that nothing had to be done.
    pub excuse: Option<&'static str>,
    /// That it is not done.
    pub admission: Option<&'static str>,
    /// They end with a question.
    pub asks: bool,
}

/// Reads the last words of a session.
pub fn closing(words: &str) -> Closing {
    let words = &plain(words);
    let Heard { claim, excuse, admission } = heard(words);
    let asks = words
        .trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | ')' | '"'))
        .ends_with(['?', '？']);
    Closing { claim, excuse, admission, asks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_read_and_conditions_are_not_claims() {
        for (words, expected) in [
            ("All tests pass now.", Some(Claim::Checked)),
            ("The parser is fixed and the tests pass.", Some(Claim::Checked)),
            ("The parser is fixed.", Some(Claim::Done)),
            ("It should work now!", Some(Claim::Done)),
            ("Not all tests pass yet.", None),
            ("Let me know if it works.", None),
            ("Next I will look at the parser.", None),
            ("Alle Tests laufen durch.", Some(Claim::Checked)),
            ("测试通过，问题解决。", Some(Claim::Checked)),
        ] {
            assert_eq!(claim(words), expected, "{words}");
        }
    }

    #[test]
    fn closing_words_excuse_admit_and_ask() {
        let excuse = |words| closing(words).excuse;
        assert_eq!(excuse("The two failures are pre-existing."), Some("pre-existing"));
        assert_eq!(excuse("Der Rest hat nichts damit zu tun."), Some("hat nichts damit zu tun"));
        assert_eq!(excuse("这个失败与改动无关。"), Some("无关"));
        let admission = |words| closing(words).admission;
        assert_eq!(admission("I was unable to make the last test pass."), Some("i was unable to"));
        assert_eq!(admission("Não consegui corrigir o último teste."), Some("não consegui"));
        assert_eq!(admission("All done."), None);
        assert_eq!(closing("It should work now.").claim, Some((Claim::Done, "should work now")));
        assert!(closing("Shall I go on?").asks && closing("続けますか？").asks);
        assert!(!closing("Shall I? I did.").asks);
    }
}
