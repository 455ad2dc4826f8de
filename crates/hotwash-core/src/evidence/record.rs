//! Keeps of each event what a judge may need: redacted as a whole, then cleaned, then cut to a length.

use super::greens::{self, Log};
use super::input::{self, Asked};
use super::produced::{Files, Produced};
use super::shorten::Class;
use super::{Alarm, Source, table, tripwire};
use crate::facts::calls::{Calls, KeyMap, KeySet};
use crate::facts::{Facts, OpenCall, Status, Step};
use crate::redaction::{Compose, Marker, Redacted, Rules, redact, redact_visible};
use crate::sessions::{ApiError, Compaction, Event, EventId, Key, Kind, Outcome, PromptVia, Tool, command_line};
use crate::shell;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;
use xxhash_rust::xxh3::xxh3_64;

/// How much of an event is kept, by weight.
const KEPT: usize = 60_000;
/// How much of what the client said is kept.
const CLIENT_KEPT: usize = 2_000;
/// A session in which so many texts seem to speak to a judge is about judging.
const ABOUT_JUDGING: usize = 4;
/// What tells a text to the judge of this session from one about judging.
const TO_US: [&str; 12] = [
    "this session",
    "this transcript",
    "this run",
    "this conversation",
    "this recording",
    "this log",
    "previous",
    "prior",
    "preceding",
    "disregard",
    "hotwash",
    "<|",
];
/// What the person did who ran a command.
const RAN: &str = "ran the command";

/// One thing on the timeline.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) id: EventId,
    pub(super) turn: usize,
    pub(super) what: What,
    /// Its words, cut to what is kept.
    pub(super) text: Redacted<String>,
    /// How many characters there were.
    pub(super) chars: usize,
    pub(super) class: Class,
    pub(super) source: Source,
    pub(super) by_subagent: bool,
}

/// What a thing on the timeline is.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Words that open a turn or steer it: the person's, or a parent agent's.
    Request(&'static str),
    /// Something else that the person did.
    Person(&'static str),
    /// Prose by the agent.
    Says,
    /// A call.
    Call {
        tool: Redacted<String>,
        /// The file that it changes, among those that were made.
        file: Option<usize>,
        /// Where its result is, among the items.
        result: Option<usize>,
        message: Key,
    },
    /// What came of one.
    Result {
        /// Its place among the items.
        call: Option<usize>,
        status: Status,
        /// Its words only repeat what the call says.
        echo: bool,
    },
    /// Something that happened.
    Note(&'static str),
}

/// A subagent that worked for the session, as its own session tells it.
#[derive(Clone, Debug)]
pub struct SubagentNote {
    /// What it was asked to do.
    pub title: Redacted<String>,
    /// What kind of agent it is.
    pub kind: Redacted<String>,
    /// What it came to.
    pub summary: Redacted<String>,
}

/// What is known of a session beside its events.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// Its facts.
    pub facts: &'a Facts,
    /// Its subagents.
    pub subagents: Vec<SubagentNote>,
}

/// Keeps what a judge may need of a session while its events go by in order.
#[derive(Debug)]
pub struct Recorder<'r> {
    rules: &'r Rules,
    calls: Calls,
    items: Vec<Item>,
    turn: usize,
    cwd: Option<String>,
    /// Calls whose result has not come: their places, and what they ask for.
    open: KeyMap<Key, (usize, Option<Asked>)>,
    /// Hashes of what was said, to tell queued words that were delivered.
    said: KeySet<u64>,
    queued: Vec<(u64, Item)>,
    commands: Vec<(usize, u64)>,
    /// The last result that shows all changes, and whether there were any before it.
    diff: Option<usize>,
    changed: bool,
    last_run: Option<usize>,
    files: Files,
    log: Log,
    alarms: Vec<Alarm>,
    prompted: bool,
}

impl<'r> Recorder<'r> {
    /// Nothing yet.
    pub fn new(rules: &'r Rules) -> Self {
        Recorder {
            rules,
            calls: Calls::default(),
            items: Vec::new(),
            turn: 0,
            cwd: None,
            open: KeyMap::default(),
            said: KeySet::default(),
            queued: Vec::new(),
            commands: Vec::new(),
            diff: None,
            changed: false,
            last_run: None,
            files: Files::default(),
            log: Log::default(),
            alarms: Vec::new(),
            prompted: false,
        }
    }

    /// Looks at the next event.
    pub fn event(&mut self, event: &Event<'_>) {
        if self.cwd.is_none() && !event.origin.cwd.is_empty() {
            self.cwd = Some(event.origin.cwd.to_str().into_owned());
        }
        let mut calls = std::mem::take(&mut self.calls);
        calls.event(event, |event, step| match step {
            Step::Called(call) => self.called(event, call),
            Step::Ended { call, outcome, status } => self.ended(event, *call, outcome, *status),
            Step::Aside => self.aside(event),
        });
        self.calls = calls;
    }

    fn words(&mut self, id: EventId, raw: &str, kept: usize) -> (Redacted<String>, usize) {
        let (text, chars, alarm) = words(id, raw, kept, self.rules);
        self.alarms.extend(alarm);
        (text, chars)
    }

    fn item(&mut self, event: &Event<'_>, what: What, raw: &str, class: Class) -> Item {
        let kept = match what {
            What::Request(_) => KEPT * 4,
            What::Note(_) => CLIENT_KEPT,
            _ => KEPT,
        };
        let (text, chars) = self.words(event.origin.id, raw, kept);
        // What the client says is not the session's own, and is not missed.
        let chars = if matches!(what, What::Note(_)) { text.as_str().chars().count() } else { chars };
        let by_subagent = event.origin.sidechain;
        let source = match what {
            What::Request("the agent that called this one") | What::Says => Source::Agent,
            What::Request(_) | What::Person(_) => Source::Person,
            What::Call { .. } | What::Result { .. } | What::Note(_) => Source::Read,
        };
        Item { id: event.origin.id, turn: self.turn, what, text, chars, class, source, by_subagent }
    }

    fn push(&mut self, event: &Event<'_>, what: What, raw: &str, class: Class) {
        let item = self.item(event, what, raw, class);
        self.items.push(item);
    }

    fn aside(&mut self, event: &Event<'_>) {
        match &event.kind {
            Kind::Prompt(prompt) => {
                self.said.insert(hash(prompt.words));
                self.turn += usize::from(self.prompted || !self.items.is_empty());
                self.prompted = true;
                let images = "[image]\n".repeat(prompt.images.min(8) as usize);
                let who = match prompt.via {
                    PromptVia::Goal => "the person, as the goal that the client is to measure the work by",
                    _ => "the person",
                };
                self.push(event, What::Request(who), &format!("{images}{}", prompt.words), Class::Request);
            }
            Kind::PlanApproval(body) => {
                self.turn += usize::from(self.prompted || !self.items.is_empty());
                self.prompted = true;
                self.push(event, What::Request("a plan that the person approved"), &body.to_str(), Class::Request);
            }
            Kind::Queued(text) => {
                let words = text.to_str();
                let what = What::Request("the person, typed while the agent worked and never delivered");
                let item = self.item(event, what, &words, Class::Request);
                self.queued.push((hash(&words), item));
            }
            // Its condition is shown as what was asked for.
            Kind::Command { name, args, .. } if name.is("/goal") && !args.is("clear") => {}
            Kind::GoalCheck(check) if !check.set => {
                let said = match (check.met, check.given_up) {
                    (true, _) => "the client checked the goal that was set: reached",
                    (_, true) => "the client gave up the goal that was set",
                    _ => "the client checked the goal that was set: not reached",
                };
                self.push(event, What::Note(said), &check.reason.to_str(), Class::Output);
            }
            Kind::TurnLimit => self.push(event, What::Note("all turns used up"), "", Class::Output),
            Kind::Command { name, args, .. } => {
                self.push(event, What::Person(RAN), &command_line(name, args), Class::Words);
            }
            Kind::Bang(text) => self.push(event, What::Person("ran in the shell"), &text.to_str(), Class::Words),
            Kind::Interrupt => self.push(event, What::Person("stopped the agent"), "", Class::Words),
            Kind::ClientText(body) => {
                let words = body.to_str();
                if is_caveat(&words) {
                    return;
                }
                if self.items.last().is_some_and(is_command) && !words.trim_start().starts_with('<') {
                    self.commanded();
                    self.push(event, What::Request("what that command tells the agent"), &words, Class::Request);
                } else if !self.prompted && self.items.is_empty() && !words.trim_start().starts_with('<') {
                    self.prompted = true;
                    self.push(event, What::Request("the agent that called this one"), &words, Class::Request);
                } else if !words.trim().is_empty() {
                    self.push(event, What::Note("put in by the client"), &words, Class::Listing);
                }
            }
            Kind::Says(text) => {
                let words = text.to_str();
                if !words.trim().is_empty() {
                    self.push(event, What::Says, &words, Class::Words);
                }
            }
            Kind::Compaction(Compaction::Manual) => {
                self.push(event, What::Note("context compacted, as the person asked"), "", Class::Words);
            }
            Kind::Compaction(Compaction::Auto) => {
                self.push(event, What::Note("context full: compacted"), "", Class::Words);
            }
            Kind::ApiError(ApiError::Final(body)) => {
                self.push(event, What::Note("request failed for good"), &body.to_str(), Class::Output);
            }
            _ => {}
        }
    }

    /// The command that was run last is one that tells the agent something: as good as a prompt.
    fn commanded(&mut self) {
        self.turn += usize::from(self.prompted || self.items.len() > 1);
        self.prompted = true;
        let turn = self.turn;
        if let Some(item) = self.items.last_mut() {
            (item.what, item.class, item.turn) = (What::Request("the person, by a command"), Class::Request, turn);
        }
    }

    fn called(&mut self, event: &Event<'_>, open: &OpenCall) {
        let Kind::Call(call) = &event.kind else { return };
        let parsed = input::parse(call);
        let asked = open.tool.edits().then(|| Asked::of(&parsed)).filter(|asked| !asked.signed().is_empty());
        let cwd = self.cwd.clone();
        let short = |path: &str| shortened(path, cwd.as_deref());
        let words = input::words(call, &parsed, asked.as_ref(), &short);
        let tool = shown(&open.name, self.rules);
        let what = What::Call { tool, file: None, result: None, message: open.message };
        let class = if open.command.mutates_files { Class::Produced } else { Class::Call };
        self.open.insert(open.key, (self.items.len(), asked));
        let source = source(open);
        let item = self.item(event, what, &words, class);
        self.items.push(Item { source, ..item });
        self.log.called(open);
    }

    fn ended(&mut self, event: &Event<'_>, call: Option<&OpenCall>, outcome: &Outcome<'_>, status: Status) {
        let body = outcome.body.to_str();
        let body = without_reminder(&body);
        let words = unescaped(body);
        let (at, asked) =
            call.and_then(|call| self.open.remove(&call.key)).map_or((None, None), |(at, asked)| (Some(at), asked));
        let here = self.items.len();
        let mut class = Class::Output;
        let mut source = Source::Read;
        let mut echo = false;
        if let Some(call) = call {
            let ok = status == Status::Ok;
            source = self::source(call);
            if call.tool == Tool::ListFiles || call.tool == Tool::Shell && lists(&call.command.text) {
                class = Class::Listing;
            } else if call.tool.only_reads() || call.tool == Tool::Shell && call.command.read_only {
                class = Class::Read;
            } else if call.tool == Tool::Subagent {
                class = Class::Found;
            }
            if call.tool.edits() && !ok {
                // It was tried, and not done.
                source = Source::Read;
                if let Some(item) = at.and_then(|at| self.items.get_mut(at)) {
                    item.source = source;
                }
            }
            if call.tool.edits() && ok {
                (class, echo) = (Class::Read, true);
                let number = self.files.changed(
                    &call.path,
                    outcome.change.as_ref(),
                    &asked.clone().unwrap_or_default(),
                    call.id,
                );
                if let Some(What::Call { file, .. }) =
                    at.and_then(|at| self.items.get_mut(at)).map(|item| &mut item.what)
                {
                    *file = Some(number);
                }
            }
            if matches!(call.tool, Tool::Todo) && ok {
                (class, echo) = (Class::Read, true);
            }
            self.changed |= ok && (call.tool.edits() || call.command.mutates_files);
            if call.tool == Tool::Shell {
                let cwd = event.origin.cwd.to_str();
                if ok {
                    self.files.ran(&call.command, &cwd, body, call.id);
                }
                self.commands.push((here, xxh3_64(call.command.text.trim().as_bytes())));
                if greens::shows_diff(&call.command.text) && !body.trim().is_empty() {
                    self.diff = Some(here);
                    if self.changed {
                        source = Source::Did;
                    }
                }
                if class == Class::Output && !call.command.mutates_files && !call.command.commits {
                    self.last_run = Some(here);
                }
            }
            self.log.ended(event.origin, call, outcome, status, asked.as_ref(), body);
        }
        if let Some(What::Call { result, .. }) = at.and_then(|at| self.items.get_mut(at)).map(|item| &mut item.what) {
            *result = Some(here);
        }
        let item = self.item(event, What::Result { call: at, status, echo }, &words, class);
        self.items.push(Item { source, ..item });
    }

    /// What was kept, with what is known beside it.
    pub fn finish(mut self, mut about: About<'_>) -> Record {
        let said = std::mem::take(&mut self.said);
        let undelivered = std::mem::take(&mut self.queued).into_iter().filter(|(hash, _)| !said.contains(hash));
        let undelivered: Vec<Item> = undelivered.map(|(_, item)| item).collect();
        let by_shell: Vec<(EventId, Redacted<String>)> = self
            .files
            .by_shell()
            .iter()
            .map(|(id, files)| {
                let names = if files.is_empty() { "(names no file)".to_owned() } else { files.join(", ") };
                (*id, shown(&names, self.rules))
            })
            .collect();
        let cwd = self.cwd.clone();
        let short = |path: &str| shortened(path, cwd.as_deref());
        let files = std::mem::take(&mut self.files).finish(&short, self.rules);
        // What came of edits is shown, too, and may say more than the calls did.
        for file in &files {
            let known = self.alarms.iter().any(|alarm| file.events.contains(&alarm.event));
            if let (false, Some(event), Some(place)) = (known, file.events.last(), tripwire::find(file.text.as_str())) {
                let words = file.text.part(place).shorten(160);
                self.alarms.push(Alarm { event: *event, words });
            }
        }
        self.tell_apart();
        let greens = self.log.greens(&files);
        for note in &mut about.subagents {
            for words in [&mut note.title, &mut note.kind, &mut note.summary] {
                *words = defused(words.clone().visible(self.rules));
            }
        }
        let facts = table::table(about.facts, &files, &greens);
        let runs = self.last_runs(about.facts);
        let answer = self.items.iter().rposition(|item| matches!(item.what, What::Says) && !item.by_subagent);
        let diff = self.diff.filter(|at| runs.contains(at));
        let mut record = Record {
            items: self.items,
            undelivered,
            facts,
            #[cfg(test)]
            greens,
            files,
            by_shell,
            runs,
            answer,
            subagents: about.subagents,
            alarms: self.alarms,
            marker: self.rules.marker(),
        };
        record.classify(&self.commands, diff);
        record
    }

    /// A session that is about judging speaks of judges all over. Only what speaks to the judge of this very session is an
    /// alarm there; the rest shows nothing, as if it had only been read.
    fn tell_apart(&mut self) {
        let mut texts: Vec<&str> = self.alarms.iter().map(|alarm| alarm.words.as_str()).collect();
        texts.sort_unstable();
        texts.dedup();
        if texts.len() < ABOUT_JUDGING {
            return;
        }
        let (alarms, rest) = std::mem::take(&mut self.alarms).into_iter().partition(|alarm| is_to_us(&alarm.words));
        self.alarms = alarms;
        let rest: Vec<Alarm> = rest;
        let of: KeySet<EventId> = rest.iter().map(|alarm| alarm.event).collect();
        for item in self.items.iter_mut().filter(|item| of.contains(&item.id)) {
            item.source = Source::Read;
        }
    }

    /// The results of the last run of each kind, of the last diff, and of the last command that did something else
    /// after the last change.
    fn last_runs(&self, facts: &Facts) -> Vec<usize> {
        let verification = &facts.verification;
        let kinds = [&verification.test_runs, &verification.build_runs, &verification.lint_runs];
        let last = |runs: &crate::facts::verification::Runs| {
            [&runs.pass, &runs.fail, &runs.unknown].into_iter().filter_map(|ids| ids.last().copied()).max()
        };
        let result_of = |id: EventId| {
            self.items.iter().find_map(|item| match item.what {
                What::Call { result, .. } if item.id == id => result,
                _ => None,
            })
        };
        let mut runs: Vec<usize> = kinds.into_iter().filter_map(last).filter_map(result_of).collect();
        let last_edit = facts.edits.edit_calls_ok.0.last().copied();
        let after = |at: &usize| self.items.get(*at).is_some_and(|item| Some(item.id) > last_edit);
        runs.extend(self.last_run.filter(after));
        runs.extend(self.diff.filter(|at| self.changed && after(at)));
        runs.sort_unstable();
        runs.dedup();
        runs
    }
}

/// A session as it was kept.
#[derive(Clone, Debug)]
pub struct Record {
    pub(super) items: Vec<Item>,
    pub(super) undelivered: Vec<Item>,
    pub(super) facts: Redacted<String>,
    #[cfg(test)]
    pub(super) greens: Vec<super::greens::Green>,
    pub(super) files: Vec<Produced>,
    /// Files that commands name as written.
    pub(super) by_shell: Vec<(EventId, Redacted<String>)>,
    /// The results of the last runs.
    pub(super) runs: Vec<usize>,
    /// The agent's last words.
    pub(super) answer: Option<usize>,
    pub(super) subagents: Vec<SubagentNote>,
    pub(super) alarms: Vec<Alarm>,
    pub(super) marker: Marker,
}

impl Record {
    /// The same without the words of whatever speaks to its judge, for one who shall not hear them. None where nothing does.
    pub fn without_alarms(&self) -> Option<Record> {
        if self.alarms.is_empty() {
            return None;
        }
        let suspected: KeySet<EventId> = self.alarms.iter().map(|alarm| alarm.event).collect();
        let mut left_out = Compose::new();
        left_out.own("(left out: it speaks to its judge)");
        let left_out = left_out.finish();
        let mut record = self.clone();
        let items = record.items.iter_mut().chain(&mut record.undelivered);
        for item in items.filter(|item| suspected.contains(&item.id)) {
            item.text = left_out.clone();
        }
        for file in record.files.iter_mut().filter(|file| file.events.iter().any(|id| suspected.contains(id))) {
            file.text = left_out.clone();
        }
        Some(record)
    }

    /// Says what is given up first, once it is known what came later.
    fn classify(&mut self, commands: &[(usize, u64)], diff: Option<usize>) {
        let mut again = KeySet::default();
        for (at, command) in commands.iter().rev() {
            if !again.insert(*command)
                && let Some(item) = self.items.get_mut(*at)
                && item.class > Class::Repeated
            {
                item.class = Class::Repeated;
            }
        }
        let turns = self.items.last().map_or(0, |item| item.turn);
        let recent = self.items.len() - self.items.len() / 4;
        for (at, item) in self.items.iter_mut().enumerate() {
            let old = if turns >= 3 { item.turn + 2 <= turns } else { at < recent };
            if old || item.by_subagent {
                item.class = match item.class {
                    Class::Output => Class::OldOutput,
                    Class::Call => Class::OldCall,
                    Class::Words => Class::OldWords,
                    other => other,
                };
            }
        }
        for at in &self.runs {
            if let Some(item) = self.items.get_mut(*at) {
                item.class = Class::Run;
            }
        }
        if let Some(item) = diff.and_then(|at| self.items.get_mut(at)) {
            item.class = Class::Produced;
        }
        if let Some(item) = self.answer.and_then(|at| self.items.get_mut(at)) {
            item.class = Class::Answer;
        }
    }
}

/// Whether words speak to the judge of this session, and not of judging.
fn is_to_us(words: &Redacted<String>) -> bool {
    let lower = words.as_str().to_lowercase();
    TO_US.iter().any(|sign| lower.contains(sign))
}

/// What the words of a call, or of its result, can show.
fn source(call: &OpenCall) -> Source {
    match call.tool {
        tool if tool.edits() => Source::Did,
        Tool::Shell if !call.command.read_only && !fetches(&call.command.text) => Source::Did,
        Tool::Subagent => Source::Agent,
        _ => Source::Read,
    }
}

/// Whether all that a command does is to fetch something.
fn fetches(command: &str) -> bool {
    programs(
        command,
        &["curl", "wget", "http", "https", "xh", "lynx", "w3m"],
        &["jq", "head", "tail", "grep", "cat", "cd", "echo"],
    )
}

/// Whether all that a command does is to list files.
fn lists(command: &str) -> bool {
    programs(command, &["ls", "find", "tree", "fd", "du"], &["head", "tail", "sort", "wc", "grep", "cd", "pwd", "echo"])
}

/// Whether a command runs one of these programs and none but these and some others.
fn programs(command: &str, these: &[&str], others: &[&str]) -> bool {
    let segments = shell::segments(command);
    let named =
        |names: &[&str], segment: &shell::Segment<'_>| segment.program().is_some_and(|name| names.contains(&name));
    segments.iter().any(|segment| named(these, segment))
        && segments.iter().all(|segment| named(these, segment) || named(others, segment))
}

/// Output that is JSON as its texts read, without escapes: a tool that answers in JSON wraps what it found in it.
fn unescaped(body: &str) -> Cow<'_, str> {
    let trimmed = body.trim();
    if !trimmed.starts_with(['{', '[', '"']) || !trimmed.contains("\\n") {
        return body.into();
    }
    let mut out = String::new();
    match serde_json::from_str(trimmed) {
        Ok(value) => spell(&value, "", &mut out),
        Err(_) => return body.into(),
    }
    out.into()
}

/// Writes a value line by line, each text behind the name that it has.
fn spell(value: &Value, name: &str, out: &mut String) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| spell(value, key, out)),
        Value::Array(items) => items.iter().for_each(|item| spell(item, name, out)),
        other => {
            if !name.is_empty() {
                out.push_str(name);
                out.push_str(": ");
            }
            match other {
                Value::String(text) => out.push_str(text),
                // Writing to a string cannot fail.
                other => drop(write!(out, "{other}")),
            }
            out.push('\n');
        }
    }
}

fn is_command(item: &Item) -> bool {
    matches!(item.what, What::Person(RAN))
}

/// What the client puts before commands so that the agent leaves them alone. It tells a judge nothing.
fn is_caveat(words: &str) -> bool {
    let words = words.trim_start();
    let words = words.strip_prefix("<local-command-caveat>").unwrap_or(words);
    words.starts_with("Caveat: The messages below were generated by the user while running local commands")
}

/// Words made fit to be kept: redacted, looked through for what speaks to a judge, cleaned, cut. Also says how many
/// characters there were.
pub(super) fn words(id: EventId, raw: &str, kept: usize, rules: &Rules) -> (Redacted<String>, usize, Option<Alarm>) {
    let redacted = redact(raw, rules);
    let alarm = tripwire::find(redacted.as_str()).map(|place| {
        let words = redacted.part(place).visible(rules).shorten(160);
        Alarm { event: id, words }
    });
    let visible = defused(redacted.visible(rules));
    let chars = visible.as_str().chars().count();
    (if visible.as_str().len() > kept { visible.cut(kept) } else { visible }, chars, alarm)
}

/// A result without what the client put behind it for the agent.
fn without_reminder(body: &str) -> &str {
    let reminded = body.trim_end().ends_with("</system-reminder>");
    let start = reminded.then(|| body.rfind("<system-reminder>")).flatten();
    start.and_then(|start| body.get(..start)).map_or(body, str::trim_end)
}

/// Words that may be shown to a judge.
pub(super) fn shown(raw: &str, rules: &Rules) -> Redacted<String> {
    defused(redact_visible(raw, rules))
}

/// Words that cannot be taken for a fence.
fn defused(words: Redacted<String>) -> Redacted<String> {
    words.replaced("hotwash-evidence", "hotwash evidence")
}

/// A path without the folder that the session works in.
fn shortened(path: &str, cwd: Option<&str>) -> String {
    let inside = cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
    inside.unwrap_or(path).to_owned()
}

fn hash(words: &str) -> u64 {
    xxh3_64(words.trim().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_wraps_in_json_reads_without_escapes() {
        for (output, shown) in [
            (
                r#"{"files":[{"path":"a.rs","text":"fn a() {\n    b(\"c\")\n}"}],"more":false}"#,
                "path: a.rs\ntext: fn a() {\n    b(\"c\")\n}\nmore: false\n",
            ),
            (r#" ["one\ntwo", 3] "#, "one\ntwo\n3\n"),
            // What has no line breaks, or is no JSON, stays as it is.
            (r#"{"ok":true}"#, r#"{"ok":true}"#),
            (r#"{"broken": "a\nb""#, r#"{"broken": "a\nb""#),
            (r"plain \n text", r"plain \n text"),
        ] {
            assert_eq!(unescaped(output), shown, "{output}");
        }
    }

    #[test]
    fn commands_that_only_fetch_or_list_are_told_from_others() {
        for (command, fetching, listing) in [
            ("curl -s https://example.org | jq .", true, false),
            ("wget -qO- https://example.org", true, false),
            ("curl https://example.org/install.sh | sh", false, false),
            ("ls -la src", false, true),
            ("cd src && find . -name '*.rs' | head", false, true),
            ("ls && cargo test", false, false),
            ("grep -rn needle src", false, false),
        ] {
            assert_eq!((fetches(command), lists(command)), (fetching, listing), "{command}");
        }
    }
}
