//! The offline judge of outcomes: decides where facts can, and says *undecided* where they cannot.
//!
//! *Failed* takes hard evidence: the session broke off, nothing was changed where a change was asked for, or a signal of
//! failure stands at the end. *Complete* takes the intent's own criterion, met by explicit evidence: the person accepted
//! the result in words, or the run that was needed is green after the last change and the person went on without
//! complaint. Where nobody sat in front of it, nobody could accept it, and only failure can be decided.
//!
//! The rest carries a probability, from a table by intent and by how the work stood. The table is reasoned, not measured:
//! a green run raises it, a red one lowers it, a claim does not raise it.

use super::intent::{Intended, Intent};
use super::standing::{Standing, Word, complained_afterwards, last, last_green};
use super::substance::Substance;
use super::{Evidence, Goal, JudgeStatus, Lack, Outcome, Reason};
use crate::facts::Facts;
use crate::sessions::EventId;

const SURE_FAILED: f64 = 0.9;
const SURE_ACCEPTED: f64 = 0.9;
const SURE_VERIFIED: f64 = 0.8;
const SURE_CHECKED: f64 = 0.75;

/// The outcome of a session, from its facts alone.
pub fn offline(facts: &Facts) -> Outcome {
    let intended = Intended::of(facts);
    let intent = intended.intent;
    let standing = Standing::of(facts, intent);
    let verdict = if intent == Intent::None {
        Verdict::undecided(None, None, intended.reason.clone())
    } else if let Some(failed) = failed(facts, &intended, &standing) {
        failed
    } else {
        let headless_run = facts.transcript.headless;
        let completed = if headless_run { None } else { completed(facts, intent, &standing) };
        completed.or_else(|| checked(facts, &standing)).unwrap_or_else(|| {
            if headless_run { headless(facts, intent, &standing) } else { undecided(facts, intent, &standing) }
        })
    };
    let status = match verdict.goal {
        _ if intent == Intent::None => JudgeStatus::NoGoal,
        Goal::Undecided => JudgeStatus::Undecided,
        Goal::Complete | Goal::Failed => JudgeStatus::Ok,
    };
    let Verdict { goal, confidence, probability, lack, reasons } = verdict;
    let evidence = if goal == Goal::Undecided { Evidence::Silent } else { Evidence::Explicit };
    Outcome {
        substance: Substance::of(facts),
        intended,
        status,
        goal,
        evidence,
        confidence,
        probability,
        lack,
        reasons,
        flags: Vec::new(),
    }
}

struct Verdict {
    goal: Goal,
    confidence: Option<f64>,
    probability: Option<f64>,
    lack: Option<Lack>,
    reasons: Vec<Reason>,
}

impl Verdict {
    fn complete(confidence: f64, reasons: Vec<Reason>) -> Verdict {
        Verdict { goal: Goal::Complete, confidence: Some(confidence), probability: None, lack: None, reasons }
    }
    fn failed(lack: Lack, reasons: Vec<Reason>) -> Verdict {
        Verdict { goal: Goal::Failed, confidence: Some(SURE_FAILED), probability: None, lack: Some(lack), reasons }
    }
    fn undecided(probability: Option<f64>, lack: Option<Lack>, reason: Reason) -> Verdict {
        Verdict { goal: Goal::Undecided, confidence: None, probability, lack, reasons: vec![reason] }
    }
}

/// Hard evidence that the goal was missed: all of it, the plainest first.
fn failed(facts: &Facts, intended: &Intended, standing: &Standing) -> Option<Verdict> {
    let Facts { ending, signals, transcript, verification, goal, .. } = facts;
    let mut found: Vec<(Lack, Reason)> = Vec::new();
    let mut add = |lack, fact, text: String, events: &[EventId]| found.push((lack, Reason::new(fact, text, events)));

    // A person's word counts for more than the client's check.
    if !goal.goal_unmet.is_empty() && standing.accepted.is_none() {
        let reason = reason_of(facts);
        let says =
            if goal.goal_given_up { "the client gave up the goal" } else { "the client's check denies the goal" };
        add(Lack::Unmet, "goal_unmet", format!("{says} that was set{reason}"), &goal.goal_unmet.0);
    }
    // What breaks off after the person has accepted the result, or after it was handed over or found to be reached, breaks
    // off something else.
    if standing.accepted.is_none() && !standing.handed_over && standing.met.is_none() {
        let text = |what: &str| format!("the session ended {what}");
        if !ending.ended_on_turn_limit.is_empty() {
            let text = text("with all turns used up that it was allowed");
            add(Lack::BrokeOff, "ended_on_turn_limit", text, &ending.ended_on_turn_limit.0);
        }
        if !ending.ended_on_api_error.is_empty() {
            let text = text("on a request that failed for good");
            add(Lack::BrokeOff, "ended_on_api_error", text, &ending.ended_on_api_error.0);
        }
        // What takes long may be under way still, and somebody who waits for it proves nothing.
        let proves_nothing = [&ending.ended_on_open_commit.0, &ending.ended_on_open_long.0];
        let mut open = ending.ended_on_open_calls.0.clone();
        open.retain(|call| !proves_nothing.iter().any(|calls| calls.contains(call)));
        if !open.is_empty() {
            let text = match open.len() {
                1 => text("while 1 tool call was still open"),
                n => text(&format!("while {n} tool calls were still open")),
            };
            add(Lack::BrokeOff, "ended_on_open_calls", text, &open);
        }
        // Where a prompt follows, somebody went on; and what is green needs no further word.
        if !ending.ended_without_answer.is_empty() && signals.followed_by.is_none() && standing.green.is_none() {
            let text = text("on a tool's result, without a word of the agent: cut off in the middle of the work");
            add(Lack::BrokeOff, "ended_without_answer", text, &ending.ended_without_answer.0);
        }
    }
    // Somebody who says in which form they want the reply wants an answer; so does a run that replies with data.
    let answers = !signals.answers_wanted.is_empty() || transcript.headless && ending.closing_data;
    let owes_change = intended.surely_needs_change() && !standing.changed && !answers;
    if owes_change && standing.met.is_none() && !waits(facts) && !ending.last_answer.is_empty() {
        let what = intended.intent.singular();
        let text = format!("a {what} was asked for, and the session ended with nothing changed");
        add(Lack::NothingChanged, "edit_calls_ok", text, &ending.last_answer.0);
    }
    if !signals.frustration_signals.is_empty() {
        let text = "the person complains near the end, and nothing later resolves it".to_owned();
        add(Lack::Complaint, "frustration_signals", text, &signals.frustration_signals.0);
    }
    if complained_afterwards(facts) {
        add(Lack::Complaint, "followed_by", "the prompt after the session complains of it".to_owned(), &[]);
    }
    if !signals.abandonment_signals.is_empty() {
        let text = "the person gives the goal up near the end".to_owned();
        add(Lack::GivenUp, "abandonment_signals", text, &signals.abandonment_signals.0);
    }
    // An error is a failure where something was to work afterwards. Where the person stopped it or is asked, it waits.
    let settled = standing.accepted.is_some() || standing.met.is_some();
    if intended.intent.needs_change() && !settled && (transcript.headless || !waits(facts)) {
        if !signals.unresolved_error_signals.is_empty() && error_stands(facts, standing) {
            let text = "the last thing that was tried failed, and nothing was done about it".to_owned();
            add(Lack::Error, "unresolved_error_signals", text, &signals.unresolved_error_signals.0);
        }
        // Against a claim, and with nobody there to contradict it, a loop leaves it open like any red end.
        let contradicted = transcript.headless && ending.closing_claim.is_some();
        let excused = ending.closing_excuse.is_some() || !verification.red_without_changes.is_empty();
        if !signals.iteration_loop.is_empty() && !excused && !contradicted {
            let tries = signals.iteration_loop.count();
            let text = format!("{tries} tries at the same file, each followed by a red run, and none green since");
            add(Lack::Loop, "iteration_loop", text, &signals.iteration_loop.0);
        }
    }
    let lack = found.first()?.0;
    Some(Verdict::failed(lack, found.into_iter().map(|(_, reason)| reason).collect()))
}

/// The person stopped it or was asked something: what is missing may be theirs to say.
fn waits(facts: &Facts) -> bool {
    let Facts { ending, transcript, .. } = facts;
    // Where nobody was there, nobody was asked.
    let asked = ending.ended_on_question && !transcript.headless;
    asked || !ending.ended_on_interrupt.is_empty() || ending.closing_excuse.is_some()
}

/// Whether a red end is the work's own: not what was red before it, not what the agent accounts for. An agent that says
/// that it is not done settles it; one that says that it is done, against a red run, leaves it open.
fn error_stands(facts: &Facts, standing: &Standing) -> bool {
    let Facts { ending, edits, verification, .. } = facts;
    if ending.closing_admission.is_some() && ending.closing_excuse.is_none() {
        return true;
    }
    let accounted = ending.closing_excuse.is_some()
        || ending.closing_claim.is_some()
        || ending.closing_cut
        || !verification.red_without_changes.is_empty();
    let first_edit = edits.edit_calls_ok.0.iter().min();
    let reds = verification.test_runs.fail.iter().chain(&verification.build_runs.fail);
    let red_before = first_edit.is_some_and(|edit| reds.into_iter().any(|red| red < edit));
    !accounted && !red_before && standing.changed
}

/// The client's check says that the goal which the person set is reached: more than a claim, less than a person's word or
/// a run, so that a red one leaves it open.
fn checked(facts: &Facts, standing: &Standing) -> Option<Verdict> {
    let met = standing.met.filter(|_| facts.verification.ended_red.is_empty())?;
    let reason = reason_of(facts);
    let text = format!("the client's check says that the goal which was set is reached{reason}");
    Some(Verdict::complete(SURE_CHECKED, vec![Reason::new("goal_met", text, &[met])]))
}

/// What the client said of the goal, behind a colon.
fn reason_of(facts: &Facts) -> String {
    facts.goal.goal_reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default()
}

/// Nobody could accept it, so that it cannot be called complete.
fn headless(facts: &Facts, intent: Intent, standing: &Standing) -> Verdict {
    let text = "nobody was there to accept the result, and nothing shows a failure";
    let lack =
        standing.green.is_none().then_some(Lack::NoRun).filter(|_| intent.needs_change() && !standing.prose_only);
    let lack = lack.filter(|_| facts.verification.unread_run.is_empty());
    let lack = if facts.verification.ended_red.is_empty() { lack } else { Some(Lack::Red) };
    Verdict::undecided(Some(prior(facts, intent, standing)), lack, Reason::new("headless", text, &[]))
}

/// The intent's own criterion, met by explicit evidence.
fn completed(facts: &Facts, intent: Intent, standing: &Standing) -> Option<Verdict> {
    let Facts { signals, goal, prompts, verification, .. } = facts;
    let opening = prompts.human_prompts.0.first().copied();
    let accepted = standing.accepted.map(|word| {
        let (fact, text) = match word {
            Word::After => ("completion_signals", "the next prompt accepts the result"),
            Word::At(event) if signals.completion_signals.0.contains(&event) => {
                ("completion_signals", "the person accepted the result in words")
            }
            Word::At(_) => ("commit_requests", "the person had the result committed"),
        };
        Reason::new(fact, text, &word.events())
    });
    // A run that is red at the end speaks against what was accepted or went on.
    let red = !verification.ended_red.is_empty() || standing.bypassed.is_some();
    if red && intent.needs_change() {
        return None;
    }
    let checked =
        |run: Option<EventId>| run.map(|run| Reason::new("verified", "a green run came after the last change", &[run]));
    let went_on = standing.went_on.map(|word| {
        let fact = if word == Word::After { "followed_by" } else { "human_prompts" };
        Reason::new(fact, "the person went on without complaint", &word.events())
    });
    let both = |one: Option<Reason>, other: Option<Reason>| Some(vec![one?, other?]);
    let by_word = |word: Option<Reason>| Some(Verdict::complete(SURE_ACCEPTED, vec![word?]));
    let by_run = |reasons: Option<Vec<Reason>>| Some(Verdict::complete(SURE_VERIFIED, reasons?));

    match intent {
        Intent::None => None,
        Intent::Question | Intent::Investigation => by_word(accepted),
        Intent::Review => {
            let acted_on = last(&signals.go_aheads).filter(|word| Some(*word) != opening);
            let acted_on =
                acted_on.map(|word| Reason::new("go_aheads", "the person had the review's findings acted on", &[word]));
            by_word(accepted.or(acted_on))
        }
        Intent::Plan => {
            let approved = last(&goal.plans_approved)
                .map(|plan| Reason::new("plans_approved", "the person approved the plan", &[plan]))
                .or_else(|| {
                    let word = last(&signals.go_aheads).filter(|word| Some(*word) != opening)?;
                    Some(Reason::new("go_aheads", "the person had the plan carried out", &[word]))
                });
            by_word(approved.or(accepted))
        }
        _ if !standing.changed || standing.taken_back => None,
        Intent::SmallChange | Intent::BugFix => {
            by_word(accepted).or_else(|| by_run(both(checked(standing.green), went_on)))
        }
        Intent::Feature => {
            let later = last(&signals.tests_deferred);
            let later = later.map(|word| Reason::new("tests_deferred", "the person put tests off", &[word]));
            let prose = || {
                let text = "only prose was changed, which no test covers";
                standing.prose_only.then(|| Reason::new("last_source_edit", text, &[]))
            };
            let tested = checked(standing.green_test).or(later).or_else(prose);
            match (accepted, tested) {
                (Some(word), Some(tested)) => Some(Verdict::complete(SURE_ACCEPTED, vec![word, tested])),
                (Some(_), None) => None,
                (None, _) => by_run(both(checked(standing.green_test), went_on)),
            }
        }
        Intent::Refactor => {
            let preserved = || checked(standing.green);
            match accepted {
                Some(word) => both(Some(word), preserved()).map(|reasons| Verdict::complete(SURE_ACCEPTED, reasons)),
                None => by_run(both(preserved(), went_on)),
            }
        }
    }
}

/// Why nothing decides it.
fn undecided(facts: &Facts, intent: Intent, standing: &Standing) -> Verdict {
    let Facts { ending, verification, signals, .. } = facts;
    let red = last(&verification.ended_red);
    let (lack, reason) = if intent.needs_change() {
        if let (Some(word), Some(red)) = (standing.accepted, red) {
            let events: Vec<EventId> = word.events().into_iter().chain([red]).collect();
            (Lack::Red, Reason::new("ended_red", "the person accepted the result, but the last run is red", &events))
        } else if let Some(red) = red {
            (Lack::Red, Reason::new("ended_red", "the last run is red, which may not be the work's fault", &[red]))
        } else if let Some(bypass) = standing.bypassed {
            let text = "checks were left out on the way, and no run was green afterwards";
            (Lack::Red, Reason::new("checks_bypassed", text, &[bypass]))
        } else if let Some(word) = standing.accepted.filter(|_| standing.changed) {
            let text = "the person accepted the result, but no test that covers the last change was run";
            (Lack::NoTest, Reason::new("completion_signals", text, &word.events()))
        } else if !ending.ended_on_interrupt.is_empty() {
            let text = "the person stopped the agent, and nobody said anything afterwards";
            (Lack::LeftOpen, Reason::new("ended_on_interrupt", text, &ending.ended_on_interrupt.0))
        } else if let Some(open) = standing.left_open {
            (Lack::LeftOpen, Reason::new("human_prompts", "what was asked last was not followed by a change", &[open]))
        } else if let Some(run) = standing.green {
            let text = "a green run came after the last change, and nobody said anything afterwards";
            (Lack::NoWord, Reason::new("verified", text, &[run]))
        } else {
            unbacked(facts, standing)
        }
    } else if ending.ended_on_interrupt.is_empty() {
        let text = "nobody said whether it was what they wanted";
        (Lack::NotAccepted, Reason::new("completion_signals", text, &ending.last_answer.0))
    } else {
        let text = "the person stopped the agent, and nobody said anything afterwards";
        (Lack::LeftOpen, Reason::new("ended_on_interrupt", text, &ending.ended_on_interrupt.0))
    };
    let mut probability = prior(facts, intent, standing);
    if standing.accepted.is_some() {
        probability = probability.max(0.5) + 0.2;
    } else if standing.went_on.is_some() && red.is_none() {
        probability += 0.1;
    }
    if lack == Lack::LeftOpen || !signals.reported_errors.0.is_empty() && standing.accepted.is_none() {
        probability -= 0.1;
    }
    Verdict::undecided(Some(hundredths(probability)), Some(lack), reason)
}

/// A change without a run: claimed or not, it is not backed.
fn unbacked(facts: &Facts, standing: &Standing) -> (Lack, Reason) {
    let Facts { ending, edits, .. } = facts;
    if let Some(run) = last(&facts.verification.unread_run) {
        let text = "the run after the last change does not tell its result, and the person did not accept the work";
        return (Lack::NotAccepted, Reason::new("unread_run", text, &[run]));
    }
    let edit = standing.last_edit.filter(|edit| last_green(facts) < Some(*edit) || !standing.prose_only);
    match (&ending.closing_claim, last(&ending.last_answer), edit) {
        (Some(claim), Some(answer), Some(edit)) if !standing.prose_only => {
            let text =
                format!("claimed, not backed: {answer} says “{claim}”, and no run came after the last edit {edit}");
            (Lack::NoRun, Reason::new("closing_claim", text, &[answer, edit]))
        }
        (_, _, Some(edit)) if !standing.prose_only => {
            let text = format!("no run came after the last edit {edit}, and nobody accepted the result");
            (Lack::NoRun, Reason::new("last_source_edit", text, &[edit]))
        }
        _ => {
            let text = "nobody accepted the result";
            (Lack::NotAccepted, Reason::new("completion_signals", text, last(&edits.edit_calls_ok).as_slice()))
        }
    }
}

/// How likely a goal was reached, by intent and by how the work stood. Reasoned, not measured.
fn prior(facts: &Facts, intent: Intent, standing: &Standing) -> f64 {
    let [green, neither, red] = match intent {
        Intent::Question => [0.70; 3],
        Intent::Investigation | Intent::Plan => [0.60; 3],
        Intent::Review => [0.65; 3],
        Intent::SmallChange => [0.80, 0.65, 0.35],
        Intent::BugFix => [0.65, 0.45, 0.25],
        Intent::Feature => [0.60, 0.45, 0.25],
        Intent::Refactor => [0.75, 0.50, 0.25],
        Intent::None => [0.50; 3],
    };
    let by_run = if !facts.verification.ended_red.is_empty() {
        red
    } else if standing.green.is_some() {
        green
    } else {
        neither
    };
    let nothing_done = intent.needs_change() && !standing.changed;
    if nothing_done { 0.2 } else { by_run }
}

/// Two digits are more than such a number knows.
fn hundredths(value: f64) -> f64 {
    (value.clamp(0.05, 0.95) * 100.0).round() / 100.0
}
