//! What the offline judge can score from facts alone, and the amounts a rubric may set for it.
//!
//! The items (a deduction for retries, a credit for a green run) are code, because each needs its own fact. How much
//! they count is data: a rubric's `[dimensions.offline]` names a [`Scorer`] in `from` and overrides any of its
//! [`Param`]s. There is no rule language on purpose: numbers can be checked, compared and explained one by one.

/// How facts score a dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Offline {
    /// Which of the built-in scorers.
    pub from: Scorer,
    /// The amounts of its parameters, in the order in which it has them.
    amounts: Vec<f64>,
}

impl Offline {
    /// The amount of a parameter. Asking for one the scorer does not have is a mistake in the caller.
    pub fn get(&self, name: &'static str) -> f64 {
        let value = self.place(name).and_then(|at| self.amounts.get(at));
        debug_assert!(value.is_some(), "scorer {} has no parameter {name}", self.from.name());
        value.copied().unwrap_or_default()
    }

    /// Sets the amount of a parameter, if the scorer has it.
    pub(crate) fn set(&mut self, name: &str, amount: f64) {
        if let Some(value) = self.place(name).and_then(|at| self.amounts.get_mut(at)) {
            *value = amount;
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.from.params().iter().position(|param| param.name == name)
    }
}

/// A built-in way to score a dimension from facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scorer {
    /// Decides by hard evidence only; four levels.
    GoalAchievement,
    /// Retries, failures, shell file work and parallel calls; a number.
    ToolEfficiency,
    /// Planning, reading before editing, verification and claims; a number.
    ProcessAdherence,
    /// Repeated and large reads, compactions and delegation; a number.
    ContextEfficiency,
    /// Streaks and shares of failing calls; four levels.
    ErrorHandling,
    /// The last run and reverted edits; a number.
    OutputQuality,
}

/// A number a scorer works with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Param {
    /// Key in the rubric.
    pub name: &'static str,
    /// Used where the rubric does not set it.
    pub default: f64,
    /// Which values make sense.
    pub range: Range,
    /// What it does, in a line.
    pub what: &'static str,
}

/// Which values a [`Param`] takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// From 0 to 1.
    Share,
    /// A whole number from 0 up.
    Count,
}

impl Range {
    /// Whether `value` lies in it.
    pub fn contains(self, value: f64) -> bool {
        match self {
            Self::Share => (0.0..=1.0).contains(&value),
            Self::Count => value.is_finite() && value >= 0.0 && value.fract() == 0.0,
        }
    }

    /// In words, to follow "must be".
    pub fn words(self) -> &'static str {
        match self {
            Self::Share => "between 0 and 1",
            Self::Count => "a whole number, 0 or more",
        }
    }
}

impl Scorer {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::GoalAchievement,
        Self::ToolEfficiency,
        Self::ProcessAdherence,
        Self::ContextEfficiency,
        Self::ErrorHandling,
        Self::OutputQuality,
    ];

    /// As written in a rubric.
    pub fn name(self) -> &'static str {
        match self {
            Self::GoalAchievement => "goal_achievement",
            Self::ToolEfficiency => "tool_efficiency",
            Self::ProcessAdherence => "process_adherence",
            Self::ContextEfficiency => "context_efficiency",
            Self::ErrorHandling => "error_handling",
            Self::OutputQuality => "output_quality",
        }
    }

    /// The scorer of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scorer| scorer.name() == name)
    }

    /// How many levels it tells apart; `None` for one that gives a number. A dimension scored by it has as many,
    /// under names of its own.
    pub fn levels(self) -> Option<usize> {
        match self {
            Self::GoalAchievement | Self::ErrorHandling => Some(4),
            Self::ToolEfficiency | Self::ProcessAdherence | Self::ContextEfficiency | Self::OutputQuality => None,
        }
    }

    /// The numbers it works with. "Per share" amounts are multiplied by a share from 0 to 1, so 0.6 per share of failed
    /// calls takes 0.06 off when a tenth of the calls failed; a `…_cap` is the most its item can take off. What can
    /// happen any number of times goes by its share, or the score would mostly say how long a session was.
    pub fn params(self) -> &'static [Param] {
        match self {
            Self::GoalAchievement => GOAL_ACHIEVEMENT,
            Self::ToolEfficiency => TOOL_EFFICIENCY,
            Self::ProcessAdherence => PROCESS_ADHERENCE,
            Self::ContextEfficiency => CONTEXT_EFFICIENCY,
            Self::ErrorHandling => ERROR_HANDLING,
            Self::OutputQuality => OUTPUT_QUALITY,
        }
    }

    /// This scorer with every parameter at its default.
    pub fn defaults(self) -> Offline {
        Offline { from: self, amounts: self.params().iter().map(|param| param.default).collect() }
    }
}

const fn share(name: &'static str, default: f64, what: &'static str) -> Param {
    Param { name, default, range: Range::Share, what }
}

const fn count(name: &'static str, default: f64, what: &'static str) -> Param {
    Param { name, default, range: Range::Count, what }
}

const GOAL_ACHIEVEMENT: &[Param] = &[
    share("confidence_failed", 0.9, "confidence in a failure shown by hard evidence"),
    share("confidence_accepted", 0.9, "confidence in a result the person accepted in words"),
    share("confidence_verified", 0.8, "confidence in a green run after the last edit that met no complaint"),
    share("undecided", 0.5, "chance of completion shown where facts cannot decide"),
];

const TOOL_EFFICIENCY: &[Param] = &[
    count("min_calls", 5.0, "unscored with fewer tool calls"),
    share("start", 0.9, "score without any item"),
    share("retries", 1.0, "deduction per share of calls that are retries"),
    share("retries_cap", 0.5, "most that retries take off"),
    share("tool_errors", 0.6, "deduction per share of calls that failed"),
    share("tool_errors_cap", 0.3, "most that failed calls take off"),
    share("bash_file_ops", 0.2, "deduction per share of file operations done through the shell"),
    share("missed_parallel", 0.15, "deduction per share of parallel chances missed"),
    count("missed_parallel_min", 4.0, "chances needed before missed or taken ones count"),
    share("refused_edits", 0.4, "deduction per share of edits refused because the file had not been read"),
    share("refused_edits_cap", 0.12, "most that refused edits take off"),
    share("parallel", 0.1, "credit per share of independent calls that ran in parallel"),
];

const PROCESS_ADHERENCE: &[Param] = &[
    count("min_calls", 3.0, "unscored with fewer tool calls"),
    share("start", 0.7, "score without any item"),
    count("planning_from_edits", 3.0, "edited files from which on work counts as long"),
    count("planning_from_calls", 15.0, "tool calls from which on work counts as long"),
    share("planning", 0.1, "credit for a planning tool in long work"),
    share("no_planning", 0.1, "deduction for long work without one"),
    share("blind_edits", 0.4, "deduction per share of edits without a read before them"),
    share("blind_edits_cap", 0.3, "most that blind edits take off"),
    share("verified", 0.2, "credit for a green run after the last source edit"),
    share("unverified", 0.2, "deduction for source edits with no green run after them"),
    share("red_end", 0.15, "deduction when the last run is red"),
    share("unbacked_claims", 0.2, "deduction per share of claims of success with no run behind them"),
    share("unbacked_claims_cap", 0.2, "most that such claims take off"),
    share("skill_by_shell", 0.05, "deduction when a skill was read through the shell"),
];

const CONTEXT_EFFICIENCY: &[Param] = &[
    count("min_reads", 3.0, "unscored with fewer reads"),
    share("start", 0.95, "score without any item"),
    share("rereads", 0.6, "deduction per share of reads that repeat an unchanged range"),
    share("rereads_cap", 0.4, "most that repeated reads take off"),
    share("large_reads", 0.3, "deduction per share of reads that load a large file whole"),
    share("large_reads_cap", 0.15, "most that large reads take off"),
    share("compactions", 0.05, "deduction for each automatic compaction in so many calls"),
    count("compactions_calls", 100.0, "that many; a shorter session counts as this long"),
    share("compactions_cap", 0.2, "most that compactions take off"),
    count("peak_tokens", 150_000.0, "tokens above which the context counts as crowded"),
    share("peak_context", 0.05, "deduction when it was"),
    share("delegation", 0.05, "credit when a subagent did the exploring"),
];

const ERROR_HANDLING: &[Param] = &[
    count("prevented_min_calls", 5.0, "tool calls needed for no error to be the top level"),
    count("struggled_streak", 2.0, "failures of the same call in a row that make it at best the second level"),
    share("struggled_share", 0.2, "share of failed calls that does so too"),
    count("poor_streak", 4.0, "failures of the same call in a row that make it the lowest level"),
    share("poor_unresolved", 0.5, "share of errors nothing resolved that does so too"),
];

const OUTPUT_QUALITY: &[Param] = &[
    count("min_edits", 1.0, "unscored with fewer edits"),
    share("start", 0.8, "score without any item"),
    share("green", 0.15, "credit when the last run after the edits is green"),
    share("red", 0.4, "deduction when it is red"),
    share("reverted_edits", 0.5, "deduction per share of edits that undo an earlier one"),
    share("reverted_edits_cap", 0.2, "most that reverted edits take off"),
];
