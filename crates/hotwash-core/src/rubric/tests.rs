//! Shipped rubrics against the published table, broken files against what is said about them.

use proptest::prelude::*;
use std::collections::BTreeSet;

use super::*;

/// Weight, then labels for a categorical dimension or nothing for a numeric one.
type Row = (&'static str, f64, &'static [&'static str]);

const V2: [Row; 6] = [
    ("goal_achievement", 0.30, &["failed", "partial", "complete", "exceeded"]),
    ("tool_efficiency", 0.20, &[]),
    ("process_adherence", 0.20, &[]),
    ("context_efficiency", 0.15, &[]),
    ("error_handling", 0.10, &["poor", "struggled", "recovered", "prevented"]),
    ("output_quality", 0.05, &[]),
];

const V1: [Row; 6] = [
    ("task_completion", 0.30, &["failed", "partial", "complete", "exceeded"]),
    ("execution_quality", 0.25, &[]),
    ("tool_mastery", 0.20, &[]),
    ("resource_efficiency", 0.15, &[]),
    ("security_compliance", 0.05, &["violation", "risk", "compliant"]),
    ("user_satisfaction", 0.05, &["dissatisfied", "neutral", "satisfied"]),
];

const V0: [Row; 6] = [
    ("context_efficiency", 0.20, &[]),
    ("instruction_following", 0.25, &["poor", "partial", "good", "excellent"]),
    ("tool_appropriateness", 0.15, &[]),
    ("task_completion", 0.25, &["failed", "partial", "complete", "exceeded"]),
    ("error_recovery", 0.10, &["poor", "slow", "adequate", "excellent"]),
    ("cost_efficiency", 0.05, &[]),
];

#[test]
fn shipped_rubrics_have_the_published_weights_and_labels() {
    for (name, goal, combine, rows) in [
        ("v2", "goal_achievement", Combine::Last, V2),
        ("v1", "task_completion", Combine::Vote, V1),
        ("v0", "task_completion", Combine::Vote, V0),
    ] {
        let rubric = shipped(name);
        assert_eq!(rubric.name, name);
        assert_eq!(rubric.goal, goal);
        assert_eq!((rubric.min_dimensions, rubric.min_process_dimensions), (4, 3));
        let caps: Vec<_> = rubric.goal_caps.iter().map(|cap| (cap.level.as_str(), cap.tier.as_str())).collect();
        assert_eq!(caps, [("failed", "Poor"), ("partial", "Acceptable")]);
        assert_eq!(rubric.chunks, Chunks::default());
        let bounds: Vec<_> = rubric.tiers.iter().map(|tier| (tier.name.as_str(), tier.from)).collect();
        let published = [("Excellent", 850), ("Good", 700), ("Acceptable", 500), ("Poor", 300), ("Failed", 0)];
        assert_eq!(bounds, published);

        assert_eq!(rubric.dimensions.len(), rows.len(), "{name}");
        for (dimension, (expected, weight, labels)) in rubric.dimensions.iter().zip(rows) {
            assert_eq!(dimension.name, expected);
            assert_eq!(dimension.weight, weight, "{name} {expected}");
            let found: Vec<&str> = dimension.levels().iter().map(|level| level.label.as_str()).collect();
            assert_eq!(found, labels, "{name} {expected}");
            let by_kind = if labels.is_empty() { Combine::Mean } else { combine };
            assert_eq!(dimension.combine, by_kind, "{name} {expected}");
            assert!(!dimension.plus.is_empty() && !dimension.minus.is_empty() && !dimension.checks.is_empty());
        }
    }
}

#[test]
fn shipped_rubrics_name_the_scorers_that_fit_and_no_others() {
    let scored = |name| -> Vec<String> {
        let rubric = shipped(name);
        let pairs = rubric.dimensions.iter().filter_map(|dimension| {
            let offline = dimension.offline.as_ref()?;
            Some(format!("{}={}", dimension.name, offline.from.name()))
        });
        pairs.collect()
    };
    assert_eq!(scored("v2"), V2.map(|(name, ..)| format!("{name}={name}")));
    assert_eq!(
        scored("v1"),
        [
            "task_completion=goal_achievement",
            "execution_quality=process_adherence",
            "tool_mastery=tool_efficiency",
            "resource_efficiency=context_efficiency",
        ]
    );
    assert_eq!(
        scored("v0"),
        [
            "context_efficiency=context_efficiency",
            "tool_appropriateness=tool_efficiency",
            "task_completion=goal_achievement",
            "error_recovery=error_handling",
        ]
    );
}

/// The default rubric doubles as the manual of the parameters, so it writes all of them out.
#[test]
fn v2_spells_out_every_parameter_at_its_default() {
    let rubric = shipped("v2");
    for dimension in &rubric.dimensions {
        let offline = dimension.offline.as_ref().unwrap();
        assert_eq!(*offline, offline.from.defaults(), "{}", dimension.name);
        let (_, table) = rubric.source().split_once(&format!("from = \"{}\"", dimension.name)).unwrap();
        let table = table.split("\n[").next().unwrap();
        for param in offline.from.params() {
            assert!(table.contains(&format!("\n{} = ", param.name)), "{} {}", dimension.name, param.name);
        }
    }
}

#[test]
fn scorers_have_sound_tables() {
    for scorer in Scorer::ALL {
        assert_eq!(Scorer::from_name(scorer.name()), Some(scorer));
        let names: BTreeSet<&str> = scorer.params().iter().map(|param| param.name).collect();
        assert_eq!(names.len(), scorer.params().len(), "a name twice");
        for param in scorer.params() {
            assert!(param.range.contains(param.default), "{} {}", scorer.name(), param.name);
            assert_eq!(scorer.defaults().get(param.name), param.default);
        }
    }
}

#[test]
fn names_and_hashes_say_which_rubric_it_was() {
    assert_eq!(Rubric::shipped_names().collect::<Vec<_>>(), ["v2", "v1", "v0"]);
    assert_eq!(Rubric::shipped("v9"), None);
    let rubric = small();
    assert_eq!(rubric.id(), "mine@1.0.0");
    assert_eq!(rubric.hash().len(), 64);
    let elsewhere = format!("\u{feff}{}", SMALL.replace('\n', "\r\n"));
    assert_eq!(Rubric::parse("mine.toml", &elsewhere).unwrap().hash(), rubric.hash());
    let changed = Rubric::parse("mine.toml", &SMALL.replace("Mine", "Ours")).unwrap();
    assert_ne!(changed.hash(), rubric.hash());
}

#[test]
fn levels_are_evenly_spaced() {
    let rubric = shipped("v1");
    let values = |name: &str| -> Vec<_> {
        let dimension = rubric.dimension(name).unwrap();
        (0..5).map(|i| dimension.level_value(i)).collect()
    };
    assert_eq!(values("task_completion"), [Some(0.0), Some(1.0 / 3.0), Some(2.0 / 3.0), Some(1.0), None]);
    assert_eq!(values("security_compliance"), [Some(0.0), Some(0.5), Some(1.0), None, None]);
    assert_eq!(values("tool_mastery"), [None; 5]);
    assert_eq!(rubric.dimension("task_completion").unwrap().level_index("complete"), Some(2));
}

#[test]
fn tiers_begin_at_their_lower_bound() {
    let tiers = Tiers::default();
    let names = [1000, 850, 849, 700, 500, 300, 299, 0].map(|score| tiers.of(score).name.clone());
    assert_eq!(names, ["Excellent", "Excellent", "Good", "Good", "Acceptable", "Poor", "Failed", "Failed"]);
}

#[test]
fn numbers_may_be_written_as_toml_allows() {
    let source = SMALL
        .replace("min_dimensions = 1", "min_dimensions = 0x1")
        .replace("weight = 0.6", "weight = 6e-1")
        .replace("retries = 0.5", "retries = 1\nmin_calls = 1_000")
        .replace("to = 1.0", "to = +1");
    let rubric = Rubric::parse("mine.toml", &source).unwrap();
    assert_eq!(rubric.min_dimensions, 1);
    assert_eq!(rubric.dimensions[0].weight, 0.6);
    let offline = rubric.dimensions[1].offline.as_ref().unwrap();
    assert_eq!(offline.get("retries"), 1.0);
    assert_eq!(offline.get("min_calls"), 1000.0);
}

#[test]
fn a_short_rubric_gets_the_defaults() {
    let rubric = small();
    assert_eq!(rubric.tiers, Tiers::default());
    assert_eq!(rubric.chunks, Chunks::default());
    assert_eq!(rubric.dimensions[0].combine, Combine::Last);
    assert_eq!(rubric.dimensions[1].combine, Combine::Mean);
    let offline = rubric.dimensions[1].offline.as_ref().unwrap();
    assert_eq!(offline.get("retries"), 0.5);
    assert_eq!(offline.get("start"), 0.9);
}

const SMALL: &str = r#"name = "mine"
version = "1.0.0"
title = "Mine"
description = "A rubric of two dimensions."
goal = "done"
min_dimensions = 1

[[dimensions]]
name = "done"
kind = "categorical"
weight = 0.6
title = "Done"
measures = "Whether it is done."
levels = [
  { label = "no", criterion = "It is not." },
  { label = "yes", criterion = "It is." },
]

[[dimensions]]
name = "tools"
kind = "numeric"
weight = 0.4
title = "Tools"
measures = "How tools were used."
levels = [
  { from = 0.0, to = 0.5, criterion = "Badly." },
  { from = 0.5, to = 1.0, criterion = "Well." },
]

[dimensions.offline]
from = "tool_efficiency"
retries = 0.5

[[critics]]
name = "all"
model = "sonnet"
dimensions = ["done", "tools"]
"#;

/// In [`SMALL`], what to replace, by what, and the lines and rules that breaks.
type Broken = (&'static str, &'static str, &'static [(usize, &'static str)]);

const BROKEN: &[Broken] = &[
    // Not TOML.
    ("name = \"mine\"", "name = \"mine", &[(1, "syntax")]),
    ("goal = ", "goal : ", &[(5, "syntax")]),
    ("title = \"Mine\"", "name = \"again\"", &[(3, "syntax")]),
    // Keys.
    ("goal = ", "gaol = ", &[(1, "missing-key"), (5, "unknown-key")]),
    ("weight = 0.6", "wieght = 0.6", &[(8, "missing-key"), (11, "unknown-key")]),
    ("label = \"no\"", "name = \"no\"", &[(15, "missing-key"), (15, "unknown-key")]),
    ("model = \"sonnet\"\n", "", &[(34, "missing-key")]),
    ("[[critics]]", "[[critic]]", &[(1, "missing-key"), (34, "unknown-key")]),
    ("min_dimensions = 1", "[chunks]\nmax = 1", &[(1, "missing-key"), (7, "unknown-key")]),
    // Types.
    ("title = \"Mine\"", "title = 3", &[(3, "type")]),
    ("title = \"Mine\"", "title = ' '", &[(3, "type")]),
    ("min_dimensions = 1", "min_dimensions = -1", &[(6, "type")]),
    ("weight = 0.6", "weight = \"0.6\"", &[(11, "type")]),
    ("weight = 0.6", "weight = nan", &[(11, "type")]),
    ("weight = 0.6", "weight = 1e999", &[(11, "type")]),
    ("[\"done\", \"tools\"]", "\"done\"", &[(37, "type")]),
    ("[\"done\", \"tools\"]", "[\"done\", \"tools\",\n7]", &[(38, "type")]),
    ("{ label = \"no\", criterion = \"It is not.\" }", "\"no\"", &[(14, "levels"), (15, "type")]),
    // Names and versions.
    ("name = \"mine\"", "name = \"My rubric\"", &[(1, "name")]),
    ("label = \"no\"", "label = \"No\"", &[(15, "name")]),
    ("name = \"all\"", "name = \"all_\"", &[(35, "name")]),
    ("version = \"1.0.0\"", "version = \"1.0\"", &[(2, "version")]),
    // Dimensions.
    ("weight = 0.6", "weight = 0.8", &[(11, "weights")]),
    ("weight = 0.6", "weight = 0.602", &[(11, "weights")]),
    ("weight = 0.6", "weight = -0.6", &[(11, "weight"), (11, "weights")]),
    ("name = \"tools\"", "name = \"done\"", &[(20, "duplicate"), (37, "critics")]),
    ("kind = \"numeric\"", "kind = \"number\"", &[(21, "kind")]),
    ("kind = \"numeric\"", "kind = \"numeric\"\ncombine = \"last\"", &[(22, "combine")]),
    ("kind = \"categorical\"", "kind = \"categorical\"\ncombine = \"mean\"", &[(11, "combine")]),
    ("  { label = \"yes\", criterion = \"It is.\" },\n", "", &[(14, "levels")]),
    ("label = \"yes\"", "label = \"no\"", &[(16, "duplicate")]),
    ("from = 0.5, to", "from = 0.4, to", &[(27, "bands")]),
    ("to = 1.0", "to = 1.1", &[(27, "bands")]),
    ("from = 0.0", "from = -0.1", &[(26, "bands")]),
    ("from = 0.0, to = 0.5", "from = 0.5, to = 0.0", &[(26, "bands")]),
    // The rubric as a whole.
    ("goal = \"done\"", "goal = \"don\"", &[(5, "goal")]),
    ("min_dimensions = 1", "min_dimensions = 3", &[(6, "min-dimensions")]),
    ("min_dimensions = 1", "min_dimensions = 0", &[(6, "min-dimensions")]),
    ("min_dimensions = 1", "min_dimensions = 1\nmin_process_dimensions = 2", &[(7, "min-dimensions")]),
    ("[[critics]]", "[goal_caps]\nnone = \"Poor\"\n[[critics]]", &[(35, "goal-caps")]),
    ("[[critics]]", "[goal_caps]\nno = \"Dismal\"\n[[critics]]", &[(35, "goal-caps")]),
    ("[[critics]]", "[goal_caps]\nno = 3\n[[critics]]", &[(35, "type")]),
    ("[\"done\", \"tools\"]", "[\"done\", \"tool\"]", &[(20, "critics"), (37, "critics")]),
    ("[\"done\", \"tools\"]", "[\"done\"]", &[(20, "critics")]),
    ("[\"done\", \"tools\"]", "[\"done\", \"tools\", \"done\"]", &[(37, "critics")]),
    (
        "[[critics]]",
        "[[tiers]]\nname = \"A\"\nfrom = 500\n[[tiers]]\nname = \"B\"\nfrom = 600\n[[critics]]",
        &[(39, "tiers"), (39, "tiers")],
    ),
    (
        "[[critics]]",
        "[[tiers]]\nname = \"A\"\nfrom = 1001\n[[tiers]]\nname = \"A\"\nfrom = 0\n[[critics]]",
        &[(36, "tiers"), (38, "duplicate")],
    ),
    ("min_dimensions = 1", "min_dimensions = 1\ntiers = []", &[(7, "tiers")]),
    ("[[critics]]", "[chunks]\nmax_tokens = 100\n[[critics]]", &[(34, "chunks")]),
    ("[[critics]]", "[chunks]\nmin_last_share = 2\n[[critics]]", &[(34, "chunks")]),
    // The offline table.
    ("from = \"tool_efficiency\"", "from = \"tool_eficiency\"", &[(31, "offline")]),
    ("from = \"tool_efficiency\"", "from = \"error_handling\"", &[(31, "offline"), (32, "offline")]),
    ("retries = 0.5", "retrys = 0.5", &[(32, "offline")]),
    ("retries = 0.5", "retries = 5", &[(32, "offline")]),
    ("retries = 0.5", "min_calls = 2.5", &[(32, "offline")]),
    ("from = \"tool_efficiency\"\n", "", &[(30, "missing-key")]),
];

#[test]
fn every_mistake_is_reported_with_its_line_and_rule() {
    let mut wrong = Vec::new();
    for (old, new, expected) in BROKEN {
        let source = SMALL.replacen(old, new, 1);
        assert_ne!(source, SMALL, "`{old}` is not in the small rubric");
        let errors = Rubric::parse("mine.toml", &source).expect_err(new);
        let found: Vec<_> = errors.problems.iter().map(|it| (it.line.unwrap_or(0), it.rule)).collect();
        if found != *expected {
            wrong.push(format!("{new}\nexpected {expected:?}\n{errors}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn syntax_errors_come_at_once_too() {
    let source = SMALL
        .replace("goal = \"done\"", "goal = done")
        .replace("title = \"Mine\"", "title = \"Mine\"\ntitle = \"Again\"")
        .replace("[\"done\", \"tools\"]", "[\"done\", \"tools\"");
    let errors = Rubric::parse("mine.toml", &source).unwrap_err();
    insta::assert_snapshot!(errors, @"
    mine.toml:4: syntax: duplicate key
    mine.toml:6: syntax: string values must be quoted, expected literal string
    mine.toml:38: syntax: unclosed array, expected `]`
    ");
}

#[test]
fn every_rule_is_listed_and_tested() {
    let mut tested: Vec<&str> = BROKEN.iter().flat_map(|row| row.2).map(|(_, rule)| *rule).collect();
    tested.sort_unstable();
    tested.dedup();
    let mut listed: Vec<&str> = RULES.iter().map(|(rule, _)| *rule).collect();
    listed.sort_unstable();
    assert_eq!(tested, listed);
}

#[test]
fn all_mistakes_come_at_once_and_read_well() {
    let source = SMALL
        .replace("weight = 0.6", "weight = 0.8")
        .replace("goal = \"done\"", "goal = \"dnoe\"")
        .replace("model =", "modle =")
        .replace("retries =", "retires =");
    let errors = Rubric::parse("rubrics/mine.toml", &source).unwrap_err();
    insta::assert_snapshot!(errors, @"
    rubrics/mine.toml:5: goal: the goal `dnoe` is not one of the dimensions
      hint: did you mean `done`?
    rubrics/mine.toml:11: weights: dimension weights add up to 1.2, they must add up to 1
      hint: they are done 0.8, tools 0.4
    rubrics/mine.toml:32: offline: scorer `tool_efficiency` has no parameter `retires`
      hint: did you mean `retries`?
    rubrics/mine.toml:34: missing-key: critic `all` needs a key `model`: a string
    rubrics/mine.toml:36: unknown-key: critic `all` has no key `modle`
      hint: did you mean `model`?
    ");
}

fn shipped(name: &str) -> Rubric {
    let (_, file, source) = SHIPPED.iter().find(|(known, ..)| *known == name).unwrap();
    Rubric::parse(file, source).unwrap_or_else(|errors| panic!("{errors}"))
}

fn small() -> Rubric {
    Rubric::parse("mine.toml", SMALL).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Whatever comes in, what comes out is a rubric or problems that point into the file.
fn parses_or_explains(source: &str) -> Result<(), TestCaseError> {
    let Err(errors) = Rubric::parse("mine.toml", source) else {
        return Ok(());
    };
    prop_assert!(!errors.problems.is_empty());
    let lines = source.split('\n').count();
    for problem in &errors.problems {
        prop_assert!(problem.line.is_none_or(|line| (1..=lines).contains(&line)), "{errors}");
        prop_assert!(RULES.iter().any(|(rule, _)| *rule == problem.rule));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(source in any::<String>()) {
        parses_or_explains(&source)?;
    }

    #[test]
    fn text_made_of_toml_never_panics(source in "([a-z.]{0,4}|[\\[\\]{}=\"',.#\n \\-+_0-9]|name|weight|dimensions|nan){0,60}") {
        parses_or_explains(&source)?;
    }

    #[test]
    fn a_damaged_rubric_never_panics(
        at in any::<prop::sample::Index>(),
        gone in 0_usize..80,
        new in "\\PC{0,6}|[\\[\\]{}=\"\n,0-9]{0,4}",
        of in prop::sample::select(vec![SMALL, SHIPPED[0].2]),
    ) {
        let chars: Vec<char> = of.chars().collect();
        let at = at.index(chars.len());
        let rest = (at + gone).min(chars.len());
        let damaged: String = chars[..at].iter().copied().chain(new.chars()).chain(chars[rest..].iter().copied()).collect();
        parses_or_explains(&damaged)?;
    }

    #[test]
    fn lines_in_any_order_never_panic(
        lines in Just(SMALL.lines().collect::<Vec<_>>()).prop_shuffle(),
        keep in 0_usize..40,
    ) {
        let kept = &lines[..keep.min(lines.len())];
        parses_or_explains(&kept.join("\n"))?;
    }
}
