//! The command line: what can be asked, and help that teaches how.
#![expect(clippy::doc_markdown, reason = "these comments are shown on a terminal")]

use clap::{Args, Parser, Subcommand, ValueEnum};
use hotwash_core::reports::Page;
use std::path::PathBuf;

/// Grades AI coding sessions: facts, scores and outcomes, each with its evidence.
///
/// Alone, it reads what Claude Code recorded, grades the last seven days up to the newest session, and shows what to look
/// at first. Nothing leaves this machine.
#[derive(Debug, Parser)]
#[command(
    name = "hotwash",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  hotwash                          grade the last 7 days, worst sessions first
  hotwash show last                why the latest session got its grade
  hotwash sessions --sort worst    all sessions of the week
  hotwash score --fail-under 70    exit with 1 if the mean is under 70
  hotwash --example                try it on a made-up week

Exit codes:
  0  done
  1  done, and the score is under --fail-under
  2  could not do it
  3  done in part: something could not be read, kept or archived"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(flatten)]
    pub(crate) select: Select,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What holds for every command.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Global {
    /// The file that facts and scores are kept in [default: hotwash.db in your data folder]
    #[arg(long, global = true, value_name = "PATH", help_heading = "Everywhere")]
    pub(crate) store: Option<PathBuf>,
    /// Keep no copies of transcripts (Claude Code deletes its own after a month)
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) no_archive: bool,
    /// How many files are read at once [default: one per core, up to 8]
    #[arg(long, short, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Everywhere")]
    pub(crate) jobs: Option<u16>,
    /// The rubric to grade by: v2, v1, v0 or a file [default: v2]
    #[arg(long, global = true, value_name = "NAME|FILE", help_heading = "Everywhere")]
    pub(crate) rubric: Option<String>,
    /// Use the bundled example week instead of your transcripts
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) example: bool,
    /// Times in UTC, not in the local zone
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) utc: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", help_heading = "Everywhere")]
    pub(crate) color: Option<Color>,
    /// Use the whole width of the terminal, not 80 columns
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) wide: bool,
    /// Never page long output
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) no_pager: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Which sessions.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Select {
    /// From then on: 24h, 7d, 2w (counted back from the newest session), a date, or all [default: 7d]
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Up to then: 24h, 7d, 2w, or a date, which is included
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Only projects whose folder contains this
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Grade sessions and report every number
    Score(Box<Score>),
    /// List sessions
    #[command(alias = "ls")]
    Sessions(Sessions),
    /// Show why a session got its grade
    Show(Show),
    /// Show the share of sessions that reached their goal, and what would move it
    Prism(Prism),
    /// Show which later sessions took back what one had done
    Rework(Rework),
    /// Count facts in transcript files, each on its own, and keep nothing
    Facts(Facts),
    /// Write sessions as JSON lines or CSV
    Export(Export),
    /// Show what would be taken out of a text before it leaves the machine
    Redact(Redact),
    /// Look at rubrics
    #[command(subcommand)]
    Rubric(Rubric),
    /// Put grades into Langfuse, and read back what people say of sessions there
    Langfuse(Langfuse),
    /// Remove sessions from the store and the archive
    Forget(Forget),
    /// Show every setting and where it comes from
    Config(Config),
    /// Check the store, the archive and the sources
    Doctor(Doctor),
    /// Print a completion script for a shell
    Completions(Completions),
}

/// `hotwash score`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hotwash score                             your sources, the last 7 days
  hotwash score --since all --json          every session, for a program
  hotwash score session.jsonl               one transcript, as it is; nothing is kept
  hotwash score - < session.jsonl           the same from a pipe
  hotwash score ~/old/projects --keep       a folder of transcripts, kept in the store
  hotwash score --fail-under 70             exit with 1 if the mean is under 70 of 100
  hotwash score --judge anthropic --dry-run what a model would be sent, and the bill
  hotwash score --judge claude-cli --max-usd 1
  hotwash score --judge files --judge-dir q questions as files, for anybody to answer
  hotwash score --sink langfuse             the grades in Langfuse too
  hotwash score --source langfuse           sessions that agents recorded in Langfuse
  hotwash score --source langfuse --since 30d --tag claude-code --sample 50

Nothing leaves this machine unless a judge or a sink is named; then only redacted text does.
The JSON is described in docs/json.md.")]
#[command(mut_arg("attach", |arg| arg.requires("sink")), mut_arg("prism", |arg| arg.requires("sink")))]
pub(crate) struct Score {
    /// Transcripts, folders of them, or - for stdin [default: your sources]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) select: Select,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// With --json: every fact of every session
    #[arg(long, requires = "json")]
    pub(crate) facts: bool,
    /// Sessions of subagents too
    #[arg(long)]
    pub(crate) subagents: bool,
    /// Keep sessions of paths in the store too, with copies of the transcripts; otherwise nothing of them is kept
    #[arg(long, requires = "paths")]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) gate: Gate,
    #[command(flatten)]
    pub(crate) judging: Judging,
    /// Take sessions from here instead of transcripts; those scored before are left out unless they went on
    #[arg(long, value_name = "WHERE", conflicts_with = "paths", help_heading = "Langfuse")]
    pub(crate) source: Option<Source>,
    #[command(flatten)]
    pub(crate) pulling: Pulling,
    /// Put the grades somewhere else too; sessions that a model judged from another machine are not judged again
    #[arg(long, value_name = "WHERE", help_heading = "Langfuse")]
    pub(crate) sink: Option<Sink>,
    #[command(flatten)]
    pub(crate) attaching: Attaching,
    #[command(flatten)]
    pub(crate) langfuse: LangfuseAccess,
}

/// When a run fails although nothing went wrong.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Gate {
    /// Exit with 1 if the mean overall score is under this, from 0 to 100; a missed goal counts 49.9 at most
    #[arg(long, value_name = "SCORE", value_parser = percent)]
    pub(crate) fail_under: Option<f64>,
    /// Exit with 1 if the mean process score is under this, from 0 to 100
    #[arg(long, value_name = "SCORE", value_parser = percent)]
    pub(crate) fail_under_process: Option<f64>,
}

/// Where sessions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// What agents recorded in Langfuse; --since counts back from now.
    Langfuse,
}

/// Which sessions are taken from Langfuse.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Langfuse")]
pub(crate) struct Pulling {
    /// Only sessions of this user
    #[arg(long, value_name = "ID", requires = "source")]
    pub(crate) user: Option<String>,
    /// Only sessions with this tag; may be given several times
    #[arg(long, value_name = "TAG", requires = "source")]
    pub(crate) tag: Vec<String>,
    /// Only sessions of this environment; may be given several times
    #[arg(long, value_name = "NAME", requires = "source")]
    pub(crate) environment: Vec<String>,
    /// Only this session, by Langfuse's id
    #[arg(long, value_name = "ID", requires = "source")]
    pub(crate) session: Option<String>,
    /// Only sessions with at least so many traces [default: 3; 1 with --session]
    #[arg(long, value_name = "N", requires = "source")]
    pub(crate) min_traces: Option<usize>,
    /// Only so many of them, picked at random but always the same
    #[arg(long, value_name = "N", requires = "source", value_parser = at_least_one)]
    pub(crate) sample: Option<usize>,
    /// Also sessions that were scored before
    #[arg(long, requires = "source")]
    pub(crate) rescore: bool,
}

/// Where grades go besides the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sink {
    /// Scores in Langfuse.
    Langfuse,
}

/// Where Langfuse is, and the keys to it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Langfuse")]
#[expect(clippy::struct_field_names, reason = "the flags are called so")]
pub(crate) struct LangfuseAccess {
    /// Where Langfuse is; LANGFUSE_HOST says the same [default: cloud.langfuse.com]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) langfuse_host: Option<String>,
    /// The project's public key; better in LANGFUSE_PUBLIC_KEY
    #[arg(long, global = true, value_name = "KEY")]
    pub(crate) langfuse_public_key: Option<String>,
    /// The project's secret key; better in LANGFUSE_SECRET_KEY, where nobody sees it
    #[arg(long, global = true, value_name = "KEY")]
    pub(crate) langfuse_secret_key: Option<String>,
}

/// What scores in Langfuse are attached to, and which.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Langfuse")]
pub(crate) struct Attaching {
    /// Attach scores to Langfuse's session, or to its first trace [default: the session, where ours is all of it]
    #[arg(long, value_name = "WHAT")]
    pub(crate) attach: Option<AttachTo>,
    /// Outcomes too: substance, intent, goal_complete, rework, crushed
    #[arg(long)]
    pub(crate) prism: bool,
}

/// What scores are attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AttachTo {
    /// The session.
    Session,
    /// Its first trace.
    Trace,
}

/// `hotwash langfuse`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  export LANGFUSE_HOST=https://us.cloud.langfuse.com
  export LANGFUSE_PUBLIC_KEY=pk-lf-... LANGFUSE_SECRET_KEY=sk-lf-...
  hotwash langfuse doctor                 does it work?
  hotwash langfuse setup                  the score configs of the rubric
  hotwash score --sink langfuse           grade, and put the grades there
  hotwash langfuse push --since 30d       the same for what is graded already
  hotwash langfuse labels --json          what people say of sessions there
  hotwash langfuse dataset                the same as a dataset of ground truth

Only redacted words leave this machine, nothing of projects that opted out, and
every request is in the log of what was sent. More in docs/langfuse.md.")]
pub(crate) struct Langfuse {
    #[command(flatten)]
    pub(crate) access: LangfuseAccess,
    #[command(subcommand)]
    pub(crate) command: LangfuseCommand,
}

impl Langfuse {
    /// Since when, where the command has a say in it.
    pub(crate) fn since(&self) -> Option<&str> {
        match &self.command {
            LangfuseCommand::Push(push) => push.select.since.as_deref(),
            _ => None,
        }
    }
}

/// What to do with Langfuse.
#[derive(Debug, Subcommand)]
pub(crate) enum LangfuseCommand {
    /// Make the score configs of the rubric, or adopt those that are there
    Setup {
        /// Change those that differ
        #[arg(long)]
        force: bool,
        /// Those of outcomes too
        #[arg(long)]
        prism: bool,
        /// One JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Write the grades of sessions; what is there already stays as it is
    Push(LangfusePush),
    /// List what people say of sessions
    Labels {
        #[command(flatten)]
        labels: LangfuseLabels,
        #[command(flatten)]
        part: Part,
    },
    /// Keep what people say of sessions as a dataset of ground truth
    Dataset {
        #[command(flatten)]
        labels: LangfuseLabels,
        /// What it is called
        #[arg(long, value_name = "NAME", default_value = hotwash_engine::sinks::langfuse::dataset::NAME)]
        name: String,
    },
    /// Check host, keys, clock and configs, and write, read and delete a score
    Doctor {
        /// One JSON document on stdout
        #[arg(long)]
        json: bool,
    },
}

/// `hotwash langfuse push`
#[derive(Args, Debug)]
pub(crate) struct LangfusePush {
    #[command(flatten)]
    pub(crate) select: Select,
    /// Only this session, by the beginning of its id or of the agent's own; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) session: Vec<String>,
    /// Replace verdicts that are newer there
    #[arg(long)]
    pub(crate) force: bool,
    /// Say what would be written, and write nothing; what is there is read
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) attaching: Attaching,
}

/// `hotwash langfuse labels`
#[derive(Args, Debug)]
pub(crate) struct LangfuseLabels {
    /// Given since then: 24h, 30d, 2w, a date, or all
    #[arg(long, value_name = "WHEN", default_value = "90d")]
    pub(crate) since: String,
    /// Annotations without an author too, which programs write
    #[arg(long)]
    pub(crate) unsigned: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// Judging by a model.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Judging by a model")]
pub(crate) struct Judging {
    /// Who grades: offline, anthropic, anthropic-batch, claude-cli, openai or files, with a model behind a
    /// colon; two for a second look where the first is not sure [default: offline]
    #[arg(long, value_name = "JUDGE[:MODEL]")]
    pub(crate) judge: Option<String>,
    /// Print the exact bytes that would be sent and what they would cost, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Never spend more than this, checked before every call
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) max_usd: Option<String>,
    /// With --judge files: where questions are written and answers looked for [default: hotwash-judge]
    #[arg(long, value_name = "DIR")]
    pub(crate) judge_dir: Option<PathBuf>,
    /// What to ask: outcome, which brings intent, and quality; topic asks first where other goals begin, and
    /// cuts sessions there; all is everything [default: outcome,quality]
    #[arg(long, value_name = "TASKS")]
    pub(crate) tasks: Option<String>,
    /// Let the rubric's critics score their dimensions apart
    #[arg(long)]
    pub(crate) panel: bool,
    /// How much of a session a judge is shown, in tokens; only what decides may take more [default: 12000]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1000..=400_000))]
    pub(crate) budget: Option<u32>,
    /// How many questions may be under way at once [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) concurrency: Option<u16>,
    /// What a model costs that has no price here: dollars per million tokens read and written, such as 0.5,2
    #[arg(long, value_name = "IN,OUT")]
    pub(crate) judge_price: Option<String>,
}

/// `hotwash sessions`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hotwash sessions                        the week, newest first
  hotwash sessions --sort worst           the lowest grades first
  hotwash sessions --tier poor --tier failed
  hotwash sessions --since all --project shop --search checkout
  hotwash sessions --page 2               the next 20")]
pub(crate) struct Sessions {
    #[command(flatten)]
    pub(crate) select: Select,
    /// The order
    #[arg(long, value_name = "ORDER", default_value = "newest")]
    pub(crate) sort: Sort,
    /// Only this tier; may be given several times
    #[arg(long, value_name = "TIER")]
    pub(crate) tier: Vec<String>,
    /// Only titles that contain all of these words
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Sessions of subagents too
    #[arg(long)]
    pub(crate) subagents: bool,
    /// Say why each session begins where it does and what was joined
    #[arg(long)]
    pub(crate) why: bool,
    #[command(flatten)]
    pub(crate) part: Part,
    /// Which page of --limit
    #[arg(long, value_name = "N", conflicts_with = "offset", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) page: Option<u32>,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which part of a list.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    /// At most so many [default: 20 sessions, all of anything else]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Leave out so many at the start
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) offset: u32,
}

impl Part {
    /// The part, for a list that is whole unless a limit is given.
    pub(crate) fn page(self) -> Page {
        Page { offset: self.offset as usize, limit: self.limit.map(|limit| limit as usize) }
    }
}

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// Missed goals first, by overall score; then undecided sessions, by process score; then the rest.
    Worst,
    /// The latest first.
    Newest,
    /// The longest active time first.
    Longest,
    /// The dearest first, subagents included.
    Cost,
}

/// `hotwash prism`
#[derive(Args, Debug)]
#[command(after_help = "\
PRISM is the percentage of sessions that crushed their goal: something of substance happened, the goal was
reached, and no later session took the work back. Sessions without substance or goal count on neither side, and
neither do those that the evidence does not decide. Facts decide offline; a model judge can decide the rest.

Examples:
  hotwash prism                    the last 7 days
  hotwash prism --by intent        bug fixes, features, questions, ...
  hotwash prism --by week --since all --json")]
pub(crate) struct Prism {
    #[command(flatten)]
    pub(crate) select: Select,
    /// One score for each
    #[arg(long, value_name = "WHAT")]
    pub(crate) by: Option<By>,
    #[command(flatten)]
    pub(crate) part: Part,
    /// Also ask the git repositories whether the work was reverted or is gone
    #[arg(long)]
    pub(crate) git: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a score is given for each of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The working directory.
    Project,
    /// The ISO week in which sessions ended.
    Week,
    /// The model that answered first.
    Model,
    /// The coding agent.
    Agent,
    /// What people were after.
    Intent,
}

impl By {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            By::Project => "project",
            By::Week => "week",
            By::Model => "model",
            By::Agent => "agent",
            By::Intent => "intent",
        }
    }
}

/// `hotwash rework`
#[derive(Args, Debug)]
pub(crate) struct Rework {
    /// The session: its id, or the beginning of it; `last` is the latest
    pub(crate) id: String,
    /// Also ask the git repository whether the work was reverted or is gone [default: the session's folder]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = "")]
    pub(crate) git: Option<String>,
    #[command(flatten)]
    pub(crate) part: Part,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// `hotwash show`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hotwash show last            the latest session
  hotwash show 1f8c            by the beginning of its id, or of Claude Code's own
  hotwash show 1f8c e41        one event, whole
  hotwash show 1f8c --all      every call, none folded away
  hotwash show 1f8c --events   every event

An event's id is the number of its line in the transcript. Cited events are marked with *,
what a subagent did within the same transcript with |.")]
pub(crate) struct Show {
    /// The beginning of a session's id, or `last`
    pub(crate) id: String,
    /// An event, such as e41, to be printed whole
    pub(crate) event: Option<String>,
    /// The same, as an option
    #[arg(long = "event", value_name = "EVENT", conflicts_with = "event")]
    pub(crate) event_option: Option<String>,
    /// Fold nothing away
    #[arg(long)]
    pub(crate) all: bool,
    /// Every event instead of turns
    #[arg(long)]
    pub(crate) events: bool,
    /// One JSON document on stdout: the session as in `score --json`, with its facts
    #[arg(long)]
    pub(crate) json: bool,
}

/// `hotwash facts`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hotwash facts session.jsonl                what was counted in it
  hotwash facts ~/.claude/projects --json    one JSON object per transcript and line")]
pub(crate) struct Facts {
    /// Transcripts, folders of them, or - for stdin
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// One JSON object per transcript and line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `hotwash export`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hotwash export --format csv --since all -o sessions.csv
  hotwash export --format jsonl | jq .overall

The columns are described in docs/json.md.")]
pub(crate) struct Export {
    /// The format
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) select: Select,
    /// Sessions of subagents too
    #[arg(long)]
    pub(crate) subagents: bool,
    #[command(flatten)]
    pub(crate) part: Part,
    /// Write here instead of to stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// A format of `hotwash export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object per session and line, with its facts.
    Jsonl,
    /// A table with fixed columns, quoted as RFC 4180 says.
    Csv,
}

/// `hotwash redact`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hotwash redact notes.md              what would be replaced, and with what
  hotwash redact notes.md --text       the text as a judge would see it
  git diff | hotwash redact -          the same for a pipe

Equal values get equal placeholders, so that a reader can follow one through a text. What is kept
in the store or sent to a judge has been through this; see also --dry-run of `hotwash score`.")]
pub(crate) struct Redact {
    /// A text file, or - for stdin
    pub(crate) file: PathBuf,
    /// Print the redacted text instead of the list
    #[arg(long, conflicts_with = "json")]
    pub(crate) text: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// `hotwash rubric`
#[derive(Debug, Subcommand)]
pub(crate) enum Rubric {
    /// The rubrics that come with hotwash
    List,
    /// A rubric's dimensions, weights and levels
    Show {
        /// v2, v1, v0 or a file [default: the one in use]
        rubric: Option<String>,
        /// The file itself, to start one of your own from
        #[arg(long)]
        source: bool,
    },
    /// Check a rubric file: every problem with its line and rule
    Check {
        /// The file
        file: PathBuf,
    },
}

/// `hotwash forget`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hotwash forget 1f8c                    one session
  hotwash forget --project secret-lab    a project
  hotwash forget --until 2026-06-30      everything up to a day

Claude Code's own files are not touched, and are not read again.")]
pub(crate) struct Forget {
    /// The beginning of a session's id, or `last`
    pub(crate) id: Option<String>,
    /// Projects whose folder contains this
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    /// From then on
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Up to then
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// `hotwash config`
#[derive(Args, Debug)]
pub(crate) struct Config {
    /// Every environment variable and what it does
    #[arg(long)]
    pub(crate) variables: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// `hotwash doctor`
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// `hotwash completions`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hotwash completions bash > ~/.local/share/bash-completion/completions/hotwash
  hotwash completions zsh > ~/.zfunc/_hotwash
  hotwash completions fish > ~/.config/fish/completions/hotwash.fish")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

pub(crate) fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number),
        _ => Err("not a number from 0 to 100".into()),
    }
}

/// A number of things of which none would be nothing to do.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".into()),
        Ok(n) => Ok(n),
        Err(_) => Err("not a number".into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound() {
        super::Cli::command().debug_assert();
    }
}
