//! What an agent's closing words claim, excuse or admit.
//!
//! The lists are short on purpose: a phrase that is usually meant otherwise costs more than one that is missed.

use super::phrases::{Phrases, turned_round};
use super::speech::plain;
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

/// What an agent's closing words claim, if anything. That tests pass is the stronger claim.
pub fn claim(words: &str) -> Option<Claim> {
    claimed(&plain(words)).map(|(claim, _)| claim)
}

fn claimed(words: &str) -> Option<(Claim, &'static str)> {
    static CLAIMS: LazyLock<Phrases<Claim>> =
        LazyLock::new(|| Phrases::new([(Claim::Checked, CHECKED), (Claim::Done, DONE)]));
    let mut done = None;
    for found in CLAIMS.find(words).filter(|found| !turned_round(words, found.start)) {
        match found.meaning {
            Claim::Checked => return Some((Claim::Checked, found.phrase)),
            Claim::Done => done = Some((Claim::Done, found.phrase)),
        }
    }
    done
}

/// What the last words of a session say of its result, as the phrases that say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closing {
    /// That it works, is fixed or done, or that tests pass.
    pub claim: Option<&'static str>,
    /// That what is red is not the work's fault, or that nothing had to be done.
    pub excuse: Option<&'static str>,
    /// That it is not done.
    pub admission: Option<&'static str>,
    /// They end with a question.
    pub asks: bool,
}

/// Reads the last words of a session.
pub fn closing(words: &str) -> Closing {
    #[derive(Clone, Copy)]
    enum Says {
        Excuse,
        Admission,
    }
    static SAYS: LazyLock<Phrases<Says>> =
        LazyLock::new(|| Phrases::new([(Says::Excuse, EXCUSES), (Says::Admission, ADMISSIONS)]));
    let words = &plain(words);
    let mut closing = Closing { claim: claimed(words).map(|(_, phrase)| phrase), ..Closing::default() };
    for found in SAYS.find(words) {
        match found.meaning {
            Says::Excuse => closing.excuse = closing.excuse.or(Some(found.phrase)),
            Says::Admission => closing.admission = closing.admission.or(Some(found.phrase)),
        }
    }
    closing.asks = words
        .trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | ')' | '"'))
        .ends_with(['?', '？']);
    closing
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

const EXCUSES: &[&str] = &[
    "pre-existing",
    "preexisting",
    "pre existing",
    "already failing",
    "already failed",
    "was failing before",
    "were failing before",
    "failing before my",
    "fail on main",
    "fails on main",
    "failed before",
    "unrelated",
    "not related to",
    "unaffected by",
    "not caused by",
    "not introduced by",
    "known issue",
    "known failure",
    "flaky",
    "expected to fail",
    "expected failure",
    "expected failures",
    "fails as expected",
    "fail as expected",
    "environment issue",
    "environmental",
    "in this environment",
    "in the sandbox",
    "no network",
    "network access",
    "not installed",
    "missing dependency",
    "missing dependencies",
    "out of scope",
    "should fail",
    "confirms the bug",
    "reproduces the",
    "demonstrates the bug",
    "already implemented",
    "already exists",
    "already in place",
    "already present",
    "already supports",
    "already handled",
    "already fixed",
    "no changes needed",
    "no change needed",
    "no changes are needed",
    "no changes were needed",
    "no changes required",
    "nothing to change",
    "no code changes",
    "bestand schon vorher",
    "hat nichts damit zu tun",
    "nicht damit zusammen",
    "unabhängig davon",
    "war schon vorher",
    "wie erwartet fehl",
    "bereits vorhanden",
    "bereits umgesetzt",
    "keine änderung nötig",
    "keine änderungen nötig",
    "sans rapport",
    "sans lien",
    "préexistant",
    "préexistants",
    "préexistante",
    "échouait déjà",
    "échouaient déjà",
    "comme prévu",
    "déjà implémenté",
    "déjà en place",
    "aucun changement nécessaire",
    "aucune modification nécessaire",
    "no relacionado",
    "no relacionados",
    "no está relacionado",
    "preexistente",
    "preexistentes",
    "ya fallaba",
    "ya fallaban",
    "como se esperaba",
    "ya implementado",
    "ya existe",
    "no hace falta cambiar",
    "no se necesitan cambios",
    "não relacionado",
    "não relacionados",
    "não está relacionado",
    "pré-existente",
    "pré-existentes",
    "já falhava",
    "já falhavam",
    "como esperado",
    "já implementado",
    "já existe",
    "nenhuma alteração necessária",
    "无关",
    "原本就",
    "之前就",
    "预期失败",
    "已经实现",
    "已经存在",
    "无需修改",
    "不需要修改",
    "無関係",
    "関係ない",
    "関係ありません",
    "以前から",
    "元から",
    "想定通り",
    "既に実装",
    "すでに実装",
    "変更は不要",
];

const ADMISSIONS: &[&str] = &[
    "i was unable to",
    "i'm unable to",
    "i am unable to",
    "i wasn't able to",
    "i was not able to",
    "i could not",
    "i couldn't",
    "i have not been able",
    "i haven't been able",
    "did not manage",
    "didn't manage",
    "is not complete",
    "isn't complete",
    "not yet complete",
    "is incomplete",
    "not fully implemented",
    "partially implemented",
    "partially complete",
    "partial solution",
    "still fails",
    "still failing",
    "still fail",
    "still broken",
    "still not working",
    "does not work yet",
    "doesn't work yet",
    "remains unresolved",
    "remain unresolved",
    "remaining failures",
    "remaining failing",
    "not finished",
    "unfinished",
    "ran out of",
    "i've run out",
    "without success",
    "unsuccessful",
    "konnte ich nicht",
    "ich konnte nicht",
    "schlägt weiterhin fehl",
    "schlagen weiterhin fehl",
    "noch nicht fertig",
    "unvollständig",
    "funktioniert noch nicht",
    "je n'ai pas pu",
    "je n'ai pas réussi",
    "échoue toujours",
    "échouent toujours",
    "incomplet",
    "incomplète",
    "pas encore terminé",
    "no pude",
    "no he podido",
    "sigue fallando",
    "siguen fallando",
    "incompleto",
    "incompleta",
    "aún no funciona",
    "não consegui",
    "continua falhando",
    "continuam falhando",
    "ainda falha",
    "ainda falham",
    "ainda não funciona",
    "未能",
    "无法完成",
    "仍然失败",
    "还是失败",
    "尚未完成",
    "没有完成",
    "できませんでした",
    "まだ失敗",
    "失敗したまま",
    "未完了",
    "完了していません",
];

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
        assert_eq!(closing("It should work now.").claim, Some("should work now"));
        assert!(closing("Shall I go on?").asks && closing("続けますか？").asks);
        assert!(!closing("Shall I? I did.").asks);
    }
}
