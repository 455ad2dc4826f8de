//! What sessions are judged by: dimensions with weights and levels, read from a TOML file.
//!
//! [`Rubric::parse`] turns a file into a checked [`Rubric`], or into *all* that is wrong with it, line by line. Three
//! rubrics are built in ([`Rubric::shipped`]). How verdicts become scores and an overall is `scores`' business, how the
//! offline judge uses its amounts is the judge's; here they are only data.
//!
//! - `parse` reads the file into the types below and checks what one table can tell;
//! - `check` holds the rules that look at several tables at once, such as weights that add up to 1;
//! - `fields` reads typed values out of TOML and remembers the line of each;
//! - [`Scorer`] lists what the offline judge can derive from facts, and every amount a rubric may set.

mod check;
mod error;
mod fields;
mod parse;
mod scorer;
#[cfg(test)]
mod tests;

pub use error::{Problem, RULES, RubricErrors};
pub use scorer::{Offline, Param, Range, Scorer};

/// A rubric that passed every check. Only [`Rubric::parse`] makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Rubric {
    /// Short name, such as `v2`.
    pub name: String,
    /// Three numbers, such as `2.0.0`; a change of criteria or weights is a new version.
    pub version: String,
    /// One line for headings.
    pub title: String,
    /// One or two sentences on what it asks.
    pub description: String,
    /// Name of the dimension that says whether the goal was reached.
    pub goal: String,
    /// With fewer dimensions scored than this there is no overall score.
    pub min_dimensions: usize,
    /// With fewer dimensions besides the goal scored than this there is no process score.
    pub min_process_dimensions: usize,
    /// How high the tier may be where the goal was not fully reached.
    pub goal_caps: Vec<GoalCap>,
    /// Grades of the overall score.
    pub tiers: Tiers,
    /// How long sessions are cut for a judge.
    pub chunks: Chunks,
    /// In the order of the file, which is the order they are shown in. Weights add up to 1.
    pub dimensions: Vec<Dimension>,
    /// Who scores what in panel mode; together they cover every dimension once.
    pub critics: Vec<Critic>,
    source: String,
    hash: String,
}

impl Rubric {
    /// Reads and checks a rubric. `name` is the file's, for the error messages.
    pub fn parse(name: &str, source: &str) -> Result<Self, RubricErrors> {
        parse::rubric(source).map_err(|problems| RubricErrors { file: name.to_owned(), problems })
    }

    /// A built-in rubric by name; see [`Rubric::shipped_names`].
    pub fn shipped(name: &str) -> Option<Self> {
        let (_, file, source) = SHIPPED.iter().find(|(known, ..)| *known == name)?;
        // A test parses all of them, so this is never an error that gets lost.
        Self::parse(file, source).ok()
    }

    /// The names of the built-in rubrics, the default first.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, ..)| *name)
    }

    /// Name and version, such as `v2@2.0.0`: what people call the rubric.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// SHA-256 of [`Rubric::source`] in hex: which rubric it was exactly, even where someone forgot to raise the version.
    pub fn hash(&self) -> String {
        self.hash.clone()
    }

    /// The file's text with `\n` line ends and no byte order mark, so that a checkout on Windows hashes the same.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The dimension of that name.
    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|dimension| dimension.name == name)
    }
}

/// One thing a session is judged on.
#[derive(Debug, Clone, PartialEq)]
pub struct Dimension {
    /// Name in scores, schemas and sinks, such as `goal_achievement`.
    pub name: String,
    /// A number or a label, and what each looks like.
    pub kind: Kind,
    /// Share of the overall score.
    pub weight: f64,
    /// Name for people.
    pub title: String,
    /// One sentence on what it measures.
    pub measures: String,
    /// What speaks for the session.
    pub plus: Vec<String>,
    /// What speaks against it.
    pub minus: Vec<String>,
    /// What a judge looks up before answering.
    pub checks: Vec<String>,
    /// How the verdicts on chunks become one.
    pub combine: Combine,
    /// How facts alone score it; `None` where they say nothing about it.
    pub offline: Option<Offline>,
}

impl Dimension {
    /// The value of level `index` of `k`: `index / (k - 1)`. `None` for a number or beyond the last level.
    pub fn level_value(&self, index: usize) -> Option<f64> {
        let top = self.levels().len().checked_sub(1)?;
        (top > 0 && index <= top).then(|| index as f64 / top as f64)
    }

    /// Which level carries `label`, counted from the worst.
    pub fn level_index(&self, label: &str) -> Option<usize> {
        self.levels().iter().position(|level| level.label == label)
    }

    /// The levels of a categorical dimension, worst first; none for a numeric one.
    pub fn levels(&self) -> &[Level] {
        match &self.kind {
            Kind::Numeric(_) => &[],
            Kind::Categorical(levels) => levels,
        }
    }
}

/// What a verdict on a dimension is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A number from 0 to 1. The bands are a guide for the judge; values between two bands are fine.
    Numeric(Vec<Band>),
    /// One of at least two labels, worst first.
    Categorical(Vec<Level>),
}

/// A labelled level of a categorical dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// What the judge answers.
    pub label: String,
    /// When it applies.
    pub criterion: String,
}

/// A described part of the scale of a numeric dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// Lower end, included.
    pub from: f64,
    /// Upper end, included.
    pub to: f64,
    /// What sessions in it look like.
    pub criterion: String,
}

/// How the verdicts on the chunks of one session become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// Mean weighted by the tokens a chunk owns; numeric dimensions only.
    Mean,
    /// The last chunk's label: it has seen how the session ended.
    Last,
    /// The label most chunks gave.
    Vote,
    /// The lowest label any chunk gave.
    Worst,
}

impl Combine {
    /// As written in a rubric.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Last => "last",
            Self::Vote => "vote",
            Self::Worst => "worst",
        }
    }
}

/// A member of the panel: which dimensions it scores, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Critic {
    /// Short name, such as `goal`.
    pub name: String,
    /// A class of model, such as `sonnet` or `haiku`; settings say which model that is today.
    pub model: String,
    /// Names of the dimensions it scores.
    pub dimensions: Vec<String>,
}

/// How a session that is too large for one call is cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunks {
    /// Size a chunk aims for.
    pub target_tokens: usize,
    /// Size no chunk exceeds, context included; a session up to this size is not cut.
    pub max_tokens: usize,
    /// Turns of the previous chunk that come along as context.
    pub overlap_turns: usize,
    /// At most this much of them.
    pub overlap_tokens: usize,
    /// A last chunk below this share of the one before joins it where that fits.
    pub min_last_share: f64,
}

impl Default for Chunks {
    fn default() -> Self {
        Self {
            target_tokens: 70_000,
            max_tokens: 80_000,
            overlap_turns: 4,
            overlap_tokens: 10_000,
            min_last_share: 0.5,
        }
    }
}

/// The grades of the overall score, by lower bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiers {
    // Apart from the rest, so that every score has a tier and `of` needs no way out.
    lowest: Tier,
    above: Vec<Tier>,
}

impl Tiers {
    /// The tier of an overall score in thousandths.
    pub fn of(&self, thousandths: u32) -> &Tier {
        self.above.iter().find(|tier| thousandths >= tier.from).unwrap_or(&self.lowest)
    }

    /// All tiers, best first.
    pub fn iter(&self) -> impl Iterator<Item = &Tier> {
        self.above.iter().chain([&self.lowest])
    }
}

impl Default for Tiers {
    fn default() -> Self {
        let tier = |name: &str, from| Tier { name: name.to_owned(), from, meaning: String::new() };
        Self {
            lowest: tier("Failed", 0),
            above: vec![tier("Excellent", 850), tier("Good", 700), tier("Acceptable", 500), tier("Poor", 300)],
        }
    }
}

/// The highest tier of a session whose goal dimension is at a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalCap {
    /// A level of the goal dimension.
    pub level: String,
    /// The highest tier.
    pub tier: String,
}

/// One grade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tier {
    /// Such as `Excellent`.
    pub name: String,
    /// Lowest overall score in thousandths that earns it.
    pub from: u32,
    /// What it says about a session; may be empty.
    pub meaning: String,
}

/// Name, file and text of the built-in rubrics, the default first.
const SHIPPED: [(&str, &str, &str); 3] = [
    ("v2", "rubrics/v2.toml", include_str!("../../../../rubrics/v2.toml")),
    ("v1", "rubrics/v1.toml", include_str!("../../../../rubrics/v1.toml")),
    ("v0", "rubrics/v0.toml", include_str!("../../../../rubrics/v0.toml")),
];
