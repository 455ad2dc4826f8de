//! Labels: what people say of sessions, for comparing judges with them. Whatever system they come from, they become these.

use crate::sessions::Timestamp;
use serde::{Deserialize, Serialize};

/// What a person said of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Label {
    /// The session, by the id that its agent gave it.
    pub session: String,
    /// What of the session was judged.
    pub about: About,
    /// What was said.
    pub value: Value,
    /// The person, as the source names them; nothing where it does not.
    pub author: Option<String>,
    /// When.
    pub at: Option<Timestamp>,
    /// What the person wrote.
    pub comment: Option<String>,
    /// Where it comes from.
    pub source: Source,
}

/// What of a session a label judges.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum About {
    /// Whether the goal was reached.
    Outcome,
    /// A dimension of a rubric, or whatever else has this name.
    Dimension(String),
}

impl About {
    /// What the outcome is called among the names of dimensions.
    const OUTCOME: &'static str = "goal_complete";

    /// By its name.
    pub fn named(name: String) -> About {
        if name == About::OUTCOME { About::Outcome } else { About::Dimension(name) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            About::Outcome => About::OUTCOME,
            About::Dimension(name) => name,
        }
    }
}

/// What a label says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// A number.
    Number(f64),
    /// One of some levels.
    Level(String),
    /// Yes or no.
    Holds(bool),
}

/// Where a label comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The system, such as `langfuse`.
    pub system: String,
    /// Its id for the label.
    pub id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_label_is_about() {
        assert_eq!(About::named("goal_complete".into()), About::Outcome);
        for name in ["goal_complete", "tool_efficiency", "overall_quality"] {
            assert_eq!(About::named(name.into()).name(), name);
        }
    }
}
