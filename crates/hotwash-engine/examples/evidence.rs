//! Shows the evidence of a transcript as a judge would see it: `evidence FILE [whole TOKENS | requests | chunks]`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to who runs it")]

use hotwash_core::evidence::{About, Evidence, Recorder};
use hotwash_core::prices;
use hotwash_core::redaction::Rules;
use hotwash_core::rubric::Chunks;
use hotwash_core::sessions::Pieces;
use hotwash_core::sessions::topic::ByWords;
use hotwash_engine::sources::Agent;
use hotwash_engine::sources::reader::{Window, lines};
use std::fs::File;
use std::io;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or_else(|| io::Error::other("which transcript?"))?;
    let how = arguments.next().unwrap_or_else(|| "whole".into());
    let tokens = arguments.next().and_then(|tokens| tokens.parse().ok()).unwrap_or(120_000);
    let rules = Rules::default();
    let mut recorder = Recorder::new(&rules);
    let mut pieces = Pieces::whole();
    lines(
        Agent::owning(path.as_ref()).unwrap_or_default(),
        &mut File::open(path)?,
        &mut Window::default(),
        &[(1, u32::MAX)],
        &mut |event| {
            recorder.event(event);
            pieces.event(event, &ByWords);
        },
    )?;
    let facts = pieces.ledger().finish(prices::shipped());
    let record = recorder.finish(About { facts: &facts, subagents: Vec::new() });
    let shown: Vec<Evidence> = match how.as_str() {
        "requests" => vec![record.requests()],
        "chunks" => record.chunks(&Chunks::default()),
        _ => vec![record.whole(tokens)],
    };
    for evidence in &shown {
        println!("{}", evidence.text());
        let (part, alarms) = (evidence.part(), evidence.alarms());
        eprintln!("{} tokens, coverage {:.3}, {part:?}", evidence.tokens(), evidence.coverage());
        for alarm in alarms {
            eprintln!("alarm {}: {}", alarm.event, alarm.words);
        }
    }
    Ok(())
}
