//! Planted secrets: none of them may be in any byte that is sent, logged, kept outside the archive or shown.

use super::Home;
use super::obliging::{Mood, server::Server};
use serde_json::json;
use std::fs;
use std::path::Path;

/// Letters and digits that look drawn, the same in every run and other ones for each seed.
fn drawn(seed: u64, alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        letters[(state % letters.len() as u64) as usize]
    };
    (0..length).map(|_| next()).collect()
}

const ANY: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

/// What is written, and the part of it that must not leave. Made of parts, so that nobody takes this file for a leak.
fn secrets() -> Vec<(&'static str, String, String)> {
    let mut all = Vec::new();
    let mut seed = 0;
    let mut add = |kind: &'static str, alphabet: &str, length: usize, write: &dyn Fn(&str) -> String| {
        seed += 1;
        let value = drawn(seed, alphabet, length);
        all.push((kind, write(&value), value));
    };
    let with = |prefix: &'static [&'static str]| move |value: &str| format!("{}{value}", prefix.concat());
    add("aws", UPPER, 16, &with(&["AK", "IA"]));
    add("aws secret", ANY, 40, &|v| format!("aws_secret_access_key = {v}"));
    add("gcp", ANY, 35, &with(&["AI", "za"]));
    add("azure", ANY, 86, &|v| format!("DefaultEndpointsProtocol=https;AccountName=x;AccountKey={v}==;"));
    add("github", ANY, 36, &with(&["gh", "p_"]));
    add("github fine", ANY, 59, &|v| format!("{}{}_{v}", ["github", "_pat_"].concat(), drawn(99, ANY, 22)));
    add("gitlab", ANY, 20, &with(&["glp", "at-"]));
    add("slack", ANY, 24, &|v| format!("{}-123456789012-123456789012-{v}", ["xo", "xb"].concat()));
    add("stripe", ANY, 24, &with(&["sk_", "live_"]));
    add("openai", ANY, 48, &with(&["sk-", "proj-"]));
    add("anthropic", ANY, 93, &|v| format!("{}{v}AA", ["sk-", "ant-api03-"].concat()));
    add("npm", ANY, 36, &with(&["np", "m_"]));
    add("pypi", ANY, 80, &with(&["pyp", "i-AgEIcHlwaS5vcmc"]));
    add("huggingface", ANY, 34, &with(&["h", "f_"]));
    add("jwt", ANY, 43, &|v| {
        format!("{}hbGciOiJIUzI1NiJ9.{}zdWIiOiIxMjM0NTY3ODkwIn0.{v}", ["ey", "J"].concat(), ["ey", "J"].concat())
    });
    add("pem", ANY, 64, &|v| {
        let (begin, end) = (["-----BEGIN ", "PRIVATE KEY-----"].concat(), ["-----END ", "PRIVATE KEY-----"].concat());
        format!("{begin}\n{v}\n{v}\n{end}")
    });
    add("url", ANY, 14, &|v| format!("https://deploy:{v}@git.example.com/shop.git"));
    add("connection", ANY, 14, &|v| format!("postgres://app:{v}@db.example.com:5432/shop"));
    add("key=value", ANY, 18, &|v| format!("DB_PASSWORD={v}"));
    add("json", ANY, 18, &|v| format!("{{\"password\": \"{v}\"}}"));
    add("yaml", ANY, 18, &|v| format!("database:\n  password: {v}\n"));
    add("netrc", ANY, 18, &|v| format!("machine api.example.com login ada password {v}"));
    add("bearer", ANY, 32, &|v| format!("Authorization: Bearer {v}"));
    add("basic", ANY, 32, &|v| format!("Authorization: Basic {v}"));
    add("entropy", HEX, 40, &|v| format!("api_key: {v}"));
    add("own", ANY, 24, &|v| format!("it was {v} all along"));
    all.push(("email", "write to grace.hopper@navy.example".into(), "grace.hopper@navy".into()));
    all.push(("card", "card 4111 1111 1111 1111 exp 12/29".into(), "4111 1111 1111 1111".into()));
    // Six digits alone are now and then part of a time or a random number.
    all.push(("phone", "call +49 30 901820 115 today".into(), "30 901820".into()));
    all.push(("home", "see /home/grace-h/notes.txt".into(), "grace-h".into()));
    all
}

/// The places in a transcript that a secret is put into, with how it is written there.
fn transcript(number: usize, text: &str) -> String {
    let session = format!("s{number}");
    let mut lines = String::new();
    let mut minute = 0;
    let mut record = |kind: &str, message: serde_json::Value, extra: serde_json::Value| {
        minute += 1;
        let mut record = json!({
            "type": kind, "uuid": format!("{session}-{minute}"), "sessionId": session, "cwd": format!("/srv/p{number}"),
            "timestamp": format!("2026-10-12T10:{minute:02}:00.000Z"), "isSidechain": false, "message": message,
        });
        if !extra.is_null() {
            record["toolUseResult"] = extra;
        }
        lines = format!("{lines}{record}\n");
    };
    let user = |text: &str| json!({ "role": "user", "content": text });
    let call = |n: usize, name: &str, input: serde_json::Value| {
        json!({ "id": format!("m{n}"), "role": "assistant", "model": "claude-sonnet-5", "usage": { "output_tokens": 5 },
            "content": [{ "type": "tool_use", "id": format!("t{n}"), "name": name, "input": input }] })
    };
    let result = |n: usize, text: &str| json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": format!("t{n}"), "content": text }] });
    let says = |n: usize, text: &str| {
        json!({ "id": format!("m{n}"), "role": "assistant", "model": "claude-sonnet-5", "usage": { "output_tokens": 5 },
            "content": [{ "type": "text", "text": text }] })
    };
    let none = serde_json::Value::Null;
    let escaped = serde_json::to_string(text).unwrap();
    record(
        "user",
        user(&format!("Please fix the login of the shop, here is what I use: {text} and that is all.")),
        none.clone(),
    );
    record("assistant", call(1, "Bash", json!({ "command": format!("printf '%s' '{text}' | wc -c") })), none.clone());
    record("user", result(1, &format!("the output was\n{text}\nand nothing else")), none.clone());
    let path = format!("/srv/p{number}/settings.conf");
    record(
        "assistant",
        call(2, "Write", json!({ "file_path": path, "content": format!("# settings\n{text}\n") })),
        none.clone(),
    );
    let created = json!({ "type": "create", "filePath": path, "content": format!("# settings\n{text}\n"), "structuredPatch": [] });
    record("user", result(2, "File created successfully"), created);
    let edit = json!({ "file_path": path, "old_string": "# settings", "new_string": format!("# was {escaped}") });
    record("assistant", call(3, "Edit", edit), none.clone());
    record("user", result(3, &format!("updated: {escaped}")), none.clone());
    record(
        "assistant",
        says(4, &format!("I have put {text} into the settings, and the login works again.")),
        none.clone(),
    );
    record("user", user("Good, that is what I wanted to have, thank you very much."), none.clone());
    record("assistant", says(5, "You are welcome, the settings are in place now."), none);
    lines
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    let needle = needle.as_bytes();
    haystack.windows(needle.len()).any(|window| window == needle)
}

fn files(folder: &Path, out: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, out);
        } else {
            out.push(path);
        }
    }
}

#[test]
fn nothing_planted_leaves_the_archive() {
    let home = Home::empty();
    let secrets = secrets();
    // Each in six places of a session: more than sixty kinds and contexts.
    assert!(secrets.len() * 6 >= 60);
    for (number, (_, text, _)) in secrets.iter().enumerate() {
        let folder = home.path(&format!("claude/projects/p{number}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("s{number}.jsonl")), transcript(number, text)).unwrap();
    }
    // They are there to be found.
    for (number, (kind, text, value)) in secrets.iter().enumerate() {
        assert!(contains(transcript(number, text).as_bytes(), value), "{kind}");
    }
    let own = secrets.iter().find(|(kind, ..)| *kind == "own").unwrap().2.clone();
    let server = Server::in_the_mood(Mood::Delighted);
    let key = drawn(777, ANY, 40);
    let run = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("OPENAI_BASE_URL", &server.url).env("OPENAI_API_KEY", &key).env("SHOP_TOKEN", &own);
        command.env("USER", "grace-h").output().unwrap()
    };
    let args = ["score", "--since", "all", "--judge", "openai:m", "--concurrency", "8", "--tasks", "all"];
    let mut shown = vec![run(&args)];
    assert!(shown[0].status.success(), "{}", home.shown(&shown[0]));
    assert!(server.requests() >= secrets.len(), "{}: {}", server.requests(), home.shown(&shown[0]));
    shown.push(run(&["score", "--since", "all", "--judge", "files", "--judge-dir", "q", "--tasks", "all"]));
    shown.push(run(&["score", "--since", "all", "--judge", "openai:other", "--tasks", "all", "--dry-run"]));
    shown.push(run(&["score", "--since", "all", "--json", "--facts"]));
    shown.push(run(&["export", "--since", "all"]));

    let mut kept = Vec::new();
    files(&home.path("data"), &mut kept);
    files(&home.path("work"), &mut kept);
    files(&home.path("tmp"), &mut kept);
    // The archive is the owner's.
    kept.retain(|path| !path.components().any(|part| part.as_os_str().to_string_lossy().contains("archive")));
    assert!(kept.iter().any(|path| path.ends_with("hotwash.egress.jsonl")), "{kept:?}");
    assert!(kept.len() > secrets.len(), "{kept:?}");
    let kept: Vec<(String, Vec<u8>)> =
        kept.into_iter().map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect();
    let mut leaks = Vec::new();
    for (kind, _, value) in &secrets {
        for bytes in server.bytes() {
            if contains(&bytes, value) {
                leaks.push(format!("{kind} was sent"));
            }
        }
        for (path, bytes) in &kept {
            if contains(bytes, value) {
                leaks.push(format!("{kind} is in {path}"));
            }
        }
        for (at, output) in shown.iter().enumerate() {
            if contains(&output.stdout, value) || contains(&output.stderr, value) {
                leaks.push(format!("{kind} was shown by command {at}"));
            }
        }
    }
    for (path, bytes) in &kept {
        if contains(bytes, &key) {
            leaks.push(format!("the key is in {path}"));
        }
    }
    leaks.dedup();
    assert!(leaks.is_empty(), "{leaks:#?}");
}
