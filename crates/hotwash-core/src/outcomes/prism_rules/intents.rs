use super::{Intent, JudgeStatus, edit, intent, outcome};
use crate::outcomes::{Evidence, silent_allowed};

/// An intent, and how it is put in English, German, French, Spanish, Portuguese, Chinese and Japanese.
const WORDS: &[(Intent, [&str; 7])] = &[
    (
        Intent::Question,
        [
            "How does the parser work?",
            "Wie funktioniert der Parser?",
            "Comment fonctionne le parseur ?",
            "¿Cómo funciona el analizador?",
            "Como funciona o analisador?",
            "解析器是怎么工作的？",
            "パーサーの仕組みを教えてください",
        ],
    ),
    (
        Intent::Investigation,
        [
            "Investigate why the queue grows at night",
            "Finde heraus, warum die Warteschlange nachts wächst",
            "Pourquoi la file grandit-elle la nuit ? Enquête sur la cause",
            "Investiga por qué crece la cola de noche",
            "Investigue por que a fila cresce à noite",
            "调查一下队列晚上变长的原因",
            "夜にキューが増える原因を調査してください",
        ],
    ),
    (
        Intent::Review,
        [
            "Please review my branch",
            "Mach ein Review von meinem Branch",
            "Fais une revue de ma branche",
            "Revisa mi rama, por favor",
            "Faça uma revisão da minha branch",
            "请审查我的分支",
            "このブランチをレビューしてください",
        ],
    ),
    (
        Intent::Plan,
        [
            "Make a plan for the migration",
            "Erstelle einen Plan für die Migration",
            "Fais un plan pour la migration",
            "Haz un plan para la migración",
            "Faça um plano para a migração",
            "为迁移制定计划",
            "移行の計画を立ててください",
        ],
    ),
    (
        Intent::SmallChange,
        [
            "Rename the button to Save",
            "Benenne den Knopf um in Sichern",
            "Renomme le bouton en Enregistrer",
            "Renombra el botón a Guardar",
            "Renomeie o botão para Salvar",
            "把按钮重命名为保存",
            "ボタンの名前を変更してください",
        ],
    ),
    (
        Intent::BugFix,
        [
            "Fix the crash at login",
            "Behebe den Absturz beim Anmelden",
            "Corrige le plantage à la connexion",
            "Arregla el fallo al iniciar sesión",
            "Corrija a falha no login",
            "修复登录时的崩溃",
            "ログイン時のクラッシュを直してください",
        ],
    ),
    (
        Intent::Feature,
        [
            "Implement dark mode",
            "Implementiere einen dunklen Modus",
            "Implémente un mode sombre",
            "Implementa un modo oscuro",
            "Implemente um modo escuro",
            "实现深色模式",
            "ダークモードを実装してください",
        ],
    ),
    (
        Intent::Refactor,
        [
            "Refactor the session store",
            "Refaktoriere den Sitzungsspeicher",
            "Refactorise le stockage des sessions",
            "Refactoriza el almacén de sesiones",
            "Refatore o armazenamento de sessões",
            "重构会话存储",
            "セッションストアをリファクタリングしてください",
        ],
    ),
];

#[test]
fn eight_intents_in_seven_languages() {
    for (expected, words) in WORDS {
        for words in words {
            assert_eq!(intent(&format!("e1 user  {words}")), *expected, "{words}");
        }
    }
}

#[test]
fn no_goal_established_is_no_intent() {
    for story in ["e1 user  hi", "e1 user  yes\n e2 user  1", "e1 says  Hello.", "e1 Bash  ls\n e2 ok"] {
        let outcome = outcome(story);
        assert_eq!((outcome.intended.intent, outcome.status), (Intent::None, JudgeStatus::NoGoal), "{story}");
        assert_eq!(outcome.goal_complete(), None);
    }
}

#[test]
fn only_the_persons_own_words_state_the_intent() {
    for (story, expected) in [
        ("e1 user  what does this do?\\n```\\nfix the crash, implement it\\n```", Intent::Question),
        ("e1 user  > please implement dark mode\\nwhat does this mean?", Intent::Question),
        ("e1 user  2026-01-01T10:00:00 implement failed\\nwhat is this?", Intent::Question),
        ("e1 command /implement\n e2 user  why?", Intent::Feature),
    ] {
        assert_eq!(intent(story), expected, "{story}");
    }
}

#[test]
fn what_was_done_breaks_the_tie_between_small_and_big() {
    let add = "e1 user  add a timeout option\n";
    assert_eq!(intent(&format!("{add} e2 Edit  a.rs -a +b +c\n e3 ok")), Intent::SmallChange);
    let lines = " +another line".repeat(40);
    assert_eq!(intent(&format!("{add} e2 Edit  a.rs{lines}\n e3 ok")), Intent::Feature);
}

#[test]
fn what_is_removed_reworded_or_prose_is_no_feature() {
    let line = " -gone";
    for (edit, expected) in [
        (format!("src/a.rs{}", line.repeat(30)), Intent::SmallChange),
        (format!("src/a.rs{}", line.repeat(150)), Intent::Refactor),
        (format!("src/a.rs{}{}", line.repeat(30), " +come".repeat(30)), Intent::SmallChange),
        (format!("README.md{}", " +come".repeat(60)), Intent::SmallChange),
        (format!("src/a.rs{}", " +come".repeat(60)), Intent::Feature),
    ] {
        assert_eq!(intent(&format!("e1 user  remove the old flag\n e2 Edit  {edit}\n e3 ok")), expected, "{edit}");
    }
    let created = "e1 user  create an owners file\n e2 Write  .github/CODEOWNERS +me\n e3 created";
    assert_eq!(intent(created), Intent::SmallChange);
}

#[test]
fn running_releasing_and_watching_things_is_no_feature() {
    for (words, expected) in [
        ("rebase onto main", Intent::SmallChange),
        ("cut a release", Intent::SmallChange),
        ("start the server in background", Intent::SmallChange),
        ("watch the pipeline", Intent::Investigation),
        ("run the nightly job", Intent::Investigation),
        // Not where something is asked for beside it.
        ("run the tests and fix what fails", Intent::BugFix),
        ("implement a release notes page", Intent::Feature),
    ] {
        assert_eq!(intent(&format!("e1 user  {words}")), expected, "{words}");
    }
}

#[test]
fn what_comes_up_on_the_way_belongs_to_the_goal() {
    let big = format!("e9 Edit  src/a.rs{}\n e10 ok", " +another line".repeat(80));
    let later = "e3 user  change it here, too\n e4 user  and make it shorter\n e5 user  update the other one";
    assert_eq!(intent(&format!("e1 user  fix the crash\n {later}\n {big}")), Intent::BugFix);
    assert_eq!(intent(&format!("e1 user  review my branch\n {later}\n {big}")), Intent::BugFix);
    assert_eq!(intent(&format!("e1 user  fix the duplicate code in the store\n {big}")), Intent::Refactor);
    assert_eq!(intent(&format!("e1 user  still broken\n {big}")), Intent::BugFix);
}

#[test]
fn a_headless_run_that_was_asked_for_an_answer_is_no_work() {
    let run = |words: &str| intent(&format!("e1 headless\n e2 user  {words}\n e3 says  Here."));
    assert_eq!(run("Create a title for these notes. Reply with one line."), Intent::Question);
    assert_eq!(run("Create a page for these notes."), Intent::Feature);
}

#[test]
fn work_that_follows_a_question_is_the_goal() {
    let story =
        format!("e1 user  how does login work?\n e2 says  So.\n e3 user  ok, fix the crash there\n {}", edit(4));
    assert_eq!(intent(&story), Intent::BugFix);
    let asked = format!("e1 user  implement dark mode\n {} e4 user  why is that needed?", edit(2));
    assert_eq!(intent(&asked), Intent::Feature);
}

#[test]
fn a_report_with_a_change_after_it_is_a_bug_fix() {
    let report = "e1 user  can it be that saving crashes? I just lost my settings\n";
    assert_eq!(intent(report), Intent::Investigation);
    assert_eq!(intent(&format!("{report} {}", edit(2))), Intent::BugFix);
}

#[test]
fn a_plan_that_is_written_down_is_a_plan() {
    let story = "e1 command /plan\n e2 user  I want to replace the key\n e3 Write  plan.md +one +two\n e4 created";
    assert_eq!(intent(story), Intent::Plan);
}

#[test]
fn hands_off_is_no_change() {
    assert_eq!(intent("e1 user  check if we can remove the flag, don't change anything"), Intent::Investigation);
}

#[test]
fn silent_completion_floor_question() {
    floor(Intent::Question, 0.50);
}
#[test]
fn silent_completion_floor_investigation() {
    floor(Intent::Investigation, 0.60);
}
#[test]
fn silent_completion_floor_review() {
    floor(Intent::Review, 0.60);
}
#[test]
fn silent_completion_floor_plan() {
    floor(Intent::Plan, 0.60);
}
#[test]
fn silent_completion_floor_small_change() {
    floor(Intent::SmallChange, 0.50);
}
#[test]
fn silent_completion_floor_bug_fix() {
    floor(Intent::BugFix, 0.75);
}
#[test]
fn silent_completion_floor_feature() {
    floor(Intent::Feature, 0.75);
}
#[test]
fn silent_completion_floor_refactor() {
    floor(Intent::Refactor, 0.75);
}

fn floor(intent: Intent, floor: f64) {
    assert!(silent_allowed(intent, Evidence::Silent, floor));
    assert!(!silent_allowed(intent, Evidence::Silent, floor - 0.01));
    assert!(silent_allowed(intent, Evidence::Explicit, 0.0));
}

#[test]
fn no_floor_lets_a_session_without_a_goal_complete() {
    for evidence in [Evidence::Explicit, Evidence::Silent] {
        assert!(!silent_allowed(Intent::None, evidence, 1.0));
    }
}
