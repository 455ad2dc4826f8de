//! A small language for transcripts, so that a test reads as the story it is about.
//!
//! ```text
//! e1 user  fix the parser          a prompt; `\n` in it begins a line
//! e2 Read  src/a.rs:10+50          a call; `&Read` rides in the message before
//! e3 ok    what the tool said      the oldest call without a result ends well
//! e4 Edit  src/a.rs -old +new      what the edit changes, told with its result
//! e5 error no such file            the oldest call without a result fails; `asked` one that a person allowed ends well
//! e6 says  done                    the agent's prose
//! e7 compact                       an automatic compaction
//! e8 overloaded                    a request that failed for good
//! e9 command /review               a slash command; `plan` an approved plan, `headless` a run with nobody in front
//! e10 queued and the docs          a prompt typed while the agent works
//! e11 goal it is green             the condition of a `/goal`; `limit` when all turns are used up
//! e12 check unmet it is green | why  what the client says of it: `met`, `unmet`, `impossible`
//! ```
//! `@12` at the end of a line is a time in seconds.

use super::{Facts, Ledger};
use crate::prices;
use crate::sessions::topic::ByWords;
use crate::sessions::{
    ApiError, Call, Change, CommandVia, Compaction, Event, EventId, GoalCheck, Input, Key, Kind, Origin, Outcome,
    Pieces, Prompt, PromptVia, Timestamp, Tool,
};
use crate::text::{Body, Text};
use std::collections::VecDeque;

/// The facts of a story.
pub(crate) fn facts_of(story: &str) -> Facts {
    ledger_of(story).finish(prices::shipped())
}

/// A story as it was taken in.
pub(crate) fn ledger_of(story: &str) -> Ledger {
    let mut pieces = Pieces::whole();
    tell(story, |event| pieces.event(event, &ByWords));
    pieces.ledger().clone()
}

/// Tells `listen` the events of a story.
pub(crate) fn tell(story: &str, mut listen: impl FnMut(&Event<'_>)) {
    let mut open: VecDeque<(Key, Vec<String>)> = VecDeque::new();
    let mut message = 0;
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (line, at) = match line.rsplit_once('@') {
            Some((line, time)) if time.parse::<i64>().is_ok() => (line.trim(), time.parse().ok()),
            _ => (line, None),
        };
        let (id, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let id: u32 = id.trim_start_matches('e').parse().unwrap_or_else(|_| panic!("no event id in {line:?}"));
        let (verb, rest) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        let rest = rest.trim();
        let origin = Origin {
            id: EventId(id),
            key: Some(Key(u64::from(id))),
            at: at.map(|seconds: i64| Timestamp(seconds * 1000)),
            cwd: Text::plain("/work"),
            ..Origin::default()
        };
        let mut tell = |kind| listen(&Event { origin: &origin, kind });
        match verb {
            "user" => {
                let words = rest.replace("\\n", "\n");
                tell(&Kind::Prompt(Prompt { words: &words, via: PromptVia::Typed, images: 0 }));
            }
            "says" => tell(&Kind::Says(Text::plain(rest))),
            "compact" => tell(&Kind::Compaction(Compaction::Auto)),
            "goal" => {
                tell(&Kind::Prompt(Prompt { words: rest, via: PromptVia::Goal, images: 0 }));
            }
            // `met`, `unmet` or `impossible`, the condition, and the reason behind a bar.
            "check" => {
                let (said, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let (condition, reason) = rest.split_once(" | ").unwrap_or((rest, ""));
                let (condition, reason) = (Text::plain(condition), Text::plain(reason));
                let (met, given_up) = (said == "met", said == "impossible");
                tell(&Kind::GoalCheck(GoalCheck { set: false, met, given_up, condition, reason }));
            }
            "limit" => tell(&Kind::TurnLimit),
            "queued" => {
                tell(&Kind::Prompt(Prompt { words: rest, via: PromptVia::Queued, images: 0 }));
            }
            "interrupt" => tell(&Kind::Interrupt),
            "command" => {
                let (name, args) = rest.split_once(' ').unwrap_or((rest, ""));
                tell(&Kind::Command { name: Text::plain(name), args: Text::plain(args), via: CommandVia::User });
            }
            "client" => tell(&Kind::ClientText(Body::One(Text::plain(rest)))),
            "plan" => tell(&Kind::PlanApproval(Body::One(Text::plain(rest)))),
            "headless" => listen(&Event { origin: &Origin { headless: true, ..origin }, kind: &Kind::Activity }),
            "overloaded" => tell(&Kind::ApiError(ApiError::Final(Body::One(Text::plain("overloaded"))))),
            "ok" | "asked" | "error" | "created" => {
                let (call, lines) = open.pop_front().unwrap_or_else(|| panic!("no call for {line:?}"));
                let patch: Vec<Text<'_>> = lines.iter().map(|line| Text::plain(line)).collect();
                let content: String = lines.iter().flat_map(|line| [line.get(1..).unwrap_or_default(), "\n"]).collect();
                let change = if verb == "created" {
                    Some(Change { created: Some(Text::plain(&content)), ..Change::default() })
                } else {
                    (verb == "ok" && !patch.is_empty()).then_some(Change { patch: &patch, ..Change::default() })
                };
                let body = Body::One(Text::plain(rest));
                let (error, asked) = (verb == "error", (verb == "asked").then_some(true));
                tell(&Kind::Outcome(Outcome { call: Some(call), error, asked, body, change, ..Outcome::default() }));
            }
            _ => {
                let (beside, name) = verb.strip_prefix('&').map_or((false, verb), |name| (true, name));
                message += u64::from(!beside);
                let key = Key(1000 + u64::from(id));
                let (input, lines) = input(name, rest);
                open.push_back((key, lines));
                let call = Call { key, message: Key(message), name: Text::plain(name), tool: tool(name), input };
                tell(&Kind::Call(call));
            }
        }
    }
}

fn tool(name: &str) -> Tool {
    match name {
        "Read" => Tool::Read,
        "Edit" => Tool::Edit,
        "Write" => Tool::Write,
        "Bash" => Tool::Shell,
        "Grep" => Tool::Search,
        "TodoWrite" => Tool::Todo,
        "Task" => Tool::Subagent,
        "Ask" => Tool::AskPerson,
        "Plan" => Tool::Plan,
        "Fetch" => Tool::WebFetch,
        "Tool" => Tool::Other,
        _ => panic!("no tool {name}"),
    }
}

fn input<'a>(name: &str, rest: &'a str) -> (Input<'a>, Vec<String>) {
    let mut input = Input { whole: rest.as_bytes(), ..Input::default() };
    let mut lines = Vec::new();
    match name {
        "Read" => {
            let (path, range) = rest.split_once(':').map_or((rest, None), |(path, range)| (path, Some(range)));
            input.path = Text::plain(path);
            if let Some((offset, limit)) = range.and_then(|range| range.split_once('+')) {
                (input.offset, input.limit) = (offset.parse().ok(), limit.parse().ok());
            }
        }
        "Edit" | "Write" => {
            let (path, change) = rest.split_once(' ').unwrap_or((rest, ""));
            input.path = Text::plain(path);
            for part in change.split(" +").flat_map(|part| part.split(" -").enumerate()) {
                let (later, text) = part;
                let sign = if later > 0 || text.starts_with('-') { '-' } else { '+' };
                lines.push(format!("{sign}{}", text.trim_start_matches(['-', '+'])));
            }
        }
        "Bash" => input.command = Text::plain(rest),
        _ => input.pattern = Text::plain(rest),
    }
    (input, lines)
}
