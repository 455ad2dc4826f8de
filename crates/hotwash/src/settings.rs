//! Settings, resolved once: flag, then environment, then project file, then user file, then default.
//!
//! Below [`resolve`] nobody asks the environment anything.

use crate::cli::{self, Color, Gate, Global, Judging, LangfuseAccess};
use crate::env::{self, Environment};
use crate::errors::Failure;
use crate::judge_settings::{self, Named};
use crate::screen::text::words;
use crate::window;
use clap::ValueEnum;
use hotwash_core::evidence::BUDGET;
use hotwash_core::prompts::Task;
use hotwash_core::rubric::Rubric;
use hotwash_core::verdicts::Thresholds;
use hotwash_engine::net::Key;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The project's settings, in its folder or one above it.
const PROJECT_FILE: &str = ".hotwash.toml";
/// How many files are read at once unless somebody asks for more. Each reader takes two to three megabytes, and all that is
/// done by one thread, keeping and settling what was read, takes about as long as eight readers need.
const MOST_READERS: usize = 8;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// A flag on the command line.
    Flag,
    /// An environment variable.
    Variable(&'static str),
    /// The project's file, and the line there.
    Project(PathBuf, usize),
    /// The user's file, and the line there.
    User(PathBuf, usize),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::Flag => f.write_str("flag"),
            Layer::Variable(name) => write!(f, "environment {name}"),
            Layer::Project(path, _) => write!(f, "project {}", path.display()),
            Layer::User(path, _) => write!(f, "user {}", path.display()),
            Layer::Default => f.write_str("default"),
        }
    }
}

impl Layer {
    /// Adds to a failure where the value that led to it was set, unless that is the command line.
    pub(crate) fn blame(&self, failure: Failure) -> Failure {
        match self {
            Layer::Flag | Layer::Default => failure,
            Layer::Variable(name) => failure.cause(format!("{name} says so")),
            Layer::Project(path, line) | Layer::User(path, line) => {
                failure.cause(format!("line {line} of the settings file {} says so", path.display()))
            }
        }
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Setting<T> {
    /// The value.
    pub(crate) value: T,
    /// Where it comes from.
    pub(crate) from: Layer,
}

/// What a run works with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Where facts and scores are kept.
    pub(crate) store: Setting<PathBuf>,
    /// Whether transcripts are kept too.
    pub(crate) archive: Setting<bool>,
    /// How many files are read at once.
    pub(crate) jobs: Setting<usize>,
    /// A rubric's name or file.
    pub(crate) rubric: Setting<String>,
    /// The models that grade; none where the offline judge does alone.
    pub(crate) judge: Setting<Vec<Named>>,
    /// The model for quality and outcome; empty for the backend's own.
    pub(crate) judge_model: Setting<String>,
    /// The model for what is easier; empty for the backend's own.
    pub(crate) judge_small_model: Setting<String>,
    /// Where questions are written for whoever answers files.
    pub(crate) judge_dir: Setting<PathBuf>,
    /// What models are asked.
    pub(crate) tasks: Setting<Vec<Task>>,
    /// The rubric's critics score apart.
    pub(crate) panel: Setting<bool>,
    /// What a run may spend, in dollars.
    pub(crate) max_usd: Setting<Option<f64>>,
    /// How many questions may be under way at once.
    pub(crate) budget: Setting<usize>,
    pub(crate) concurrency: Setting<usize>,
    /// Dollars per million tokens of a model that has no price here.
    pub(crate) judge_price: Setting<Option<(f64, f64)>>,
    /// How likely a goal must be reached for a model to call it so, by intent, where it differs from the usual.
    pub(crate) thresholds: Setting<Thresholds>,
    /// Projects of which nothing reaches a model: their folders contain one of these.
    pub(crate) opt_out: Setting<Vec<String>>,
    /// Whether anything may reach a model at all.
    pub(crate) share: Setting<bool>,
    /// Where the Messages API is.
    pub(crate) anthropic_url: Setting<String>,
    /// Where an endpoint is that speaks as OpenAI's does.
    pub(crate) openai_url: Setting<String>,
    /// Where Langfuse is.
    pub(crate) langfuse_host: Setting<String>,
    /// The public key of a project there.
    pub(crate) langfuse_public_key: Setting<Key>,
    /// The secret key of that project.
    pub(crate) langfuse_secret_key: Setting<Key>,
    /// How far back to look.
    pub(crate) since: Setting<String>,
    /// The lowest mean overall score, from 0 to 100, that `score` takes for good.
    pub(crate) fail_under: Setting<Option<f64>>,
    /// The lowest mean process score, from 0 to 100, that `score` takes for good.
    pub(crate) fail_under_process: Setting<Option<f64>>,
    /// Times in UTC.
    pub(crate) utc: Setting<bool>,
    /// When to use colour.
    pub(crate) color: Setting<Color>,
    /// The whole width of the terminal.
    pub(crate) wide: Setting<bool>,
    /// The pager's command; empty for none.
    pub(crate) pager: Setting<String>,
    /// Claude Code's folders.
    pub(crate) sources: Setting<Vec<PathBuf>>,
    /// The bundled example week instead of sources.
    pub(crate) example: bool,
    /// Settings files that were read or looked for: path, and whether it is there.
    pub(crate) files: Vec<(PathBuf, bool)>,
}

/// Every key of a settings file, with what it may be.
const KEYS: &[(&str, &str)] = &[
    ("store", "a path"),
    ("archive", "true or false"),
    ("jobs", "a number from 1"),
    ("rubric", "v2, v1, v0 or a file"),
    ("judge", "offline, or one or two of anthropic, anthropic-batch, claude-cli, openai, files, with :MODEL"),
    ("judge_model", "a model's name"),
    ("judge_small_model", "a model's name"),
    ("judge_dir", "a folder"),
    ("tasks", "outcome, quality and topic, with commas between, or all; intent comes along with outcome"),
    ("panel", "true or false"),
    ("max_usd", "an amount in dollars"),
    ("budget", "a number of tokens from 1000 to 400000"),
    ("concurrency", "a number from 1 to 256"),
    ("judge_price", "two prices in dollars per million tokens, read and written"),
    (
        "thresholds",
        "numbers from 0 to 1 for complete, failed and any intent, such as complete=0.7,failed=0.4,bug_fix=0.8",
    ),
    ("opt_out", "a list of folders"),
    ("share", "true or false"),
    ("anthropic_url", "a URL"),
    ("openai_url", "a URL"),
    ("langfuse_host", "a URL"),
    ("langfuse_public_key", "a key"),
    ("langfuse_secret_key", "a key"),
    ("since", "24h, 7d, 2w, a date or all"),
    ("fail_under", "a number from 0 to 100"),
    ("fail_under_process", "a number from 0 to 100"),
    ("utc", "true or false"),
    ("color", "auto, always or never"),
    ("wide", "true or false"),
    ("pager", "a command"),
    ("sources", "a list of folders"),
];

/// A project's file may come from a stranger: it must not name programs to run, files to write or folders to read, and
/// must not have anything sent anywhere.
const NOT_IN_A_PROJECT: &[&str] = &[
    "store",
    "pager",
    "sources",
    "judge",
    "judge_model",
    "judge_small_model",
    "judge_dir",
    "tasks",
    "panel",
    "max_usd",
    "budget",
    "concurrency",
    "judge_price",
    "anthropic_url",
    "openai_url",
    "langfuse_host",
    "langfuse_public_key",
    "langfuse_secret_key",
];

/// Settles every setting. `judging`, `langfuse`, `since` and `gate` are flags of some commands only.
pub(crate) fn resolve(
    global: Global,
    judging: Judging,
    langfuse: LangfuseAccess,
    since: Option<String>,
    gate: Gate,
    env: &Environment,
) -> Result<Settings, Failure> {
    // No `..`: a new flag fails to compile until it is used.
    let Global { store, no_archive, jobs, rubric, example, utc, color, wide, no_pager } = global;
    let Judging { judge, dry_run: _, max_usd, judge_dir, tasks, panel, budget, concurrency, judge_price } = judging;
    let Gate { fail_under, fail_under_process } = gate;
    let LangfuseAccess { langfuse_host, langfuse_public_key, langfuse_secret_key } = langfuse;
    let checked = |flag: &str, text: Option<String>, fits: &dyn Fn(&str) -> bool| match text {
        Some(text) if !fits(&text) => {
            let key = flag.trim_start_matches('-').replace('-', "_");
            let expected = KEYS.iter().find(|(known, _)| *known == key).map_or("", |(_, form)| form);
            Err(Failure::new(format!("{flag} is `{text}`, which is not {expected}"))
                .hint("`hotwash score --help` has examples"))
        }
        other => Ok(other),
    };
    let judge = checked("--judge", judge, &|text| judge_settings::judges(text).is_some())?;
    let tasks = checked("--tasks", tasks, &|text| judge_settings::tasks(text).is_some())?;
    let max_usd = checked("--max-usd", max_usd, &|text| dollars(text).is_some())?;
    let judge_price = checked("--judge-price", judge_price, &|text| judge_settings::price(text).is_some())?;
    let percent = |text: &str| cli::percent(text).ok().map(Some);
    let project_path = env.folder.ancestors().map(|folder| folder.join(PROJECT_FILE)).find(|path| path.is_file());
    let places = env.folders();
    let user_path = places.settings.map(PathBuf::from);
    let layers = Layers {
        env,
        project: project_path.as_deref().map(File::read).transpose()?,
        user: user_path.as_deref().filter(|path| path.is_file()).map(File::read).transpose()?,
    };
    if let Some(project) = &layers.project
        && let Some(key) = NOT_IN_A_PROJECT.iter().find(|key| project.get(key).is_some())
    {
        let own = user_path.unwrap_or_default();
        return Err(Failure::new(format!("`{key}` cannot be set in a project's file, {}", project.path.display()))
            .hint(format!("set it in your own file, {}", own.display())));
    }

    let home = places.home.map(PathBuf::from);
    let expand = |text: &str| match (text.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    };
    let text = |text: &str| Some(text.to_owned());
    let path = |text: &str| Some(expand(text));
    let folders = |text: &str| {
        Some(text.split(',').map(str::trim).filter(|folder| !folder.is_empty()).map(&expand).collect::<Vec<_>>())
    };
    let key = |text: &str| Some(Key::new(text));
    let number = |text: &str| text.parse().ok().filter(|jobs| *jobs > 0);

    let readers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MOST_READERS);
    let store_here = || places.store.map_or_else(|| env.folder.join("hotwash").join("hotwash.db"), PathBuf::from);
    let usual_folders = || {
        let [usual, other] = places.claude.map(|folder| folder.map(PathBuf::from));
        let usual = usual.unwrap_or_else(|| "~/.claude".into());
        [Some(usual), other.filter(|folder| folder.is_dir())].into_iter().flatten().collect()
    };
    let mut settings = Settings {
        store: layers.pick("store", store, &[env::STORE], path, store_here)?,
        archive: layers.pick("archive", no_archive.then_some(false), &[], yes_or_no, || true)?,
        jobs: layers.pick("jobs", jobs.map(usize::from), &[env::JOBS], number, || readers)?,
        rubric: layers.pick("rubric", rubric, &[env::RUBRIC], text, || "v2".into())?,
        judge: layers.pick(
            "judge",
            judge.as_deref().and_then(judge_settings::judges),
            &[env::JUDGE],
            judge_settings::judges,
            Vec::new,
        )?,
        judge_model: layers.pick("judge_model", None, &[env::JUDGE_MODEL], text, String::new)?,
        judge_small_model: layers.pick("judge_small_model", None, &[env::JUDGE_SMALL_MODEL], text, String::new)?,
        judge_dir: layers.pick("judge_dir", judge_dir, &[], path, || "hotwash-judge".into())?,
        tasks: layers.pick(
            "tasks",
            tasks.as_deref().and_then(judge_settings::tasks),
            &[],
            judge_settings::tasks,
            || vec![Task::Intent, Task::Outcome, Task::Quality],
        )?,
        panel: layers.pick("panel", panel.then_some(true), &[], yes_or_no, || false)?,
        max_usd: layers.pick(
            "max_usd",
            max_usd.as_deref().and_then(dollars).map(Some),
            &[env::MAX_USD],
            |text| dollars(text).map(Some),
            || None,
        )?,
        budget: layers.pick(
            "budget",
            budget.map(|tokens| tokens as usize),
            &[],
            |text| number(text).filter(|n| (1000..=400_000).contains(n)),
            || BUDGET,
        )?,
        concurrency: layers.pick(
            "concurrency",
            concurrency.map(usize::from),
            &[],
            |text| number(text).filter(|n| *n <= 256),
            || 4,
        )?,
        judge_price: layers.pick(
            "judge_price",
            judge_price.as_deref().and_then(judge_settings::price).map(Some),
            &[],
            |text| judge_settings::price(text).map(Some),
            || None,
        )?,
        thresholds: layers.pick("thresholds", None, &[], judge_settings::thresholds, Thresholds::default)?,
        opt_out: layers.pick("opt_out", None, &[], |text| Some(words_of(text)), Vec::new)?,
        share: layers.pick("share", None, &[], yes_or_no, || true)?,
        anthropic_url: layers
            .pick("anthropic_url", None, &[env::ANTHROPIC_BASE_URL], url, || "https://api.anthropic.com".into())?,
        openai_url: layers
            .pick("openai_url", None, &[env::OPENAI_BASE_URL], url, || "https://api.openai.com/v1".into())?,
        langfuse_host: layers.pick(
            "langfuse_host",
            langfuse_host,
            &[env::LANGFUSE_HOST, env::LANGFUSE_BASE_URL],
            url,
            || "https://cloud.langfuse.com".into(),
        )?,
        langfuse_public_key: layers.pick(
            "langfuse_public_key",
            langfuse_public_key.as_deref().map(Key::new),
            &[env::LANGFUSE_PUBLIC_KEY],
            key,
            || Key::new(""),
        )?,
        langfuse_secret_key: layers.pick(
            "langfuse_secret_key",
            langfuse_secret_key.as_deref().map(Key::new),
            &[env::LANGFUSE_SECRET_KEY],
            key,
            || Key::new(""),
        )?,
        since: layers.pick(
            "since",
            since,
            &[env::SINCE],
            |text| window::is_time(text).then(|| text.to_owned()),
            || "7d".into(),
        )?,
        fail_under: layers.pick("fail_under", fail_under.map(Some), &[], percent, || None)?,
        fail_under_process: layers.pick("fail_under_process", fail_under_process.map(Some), &[], percent, || None)?,
        utc: layers.pick("utc", utc.then_some(true), &[env::UTC], yes_or_no, || false)?,
        color: layers.pick("color", color, &[env::COLOR], choice, || Color::Auto)?,
        wide: layers.pick("wide", wide.then_some(true), &[env::WIDE], yes_or_no, || false)?,
        pager: layers.pick("pager", no_pager.then(String::new), &[env::HOTWASH_PAGER, env::PAGER], text, || {
            "less -FRX".into()
        })?,
        sources: layers.pick("sources", None, &[env::CLAUDE_CONFIG_DIR], folders, usual_folders)?,
        example,
        files: project_path
            .into_iter()
            .chain(user_path)
            .map(|path| {
                let there = path.is_file();
                (path, there)
            })
            .collect(),
    };
    // A rubric's file is named from where the setting stands.
    if let Layer::Project(file, _) | Layer::User(file, _) = &settings.rubric.from
        && Rubric::shipped(&settings.rubric.value).is_none()
    {
        let folder = file.parent().unwrap_or(Path::new(""));
        settings.rubric.value = folder.join(expand(&settings.rubric.value)).display().to_string();
    }
    // Variables that say no where the setting says yes.
    if settings.archive.from != Layer::Flag && env.get(env::NO_ARCHIVE).and_then(yes_or_no) == Some(true) {
        settings.archive = Setting { value: false, from: Layer::Variable(env::NO_ARCHIVE) };
    }
    let asked = matches!(settings.color.from, Layer::Flag | Layer::Variable(_));
    if !asked && env.get(env::NO_COLOR).is_some() {
        settings.color = Setting { value: Color::Never, from: Layer::Variable(env::NO_COLOR) };
    }
    Ok(settings)
}

/// Whether the project in a folder lets its sessions reach a model: no file above it says `share = false`. A file that
/// cannot be read might.
pub(crate) fn shares(folder: &Path) -> bool {
    folder.ancestors().map(|folder| folder.join(PROJECT_FILE)).filter(|path| path.exists()).all(|path| {
        let table = std::fs::read_to_string(&path).ok().and_then(|text| toml::from_str::<toml::Table>(&text).ok());
        table.is_some_and(|table| table.get("share").is_none_or(|share| yes_or_no(&plain(share)) == Some(true)))
    })
}

struct Layers<'a> {
    env: &'a Environment,
    project: Option<File>,
    user: Option<File>,
}

impl Layers<'_> {
    /// The first layer that says something.
    fn pick<T>(
        &self,
        key: &'static str,
        flag: Option<T>,
        variables: &[&'static str],
        read: impl Fn(&str) -> Option<T>,
        otherwise: impl FnOnce() -> T,
    ) -> Result<Setting<T>, Failure> {
        if let Some(value) = flag {
            return Ok(Setting { value, from: Layer::Flag });
        }
        let expected = || KEYS.iter().find(|(known, _)| *known == key).map_or("", |(_, form)| form);
        for &variable in variables {
            if let Some(text) = self.env.get(variable) {
                let value = read(text).ok_or_else(|| {
                    Failure::new(format!("{variable} is `{text}`, which is not {}", expected()))
                        .hint("`hotwash config --variables` lists the variables")
                })?;
                return Ok(Setting { value, from: Layer::Variable(variable) });
            }
        }
        let files = [
            self.project.as_ref().map(|file| (file, Layer::Project(file.path.clone(), file.line(key)))),
            self.user.as_ref().map(|file| (file, Layer::User(file.path.clone(), file.line(key)))),
        ];
        for (file, from) in files.into_iter().flatten() {
            if let Some(text) = file.get(key) {
                let value = read(&text).ok_or_else(|| {
                    Failure::new(format!("cannot use the settings file {}", file.path.display())).cause(format!(
                        "line {}: `{key}` is `{text}`, which is not {}",
                        file.line(key),
                        expected()
                    ))
                })?;
                return Ok(Setting { value, from });
            }
        }
        Ok(Setting { value: otherwise(), from: Layer::Default })
    }
}

/// A settings file. Values are kept as they would stand in a variable.
struct File {
    path: PathBuf,
    text: String,
    values: BTreeMap<String, String>,
}

impl File {
    fn read(path: &Path) -> Result<File, Failure> {
        let cannot = || Failure::new(format!("cannot read the settings file {}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| cannot().cause(words(&error)))?;
        let table: toml::Table = toml::from_str(&text).map_err(|error: toml::de::Error| {
            let before = error.span().map_or(0, |span| span.start);
            let line = 1 + text.bytes().take(before).filter(|byte| *byte == b'\n').count();
            cannot().cause(format!("line {line}: {}", error.message()))
        })?;
        let mut file = File { path: path.to_path_buf(), text, values: BTreeMap::new() };
        for (key, value) in table {
            if !KEYS.iter().any(|(known, _)| *known == key) {
                let keys: Vec<&str> = KEYS.iter().map(|(known, _)| *known).collect();
                return Err(cannot()
                    .cause(format!("line {}: there is no setting `{key}`", file.line(&key)))
                    .hint(format!("the settings are {}", keys.join(", "))));
            }
            file.values.insert(key, plain(&value));
        }
        Ok(file)
    }

    fn get(&self, key: &str) -> Option<String> {
        self.values.get(key).cloned()
    }

    /// The line that a key stands on.
    fn line(&self, key: &str) -> usize {
        let here =
            |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
        1 + self.text.lines().position(here).unwrap_or(0)
    }
}

/// A value as it would stand in a variable.
fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(","),
        toml::Value::Boolean(yes) => yes.to_string(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Datetime(day) => day.to_string(),
        toml::Value::Table(_) => "a table".into(),
    }
}

fn yes_or_no(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn dollars(text: &str) -> Option<f64> {
    text.trim().trim_start_matches('$').parse::<f64>().ok().filter(|dollars| dollars.is_finite() && *dollars >= 0.0)
}

fn url(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('/');
    (text.starts_with("https://") || text.starts_with("http://")).then(|| text.to_owned())
}

fn words_of(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn choice<T: ValueEnum>(text: &str) -> Option<T> {
    T::from_str(text, true).ok()
}
