//! Langfuse as the place where sessions come from: which are wanted, and what became of them.

use crate::cli::{Pulling, Score};
use crate::commands::Context;
use crate::errors::{Exit, Failure};
use crate::langfuse;
use crate::machine::{self, NewKey};
use crate::run::now_ns;
use crate::screen::numbers::{count, grouped};
use crate::screen::progress::SessionsBar;
use crate::screen::text::wrap;
use crate::screen::{self, Screen};
use crate::window::back_from_now;
use hotwash_core::redaction::redact;
use hotwash_core::rubric::Rubric;
use hotwash_core::sessions::Timestamp;
use hotwash_engine::langfuse::Window;
use hotwash_engine::sinks::langfuse::scored::Scored;
use hotwash_engine::sources::langfuse as source;
use hotwash_engine::sources::langfuse::keep::Folder;
use hotwash_engine::sources::langfuse::pull::{self, Around, Known, PullError, Pulled, Wanted};
use hotwash_engine::stores::{Query, Role, Row, Sqlite, Store, StoreError};
use std::collections::{HashMap, HashSet};

/// How many sessions that could not be pulled are named.
const NAMED: usize = 3;
/// Clocks differ: what is from a little after now is wanted too.
const AHEAD_MS: i64 = 3_600_000;
/// Fewer traces than this are hardly a session.
const MIN_TRACES: usize = 3;

/// Pulls what is wanted, and says what became of it.
pub(crate) fn pull(context: &Context<'_>, args: &Score) -> Result<Pulled, Failure> {
    let Context { settings, env, screen, .. } = context;
    if settings.example {
        return Err(
            Failure::new("--example is the bundled week, and a source was given too").hint("leave one of the two out")
        );
    }
    let rubric = crate::run::rubric_of(settings)?;
    let client = langfuse::connect(context)?;
    let now = Timestamp(now_ns() / 1_000_000);
    let from = back_from_now(&settings.since.value, now, &screen.clock)?;
    let store = env.folder.join(&settings.store.value);
    let store = std::path::absolute(&store).unwrap_or(store);
    let folder = Folder::beside(&store, client.host(), &client.project().id);
    folder.tidy(now);
    let before = Before::of(context, &rubric)?;
    let Pulling { user, tag, environment, session, min_traces, sample, rescore } = &args.pulling;
    let wanted = Wanted {
        window: Window { from, to: Timestamp(now.0 + AHEAD_MS) },
        user: user.as_deref(),
        tags: tag,
        environments: environment,
        session: session.as_deref(),
        // Who names a session means it.
        min_traces: min_traces.unwrap_or(if session.is_some() { 1 } else { MIN_TRACES }),
        sample: *sample,
        rescore: *rescore,
    };
    let bar = SessionsBar::new("pulling");
    let models = !settings.judge.value.is_empty();
    let around = Around {
        known: &|session, file| before.knows(session, &file.to_string_lossy()),
        already_scored: &|seen| {
            let scored = Scored::read(&client, &rubric, models, wanted.window, seen)?;
            Ok(seen.iter().map(|seen| scored.covers(seen)).collect())
        },
        progress: &|done, of| bar.tell(done, of),
    };
    let pulled = pull::pull(&client, &folder, &wanted, &around);
    bar.clear();
    let pulled = pulled.map_err(|error| match error {
        PullError::Langfuse(error) => langfuse::failure(error),
        PullError::Disk(_) => Failure::new(error.to_string()),
    })?;
    screen::stderr(&told(&pulled, screen));
    Ok(pulled)
}

/// What is in the store before anything is pulled.
#[derive(Default)]
struct Before {
    on_disk: HashSet<String>,
    pulled: HashMap<String, Role>,
    /// Files with a session that the judge at hand has not scored.
    unscored: HashSet<String>,
}

impl Before {
    fn of(context: &Context<'_>, rubric: &Rubric) -> Result<Before, Failure> {
        let rules = machine::rules(context.env, &context.settings.store.value, NewKey::Keep);
        let store = match Sqlite::open(&context.settings.store.value, rules) {
            Err(error) if error.only_writing_fails() => return Ok(Before::default()),
            store => store?,
        };
        Ok(Before::in_store(&store, rubric, !context.settings.judge.value.is_empty())?)
    }

    /// Where a model is to judge, what the offline judge said does not count.
    fn in_store(store: &dyn Store, rubric: &Rubric, models: bool) -> Result<Before, StoreError> {
        let files = store.files()?.into_iter().filter(|file| file.state.agent == source::NAME);
        let pulled: HashMap<String, Role> = files.map(|file| (file.state.path, file.became.role)).collect();
        let query = Query { subagents: true, without_facts: true, rubric_hash: rubric.hash(), ..Query::default() };
        let (here, others): (Vec<Row>, Vec<Row>) =
            store.sessions(&query)?.into_iter().partition(|row| pulled.contains_key(&row.path));
        let on_disk = others.into_iter().map(|row| row.session.recorded).filter(|id| !id.is_empty()).collect();
        let unscored = here.into_iter().filter(|row| row.grade.is_none() || (models && row.judged.is_none()));
        let unscored = unscored.map(|row| row.path).collect();
        Ok(Before { on_disk, pulled, unscored })
    }

    fn knows(&self, session: &str, file: &str) -> Known {
        match self.pulled.get(file) {
            Some(Role::Forgotten) => Known::Forgotten,
            _ if self.on_disk.contains(session) => Known::OnDisk,
            Some(_) if self.unscored.contains(file) => Known::Unscored,
            Some(_) => Known::Here,
            None => Known::No,
        }
    }
}

/// What became of the sessions that Langfuse has, in words.
fn told(pulled: &Pulled, screen: &Screen) -> String {
    let became = [
        (pulled.pulled, "pulled"),
        (pulled.unchanged, "as they were"),
        (pulled.scored, "scored before (--rescore grades them again)"),
        (pulled.scored_elsewhere, "scored from another machine (--rescore grades them here too)"),
        (pulled.too_small, "with too few traces (--min-traces)"),
        (pulled.on_disk, "on this machine already"),
        (pulled.forgotten, "forgotten"),
        (pulled.left_out, "not in the sample"),
        (pulled.failed.len(), "failed"),
    ];
    let became = became.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", grouped(*n as u64)));
    let became = became.collect::<Vec<_>>().join(", ");
    let listed = count(pulled.listed as u64, "session");
    let told = match became.as_str() {
        "" if pulled.listed == 0 => {
            "0 sessions in Langfuse match within this time; --since 30d looks further back".to_owned()
        }
        "" => format!("{listed} in Langfuse"),
        became => format!("{listed} in Langfuse: {became}"),
    };
    wrap(&told, screen.width - 2).join("\n  ") + "\n"
}

/// Says what could not be pulled, and what the exit code is.
pub(crate) fn report(context: &Context<'_>, pulled: &Pulled) -> Exit {
    if pulled.strange > 0 {
        let rows = count(pulled.strange, "row");
        screen::stderr(&format!("warning: {rows} from Langfuse could not be read; the rest was\n"));
    }
    if pulled.failed.is_empty() {
        return Exit::Done;
    }
    let rules = machine::rules(context.env, &context.settings.store.value, NewKey::ForThisRun);
    let named = pulled.failed.iter().take(NAMED);
    let named: Vec<String> = named.map(|(id, why)| format!("{} ({why})", redact(id, &rules))).collect();
    let rest = pulled.failed.len().saturating_sub(NAMED);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let sessions = count(pulled.failed.len() as u64, "session");
    screen::stderr(&format!(
        "warning: {sessions} could not be pulled: {}{rest}; the same command tries again\n",
        named.join(", ")
    ));
    Exit::Partly
}
