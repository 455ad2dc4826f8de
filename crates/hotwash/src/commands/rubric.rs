//! `hotwash rubric`: what sessions are judged by.

use super::Context;
use crate::cli;
use crate::errors::{Exit, Failure};
use crate::run::rubric;
use crate::screen::text::{left, words, wrap, wrap_indented};
use hotwash_core::rubric::{Kind, Rubric};
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn run(context: &Context<'_>, args: &cli::Rubric) -> Result<Exit, Failure> {
    let text = match args {
        cli::Rubric::List => list(context),
        cli::Rubric::Show { rubric: name, source } => {
            let rubric = rubric(name.as_deref().unwrap_or(&context.settings.rubric.value))?;
            if *source { rubric.source().to_owned() } else { show(context, &rubric) }
        }
        cli::Rubric::Check { file } => check(file)?,
    };
    context.screen.page(&text)?;
    Ok(Exit::Done)
}

fn list(context: &Context<'_>) -> String {
    let mut out = String::new();
    for name in Rubric::shipped_names() {
        let Some(rubric) = Rubric::shipped(name) else { continue };
        let mark = if context.settings.rubric.value == name { "*" } else { " " };
        let names: Vec<&str> = rubric.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
        let _ = writeln!(out, "{mark} {}  {}", left(&rubric.id(), 10), rubric.title);
        let _ = writeln!(out, "              {}", wrap_indented(&names.join(", "), context.screen.width, 14));
    }
    let how = "* in use. `hotwash rubric show NAME --source > mine.toml` starts one of your own, \
               `hotwash rubric check mine.toml` checks it, `--rubric mine.toml` grades by it.";
    let _ = writeln!(out, "\n{}", wrap(how, context.screen.width).join("\n"));
    out
}

fn show(context: &Context<'_>, rubric: &Rubric) -> String {
    let (style, width) = (context.screen.style, context.screen.width);
    let mut out = format!("{}\n", style.heading(&format!("{}  {}", rubric.id(), rubric.title)));
    let _ = writeln!(out, "{}\n", wrap_indented(&rubric.description, width, 0));
    for dimension in &rubric.dimensions {
        let goal = if dimension.name == rubric.goal { ", the goal" } else { "" };
        let offline = if dimension.offline.is_some() { "" } else { ", not by facts alone" };
        let kind = match dimension.kind {
            Kind::Numeric(_) => "number",
            Kind::Categorical(_) => "levels",
        };
        let head = format!("{}  weight {:.2}, {kind}{goal}{offline}", dimension.name, dimension.weight);
        let _ = writeln!(out, "{}", style.strong(&head));
        let _ = writeln!(out, "  {}", wrap_indented(&dimension.measures, width, 2));
        match &dimension.kind {
            Kind::Numeric(bands) => {
                for band in bands {
                    let range = format!("{:.2}-{:.2}", band.from, band.to);
                    let _ = writeln!(out, "    {}  {}", left(&range, 12), wrap_indented(&band.criterion, width, 18));
                }
            }
            Kind::Categorical(levels) => {
                for level in levels {
                    let _ =
                        writeln!(out, "    {}  {}", left(&level.label, 12), wrap_indented(&level.criterion, width, 18));
                }
            }
        }
        out.push('\n');
    }
    let tiers: Vec<String> = rubric.tiers.iter().map(|tier| format!("{} from {}", tier.name, tier.from / 10)).collect();
    let _ = writeln!(out, "tiers  {}", wrap_indented(&tiers.join(", "), width, 7));
    let overall = format!(
        "An overall score needs {} of {} dimensions, {} among them.",
        rubric.min_dimensions,
        rubric.dimensions.len(),
        rubric.goal
    );
    let _ = writeln!(out, "{}", wrap_indented(&overall, width, 0));
    let _ = writeln!(out, "A process score needs {} of the others.", rubric.min_process_dimensions);
    for cap in &rubric.goal_caps {
        let _ = writeln!(out, "With the goal {}, the tier is at most {}.", cap.level, cap.tier);
    }
    let _ = writeln!(out, "hash   {}", rubric.hash());
    out
}

fn check(file: &Path) -> Result<String, Failure> {
    let name = file.display().to_string();
    let source = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("cannot read the rubric {name}")).cause(words(&error)))?;
    match Rubric::parse(&name, &source) {
        Ok(rubric) => Ok(format!(
            "{name}: {} is sound: {} dimensions, weights add up to 1\n",
            rubric.id(),
            rubric.dimensions.len()
        )),
        Err(errors) => {
            let n = crate::screen::numbers::count(errors.problems.len() as u64, "problem");
            Err(Failure::new(format!("the rubric {name} has {n}\n{errors}")))
        }
    }
}
