//! Lays a record out for a reader: facts, requests, timeline, what was made, last runs, last answer.
//!
//! Lines of the session's own text are indented, so that none of them can pass for a heading or an event of ours.

use super::chunks::{Unit, chunks, most};
use super::produced::{Fate, Produced};
use super::record::{Item, Record, What};
use super::shorten::{Caps, Class};
use super::tokens::{self, PER_STEP};
use super::{Evidence, Part, Shown, Source};
use crate::facts::Status;
use crate::facts::calls::KeyMap;
use crate::redaction::{Compose, Redacted, weight};
use crate::rubric::Chunks;
use crate::sessions::{EventId, Key};
use std::collections::BTreeMap;
use std::ops::Range;

/// What the requests alone may take, in tokens.
const REQUESTS: usize = 60_000;
/// What the requests before a chunk may take, by weight.
const REQUESTS_SO_FAR: usize = 12_000;
/// What all that was made may take in the last of several chunks, by weight.
const PRODUCED_IN_CHUNK: usize = 80_000;
/// What fences, headings and marks of a chunk take, in tokens.
const FRAME: usize = 600;
/// So many budgets a session may take that has much to decide by.
const MOST_BUDGETS: usize = 3;
/// Longer words than that stand below what they belong to.
const IN_LINE: usize = 240;

/// What is shown of a record.
#[derive(Clone, Debug)]
struct View {
    facts: bool,
    requests: Vec<usize>,
    timeline: Range<usize>,
    /// What of the timeline belongs to this part.
    owned: Range<usize>,
    /// What was made, the last runs and the last answer are shown.
    ending: bool,
    /// How many things at the beginning of the timeline are left out.
    skip: usize,
    part: Part,
}

impl Record {
    /// The person's words only, in order.
    pub fn requests(&self) -> Evidence {
        let part = Part { number: 0, of: 1, owned_tokens: 0 };
        let view = View {
            facts: false,
            requests: self.asked(0..self.items.len()),
            timeline: 0..0,
            owned: 0..0,
            ending: false,
            skip: 0,
            part,
        };
        self.render(view, Caps::first(REQUESTS), REQUESTS, 0)
    }

    /// The session in one piece, shortened to a budget. Only what decides may take more than that.
    pub fn whole(&self, budget_tokens: usize) -> Evidence {
        let caps = Caps::first(budget_tokens);
        // What decides may take more than the budget, but not without an end; the rest has a third of it at least.
        let room = self.decides_within(caps) + budget_tokens / 3;
        let room = room.clamp(budget_tokens, MOST_BUDGETS * budget_tokens);
        self.render(self.all(0..self.items.len()), caps, room, 0)
    }

    /// How many tokens it takes to show all that decides.
    pub fn decides_by(&self) -> usize {
        self.decides_within(Caps::first(usize::MAX / 1_000_000))
    }

    fn decides_within(&self, caps: Caps) -> usize {
        let page = self.page(&self.all(0..self.items.len()), &caps);
        let deciding: Vec<_> = page.pieces.iter().copied().filter(|(class, _)| class.decides()).collect();
        caps.size(&deciding) / 4
    }

    /// The session in pieces, none of which is too large.
    pub fn chunks(&self, rules: &Chunks) -> Vec<Evidence> {
        let units = self.units();
        let sizes: Vec<Unit> = units.iter().map(|range| self.unit(range, rules.max_tokens)).collect();
        let total: usize = sizes.iter().map(|unit| unit.tokens).sum();
        if units.is_empty() {
            return Vec::new();
        }
        let facts = tokens::of_text(self.facts.as_str()) + FRAME;
        let all = 0..self.items.len();
        let extra = PER_STEP * self.steps(all.clone());
        // Where steps alone take all the room there is none for their words.
        if total <= rules.max_tokens && extra + facts <= rules.max_tokens {
            let mut view = self.all(all);
            view.part.owned_tokens = total;
            return vec![self.render(view, Caps::first(rules.max_tokens), rules.max_tokens, PER_STEP)];
        }
        let fixed = facts + REQUESTS_SO_FAR / 4;
        let cut = chunks(&sizes, fixed, rules);
        let of = cut.len();
        let items = |range: &Range<usize>| {
            let start = units.get(range.start).map_or(0, |unit| unit.start);
            let end = range.end.checked_sub(1).and_then(|last| units.get(last)).map_or(start, |unit| unit.end);
            start..end.max(start)
        };
        let most = most(rules, fixed);
        let show = |(number, chunk): (usize, &super::chunks::Chunk)| {
            let owned = items(&chunk.owned);
            let start = if chunk.context.is_empty() { owned.start } else { items(&chunk.context).start };
            let owned_units = sizes.get(chunk.owned.clone()).unwrap_or_default();
            let owned_tokens = owned_units.iter().map(|unit| unit.tokens.min(most)).sum();
            let timeline = start..owned.end;
            let view = View {
                facts: true,
                requests: self.asked(0..start),
                timeline,
                owned,
                ending: number + 1 == of,
                skip: 0,
                part: Part { number, of, owned_tokens },
            };
            let mut caps = Caps::first(rules.max_tokens);
            let so_far: Vec<(Class, usize)> = view
                .requests
                .iter()
                .filter_map(|at| self.items.get(*at))
                .map(|item| (Class::Request, indented(item.text.as_str())))
                .collect();
            caps.limit(Class::Request, &so_far, REQUESTS_SO_FAR);
            let made: Vec<(Class, usize)> =
                self.files.iter().map(|file| (Class::Produced, indented(file.text.as_str()))).collect();
            caps.limit(Class::Produced, &made, PRODUCED_IN_CHUNK);
            self.render(view, caps, rules.max_tokens, PER_STEP)
        };
        cut.iter().enumerate().map(show).collect()
    }

    fn all(&self, items: Range<usize>) -> View {
        View {
            facts: true,
            requests: self.asked(items.clone()),
            timeline: items.clone(),
            owned: items,
            ending: true,
            skip: 0,
            part: Part { number: 0, of: 1, owned_tokens: 0 },
        }
    }

    /// Where somebody asked for something.
    fn asked(&self, range: Range<usize>) -> Vec<usize> {
        let asks = |at: &usize| self.items.get(*at).is_some_and(|item| matches!(item.what, What::Request(_)));
        range.filter(asks).collect()
    }

    /// What cannot be cut: the calls of a message with their results.
    fn units(&self) -> Vec<Range<usize>> {
        let mut ends: KeyMap<Key, usize> = KeyMap::default();
        for (at, item) in self.items.iter().enumerate() {
            if let What::Call { result, message, .. } = &item.what {
                let end = ends.entry(*message).or_default();
                *end = (*end).max(at).max(result.unwrap_or(at));
            }
        }
        let mut units = Vec::new();
        let (mut start, mut until) = (0, 0);
        for (at, item) in self.items.iter().enumerate() {
            if at > until {
                units.push(start..at);
                start = at;
            }
            until = until.max(at);
            if let What::Call { message, .. } = &item.what {
                until = until.max(ends.get(message).copied().unwrap_or(at));
            }
        }
        if start < self.items.len() {
            units.push(start..self.items.len());
        }
        units
    }

    /// How large a unit is, as it is shown where there is room.
    fn unit(&self, range: &Range<usize>, budget: usize) -> Unit {
        let items = self.items.get(range.clone()).unwrap_or_default();
        let caps = Caps::first(budget);
        let tokens = |item: &Item| {
            let text = indented(item.text.as_str()).min(caps.of(item.class) + crate::redaction::MARK_WEIGHT);
            (text + 40).div_ceil(4) + if is_step(item) { PER_STEP } else { 0 }
        };
        Unit { tokens: items.iter().map(tokens).sum(), turn: items.first().map_or(0, |item| item.turn) }
    }

    fn steps(&self, range: Range<usize>) -> usize {
        self.items.get(range).unwrap_or_default().iter().filter(|item| is_step(item)).count()
    }

    /// Lays a view out within a budget, of which each call and each result takes `per_step` beside its text.
    fn render(&self, mut view: View, caps: Caps, max_tokens: usize, per_step: usize) -> Evidence {
        let extra = |view: &View| per_step * self.steps(view.timeline.start + view.skip..view.timeline.end);
        let budget = |view: &View| max_tokens.saturating_sub(extra(view)) * 4;
        let mut page = self.page(&view, &caps);
        for all in [false, true] {
            let mut room = budget(&view);
            for _ in 0..6 {
                if page.weight() <= budget(&view) {
                    break;
                }
                let fixed = page.weight().saturating_sub(page.caps.size(&page.pieces));
                page = self.page(&view, &caps.fit(&page.pieces, room.saturating_sub(fixed), all));
                room = room.saturating_sub(page.weight().saturating_sub(budget(&view)) + 64);
            }
            // Even the shortest is too long: what came first is left out, but not all of it while what decides is whole.
            let most = if all { view.timeline.len() } else { view.timeline.len() / 4 * 3 };
            while page.weight() > budget(&view) && view.skip < most {
                view.skip = (view.skip + (view.timeline.len() / 16).max(1)).min(most);
                page = self.page(&view, &page.caps.clone());
            }
        }
        let (budget, extra) = (budget(&view), extra(&view));
        self.fenced(page, &view, budget, extra)
    }

    fn fenced(&self, page: Page, view: &View, budget: usize, extra: usize) -> Evidence {
        let coverage = if page.total == 0 { 1.0 } else { page.kept as f64 / page.total as f64 };
        let inside = page.out.finish();
        // Fences take some room, too.
        let inside = if weight(inside.as_str()) + 160 > budget.max(160) {
            inside.cut(budget.saturating_sub(220))
        } else {
            inside
        };
        let mark = self.marker.mark(inside.as_str());
        let mut out = Compose::new();
        out.own("<<<hotwash-evidence ").mark(&mark).own(">>>\n").words(&inside);
        out.own("<<<end of hotwash-evidence ").mark(&mark).own(">>>");
        let text = out.finish();
        let mut part = view.part;
        let tokens = tokens::of_text(text.as_str()) + extra;
        if part.owned_tokens == 0 {
            part.owned_tokens = tokens;
        }
        let events = self.shown(view);
        let alarms = self.alarms.iter().filter(|alarm| events.contains_key(&alarm.event)).cloned().collect();
        Evidence { text, marker: mark.as_str().to_owned(), tokens, part, events, alarms, coverage }
    }

    /// The events that a view shows, with all their words.
    fn shown(&self, view: &View) -> BTreeMap<EventId, Shown> {
        let mut events: BTreeMap<EventId, Shown> = BTreeMap::new();
        let mut show = |id: EventId, words: &Redacted<String>, owned: bool, source: Source| match events.get_mut(&id) {
            Some(shown) => {
                let mut both = Compose::new();
                both.words(&shown.words).own("\n").words(words);
                shown.words = both.finish();
                shown.owned |= owned;
                shown.source = shown.source.max(source);
            }
            None => {
                events.insert(id, Shown { words: words.clone(), owned, source });
            }
        };
        let single = view.part.of == 1;
        for at in view.requests.iter().filter(|at| !view.timeline.contains(at)) {
            if let Some(item) = self.items.get(*at) {
                show(item.id, &item.text, single, item.source);
            }
        }
        for at in view.timeline.clone() {
            if let Some(item) = self.items.get(at) {
                show(item.id, &item.text, view.owned.contains(&at), item.source);
            }
        }
        if view.ending || !view.facts {
            for item in &self.undelivered {
                show(item.id, &item.text, true, item.source);
            }
        }
        if view.ending {
            for at in self.runs.iter().chain(&self.answer).filter(|at| !view.timeline.contains(at)) {
                if let Some(item) = self.items.get(*at) {
                    show(item.id, &item.text, true, item.source);
                }
            }
            for file in &self.files {
                if let Some(last) = file.events.last() {
                    show(*last, &file.text, true, Source::Did);
                }
            }
        }
        events
    }

    fn page(&self, view: &View, caps: &Caps) -> Page {
        let mut page = Page::new(*caps);
        if view.part.of > 1 {
            page.out.own("Part ").plain(view.part.number + 1).own(" of ").plain(view.part.of).own(".\n");
        }
        if view.facts {
            page.out.own("# Facts (counted by a program from the record)\n").words(&self.facts);
        }
        self.write_requests(view, &mut page);
        if view.facts {
            self.timeline(view, &mut page);
        }
        if view.ending {
            self.ending(&mut page);
        }
        page
    }

    fn write_requests(&self, view: &View, page: &mut Page) {
        let undelivered: &[Item] = if view.ending || !view.facts { &self.undelivered } else { &[] };
        if view.requests.is_empty() && undelivered.is_empty() {
            return;
        }
        page.out.own(if view.part.of > 1 {
            "# Requests before this part\n"
        } else {
            "# Requests (what was asked for, in order)\n"
        });
        let mut said: BTreeMap<&str, EventId> = BTreeMap::new();
        for item in view.requests.iter().filter_map(|at| self.items.get(*at)).chain(undelivered) {
            let What::Request(from) = item.what else { continue };
            page.out.own("[").plain(item.id).own("] ").own(from);
            let first = *said.entry(item.text.as_str()).or_insert(item.id);
            // A long text that was sent again, such as a plan, is read once.
            if first != item.id && item.text.as_str().len() > IN_LINE {
                page.out.own(": the same words as [").plain(first).own("]\n");
            } else {
                page.out.own("\n");
                page.block(Class::Request, &item.text, item.chars);
            }
        }
    }

    fn timeline(&self, view: &View, page: &mut Page) {
        page.out.own("# Timeline\n");
        if view.skip > 0 {
            page.out.own("[… ").plain(view.skip).own(" events cut …]\n");
            let hidden = self.items.get(view.timeline.start..view.timeline.start + view.skip.min(view.timeline.len()));
            let decides = hidden.unwrap_or_default().iter().filter(|item| item.class.decides());
            page.total += decides.map(|item| item.chars).sum::<usize>();
        }
        let mut turn = None;
        let mut message = None;
        if view.timeline.start < view.owned.start {
            page.out.own("(context from the part before: for understanding only, not to be judged)\n");
        }
        for at in view.timeline.clone().skip(view.skip) {
            let Some(item) = self.items.get(at) else { break };
            if at == view.owned.start && at > view.timeline.start {
                page.out.own("(this part begins here)\n");
            }
            if turn != Some(item.turn) {
                turn = Some(item.turn);
                page.out.own("## Turn ").plain(item.turn + 1).own("\n");
            }
            page.out.own("[").plain(item.id).own("] ");
            if item.by_subagent {
                page.out.own("(subagent) ");
            }
            self.line(view, page, at, item, &mut message);
        }
    }

    fn line(&self, view: &View, page: &mut Page, at: usize, item: &Item, message: &mut Option<Key>) {
        match &item.what {
            What::Request(from) => {
                page.out.own(from);
                if view.requests.contains(&at) {
                    page.out.own(": see Requests\n");
                    return;
                }
            }
            What::Person(did) => {
                page.out.own("the person ").own(did);
            }
            What::Says => {
                page.out.own("agent");
                if view.ending && self.answer == Some(at) {
                    page.out.own(": see Last answer\n");
                    return;
                }
            }
            What::Call { tool, file, message: of, .. } => {
                page.out.words(tool);
                if *message == Some(*of) {
                    page.out.own(" (beside the call before)");
                }
                *message = Some(*of);
                if let Some(file) = file.and_then(|file| self.files.get(file)).filter(|_| view.ending)
                    && stands(file, item.id)
                {
                    page.out.own(" ").words(&file.path).own(" (+").plain(file.added).own(" −").plain(file.removed);
                    page.out.own("): see Produced\n");
                    return;
                }
            }
            What::Result { call, status, echo } => {
                page.out.own(match status {
                    Status::Ok => "ok",
                    Status::Failed => "error",
                    Status::Rejected => "rejected by the person",
                    Status::Echo => "cancelled, because a call beside it failed",
                });
                // Right behind its call it needs no name.
                if let Some(call) = call.filter(|call| call + 1 != at).and_then(|call| self.items.get(call)) {
                    page.out.own(" (of ").plain(call.id).own(")");
                }
                if *echo {
                    page.out.own("\n");
                    return;
                }
                if view.ending && self.runs.contains(&at) {
                    page.out.own(": see Last runs\n");
                    return;
                }
            }
            What::Note(note) => {
                page.out.own("(").own(note).own(")");
            }
        }
        page.words(item.class, &item.text, item.chars);
    }

    fn ending(&self, page: &mut Page) {
        if !self.files.is_empty() || !self.by_shell.is_empty() {
            page.out
                .own("# Produced (files as they stand at the end of the session, or what all edits of them come to)\n");
        }
        for file in &self.files {
            produced(page, file);
        }
        for (id, files) in &self.by_shell {
            page.out.own("written by a shell command: [").plain(*id).own("] ");
            page.out.words(files).own("\n");
        }
        if !self.runs.is_empty() {
            page.out.own("# Last runs\n");
        }
        for at in &self.runs {
            let Some(item) = self.items.get(*at) else { continue };
            let What::Result { call, status, .. } = &item.what else { continue };
            if let Some(call) = call.and_then(|call| self.items.get(call)) {
                page.out.own("[").plain(call.id).own("]");
                page.words(Class::Call, &call.text, 0);
            }
            page.out.own("[").plain(item.id).own(if *status == Status::Ok { "] ok" } else { "] error" });
            page.words(Class::Run, &item.text, item.chars);
        }
        if let Some(item) = self.answer.and_then(|at| self.items.get(at)) {
            page.out.own("# Last answer (the agent's own words: claims, not evidence)\n[").plain(item.id).own("]\n");
            page.block(Class::Answer, &item.text, item.chars);
        }
        if !self.subagents.is_empty() {
            page.out.own("# Subagents\n");
        }
        for note in &self.subagents {
            page.out.own("- ").words(&note.kind).own("\n");
            page.block(Class::Call, &note.title, note.title.as_str().chars().count());
            page.block(Class::Found, &note.summary, note.summary.as_str().chars().count());
        }
    }
}

/// Whether what an edit made stands among what was made, so that it need not stand twice.
fn stands(file: &Produced, id: EventId) -> bool {
    let only = file.events.len() == 1;
    !file.text.as_str().is_empty() && (only || file.whole && file.events.first() == Some(&id))
}

fn produced(page: &mut Page, file: &Produced) {
    page.out.own("## ").words(&file.path).own(if file.whole {
        " (new, whole)"
    } else if file.created {
        " (new)"
    } else {
        ""
    });
    page.out.own(if file.plan { " (the agent's own plan, no part of the work)" } else { "" });
    page.out.own(" +").plain(file.added).own(" −").plain(file.removed).own(" by");
    let skipped = file.events.len().saturating_sub(12);
    if skipped > 0 {
        page.out.own(" …");
    }
    for id in file.events.iter().skip(skipped) {
        page.out.own(" ").plain(*id);
    }
    if let Some((fate, id)) = file.fate {
        page.out.own(match fate {
            Fate::PutBack => ", put back by ",
            Fate::Deleted => ", deleted by ",
            Fate::Moved => ", moved by ",
        });
        page.out.plain(id);
    }
    if file.text.as_str().is_empty() {
        page.out.own(": net change: none\n");
    } else {
        page.out.own("\n");
        page.block(Class::Produced, &file.text, file.chars);
    }
}

fn is_step(item: &Item) -> bool {
    matches!(item.what, What::Call { .. } | What::Result { .. })
}

/// What a text weighs when its lines are indented.
fn indented(text: &str) -> usize {
    weight(text) + 3 * text.lines().count()
}

/// A text being laid out, with what there is to shorten in it.
#[derive(Debug)]
struct Page {
    out: Compose,
    caps: Caps,
    pieces: Vec<(Class, usize)>,
    kept: usize,
    total: usize,
}

impl Page {
    fn new(caps: Caps) -> Page {
        Page { out: Compose::new(), caps, pieces: Vec::new(), kept: 0, total: 0 }
    }

    fn weight(&self) -> usize {
        weight(self.out.as_str()) + 160
    }

    /// Words behind what they belong to, or below it where they are long.
    fn words(&mut self, class: Class, text: &Redacted<String>, chars: usize) {
        let words = text.as_str().trim();
        if words.is_empty() {
            self.out.own("\n");
        } else if words.len() <= IN_LINE && !words.contains('\n') {
            self.out.own(": ").words(&text.part(start_of(text.as_str())..text.as_str().len())).own("\n");
            self.count(class, chars, 0);
        } else {
            self.out.own(":\n");
            self.block(class, text, chars);
        }
    }

    /// Words in lines of their own.
    fn block(&mut self, class: Class, text: &Redacted<String>, chars: usize) {
        self.pieces.push((class, indented(text.as_str())));
        // Indentation is part of what a piece may weigh.
        let cap = self.caps.of(class);
        let full = indented(text.as_str());
        let most = if full > cap { cap * weight(text.as_str()) / full.max(1) } else { cap };
        let cut = self.out.lines("  ", text, most);
        self.count(class, text.as_str().chars().count().saturating_sub(cut).min(chars), cut.min(chars));
    }

    /// Counts how much is shown and how much was cut of what decides.
    fn count(&mut self, class: Class, kept: usize, cut: usize) {
        if class.decides() {
            self.kept += kept;
            self.total += kept + cut;
        }
    }
}

fn start_of(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
