//! Bad input gives what could be read and a counted warning; never a panic, never a wrong number in silence.

use crate::support::{Case, short};
use hotwash_engine::sources::reader::{LONGEST_LINE, Transcript, Window};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_folder_may_be_called_like_a_transcript() {
    let case = Case::with(&[("p/x.jsonl/inside.jsonl", short("s1", "a").text())]);
    let ingested = case.ingest();
    assert_eq!((ingested.read, ingested.failed.len()), (1, 0));
    assert_eq!(case.sessions().len(), 1);
}

#[test]
fn what_is_no_transcript_becomes_no_session() {
    let case = Case::with(&[("p/good.jsonl", short("s1", "a").text())]);
    let noise: Vec<u8> = (0..100_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    case.write("p/binary.jsonl", noise);
    case.write("p/empty.jsonl", "");
    case.write("p/blank.jsonl", "\n\n \n");
    let codex = fs::read(crate::support::root().join("fixtures/claude-code/codex-rollout.jsonl")).unwrap();
    case.write("p/codex.jsonl", codex);
    let ingested = case.ingest();
    assert_eq!((ingested.read, ingested.failed.len()), (5, 0));
    assert!(ingested.reading.malformed_lines > 0);
    assert_eq!(case.sessions().len(), 1);
    let roles = ["p/binary.jsonl", "p/empty.jsonl", "p/blank.jsonl", "p/codex.jsonl"].map(|name| case.role(name));
    assert_eq!(roles, ["not a Claude Code transcript", "empty", "empty", "not a Claude Code transcript"]);
}

#[test]
fn a_file_that_cannot_be_read_is_said_and_costs_only_itself() {
    let case = Case::with(&[
        ("p/a.jsonl", short("s1", "a").text()),
        ("p/gone.jsonl", short("s2", "b").text()),
        ("p/turned.jsonl", short("s3", "c").text()),
        ("p/locked.jsonl", short("s4", "d").text()),
    ]);
    let found = case.found();
    case.remove("p/gone.jsonl");
    case.remove("p/turned.jsonl");
    fs::create_dir(case.path("p/turned.jsonl")).unwrap();
    fs::set_permissions(case.path("p/locked.jsonl"), fs::Permissions::from_mode(0o000)).unwrap();
    let locked = File::open(case.path("p/locked.jsonl")).is_err(); // not for root
    let ingested = case.try_ingest(&found, &mut case.open()).unwrap();
    let mut expected = vec![(case.name("p/gone.jsonl"), "no such file or directory".to_string())];
    if locked {
        expected.push((case.name("p/locked.jsonl"), "permission denied".to_string()));
    }
    expected.push((case.name("p/turned.jsonl"), "is a directory".to_string()));
    assert_eq!(ingested.failed, expected);
    assert_eq!(case.sessions().len(), if locked { 1 } else { 2 });
}

#[test]
fn a_file_cut_short_between_finding_and_reading_is_read_as_it_is() {
    let talk = short("s1", "a").prompt("a7", "more").says("a8", "yes");
    let half = talk.text().match_indices('\n').nth(2).unwrap().0 + 7;
    let case = Case::with(&[("p/a.jsonl", talk.text())]);
    let found = case.found();
    File::options().write(true).open(case.path("p/a.jsonl")).unwrap().set_len(half as u64).unwrap();
    let ingested = case.try_ingest(&found, &mut case.open()).unwrap();
    assert_eq!((ingested.read, ingested.failed.len()), (1, 0));
    assert_eq!(ingested.reading.malformed_lines, 1);

    // And goes on from there when it is whole again.
    case.append("p/a.jsonl", &talk.text()[half..]);
    assert_eq!(case.ingest().grown, 1);
    let whole = Case::with(&[("p/a.jsonl", talk.text())]);
    whole.ingest();
    assert_eq!(case.dump(), whole.dump());
}

/// Hands out the beginning of some bytes and then says that this was all.
struct Early<'a>(&'a [u8], usize);

impl Read for Early<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let some = self.1.min(self.0.len()).min(buffer.len());
        buffer[..some].copy_from_slice(&self.0[..some]);
        (self.0, self.1) = (&self.0[some..], self.1 - some);
        Ok(some)
    }
}

#[test]
fn a_reader_that_ends_early_loses_nothing() {
    let text = fs::read(crate::support::root().join("fixtures/claude-code/rejections-and-echoes.jsonl")).unwrap();
    let mut whole = Transcript::default();
    whole.read(&mut text.as_slice(), &mut Window::default(), |_| {}).unwrap();
    let facts = |transcript: &Transcript| transcript.pieces.ledger().finish(hotwash_core::prices::shipped());
    for at in (0..text.len()).step_by(97) {
        let mut state = None;
        Transcript::default()
            .read(&mut Early(&text, at), &mut Window::default(), |transcript| state = Some(transcript.clone()))
            .unwrap();
        let mut transcript = state.unwrap();
        transcript.read(&mut &text[transcript.offset as usize..], &mut Window::default(), |_| {}).unwrap();
        assert_eq!(facts(&transcript), facts(&whole), "ended at {at}");
        assert_eq!((transcript.offset, transcript.reading), (whole.offset, whole.reading), "ended at {at}");
    }
}

#[test]
fn a_last_line_over_the_limit_may_yet_end() {
    let talk = short("s1", "a");
    let more = short("s1", "a").prompt("a7", "more").text()[talk.text().len()..].to_string();
    let long = "x".repeat(LONGEST_LINE + 1000);
    let case = Case::with(&[("p/a.jsonl", &format!("{}{long}", talk.text()))]);
    assert_eq!(case.ingest().reading.oversized_lines, 1);
    case.append("p/a.jsonl", format!("xx\n{more}"));
    assert_eq!(case.ingest().grown, 1);
    let row = case.session("p/a.jsonl");
    assert_eq!((row.version, row.session.facts.get().prompts.human_prompts.count()), (1, 2));
}

#[test]
fn a_line_of_100_megabytes_is_passed_over() {
    if std::env::var_os("HOTWASH_SLOW_TESTS").is_none() {
        return;
    }
    let case = Case { archived: false, ..Case::new() };
    let mut text = short("s1", "a").text().as_bytes().to_vec();
    text.resize(text.len() + (100 << 20), b'x');
    text.push(b'\n');
    text.extend_from_slice(short("s1", "b").text().as_bytes());
    case.write("p/a.jsonl", &text);
    let ingested = case.ingest();
    assert_eq!((ingested.reading.oversized_lines, ingested.reading.malformed_lines), (1, 0));
    assert_eq!(case.session("p/a.jsonl").session.facts.get().prompts.human_prompts.count(), 2);
}
