//! `hotwash config`: every setting and where it comes from.

use super::Context;
use crate::cli::{Color, Config};
use crate::env;
use crate::errors::{Exit, Failure};
use crate::judge_settings;
use crate::screen::text::left;
use crate::settings::{Layer, Settings};
use crate::shapes;
use clap::ValueEnum as _;
use hotwash_engine::net::Key;
use std::fmt::Write as _;
use std::path::MAIN_SEPARATOR;

pub(super) fn run(context: &Context<'_>, args: &Config) -> Result<Exit, Failure> {
    let Context { settings, screen, env, .. } = context;
    let mut out = String::new();
    if args.variables {
        for variable in env::ALL {
            let _ = writeln!(out, "{}  {}", left(variable.name, 25), variable.about);
        }
    } else if args.json {
        let values: serde_json::Map<_, _> = values(settings)
            .into_iter()
            .map(|(name, value, from)| {
                (name.to_owned(), serde_json::json!({ "value": value, "from": from.to_string() }))
            })
            .collect();
        out = shapes::document(&serde_json::json!({ "version": shapes::VERSION, "settings": values }));
    } else {
        let home = env.home().map(|home| home.display().to_string()).unwrap_or_default();
        let short = |text: String| match text.strip_prefix(&home) {
            Some(rest) if rest.starts_with(MAIN_SEPARATOR) && !home.is_empty() => format!("~{rest}"),
            _ => text,
        };
        let rows: Vec<(&str, String, String)> =
            values(settings).into_iter().map(|(name, value, from)| (name, short(value), from.to_string())).collect();
        let wide = rows.iter().map(|(_, value, _)| value.chars().count()).max().unwrap_or(0).min(48);
        for (name, value, from) in rows {
            let value = if value.is_empty() { "(none)".into() } else { value };
            let from = from.replace(&format!(" {home}{MAIN_SEPARATOR}"), &format!(" ~{MAIN_SEPARATOR}"));
            let fill = " ".repeat(wide.saturating_sub(value.chars().count()));
            let _ = writeln!(out, "{}  {value}{fill}  {}", left(name, 19), screen.style.quiet(&from));
        }
        out.push('\n');
        for (path, there) in &settings.files {
            let there = if *there { "" } else { " (not there)" };
            let _ = writeln!(out, "file                 {}{there}", short(path.display().to_string()));
        }
    }
    screen.page(&out)?;
    Ok(Exit::Done)
}

/// Every setting by name, as it would stand in a settings file.
pub(super) fn values(settings: &Settings) -> Vec<(&'static str, String, &Layer)> {
    // No `..`: a new setting fails to compile until it is shown.
    let Settings {
        store,
        archive,
        jobs,
        rubric,
        judge,
        judge_model,
        judge_small_model,
        judge_dir,
        tasks,
        panel,
        max_usd,
        budget,
        concurrency,
        judge_price,
        thresholds,
        opt_out,
        share,
        anthropic_url,
        openai_url,
        langfuse_host,
        langfuse_public_key,
        langfuse_secret_key,
        since,
        fail_under,
        fail_under_process,
        utc,
        color,
        wide,
        pager,
        sources,
        example: _,
        files: _,
    } = settings;
    let name = |value: Option<clap::builder::PossibleValue>| {
        value.map(|value| value.get_name().to_owned()).unwrap_or_default()
    };
    let folders: Vec<String> = sources.value.iter().map(|folder| folder.display().to_string()).collect();
    vec![
        ("store", store.value.display().to_string(), &store.from),
        ("archive", archive.value.to_string(), &archive.from),
        ("sources", folders.join(","), &sources.from),
        ("rubric", rubric.value.clone(), &rubric.from),
        ("judge", judge_settings::shown(&judge.value), &judge.from),
        ("judge_model", judge_model.value.clone(), &judge_model.from),
        ("judge_small_model", judge_small_model.value.clone(), &judge_small_model.from),
        ("judge_dir", judge_dir.value.display().to_string(), &judge_dir.from),
        ("tasks", tasks.value.iter().map(ToString::to_string).collect::<Vec<_>>().join(","), &tasks.from),
        ("panel", panel.value.to_string(), &panel.from),
        ("max_usd", max_usd.value.map(|dollars| dollars.to_string()).unwrap_or_default(), &max_usd.from),
        ("budget", budget.value.to_string(), &budget.from),
        ("concurrency", concurrency.value.to_string(), &concurrency.from),
        (
            "judge_price",
            judge_price.value.map(|(input, output)| format!("{input},{output}")).unwrap_or_default(),
            &judge_price.from,
        ),
        ("thresholds", judge_settings::shown_thresholds(&thresholds.value), &thresholds.from),
        ("opt_out", opt_out.value.join(","), &opt_out.from),
        ("share", share.value.to_string(), &share.from),
        ("anthropic_url", anthropic_url.value.clone(), &anthropic_url.from),
        ("openai_url", openai_url.value.clone(), &openai_url.from),
        ("langfuse_host", langfuse_host.value.clone(), &langfuse_host.from),
        ("langfuse_public_key", hidden(&langfuse_public_key.value), &langfuse_public_key.from),
        ("langfuse_secret_key", hidden(&langfuse_secret_key.value), &langfuse_secret_key.from),
        ("since", since.value.clone(), &since.from),
        ("fail_under", fail_under.value.map(|bar| bar.to_string()).unwrap_or_default(), &fail_under.from),
        (
            "fail_under_process",
            fail_under_process.value.map(|bar| bar.to_string()).unwrap_or_default(),
            &fail_under_process.from,
        ),
        ("jobs", jobs.value.to_string(), &jobs.from),
        ("utc", utc.value.to_string(), &utc.from),
        ("color", name(Color::to_possible_value(&color.value)), &color.from),
        ("wide", wide.value.to_string(), &wide.from),
        ("pager", pager.value.clone(), &pager.from),
    ]
}

/// That a key is set, and not what it is.
fn hidden(key: &Key) -> String {
    if key.is_empty() { String::new() } else { "(set)".to_owned() }
}
