//! Judging from outside: what is sent, what is said, and what is never sent.

use super::Home;
use super::obliging::{Mood, server::Server};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Output;

const ALL: [&str; 3] = ["score", "--since", "all"];

fn judged(home: &Home, server: &Server, more: &[&str]) -> Output {
    let args: Vec<&str> = ALL.iter().chain(more).copied().collect();
    let mut command = home.command(&args);
    command.env("ANTHROPIC_BASE_URL", &server.url).env("ANTHROPIC_API_KEY", "not-a-real-key-but-long");
    command.output().unwrap()
}

fn egress(home: &Home) -> Vec<serde_json::Value> {
    let log = fs::read_to_string(home.path("data/hotwash/hotwash.egress.jsonl")).unwrap_or_default();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A session of the example week in which enough happened to be judged.
fn example() -> PathBuf {
    super::root().join("examples/projects/-home-mara-orchard/1f8cf289-e4c3-44a5-9c89-43203aa982f8.jsonl")
}

/// A home with that session alone.
fn one() -> Home {
    let home = Home::empty();
    fs::create_dir_all(home.path("claude/projects/p")).unwrap();
    fs::copy(example(), home.path("claude/projects/p/1f8cf289-e4c3-44a5-9c89-43203aa982f8.jsonl")).unwrap();
    home
}

/// Without numbers, which change with every word of a prompt.
fn words(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let words: String = text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    let mut words = words;
    while words.contains("##") {
        words = words.replace("##", "#");
    }
    words
}

#[test]
fn a_week_is_judged_and_the_bill_is_said() {
    let home = Home::with_examples();
    let server = Server::in_the_mood(Mood::Delighted);
    let output = judged(&home, &server, &["--judge", "anthropic"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("anthropic judges ") && said.contains(", about $") && said.contains("spent"), "{said}");
    let screen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(screen.contains("decided; a model judged") && !screen.contains("decided offline"), "{screen}");
    assert_eq!(egress(&home).len(), server.requests());
    let screen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(screen.contains("Sent to anthropic.") && !screen.contains("Local only."), "{screen}");
    assert!(egress(&home)[0]["host"].as_str().unwrap().starts_with("127.0.0.1"));

    let document = home.json(&["score", "--since", "all", "--json"]);
    let sessions = document["sessions"].as_array().unwrap();
    let judged: Vec<_> = sessions.iter().filter(|session| !session["judged"].is_null()).collect();
    assert!(judged.len() > 10);
    for session in &judged {
        assert_eq!(session["judged"]["judge"], "anthropic");
        assert_eq!(session["judged"]["intent"]["intent"], "bug_fix");
        assert_eq!(session["judged"]["verdict"]["criteria"].as_array().unwrap().len(), 3);
    }
    // What facts call failed stays failed, however delighted the judge is.
    let before = Home::with_examples().json(&["score", "--since", "all", "--json"]);
    let goal = |document: &serde_json::Value, id: &serde_json::Value| {
        let sessions = document["sessions"].as_array().unwrap();
        sessions.iter().find(|session| session["id"] == *id).unwrap()["outcome"]["goal"].clone()
    };
    let mut failed = 0;
    for session in &judged {
        if goal(&before, &session["id"]) == "failed" {
            assert_eq!(goal(&document, &session["id"]), "failed");
            failed += 1;
        }
    }
    assert!(failed > 0);

    // A second time nothing is sent, and the screen says who judged.
    let requests = server.requests();
    let output = self::judged(&home, &server, &["--judge", "anthropic"]);
    assert_eq!(server.requests(), requests);
    assert!(words(&output.stderr).contains("has nothing to judge"), "{}", words(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Local only."));
}

#[test]
fn what_was_paid_for_is_kept_though_the_session_is_not() {
    let home = Home::empty();
    let server = Server::in_the_mood(Mood::Delighted);
    let path = example().to_string_lossy().into_owned();
    let judge = |more: &[&str]| {
        let args = [&["score", "--json", &path, "--judge", "anthropic"], more].concat();
        let mut command = home.command(&args);
        command.env("ANTHROPIC_BASE_URL", &server.url).env("ANTHROPIC_API_KEY", "not-a-real-key-but-long");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", home.shown(&output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let first = judge(&[]);
    let asked = server.requests();
    assert!(asked > 0 && first["sessions"][0]["judged"]["judge"] == "anthropic", "{first}");
    let again = judge(&[]);
    assert_eq!((server.requests(), &again["judging"]["calls"]), (asked, &serde_json::Value::from(0)));
    assert_eq!(again["sessions"][0]["scores"], first["sessions"][0]["scores"]);
    let stored =
        |home: &Home| home.json(&["score", "--json", "--since", "all"])["sessions"].as_array().unwrap().clone();
    assert!(stored(&home).is_empty());
    judge(&["--keep"]);
    assert_eq!(server.requests(), asked);
    let kept = stored(&home);
    assert_eq!((kept.len(), &kept[0]["scores"]), (1, &first["sessions"][0]["scores"]));
    assert_eq!(kept[0]["judged"]["judge"], "anthropic");
}

#[test]
fn a_dry_run_prints_the_bytes_that_are_sent() {
    let home = Home::with_examples();
    let server = Server::in_the_mood(Mood::Delighted);
    let dry = judged(&home, &server, &["--judge", "anthropic", "--tasks", "quality", "--dry-run"]);
    assert!(dry.status.success(), "{}", home.shown(&dry));
    assert_eq!(server.requests(), 0);
    assert!(egress(&home).is_empty());
    assert!(words(&dry.stderr).contains("nothing was sent: anthropic judges # of"), "{}", words(&dry.stderr));
    let text = String::from_utf8(dry.stdout).unwrap();
    let hash = |text: &str| Sha256::digest(text).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    let mut shown: Vec<String> = text
        .split("==> ")
        .skip(1)
        .map(|part| hash(part.split_once("<==\n").unwrap().1.trim_end_matches('\n')))
        .collect();
    judged(&home, &server, &["--judge", "anthropic", "--tasks", "quality"]);
    let mut sent: Vec<String> = egress(&home).iter().map(|line| line["sha256"].as_str().unwrap().to_owned()).collect();
    shown.sort();
    sent.sort();
    assert!(sent.len() > 10);
    assert_eq!(shown, sent);
}

/// Puts the example into a home, as if it had been recorded in this project.
fn works_in(home: &Home, project: &Path) {
    fs::create_dir_all(project).unwrap();
    let transcripts = home.path("claude/projects/own");
    fs::create_dir_all(&transcripts).unwrap();
    let text = fs::read_to_string(example()).unwrap();
    let lines = text.lines().map(|line| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        record["cwd"] = project.join("src").to_string_lossy().into_owned().into();
        record.to_string() + "\n"
    });
    fs::write(transcripts.join("a.jsonl"), lines.collect::<String>()).unwrap();
}

#[test]
fn a_project_can_opt_out_though_its_path_is_redacted() {
    let server = Server::in_the_mood(Mood::Delighted);
    // What the path holds, what the project's and the person's own files say, and whether anything is sent.
    for (name, project_says, person_says, is_sent) in [
        ("maralind", "share = true\n", "", true),
        ("maralind", "share = false\n", "", false),
        ("maralind", "share = true\n", "opt_out = [\"/maralind/shop\"]\n", false),
        ("testhost", "share = true\n", "", true),
        ("testhost", "share = false\n", "", false),
        // Whose it is cannot be told any more.
        ("ada@example.com", "share = true\n", "", false),
    ] {
        let home = Home::empty();
        let project = home.path(name).join("shop");
        works_in(&home, &project);
        fs::write(project.join(".hotwash.toml"), project_says).unwrap();
        fs::create_dir_all(home.path("config/hotwash")).unwrap();
        fs::write(home.path("config/hotwash/config.toml"), person_says).unwrap();
        let mut command = home.command(&["score", "--since", "all", "--judge", "anthropic"]);
        command.env("ANTHROPIC_BASE_URL", &server.url).env("ANTHROPIC_API_KEY", "not-a-real-key-but-long");
        let before = server.requests();
        let output = command.env("USER", "maralind").output().unwrap();
        let block = home.shown(&output);
        assert_eq!(server.requests() > before, is_sent, "{name} {project_says} {person_says}\n{block}");
        assert_eq!(block.contains("1 opted out"), !is_sent, "{block}");
    }
}

#[test]
fn a_project_can_opt_out_and_none_can_opt_in() {
    let home = Home::with_examples();
    let server = Server::in_the_mood(Mood::Delighted);
    fs::create_dir_all(home.path("config/hotwash")).unwrap();
    fs::write(home.path("config/hotwash/config.toml"), "opt_out = [\"/\", \"~\"]\n").unwrap();
    let output = judged(&home, &server, &["--judge", "anthropic"]);
    assert_eq!(server.requests(), 0, "{}", home.shown(&output));
    assert!(words(&output.stderr).contains("# opted out"), "{}", words(&output.stderr));
    fs::write(home.path("config/hotwash/config.toml"), "share = false\n").unwrap();
    judged(&home, &server, &["--judge", "anthropic"]);
    assert_eq!(server.requests(), 0);

    // A project's own file: no for its sessions, wherever it is called from.
    let home = Home::empty();
    let project = home.path("shop");
    works_in(&home, &project);
    fs::write(project.join(".hotwash.toml"), "share = false\n").unwrap();
    let output = judged(&home, &server, &["--judge", "anthropic"]);
    assert_eq!(server.requests(), 0, "{}", home.shown(&output));
    fs::write(project.join(".hotwash.toml"), "share = true\n").unwrap();
    judged(&home, &server, &["--judge", "anthropic"]);
    assert!(server.requests() > 0);

    // And none can have anything sent.
    for line in ["judge = \"anthropic\"", "anthropic_url = \"http://127.0.0.1:9\"", "max_usd = 100"] {
        fs::write(home.path("work/.hotwash.toml"), line).unwrap();
        let block = home.run(&["score"]);
        assert!(block.starts_with("exit: 2") && block.contains("cannot be set in a project's file"), "{block}");
    }
}

#[test]
fn somebody_else_answers_in_files() {
    let home = one();
    let server = Server::in_the_mood(Mood::Delighted);
    let args = ["--judge", "files", "--judge-dir", "questions"];
    let answer_all = || {
        let mut answered = 0;
        for entry in fs::read_dir(home.path("work/questions")).unwrap().flatten() {
            let path = entry.path().to_string_lossy().into_owned();
            let Some(base) = path.strip_suffix(".prompt.md") else { continue };
            let reply = format!("{base}.reply.json");
            if fs::exists(&reply).unwrap() {
                continue;
            }
            let schema = serde_json::from_str(&fs::read_to_string(format!("{base}.schema.json")).unwrap()).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            fs::write(reply, super::obliging::answer(&schema, &text, Mood::Delighted).to_string()).unwrap();
            answered += 1;
        }
        answered
    };
    let first = judged(&home, &server, &args);
    assert!(words(&first.stderr).contains("# question of # session waiting"), "{}", words(&first.stderr));
    assert_eq!(answer_all(), 1);
    let last = judged(&home, &server, &args);
    assert!(words(&last.stderr).contains("judged # session: # question answered"), "{}", words(&last.stderr));
    assert!(String::from_utf8_lossy(&last.stdout).contains("Local only."));
    assert_eq!(answer_all(), 0);
    assert_eq!(server.requests(), 0);
    assert!(egress(&home).is_empty());
    let document = home.json(&["score", "--since", "all", "--json"]);
    assert_eq!(document["sessions"][0]["judged"]["judge"], "files");
    let shown = home.stdout(&["show", document["sessions"][0]["id"].as_str().unwrap()]);
    assert!(shown.contains("JUDGED BY  files\n") && !shown.contains("$0.0000"), "{shown}");
}

#[test]
fn a_dry_run_needs_no_key() {
    let home = one();
    for judge in ["anthropic", "anthropic-batch", "openai:m"] {
        let dry = home.output(&["score", "--since", "all", "--judge", judge, "--dry-run"]);
        assert!(dry.status.success(), "{}", home.shown(&dry));
        assert!(words(&dry.stderr).starts_with("nothing was sent: "), "{}", words(&dry.stderr));
        assert!(dry.stdout.starts_with(b"==> "));
        assert!(egress(&home).is_empty());
    }
}

#[test]
fn a_reply_that_cannot_be_used_is_asked_for_once_more() {
    let home = one();
    let run = || {
        let output =
            home.output(&["score", "--since", "all", "--judge", "files", "--judge-dir", "q", "--tasks", "quality"]);
        String::from_utf8(output.stderr).unwrap()
    };
    run();
    let name = |ending: &str| {
        let files = fs::read_dir(home.path("work/q")).unwrap().flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = files.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
        found.pop().map(|path| path.to_string_lossy().into_owned())
    };
    let first = name(".quality.prompt.md").unwrap().replace(".prompt.md", "");
    fs::write(format!("{first}.reply.json"), "{\"scores\":[]}").unwrap();
    let said = run();
    let short = Path::new(&first).file_name().unwrap().to_string_lossy().into_owned();
    let folded = super::folded(&said);
    assert!(folded.contains(&format!("{short}.reply.json could not be used (")), "{said}");
    assert!(folded.contains(&format!("answer {short}.again.prompt.md in {short}.again.reply.json")), "{said}");
    assert!(fs::read_to_string(home.path("work/q/WAITING.md")).unwrap().contains("could not be used"));
    assert!(name(".quality.again.prompt.md").is_some());
}

#[test]
fn a_key_that_is_refused_is_said_once_and_fits() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // Whoever hangs up before the end of a question may not be heard.
            let mut input = BufReader::new(stream.try_clone().unwrap());
            let head = input.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            let lengths = head.filter_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            let length = lengths.last().unwrap_or(0);
            let _ = std::io::copy(&mut input.take(length), &mut std::io::sink());
            let body = r#"{"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
            let head = format!("HTTP/1.1 401 no\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    for home in [Home::with_examples(), one()] {
        let mut command = home.command(&["score", "--since", "all", "--judge", "anthropic"]);
        command.env("ANTHROPIC_BASE_URL", &url).env("ANTHROPIC_API_KEY", "not-a-real-key-but-long");
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert_eq!(said.matches("invalid x-api-key").count(), 1, "{said}");
        assert!(said.contains("stopped early, ") && !said.contains(", 0 sessions"), "{said}");
        assert!(said.lines().all(|line| super::columns(line) <= 80), "{said}");
    }
}

#[test]
fn what_cannot_work_is_said_before_anything_is_sent() {
    let home = one();
    for (args, expected) in [
        (vec!["--judge", "anthropic"], "cannot use the judge anthropic"),
        (vec!["--judge", "openai"], "which model is openai to ask?"),
        (vec!["--judge", "openai:m"], "no OPENAI_API_KEY, and OPENAI_BASE_URL names no other server"),
        (vec!["--judge", "gpt"], "--judge is `gpt`, which is not"),
        (vec!["--judge", "openai:m", "--max-usd", "much"], "--max-usd is `much`"),
        (vec!["--dry-run"], "no model is asked"),
        (vec!["--judge", "files", "--tasks", "everything"], "--tasks is `everything`"),
    ] {
        let args: Vec<&str> = ALL.iter().chain(&args).copied().collect();
        let block = home.run(&args);
        assert!(block.starts_with("exit: 2") && block.contains(expected) && block.contains("hint:"), "{block}");
        assert!(egress(&home).is_empty(), "{block}");
    }
    let mut capped = home.command(&["score", "--since", "all", "--judge", "openai:m", "--max-usd", "1"]);
    let block = home.shown(&capped.env("OPENAI_BASE_URL", "http://127.0.0.1:9").output().unwrap());
    assert!(block.starts_with("exit: 2") && block.contains("nobody here knows what m costs"), "{block}");
}

#[test]
fn with_a_key_the_bill_is_offered_and_nothing_is_sent() {
    let home = Home::with_examples();
    let server = Server::in_the_mood(Mood::Delighted);
    let output = judged(&home, &server, &[]);
    assert!(
        words(&output.stderr).contains("A model can judge the # sessions for about $#.#"),
        "{}",
        words(&output.stderr)
    );
    assert_eq!(server.requests(), 0);
    assert!(home.output(&ALL).stderr.is_empty());
}

#[test]
fn a_command_that_is_missing_is_told_before_any_bill() {
    let home = one();
    let args: Vec<&str> = ALL.iter().copied().chain(["--judge", "claude-cli"]).collect();
    let output = home.command(&args).env("PATH", home.path("work")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no command claude") && !said.contains('$') && !said.contains("judges"), "{said}");
}
