//! What can be wrong with a rubric file, and how it is said.

use std::fmt;

/// Everything that is wrong with one rubric file, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RubricErrors {
    /// The file's name as the caller gave it.
    pub file: String,
    /// Never empty.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, counted from 1; `None` only where TOML itself cannot say.
    pub line: Option<usize>,
    /// Which rule was broken: one of [`RULES`].
    pub rule: &'static str,
    /// What was found and what was expected.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Every rule a rubric is checked by, with what it asks for.
pub const RULES: &[(&str, &str)] = &[
    ("syntax", "the file is TOML"),
    ("unknown-key", "every key is one that rubrics have"),
    ("missing-key", "no required key is missing"),
    ("type", "every value has the type and range of its key"),
    ("name", "names and labels are snake_case and not reserved"),
    ("version", "the version is three numbers, such as 1.0.0"),
    ("duplicate", "dimensions, labels, critics and tiers have names of their own"),
    ("weight", "no weight is negative or above 1"),
    ("weights", "the weights of all dimensions add up to 1"),
    ("kind", "a dimension is numeric or categorical"),
    ("levels", "a categorical dimension has at least two levels, a numeric one at least one band"),
    ("bands", "bands run upwards, lie between 0 and 1 and do not overlap"),
    ("combine", "numeric dimensions combine by mean, categorical ones by last, vote or worst"),
    ("goal", "the goal is one of the dimensions"),
    ("min-dimensions", "at least one and at most all dimensions are needed for an overall score"),
    ("goal-caps", "caps name levels of the goal dimension and tiers of the rubric"),
    ("tiers", "lower bounds fall from tier to tier, from at most 1000 down to 0"),
    ("chunks", "a chunk and its context fit into the largest size, and the target is not 0"),
    ("critics", "the critics together cover every dimension once, and nothing else"),
    ("offline", "an offline scorer exists, fits the dimension, and knows the parameters it is given"),
];

impl fmt::Display for RubricErrors {
    /// One line per problem, `file:line: rule: message`, as editors and people know it; a hint follows, indented.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&self.file)?;
            if let Some(line) = problem.line {
                write!(f, ":{line}")?;
            }
            write!(f, ": {}: {}", problem.rule, problem.message)?;
            if let Some(hint) = &problem.hint {
                write!(f, "\n  hint: {hint}")?;
            }
        }
        Ok(())
    }
}
