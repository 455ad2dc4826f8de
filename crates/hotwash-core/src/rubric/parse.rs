//! A rubric file into a [`Rubric`], top to bottom in the order of the file.
//!
//! Everything is read before anything is refused, so that all problems come out at once. Syntax is the exception: in a
//! file that is not TOML the meaning of the rest is a guess, so only the syntax errors are reported.

use toml::de::DeTable;

use super::fields::{At, Fields, Notes, did_you_mean, listed};
use super::{
    Band, Chunks, Combine, Critic, Dimension, GoalCap, Kind, Level, Offline, Problem, Rubric, Scorer, Tier, Tiers,
    check,
};

/// Reads and checks a whole file.
pub(super) fn rubric(source: &str) -> Result<Rubric, Vec<Problem>> {
    let source = canonical(source);
    let notes = Notes::new(&source);
    let (document, errors) = DeTable::parse_recoverable(&source);
    let rubric = if errors.is_empty() {
        Some(read(&notes, document.get_ref(), &source))
    } else {
        syntax(&notes, errors);
        None
    };
    let problems = notes.into_problems();
    rubric.filter(|_| problems.is_empty()).ok_or(problems)
}

/// One message a line: further ones are mostly echoes, such as a missing comma after an unclosed bracket.
fn syntax(notes: &Notes, mut errors: Vec<toml::de::Error>) {
    errors.sort_by_key(|error| error.span().map(|span| span.start));
    let mut last = None;
    for error in errors {
        let line = error.span().map(|span| notes.line(&span));
        if line.is_none() || line != last {
            notes.add(line, "syntax", error.message());
        }
        last = line;
    }
}

/// See [`Rubric::source`].
fn canonical(source: &str) -> String {
    source.strip_prefix('\u{feff}').unwrap_or(source).replace("\r\n", "\n")
}

fn read<'a>(notes: &'a Notes, document: &'a DeTable<'a>, source: &str) -> Rubric {
    let mut fields = Fields::new(notes, "the rubric", document, 1);

    let name = fields.string("name");
    check::name(notes, "rubric name", &name);
    let version = fields.string("version");
    check::version(notes, &version);
    let title = fields.string("title");
    let description = fields.string("description");
    let goal = fields.string("goal");
    let min_dimensions = fields.count("min_dimensions");
    let min_process = fields.optional_count("min_process_dimensions");
    let caps = goal_caps(&mut fields);
    let tiers = tiers(&mut fields);
    let chunks = chunks(&mut fields);

    let drafts = fields.tables("dimensions", "dimension");
    if drafts.is_set() && drafts.value.is_empty() {
        let message = "the rubric needs at least one dimension";
        notes.add(drafts.line, "missing-key", message);
    }
    let mut names = Vec::new();
    let mut weights = Vec::new();
    let mut dimensions = Vec::new();
    for draft in drafts.value {
        let (name, weight, dimension) = self::dimension(draft);
        names.push(name);
        weights.push(weight);
        dimensions.push(dimension);
    }
    check::unique(notes, "dimension", &names);
    check::weights(notes, &names, &weights);
    check::goal(notes, &goal, &names);
    check::min_dimensions(notes, &min_dimensions, names.len());
    check::min_process_dimensions(notes, &min_process, names.len());
    let goal_dimension = dimensions.iter().find(|dimension| dimension.name == goal.value);
    check::goal_caps(notes, &caps, goal_dimension, &tiers);
    let critics = critics(&mut fields, &names);
    fields.finish();

    Rubric {
        name: name.value,
        version: version.value,
        title: title.value,
        description: description.value,
        goal: goal.value,
        min_dimensions: min_dimensions.value,
        // As many as an overall needs, without the goal.
        min_process_dimensions: if min_process.is_set() {
            min_process.value
        } else {
            min_dimensions.value.saturating_sub(1).max(1)
        },
        goal_caps: caps.into_iter().map(|cap| cap.value).collect(),
        tiers,
        chunks,
        dimensions,
        critics,
        source: source.to_owned(),
        hash: crate::hash::sha256(&[source.as_bytes()]),
    }
}

/// A table of levels of the goal dimension, each with the highest tier that it allows.
fn goal_caps(rubric: &mut Fields<'_>) -> Vec<At<GoalCap>> {
    let Some(fields) = rubric.optional_table("goal_caps", "the table `goal_caps`".to_owned()) else {
        return Vec::new();
    };
    fields
        .pairs()
        .into_iter()
        .map(|(level, tier)| At { value: GoalCap { level, tier: tier.value }, line: tier.line })
        .collect()
}

fn tiers(rubric: &mut Fields<'_>) -> Tiers {
    let notes = rubric.notes;
    let drafts = rubric.optional_tables("tiers", "tier");
    if !drafts.is_set() {
        return Tiers::default();
    }
    let mut names = Vec::new();
    let mut bounds = Vec::new();
    let mut tiers = Vec::new();
    for mut fields in drafts.value {
        let name = fields.string("name");
        let from = fields.count("from");
        let meaning = fields.optional_string("meaning");
        fields.finish();
        tiers.push(Tier {
            name: name.value.clone(),
            // Bounds over 1000 are refused by the check below.
            from: u32::try_from(from.value).unwrap_or(u32::MAX),
            meaning: meaning.value,
        });
        names.push(name);
        bounds.push(from);
    }
    check::unique(notes, "tier", &names);
    check::tiers(notes, drafts.line, &bounds);
    match tiers.pop() {
        Some(lowest) => Tiers { lowest, above: tiers },
        None => Tiers::default(),
    }
}

fn chunks(rubric: &mut Fields<'_>) -> Chunks {
    let default = Chunks::default();
    let Some(mut fields) = rubric.optional_table("chunks", "the table `chunks`".to_owned()) else {
        return default;
    };
    let mut count = |key, default| {
        let found = fields.optional_count(key);
        if found.is_set() { found.value } else { default }
    };
    let mut chunks = Chunks {
        target_tokens: count("target_tokens", default.target_tokens),
        max_tokens: count("max_tokens", default.max_tokens),
        overlap_turns: count("overlap_turns", default.overlap_turns),
        overlap_tokens: count("overlap_tokens", default.overlap_tokens),
        min_last_share: default.min_last_share,
    };
    let share = fields.optional_number("min_last_share");
    if share.is_set() {
        chunks.min_last_share = share.value;
    }
    check::chunks(rubric.notes, fields.line, &chunks);
    fields.finish();
    chunks
}

fn dimension(mut fields: Fields<'_>) -> (At<String>, At<f64>, Dimension) {
    let notes = fields.notes;
    let name = fields.string("name");
    check::name(notes, "dimension name", &name);
    if name.is_set() {
        fields.call(format!("dimension `{}`", name.value));
    }
    let weight = fields.number("weight");
    check::weight(notes, fields.what(), &weight);
    let title = fields.string("title");
    let measures = fields.string("measures");
    let checks = fields.optional_strings("checks");
    let kind = kind(&mut fields);
    let combine = combine(&mut fields, kind.as_ref());
    let offline = offline(&mut fields, kind.as_ref());

    let what = format!("the evidence of {}", fields.what());
    let (mut plus, mut minus) = (Vec::new(), Vec::new());
    if let Some(mut evidence) = fields.optional_table("evidence", what) {
        plus = evidence.optional_strings("plus");
        minus = evidence.optional_strings("minus");
        evidence.finish();
    }
    fields.finish();

    let dimension = Dimension {
        name: name.value.clone(),
        kind: kind.unwrap_or(Kind::Numeric(Vec::new())),
        weight: weight.value,
        title: title.value,
        measures: measures.value,
        plus,
        minus,
        checks,
        combine,
        offline,
    };
    (name, weight, dimension)
}

/// `None` where the kind itself is missing or wrong; its levels are not read then.
fn kind(dimension: &mut Fields<'_>) -> Option<Kind> {
    let kind = dimension.string("kind");
    match kind.value.as_str() {
        "numeric" => Some(Kind::Numeric(bands(dimension))),
        "categorical" => Some(Kind::Categorical(levels(dimension))),
        other => {
            dimension.allow("levels");
            if kind.is_set() {
                let message =
                    format!("{} has the kind `{other}`, it must be `numeric` or `categorical`", dimension.what());
                let hint = did_you_mean(other, ["numeric", "categorical"]);
                dimension.notes.add_with_hint(kind.line, "kind", message, hint);
            }
            None
        }
    }
}

fn levels(dimension: &mut Fields<'_>) -> Vec<Level> {
    let notes = dimension.notes;
    let what = format!("level of {}:", dimension.what());
    let drafts = dimension.tables("levels", &what);
    if drafts.is_set() && drafts.value.len() < 2 {
        let message =
            format!("{} is categorical and has {} level(s), it needs at least 2", dimension.what(), drafts.value.len());
        notes.add(drafts.line, "levels", message);
    }
    let mut labels = Vec::new();
    let mut levels = Vec::new();
    for mut fields in drafts.value {
        let label = fields.string("label");
        check::name(notes, "label", &label);
        let criterion = fields.string("criterion").value;
        fields.finish();
        levels.push(Level { label: label.value.clone(), criterion });
        labels.push(label);
    }
    check::unique(notes, &format!("label of {}", dimension.what()), &labels);
    levels
}

fn bands(dimension: &mut Fields<'_>) -> Vec<Band> {
    let notes = dimension.notes;
    let what = format!("band of {}:", dimension.what());
    let drafts = dimension.tables("levels", &what);
    if drafts.is_set() && drafts.value.is_empty() {
        let message = format!("{} is numeric and needs at least 1 band", dimension.what());
        notes.add(drafts.line, "levels", message);
    }
    let mut ends = Vec::new();
    let mut bands = Vec::new();
    for mut fields in drafts.value {
        let from = fields.number("from");
        let to = fields.number("to");
        let criterion = fields.string("criterion").value;
        fields.finish();
        bands.push(Band { from: from.value, to: to.value, criterion });
        ends.push((from, to));
    }
    check::bands(notes, dimension.what(), &ends);
    bands
}

fn combine(dimension: &mut Fields<'_>, kind: Option<&Kind>) -> Combine {
    let (allowed, words): (&[Combine], _) = match kind {
        Some(Kind::Numeric(_)) => (&[Combine::Mean], "numeric"),
        Some(Kind::Categorical(_)) => (&CATEGORICAL, "categorical"),
        None => (&ALL_COMBINES, "of unknown kind"),
    };
    let found = dimension.optional_string("combine");
    let combine = allowed.iter().find(|combine| combine.name() == found.value).copied();
    if combine.is_none() && found.is_set() {
        let names: Vec<&str> = allowed.iter().map(|combine| combine.name()).collect();
        let message = format!(
            "{} is {words} and cannot combine by `{}`, only by {}",
            dimension.what(),
            found.value,
            listed(&names)
        );
        let hint = did_you_mean(&found.value, names);
        dimension.notes.add_with_hint(found.line, "combine", message, hint);
    }
    // Left out, it is the first one allowed: `mean` for numbers, `last` for labels.
    combine.unwrap_or(allowed[0])
}

const CATEGORICAL: [Combine; 3] = [Combine::Last, Combine::Vote, Combine::Worst];
const ALL_COMBINES: [Combine; 4] = [Combine::Mean, Combine::Last, Combine::Vote, Combine::Worst];

fn offline(dimension: &mut Fields<'_>, kind: Option<&Kind>) -> Option<Offline> {
    let notes = dimension.notes;
    let what = format!("the offline table of {}", dimension.what());
    let mut fields = dimension.optional_table("offline", what)?;
    let from = fields.string("from");
    if !from.is_set() {
        return None;
    }
    let Some(scorer) = Scorer::from_name(&from.value) else {
        let names = Scorer::ALL.map(Scorer::name);
        let message = format!("{} names the scorer `{}`, which does not exist", fields.what(), from.value);
        let hint = did_you_mean(&from.value, names).or_else(|| Some(format!("scorers are {}", listed(&names))));
        notes.add_with_hint(from.line, "offline", message, hint);
        return None;
    };
    if let Some(kind) = kind {
        check::scorer_fits(notes, from.line, dimension.what(), scorer, kind);
    }

    let mut offline = scorer.defaults();
    for param in scorer.params() {
        let found = fields.optional_number(param.name);
        if !found.is_set() {
            continue;
        }
        if !param.range.contains(found.value) {
            let message = format!("parameter `{}` is {}, it must be {}", param.name, found.value, param.range.words());
            notes.add(found.line, "offline", message);
        }
        offline.set(param.name, found.value);
    }
    let names: Vec<&str> = scorer.params().iter().map(|param| param.name).collect();
    for (key, line) in fields.unasked() {
        let message = format!("scorer `{}` has no parameter `{key}`", scorer.name());
        let hint =
            did_you_mean(key, names.iter().copied()).or_else(|| Some(format!("parameters are {}", listed(&names))));
        notes.add_with_hint(Some(line), "offline", message, hint);
    }
    Some(offline)
}

fn critics(rubric: &mut Fields<'_>, dimensions: &[At<String>]) -> Vec<Critic> {
    let notes = rubric.notes;
    let drafts = rubric.tables("critics", "critic");
    let mut names = Vec::new();
    let mut covered = Vec::new();
    let mut critics = Vec::new();
    for mut fields in drafts.value {
        let name = fields.string("name");
        check::name(notes, "critic name", &name);
        if name.is_set() {
            fields.call(format!("critic `{}`", name.value));
        }
        let model = fields.string("model").value;
        let scored = fields.strings("dimensions");
        fields.finish();
        critics.push(Critic {
            name: name.value.clone(),
            model,
            dimensions: scored.value.iter().map(|it| it.value.clone()).collect(),
        });
        names.push(name);
        covered.push(scored);
    }
    check::unique(notes, "critic", &names);
    if drafts.line.is_some() {
        check::critics(notes, &names, &covered, dimensions);
    }
    critics
}
