//! Many readings become one: the chunks of a session, the critics of a panel, the goal and the outcome.

use super::quality::JUDGE;
use super::second::near_tier_edge;
use super::{OutcomeVerdict, QualityVerdict};
use crate::evidence::Alarm;
use crate::outcomes::{Goal, JudgeStatus, Outcome, Reason};
use crate::rubric::{Combine, Dimension, Rubric};
use crate::scores::{Flag, Grade, Item, Provenance, Reading, Score, Spread, Unscored, Value};
use crate::sessions::Events;
use std::sync::Arc;

/// Chunks so far apart are worth a word.
const WIDE: f64 = 0.40;

/// What was said of one chunk.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Tokens of what it owns, context not counted.
    pub owned_tokens: usize,
    /// What was said, by all who were asked.
    pub verdict: &'a QualityVerdict,
    /// What was to know about the answers.
    pub flags: &'a [Flag],
}

/// The grade of a session from what was said of its chunks, in order. `provenance` is who scored a dimension, `alarms`
/// are those of all chunks. `goal` is the reading on the goal's dimension, which is nobody's answer.
pub fn grade(
    rubric: &Rubric,
    chunks: &[Chunk<'_>],
    goal: Option<&Reading>,
    alarms: &[Alarm],
    provenance: &dyn Fn(&Dimension) -> Arc<Provenance>,
) -> Grade {
    let mut flags = Vec::new();
    if !alarms.is_empty() {
        Flag::InjectionSuspected.raise(&mut flags);
    }
    let mut scores = Vec::new();
    for flag in chunks.iter().flat_map(|chunk| chunk.flags) {
        flag.raise(&mut flags);
    }
    for dimension in &rubric.dimensions {
        let nobody = || Reading::Unscored { why: Unscored::JudgeFailed, reason: "nobody answered".to_owned() };
        let said = chunks.iter().map(|chunk| {
            let reading = chunk.verdict.readings.get(&dimension.name);
            (chunk.owned_tokens, reading.cloned().unwrap_or_else(nobody))
        });
        let (reading, found) = match goal.filter(|_| dimension.name == rubric.goal) {
            Some(goal) => (goal.clone(), Vec::new()),
            None => combine(dimension, &said.collect::<Vec<_>>()),
        };
        for flag in found {
            flag.raise(&mut flags);
        }
        scores.push(Score { dimension: dimension.name.clone(), reading, provenance: provenance(dimension) });
    }
    let mut grade = Grade::of(scores, rubric);
    if near_tier_edge(&grade, rubric) {
        Flag::NearTierEdge.raise(&mut flags);
    }
    grade.flags = flags;
    grade
}

/// One reading on a dimension from those on its chunks, in order, with the tokens that each owns.
pub fn combine(dimension: &Dimension, chunks: &[(usize, Reading)]) -> (Reading, Vec<Flag>) {
    let mut flags = Vec::new();
    let said: Vec<Said<'_>> = chunks.iter().enumerate().filter_map(Said::of).collect();
    let Some(last) = said.last() else {
        let none = || Reading::Unscored { why: Unscored::JudgeFailed, reason: "nobody answered".to_owned() };
        return (chunks.first().map_or_else(none, |(_, reading)| reading.clone()), flags);
    };
    if let [(_, only)] = chunks {
        return (only.clone(), flags);
    }

    let spread = spread(chunks, &said);
    if said.len() < chunks.len() {
        Flag::Partial.raise(&mut flags);
    }
    if spread.max - spread.min >= WIDE {
        Flag::WideSpread.raise(&mut flags);
    }
    let (value, confidence) = match dimension.combine {
        Combine::Mean => (Value::Number(mean(&said, |said| said.number)), sure(&said)),
        Combine::Last => (last.value.clone(), last.confidence),
        Combine::Worst => {
            let worst = said.iter().min_by(|a, b| a.number.total_cmp(&b.number)).unwrap_or(last);
            (worst.value.clone(), worst.confidence)
        }
        Combine::Vote => {
            let (winner, votes, tie) = vote(&said);
            if tie {
                Flag::Tie.raise(&mut flags);
            }
            (winner.clone(), Some(votes as f64 / said.len() as f64))
        }
    };
    let mut items = vec![note(dimension, chunks.len(), &said, &spread)];
    for said in &said {
        let of_chunk =
            |item: &Item| Item { reason: format!("part {}: {}", said.chunk + 1, item.reason).into(), ..item.clone() };
        items.extend(said.items.iter().map(of_chunk));
    }
    (Reading::Scored { start: value.number(), value, items, confidence, spread: Some(spread) }, flags)
}

/// What a chunk with a value says.
struct Said<'a> {
    chunk: usize,
    /// Its weight: a chunk that owns nothing still counts for something, so that there is always a mean.
    weight: f64,
    number: f64,
    value: &'a Value,
    confidence: Option<f64>,
    items: &'a [Item],
}

impl<'a> Said<'a> {
    fn of((chunk, (tokens, reading)): (usize, &'a (usize, Reading))) -> Option<Said<'a>> {
        let Reading::Scored { value, confidence, items, .. } = reading else { return None };
        let number = value.number();
        let weight = (*tokens).max(1) as f64;
        number.is_finite().then_some(Said { chunk, weight, number, value, confidence: *confidence, items })
    }
}

fn mean(said: &[Said<'_>], of: impl Fn(&Said<'_>) -> f64) -> f64 {
    let weights: f64 = said.iter().map(|said| said.weight).sum();
    said.iter().map(|said| said.weight * of(said)).sum::<f64>() / weights
}

/// As sure as the chunks are on average, where all of them say.
fn sure(said: &[Said<'_>]) -> Option<f64> {
    let all = said.iter().all(|said| said.confidence.is_some());
    all.then(|| mean(said, |said| said.confidence.unwrap_or_default()))
}

fn spread(chunks: &[(usize, Reading)], said: &[Said<'_>]) -> Spread {
    let middle = mean(said, |said| said.number);
    let mut values = vec![None; chunks.len()];
    for said in said {
        if let Some(place) = values.get_mut(said.chunk) {
            *place = Some(said.number);
        }
    }
    let all: f64 = chunks.iter().map(|(tokens, _)| (*tokens).max(1) as f64).sum();
    Spread {
        chunks: values,
        min: said.iter().map(|said| said.number).fold(f64::INFINITY, f64::min),
        max: said.iter().map(|said| said.number).fold(f64::NEG_INFINITY, f64::max),
        variance: mean(said, |said| (said.number - middle).powi(2)),
        covered: said.iter().map(|said| said.weight).sum::<f64>() / all,
    }
}

/// The value that most chunks gave, how many did, and whether as many gave another. Then the lower one wins.
fn vote<'a>(said: &[Said<'a>]) -> (&'a Value, usize, bool) {
    let mut counts: Vec<(&Value, f64, usize)> = Vec::new();
    for said in said {
        match counts.iter_mut().find(|(value, ..)| *value == said.value) {
            Some((.., votes)) => *votes += 1,
            None => counts.push((said.value, said.number, 1)),
        }
    }
    counts.sort_by(|(_, a, votes_a), (_, b, votes_b)| votes_b.cmp(votes_a).then(a.total_cmp(b)));
    let tie = matches!(counts.as_slice(), [(.., first), (.., second), ..] if first == second);
    // There is always one: who calls this has seen a chunk with a value.
    counts.first().map_or((&Value::Number(0.0), 0, false), |(value, _, votes)| (*value, *votes, tie))
}

/// How it came about, in words.
fn note(dimension: &Dimension, chunks: usize, said: &[Said<'_>], spread: &Spread) -> Item {
    let how = match dimension.combine {
        Combine::Mean => "the mean, by size, of",
        Combine::Last => "the last of",
        Combine::Vote => "what most say of",
        Combine::Worst => "the lowest of",
    };
    let mut reason = format!("{how} {chunks} parts, from {:.2} to {:.2}", spread.min, spread.max);
    if said.len() < chunks {
        let covered = (spread.covered * 100.0).round();
        reason = format!("{reason}; {} without a value, {covered} % of the session covered", chunks - said.len());
    }
    Item { amount: 0.0, reason: reason.into(), fact: JUDGE.into(), events: Events::default() }
}

/// The goal dimension, which follows from the outcome: reached or more where that is complete, failed where it is failed,
/// and in part between; in part, too, where everything essential is met and it failed all the same.
pub fn goal(dimension: &Dimension, outcome: &Outcome, verdict: Option<&OutcomeVerdict>) -> Reading {
    let unscored = |why, reason: &str| Reading::Unscored { why, reason: reason.to_owned() };
    if outcome.goal == Goal::Undecided {
        if outcome.flags.contains(&Flag::InjectionSuspected) {
            return unscored(Unscored::Suspected, "the session's own text speaks to its judge");
        }
        if outcome.status == JudgeStatus::NoGoal {
            return unscored(Unscored::NothingToGoBy, "no goal was established");
        }
        if verdict.is_none() {
            return unscored(Unscored::NotByThisJudge, "nobody was asked whether the goal was reached");
        }
    }
    let essentials = verdict.is_some_and(OutcomeVerdict::has_all_required);
    let more = verdict.is_some_and(|verdict| verdict.beyond.iter().any(|(_, cite)| cite.done));
    let (label, number) = match outcome.goal {
        Goal::Complete if essentials && more => ("exceeded", 1.0),
        Goal::Complete => ("complete", 2.0 / 3.0),
        Goal::Undecided => ("partial", 1.0 / 3.0),
        Goal::Failed if essentials => ("partial", 1.0 / 3.0),
        Goal::Failed => ("failed", 0.0),
    };
    let value = level(dimension, label, number);
    let item = |reason: &Reason| Item {
        amount: 0.0,
        reason: reason.text.clone(),
        fact: reason.fact.clone(),
        events: reason.events.clone(),
    };
    let items = outcome.reasons.iter().map(item).collect();
    Reading::Scored { start: value.number(), value, items, confidence: outcome.confidence, spread: None }
}

/// The level of that name, or the highest that is no higher than that share of the scale; the number itself where there
/// are no levels.
fn level(dimension: &Dimension, label: &str, number: f64) -> Value {
    let levels = dimension.levels();
    let fits = |index: &usize| dimension.level_value(*index).is_some_and(|value| value <= number + 1e-9);
    let index = dimension.level_index(label).or_else(|| (0..levels.len()).rfind(fits));
    match index.and_then(|index| levels.get(index).map(|level| (index, level))) {
        Some((index, level)) => Value::Level { label: level.label.clone(), index, of: levels.len() },
        None => Value::Number(number),
    }
}
