//! Every rule of the outcome score, each in a test that is named after it. `cargo test prism` lists them.

mod booleans;
mod criteria;
mod failure_signals;
mod goals;
mod hard_evidence;
mod intents;
mod score;
mod substance;

use super::{Goal, Intent, JudgeStatus, Lack, Outcome, offline};
use crate::facts::Facts;
use crate::facts::testing::facts_of;

fn outcome(story: &str) -> Outcome {
    offline(&facts_of(story))
}

fn goal(story: &str) -> Goal {
    outcome(story).goal
}

fn lack(story: &str) -> Option<Lack> {
    outcome(story).lack
}

fn intent(story: &str) -> Intent {
    outcome(story).intended.intent
}

/// An edit of `src/a.rs` of one line, and its result.
fn edit(id: u32) -> String {
    format!("e{id} Edit  src/a.rs -old line +new line\n e{} ok\n", id + 1)
}

fn green(id: u32) -> String {
    format!("e{id} Bash  cargo test\n e{} ok    test result: ok. 3 passed; 0 failed\n", id + 1)
}

fn red(id: u32) -> String {
    format!("e{id} Bash  cargo test\n e{} error test result: FAILED. 1 passed; 2 failed\n", id + 1)
}
