//! What words claim: an agent's closing claims, a person's acceptance or complaint.
//!
//! Phrases are data, looked for in lower case at word edges. The lists are short on purpose: a phrase that is usually
//! meant otherwise costs more than one that is missed.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};
use std::borrow::Cow;
use std::sync::LazyLock;

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

const CHECKED: &[&str] = &[
    "all tests pass",
    "all tests are passing",
    "all tests passing",
    "tests pass",
    "tests are passing",
    "tests now pass",
    "tests all pass",
    "test suite passes",
    "tests are green",
    "all green",
    "build passes",
    "builds cleanly",
    "alle tests laufen",
    "alle tests sind grün",
    "tests sind grün",
    "tous les tests passent",
    "les tests passent",
    "todas las pruebas pasan",
    "los tests pasan",
    "todos os testes passam",
    "测试全部通过",
    "所有测试都通过",
    "测试通过",
    "すべてのテストが通",
    "テストが通り",
    "テストはすべて成功",
];

const DONE: &[&str] = &[
    "is fixed",
    "are fixed",
    "is now fixed",
    "now fixed",
    "i've fixed",
    "i fixed",
    "i have fixed",
    "fixed the",
    "works now",
    "now works",
    "working now",
    "should work now",
    "it works",
    "works as expected",
    "works correctly",
    "is done",
    "all done",
    "is complete",
    "is now complete",
    "are complete",
    "successfully implemented",
    "implementation is complete",
    "ist behoben",
    "funktioniert jetzt",
    "ist fertig",
    "est corrigé",
    "fonctionne maintenant",
    "está arreglado",
    "ya funciona",
    "funciona agora",
    "está corrigido",
    "已修复",
    "修复完成",
    "已完成",
    "修正しました",
    "完了しました",
    "動くようになりました",
];

const ACCEPTED: &[&str] = &[
    "thanks",
    "thank you",
    "thx",
    "ty!",
    "perfect",
    "great",
    "awesome",
    "excellent",
    "nice",
    "lgtm",
    "looks good",
    "that works",
    "works now",
    "it works",
    "works great",
    "works perfectly",
    "got it",
    "well done",
    "good job",
    "love it",
    "ship it",
    "approved",
    "danke",
    "passt",
    "super",
    "funktioniert",
    "sieht gut aus",
    "merci",
    "parfait",
    "ça marche",
    "gracias",
    "perfecto",
    "funciona",
    "obrigado",
    "obrigada",
    "perfeito",
    "谢谢",
    "完美",
    "很好",
    "可以了",
    "ありがとう",
    "完璧",
    "いいですね",
];

const FRUSTRATED: &[&str] = &[
    "ugh",
    "still broken",
    "still not working",
    "still doesn't work",
    "still does not work",
    "still fails",
    "still failing",
    "doesn't work",
    "does not work",
    "isn't working",
    "is not working",
    "not working",
    "never mind",
    "nevermind",
    "this is wrong",
    "that's wrong",
    "wtf",
    "you broke",
    "i'll do it myself",
    "geht immer noch nicht",
    "funktioniert nicht",
    "immer noch kaputt",
    "vergiss es",
    "ça ne marche pas",
    "ça ne marche toujours pas",
    "toujours cassé",
    "laisse tomber",
    "no funciona",
    "sigue sin funcionar",
    "sigue fallando",
    "olvídalo",
    "não funciona",
    "ainda não funciona",
    "deixa pra lá",
    "还是不行",
    "不行",
    "没用",
    "算了",
    "まだ動かない",
    "動きません",
    "もういい",
];

const ABANDONED: &[&str] = &[
    "let's try something else",
    "lets try something else",
    "i'll come back to this",
    "come back to this later",
    "skip it",
    "skip this",
    "forget it",
    "forget about it",
    "drop it",
    "let's leave it",
    "lassen wir das",
    "machen wir später",
    "on laisse tomber",
    "essayons autre chose",
    "probemos otra cosa",
    "lo dejamos",
    "vamos deixar isso",
    "换个方法",
    "先不管",
    "先跳过",
    "後でやる",
    "別の方法",
];

/// Phrases of several meanings, looked for in one pass.
struct Phrases<M: 'static> {
    automaton: Option<AhoCorasick>,
    meanings: Vec<(&'static str, M)>,
}

impl<M: Copy> Phrases<M> {
    fn new(lists: &[(M, &[&'static str])]) -> Self {
        let meanings: Vec<(&'static str, M)> =
            lists.iter().flat_map(|(meaning, list)| list.iter().map(move |phrase| (*phrase, *meaning))).collect();
        let automaton = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(meanings.iter().map(|(phrase, _)| phrase))
            .ok();
        Phrases { automaton, meanings }
    }

    /// The meanings of the phrases that stand in some words at word edges, with their places.
    fn find<'s>(&'s self, words: &'s str) -> impl Iterator<Item = (M, usize)> + 's {
        let matches = self.automaton.iter().flat_map(move |automaton| automaton.find_overlapping_iter(words));
        matches.filter_map(move |found| {
            let (phrase, meaning) = self.meanings[found.pattern().as_usize()];
            let before = words.get(..found.start())?.chars().next_back();
            let after = words.get(found.end()..)?.chars().next();
            // Chinese and Japanese do not put spaces between words.
            let unspaced = phrase.chars().next().is_some_and(|first| first >= '\u{2E80}');
            (unspaced || !letter(before) && !letter(after)).then_some((meaning, found.start()))
        })
    }
}

/// What an agent's closing words claim, if anything. That tests pass is the stronger claim.
pub fn claim(words: &str) -> Option<Claim> {
    static CLAIMS: LazyLock<Phrases<Claim>> =
        LazyLock::new(|| Phrases::new(&[(Claim::Checked, CHECKED), (Claim::Done, DONE)]));
    let words = plain(words);
    let mut done = None;
    for (claim, at) in CLAIMS.find(&words) {
        if !negated(&words, at) {
            match claim {
                Claim::Checked => return Some(Claim::Checked),
                Claim::Done => done = Some(Claim::Done),
            }
        }
    }
    done
}

/// How a person's words take what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// It was accepted.
    Accepted,
    /// It does not work, and the person is tired of it.
    Frustrated,
    /// The goal was given up.
    Abandoned,
}

/// How a person's words take what was done, if they say. A complaint outweighs thanks; a long text is a task.
pub fn reaction(words: &str) -> Option<Reaction> {
    static REACTIONS: LazyLock<Phrases<Reaction>> = LazyLock::new(|| {
        Phrases::new(&[
            (Reaction::Accepted, ACCEPTED),
            (Reaction::Frustrated, FRUSTRATED),
            (Reaction::Abandoned, ABANDONED),
        ])
    });
    let words = plain(words);
    let (mut abandoned, mut accepted) = (false, false);
    for (reaction, at) in REACTIONS.find(&words) {
        match reaction {
            Reaction::Frustrated => return Some(Reaction::Frustrated),
            Reaction::Abandoned => abandoned = true,
            Reaction::Accepted => accepted |= !negated(&words, at),
        }
    }
    if abandoned {
        return Some(Reaction::Abandoned);
    }
    let short = words.chars().take(161).count() <= 160;
    (short && accepted).then_some(Reaction::Accepted)
}

/// Words with plain apostrophes, and in lower case where that takes more than ASCII.
fn plain(words: &str) -> Cow<'_, str> {
    if words.is_ascii() { Cow::Borrowed(words) } else { Cow::Owned(words.to_lowercase().replace('’', "'")) }
}

fn letter(character: Option<char>) -> bool {
    character.is_some_and(char::is_alphanumeric)
}

/// Whether the words right before a phrase turn it round ("not all tests pass", "if it works").
fn negated(words: &str, at: usize) -> bool {
    let before = words.get(..at).unwrap_or_default();
    let sentence = before.rsplit(['.', '!', '?', '\n', ';']).next().unwrap_or_default();
    let mut last = sentence.split_whitespace().rev().take(4);
    last.any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'').to_ascii_lowercase();
        matches!(
            word.as_str(),
            "not"
                | "no"
                | "never"
                | "isn't"
                | "aren't"
                | "doesn't"
                | "don't"
                | "until"
                | "if"
                | "whether"
                | "once"
                | "ensure"
                | "verify"
                | "check"
                | "make"
                | "nicht"
                | "kein"
                | "keine"
                | "wenn"
                | "ob"
                | "pas"
                | "si"
        )
    })
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
    fn reactions_in_several_languages() {
        for (words, expected) in [
            ("thanks, that works", Some(Reaction::Accepted)),
            ("Perfect!", Some(Reaction::Accepted)),
            ("still broken :(", Some(Reaction::Frustrated)),
            ("never mind, I'll do it myself", Some(Reaction::Frustrated)),
            ("let’s try something else", Some(Reaction::Abandoned)),
            ("funktioniert nicht", Some(Reaction::Frustrated)),
            ("Danke, passt", Some(Reaction::Accepted)),
            ("ça ne marche pas", Some(Reaction::Frustrated)),
            ("gracias!", Some(Reaction::Accepted)),
            ("ainda não funciona", Some(Reaction::Frustrated)),
            ("还是不行", Some(Reaction::Frustrated)),
            ("ありがとう", Some(Reaction::Accepted)),
            ("now add a greatest common divisor", None),
            ("the superclass needs a method", None),
            ("thorough", None),
        ] {
            assert_eq!(reaction(words), expected, "{words}");
        }
    }
}
