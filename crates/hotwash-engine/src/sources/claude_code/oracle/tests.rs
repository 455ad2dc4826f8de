use super::*;
use crate::sources::reader::{Transcript, Window};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The two decoders make the same of it.
#[track_caller]
fn agree(transcript: impl AsRef<[u8]>) {
    let transcript = transcript.as_ref();
    if let Some(difference) = difference(transcript) {
        let head: String = String::from_utf8_lossy(transcript).chars().take(400).collect();
        panic!("{head}\n{difference}");
    }
}

/// What both make of it: the kinds of the events, and the counts that are not zero.
#[track_caller]
fn outline(transcript: impl AsRef<[u8]>) -> String {
    agree(&transcript);
    let Told { events, reading } = slow(transcript.as_ref());
    let kind = |event: &String| {
        let kind = event.split("kind: ").nth(1).unwrap_or_default();
        kind.chars().take_while(char::is_ascii_alphabetic).collect::<String>()
    };
    let mut words: Vec<String> = events.iter().map(kind).collect();
    for (count, name) in
        [(reading.malformed_lines, "malformed"), (reading.glued_lines, "glued"), (reading.duplicate_lines, "duplicate")]
    {
        if count > 0 {
            words.push(format!("{name}={count}"));
        }
    }
    words.join(" ")
}

/// A user record with this content, written as JSON.
fn user(content: &str) -> String {
    format!(r#"{{"type":"user","message":{{"content":{content}}}}}"#)
}

/// An assistant record with this message.
fn assistant(message: &str) -> String {
    format!(r#"{{"type":"assistant","message":{message}}}"#)
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[test]
fn lines() {
    for (transcript, told) in [
        ("", ""),
        ("\n \t\r\n", ""),
        (r#"{"type":"mode"}"#, "Activity"),
        ("{}", "Unknown"),
        ("{}\r\n{}\r\n", "Unknown Unknown"),
        ("{}{}", "Unknown Unknown glued=1"),
        ("{} {}\t{}\r", "Unknown Unknown Unknown glued=1"),
        ("{}{", "Unknown malformed=1"),
        ("{}{}x", "Unknown Unknown malformed=1 glued=1"),
        ("{},{}", "Unknown malformed=1"),
        ("{} 5 {}", "Unknown malformed=1"),
        ("[]", "malformed=1"),
        ("5\n\"x\"\nnull\n[{}]", "malformed=4"),
        ("\u{feff}{}", "Unknown"),
        ("\0", "malformed=1"),
        ("{}\0", "Unknown malformed=1"),
        ("{\"a\":\"\0\"}", "Unknown"),
        ("{\"a\":\"\u{1}\t\"}", "Unknown"),
        ("\u{b}", "malformed=1"),
        ("{\"a\":1\u{a0}}", "malformed=1"),
        (r#"{"a":01}"#, "malformed=1"),
        (r#"{"a":-}"#, "malformed=1"),
        (r#"{"a":1.}"#, "malformed=1"),
        (r#"{"a":.5}"#, "malformed=1"),
        (r#"{"a":1e+}"#, "malformed=1"),
        (r#"{"a":-0.0E-0}"#, "Unknown"),
        (r#"{"a":truefalse}"#, "malformed=1"),
        (r#"{"a":1,}"#, "malformed=1"),
        ("{,}", "malformed=1"),
        (r#"{"a" "b"}"#, "malformed=1"),
        (r#"{"a":"\"}"#, "malformed=1"),
        (r#"{"a":"\\"}"#, "Unknown"),
        (r#"{"a":"\\\"}"#, "malformed=1"),
        (r#"{"uuid":"a"}{"uuid":"a"}"#, "Unknown glued=1 duplicate=1"),
        (r#"{"uuid":"a","uuid":"b"}{"uuid":"a"}{"uuid":"\u0062"}"#, "Unknown Unknown glued=1 duplicate=1"),
        (r#"{"uuid":""}{"uuid":""}{"uuid":5}{"uuid":5}"#, "Unknown Unknown Unknown Unknown glued=1"),
        (r#"{"uuid":"a","uuid":null}{"uuid":"a"}"#, "Unknown Unknown glued=1"),
    ] {
        assert_eq!(outline(transcript), told, "{transcript:?}");
    }
}

#[test]
fn records() {
    for (record, told) in [
        (r#"{"type":"\u006dode"}"#, "Activity"),
        (r#"{"\u0074ype":"mode"}"#, "Activity"),
        (r#"{"type":"mode","type":"x"}"#, "Unknown"),
        (r#"{"type":["mode"]}"#, "Unknown"),
        (r#"{"type":"system"}"#, "Activity"),
        (r#"{"type":"system","subtype":"\u0061pi_error"}"#, "ApiError"),
        (r#"{"type":"system","subtype":"compact_boundary","compactMetadata":[]}"#, "Compaction"),
        (r#"{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"\u006danual"}}"#, "Compaction"),
        (r#"{"type":"system","subtype":"local_command","content":["x"]}"#, "ClientText"),
        (r#"{"type":"system","subtype":"local_command","content":"a<command-name>/x</command-name>"}"#, "Command"),
        (r#"{"type":"ai-title","aiTitle":"a","customTitle":"b"}"#, "Title"),
        (r#"{"type":"custom-title","customTitle":"b","aiTitle":"a"}"#, "Title"),
        (r#"{"type":"mode","timestamp":"2026-10-05T09\u003a14:03Z"}"#, "Activity"),
        (r#"{"type":"mode","timestamp":20261005}"#, "Activity"),
        (r#"{"type":"attachment"}"#, "Activity"),
        (r#"{"type":"attachment","attachment":{"type":"queued_command","commandMode":"prompt"}}"#, "Activity"),
        (
            r#"{"type":"attachment","attachment":{"type":"queued_command","commandMode":"prompt","prompt":"a"}}"#,
            "Prompt",
        ),
        (
            r#"{"type":"attachment","attachment":{"type":"queued_command","commandMode":"prompt","prompt":[{"type":"image"}]}}"#,
            "Prompt",
        ),
        (
            r#"{"type":"attachment","attachment":{"type":"queued_command","commandMode":"prompt","prompt":[]}}"#,
            "ClientText",
        ),
        (
            r#"{"type":"attachment","origin":{"kind":"x"},"attachment":{"type":"queued_command","commandMode":"prompt","prompt":"a"}}"#,
            "ClientText",
        ),
        (r#"{"type":"attachment","attachment":{"prompt":"a","type":"queued_command"},"attachment":7}"#, "Activity"),
        (r#"{"type":"queue-operation","operation":"enqueue","content":"a"}"#, "Queued"),
        (r#"{"type":"queue-operation","operation":"enqueue","content":"\u002fa"}"#, "Activity"),
        (r#"{"type":"queue-operation","operation":"enqueue","content":["a"]}"#, "Activity"),
        (r#"{"type":"progress"}"#, "Activity"),
        (
            r#"{"type":"progress","data":{"type":"agent_progress","message":{"type":"assistant","message":{"id":"m"}}}}"#,
            "Activity SubagentMessage",
        ),
        (
            r#"{"type":"progress","data":{"type":"agent_progress","message":{"type":"assistant","message":{"id":"m"}},"message":{"message":{"id":"m"}}}}"#,
            "Activity",
        ),
        (r#"{"type":"progress","data":{"type":"agent_progress"},"data":[]}"#, "Activity"),
    ] {
        assert_eq!(outline(record), told, "{record}");
    }
    for spaces in [0, 63, 64, 65, 5000] {
        for (word, told) in [("a", "Queued"), ("{}", "Activity"), ("", "Activity")] {
            let content = format!("{}{word}", " ".repeat(spaces));
            let record = format!(r#"{{"type":"queue-operation","operation":"enqueue","content":"{content}"}}"#);
            assert_eq!(outline(&record), told, "{spaces} {word}");
            agree(record.replace(' ', r"\u0020"));
        }
    }
}

#[test]
fn assistant_messages() {
    for (message, told) in [
        ("5", ""),
        ("{}", ""),
        (r#"{"id":"m"}"#, "Message"),
        (r#"{"model":"m"}"#, "Message"),
        (r#"{"usage":{"output_tokens":1},"content":"x"}"#, "Message Says"),
        (r#"{"id":"m","content":"x"}"#, "Message Says"),
        (r#"{"id":"m","content":["x",1,null,[],{}]}"#, "Message"),
        (r#"{"id":"m","content":[{"type":"text"}]}"#, "Message Says"),
        (r#"{"content":[{"type":"\u0074ext","text":"a"}]}"#, "Says"),
        (r#"{"content":[{"type":"thinking"},{"type":"redacted_thinking"},{"type":"future"}]}"#, "Thinking Thinking"),
        (r#"{"content":[{"type":"tool_use"}]}"#, ""),
        (r#"{"content":[{"type":"tool_use","id":"t"}]}"#, "Call"),
        (r#"{"content":[{"type":"tool_use","id":"t","name":"\u0042ash","input":{"command":5}}]}"#, "Call"),
        (r#"{"content":[{"type":"tool_use","id":"t","input":"x"}]}"#, "Call"),
        (r#"{"content":[{"type":"tool_use","id":"t","input": [ 1 , {"file_path":"a"} ] }]}"#, "Call"),
        (r#"{"content":[{"type":"tool_use","id":"t","input":{"a":1},"input": {"path":"b"} }]}"#, "Call"),
        (
            r#"{"content":[{"type":"tool_use","id":"t","input":{"file_path":"","notebook_path":"n","path":"p"}}]}"#,
            "Call",
        ),
        (r#"{"content":[{"type":"tool_use","id":"t","name":"Skill","input":{"command":"c","skill":""}}]}"#, "Call"),
        (r#"{"content":[{"type":"tool_use","id":"t","input":{"offset":-3,"limit":1e999}}]}"#, "Call"),
        (r#"{"content":[{"type":"tool_use","id":"t","input":{"offset":9223372036854775808,"limit":"3"}}]}"#, "Call"),
        (r#"{"content":"a","content":[]}"#, ""),
        (r#"{"content":[{"type":"thinking"}],"content":"a"}"#, "Says"),
        (r#"{"content":[{"type":"thinking"}],"content":5}"#, ""),
    ] {
        assert_eq!(outline(assistant(message)), told, "{message}");
        let failed = assistant(message).replacen('{', r#"{"isApiErrorMessage":true,"#, 1);
        assert!(outline(&failed).starts_with("ApiError"), "{failed}");
        assert!(!outline(&failed).contains("Says"), "{failed}");
        // The keys of a record stand in any order; of a message that comes twice the last counts.
        agree(format!(r#"{{"message":{message},"type":"assistant"}}"#));
        agree(format!(r#"{{"type":"assistant","message":{{"id":"z","content":"z"}},"message":{message}}}"#));
        agree(format!(r#"{{"type":"assistant","message":{message},"message":null}}"#));
    }
}

#[test]
fn what_messages_and_results_are_known_by() {
    let names = [
        r#""requestId":"r""#,
        r#""requestId":"\u0072""#,
        r#""requestId":5"#,
        r#""requestId":"r","requestId":"""#,
        r#""uuid":"u""#,
        r#""sessionId":"s""#,
    ];
    for name in names {
        let called = r#"{"model":"m","content":[{"type":"tool_use","id":"t"}]}"#;
        assert_eq!(outline(format!(r#"{{"type":"assistant",{name},"message":{called}}}"#)), "Message Call");
        agree(format!(r#"{{"type":"assistant","message":{{"id":"","model":"m"}},{name}}}"#));
    }
    let result = r#""message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}"#;
    for by in ["5", "{}", r#"{"source":"config"}"#, r#"{"source":"user_permanent"}"#, r#"{"source":5}"#] {
        agree(format!(r#"{{"type":"user",{result},"permissionDecision":{by}}}"#));
        agree(format!(
            r#"{{"permissionDecision":{{"source":"user"}},"type":"user",{result},"permissionDecision":{by}}}"#
        ));
    }
}

#[test]
fn usage() {
    let numbers = [
        "0",
        "-0",
        "7",
        "-7",
        "7.9",
        "-7.9",
        "1e3",
        "1E+3",
        "1e-3",
        "1e400",
        "-1e400",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "123456789012345678901234567890",
        "1.7976931348623157e309",
        "null",
        "true",
        "\"7\"",
        "[7]",
        "{\"a\":7}",
        "{}",
        "[]",
        "\"\"",
    ];
    for number in numbers {
        for key in [
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "output_tokens",
            "cache_creation",
            "speed",
        ] {
            agree(assistant(&format!(r#"{{"id":"m","usage":{{"{key}":3,"{key}":{number}}}}}"#)));
        }
        agree(assistant(&format!(r#"{{"id":"m","usage":{{"output_tokens":3}},"usage":{number}}}"#)));
        agree(assistant(&format!(
            r#"{{"id":"m","usage":{{"cache_creation":{{"ephemeral_1h_input_tokens":{number}}},"cache_creation":{{}}}}}}"#
        )));
        agree(assistant(&format!(
            r#"{{"id":"m","usage":{{"cache_creation":{{"ephemeral_1h_input_tokens":3,"ephemeral_1h_input_tokens":{number}}}}}}}"#
        )));
        agree(format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result"}}]}},"toolUseResult":{{"file":{{"numLines":{number}}}}}}}"#
        ));
    }
}

#[test]
fn results() {
    let noted = [
        "5",
        r#""Error: x""#,
        "{}",
        r#"{"type":"create","content":"a","filePath":"f"}"#,
        r#"{"type":"create","content":["a"]}"#,
        r#"{"type":"create","content":"a","content":5}"#,
        r#"{"type":"update","content":"a","structuredPatch":[]}"#,
        r#"{"structuredPatch":[{"lines":["+a"]},{"lines":["-b",5,null,"+c"]},7,{"lines":"x"}],"filePath":"f"}"#,
        r#"{"structuredPatch":[{"lines":["+a"],"lines":["+b"]},{"lines":["+c"],"lines":7}]}"#,
        r#"{"structuredPatch":[{"lines":["+a"]}],"structuredPatch":[{"lines":["+b"]}]}"#,
        r#"{"structuredPatch":[{"lines":["+a"]}],"structuredPatch":"no"}"#,
        r#"{"structuredPatch":{"lines":["+a"]}}"#,
        r#"{"file":{"numLines":3},"file":{}}"#,
        r#"{"file":{"numLines":3},"file":null}"#,
        r#"{"agentId":"a","agentId":{}}"#,
        r#"{"ty\u0070e":"\u0063reate","c\u006fntent":""}"#,
    ];
    let blocks = [
        r#"{"type":"tool_result"}"#,
        r#"{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"a"}"#,
        r#"{"type":"tool_result","tool_use_id":"t","is_error":"true","content":[]}"#,
        r#"{"type":"tool_result","content":[{"type":"text","text":"a"},{"type":"text"},{"type":"text","text":5},{"text":"b"},7]}"#,
        r#"{"type":"tool_result","content":[{"type":"text","text":"a","text":"b"}],"content":[{"type":"image"}]}"#,
        r#"{"type":"tool_result","content":"a","content":{}}"#,
        r#"{"type":"text","text":"and this"}"#,
        r#"{"type":"text"}"#,
        r#"{"type":"image"}"#,
        "7",
    ];
    for noted in noted {
        for first in blocks {
            for second in blocks {
                let message = format!(r#""message":{{"content":[{first},{second}]}}"#);
                agree(format!(r#"{{"type":"user",{message},"toolUseResult":{noted}}}"#));
            }
            let message = format!(r#""message":{{"content":[{first}]}}"#);
            agree(format!(r#"{{"toolUseResult":{noted},"toolUseResult":{{}},{message},"type":"user"}}"#));
            agree(format!(r#"{{"toolUseResult":{{"agentId":"z"}},"toolUseResult":{noted},{message},"type":"user"}}"#));
        }
    }
}

#[test]
fn what_people_say() {
    let filler = "x".repeat(5000);
    let cases: Vec<(String, &str)> = vec![
        (String::new(), "ClientText"),
        (" \n\u{a0}\u{3000}".into(), "ClientText"),
        ("hello".into(), "Prompt"),
        (" hello".into(), "Prompt"),
        ("<".into(), "Prompt"),
        ("<b>hello</b>".into(), "Prompt"),
        ("é>".into(), "Prompt"),
        (filler.clone(), "Prompt"),
        (format!("{}hello", " ".repeat(5000)), "Prompt"),
        (" ".repeat(5000), "ClientText"),
        (format!("{}[Request interrupted by user]", "\n".repeat(2040)), "Interrupt"),
        (format!("{}Operation stopped by hook: x", " ".repeat(4090)), "ClientText"),
        (format!("{}Implement the following plan:{filler}", " ".repeat(4080)), "PlanApproval"),
        ("<system-reminder>x".into(), "ClientText"),
        ("<system-reminder>x</system-reminder>".into(), "ClientText"),
        ("<system-reminder>x</system-reminder>y".into(), "Prompt"),
        ("<system-reminder >x</system-reminder>".into(), "Prompt"),
        (format!("<system-reminder>{filler}</system-reminder>y"), "Prompt"),
        (format!("<system-reminder>{filler}</system-reminder>"), "ClientText"),
        (format!("<system-reminder>{filler}"), "ClientText"),
        (format!("<system-reminder>{filler}</system-reminder>\n[Request interrupted by user]"), "Interrupt"),
        (format!("<system-reminder>a</system-reminder>{}y", " ".repeat(5000)), "Prompt"),
        (format!("<ide_opened_file>{filler}</ide_opened_file><command-name>/x</command-name>"), "Command"),
        ("<ide_selection a=\"b\">x</ide_selection>y".into(), "Prompt"),
        ("<ide_selection\u{3000}a>x</ide_selection>".into(), "ClientText"),
        ("<ide_>x</ide_>y".into(), "Prompt"),
        ("<ide_ no end".into(), "Prompt"),
        (format!("<ide_{filler}>x"), "ClientText"),
        (format!("<ide_a {filler}>x</ide_a>y"), "Prompt"),
        (
            "<system_instruction>a</system_instruction> <user-prompt-submit-hook>b</user-prompt-submit-hook>c".into(),
            "Prompt",
        ),
        ("<command-name>/x</command-name>".into(), "Command"),
        ("<command-name>/x".into(), "ClientText"),
        (format!("<command-args>{filler}</command-args><command-name>/x</command-name>"), "Command"),
        (format!("<command-name>{filler}</command-name>"), "Command"),
        ("</command-name><command-name>/x</command-name>".into(), "Prompt"),
        ("<bash-input>ls</bash-input>".into(), "Bang"),
        (format!("<bash-input>{filler}</bash-input>"), "Bang"),
        ("<bash-input>ls".into(), "ClientText"),
        ("<bash-stdout>".into(), "ClientText"),
        ("<task-notification>".into(), "ClientText"),
        ("Operation stopped by hook: x".into(), "ClientText"),
        ("Operation stopped by hook".into(), "Prompt"),
        (format!("Implement the following plan:{filler}"), "PlanApproval"),
        ("[Request interrupted by user for tool use]".into(), "Interrupt"),
        (format!("a{}", "\\".repeat(9000)), "Prompt"),
        ("\\".repeat(9000), "Prompt"),
        ("\u{1F600}".repeat(3000), "Prompt"),
        (format!("\u{feff}{filler}"), "Prompt"),
    ];
    for (text, told) in &cases {
        let start: String = text.chars().take(60).collect();
        let content = quoted(text);
        assert_eq!(outline(user(&content)), *told, "{start}");
        let escaped: String = content
            .trim_matches('"')
            .chars()
            .map(|c| if c == '<' { "\\u003c".into() } else { c.to_string() })
            .collect();
        assert_eq!(outline(user(&format!("\"{escaped}\""))), *told, "escaped {start}");
        let blocks = [
            format!(r#"[{{"type":"text","text":{content}}}]"#),
            format!(r#"[{{"type":"text","text":""}},{{"type":"text","text":{content}}}]"#),
            format!(r#"[{{"type":"text","text":{content}}},{{"type":"text","text":"</system-reminder>more"}}]"#),
            format!(r#"[{{"type":"text","text":{content}}},{{"type":"image"}}]"#),
            format!(r#"[{{"type":"tool_result"}},{{"type":"text","text":{content}}}]"#),
            format!(r#"[{{"type":"text"}},{{"type":"text","text":{content}}}]"#),
        ];
        for content in blocks {
            agree(user(&content));
            if content.len() > 1000 {
                continue;
            }
            for more in [
                r#""isMeta":true"#,
                r#""isMeta":"true""#,
                r#""isMeta":true,"isMeta":1"#,
                r#""isSidechain":true"#,
                r#""isCompactSummary":true"#,
                r#""origin":{"kind":"human"}"#,
                r#""origin":{"kind":"\u0068uman"}"#,
                r#""origin":{"kind":"x"}"#,
                r#""origin":{"kind":5}"#,
                r#""origin":{"kind":"x","kind":5}"#,
                r#""origin":{"kind":""}"#,
                r#""origin":{}"#,
                r#""origin":"task-notification""#,
                r#""origin":{"kind":"x"},"origin":null"#,
            ] {
                agree(format!(r#"{{"type":"user",{more},"message":{{"content":{content}}}}}"#));
            }
        }
        let queued = format!(r#"{{"type":"queued_command","commandMode":"prompt","prompt":{content}}}"#);
        assert_eq!(outline(format!(r#"{{"type":"attachment","attachment":{queued}}}"#)), *told, "queued {start}");
    }
}

#[test]
fn strings_that_are_not_text() {
    let odd: &[&[u8]] = &[
        br"\ud83d",
        br"\ude00",
        br"\ud83d\ude00",
        br"\ud83d\ud83d\ude00",
        br"\ud83dx",
        br"\ud83d\n",
        br"\ud83d\u",
        br"\u",
        br"\u12",
        br"\u123g",
        br"\u+123",
        br"\uD83D\uDE00",
        br"\x41",
        br"\0",
        br"\ ",
        b"\\\xff",
        b"\\\xc3\xa9",
        b"\xff",
        b"\xe2\x82",
        b"\xe2\\\x82\xac",
        b"\xed\xa0\x80",
        b"\xf0\x9f\x98",
        b"\0",
        b"\x7f",
        br"\\u0041",
        br"\\\u0041",
        br"\u0000",
        br"\u005c",
        br"\u0022",
        br"\/",
    ];
    for string in odd {
        for (before, after) in [
            (r#"{"type":"user","message":{"content":""#, r#""}}"#),
            (r#"{"type":"user","uuid":""#, r#"","message":{"content":"a"}}"#),
            (r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":""#, r#""}]}}"#),
            (r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","input":{"a":""#, r#""}}]}}"#),
            (r#"{"type":"queue-operation","operation":"enqueue","content":""#, r#""}"#),
            (r#"{""#, r#"":1,"type":"mode"}"#),
            (r#"{"type":""#, r#""}"#),
        ] {
            for filler in ["", "x", "\u{3000}", r"\\"] {
                for times in [1, 1500] {
                    let mut line = before.as_bytes().to_vec();
                    for _ in 0..times {
                        line.extend(*string);
                    }
                    line.extend(filler.as_bytes());
                    line.extend(after.as_bytes());
                    agree(line);
                    if before.len() < 10 {
                        break;
                    }
                }
            }
        }
    }
    // Bytes that grow when decoded, in a block that is not closed where we first look.
    let grown = [br#"{"type":"user","message":{"content":"<system-reminder>"#.to_vec(), vec![0xff; 4200]].concat();
    let open = [&grown[..], br#""}}"#].concat();
    assert_eq!(outline(open), "ClientText");
    let closed = [&grown[..], br#"</system-reminder>hello"}}"#].concat();
    assert_eq!(outline(closed), "Prompt");
}

#[test]
fn nesting_is_counted_from_the_record_wherever_a_value_stands() {
    let places = [
        ("{\"x\":", "}", 1),
        ("{\"uuid\":", "}", 1),
        ("{\"isMeta\":", "}", 1),
        ("{\"type\":\"user\",\"message\":{\"content\":", "}}", 2),
        ("{\"type\":\"assistant\",\"message\":{\"usage\":{\"input_tokens\":", "}}}", 3),
        ("{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"input\":", "}]}}", 4),
        (
            "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"input\":{\"offset\":",
            "}}]}}",
            5,
        ),
        ("{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"content\":[", "]}]}}", 5),
        ("{\"toolUseResult\":{\"structuredPatch\":[{\"lines\":[", "]}]}}", 5),
        ("{\"data\":{\"message\":{\"message\":{\"usage\":", "}}}}", 4),
    ];
    for (before, after, around) in places {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            for depth in 126 - around..=130 - around {
                let value = format!("{}1{}", open.repeat(depth), close.repeat(depth));
                let told = outline(format!("{before}{value}{after}"));
                assert_eq!(told.contains("malformed"), depth + around > 128, "{before} {depth}");
            }
        }
    }
    // Depth is of a record, not of a line or a file.
    let deep = format!("{{\"x\":{}{}}}", "[".repeat(127), "]".repeat(127));
    assert_eq!(outline(format!("{deep}{deep}\n{deep}")), "Unknown Unknown Unknown glued=1");
}

#[test]
fn nothing_takes_more_than_its_length() {
    const MEGABYTE: usize = 1 << 20;
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(MEGABYTE), close.repeat(MEGABYTE));
    let many = |item: &str, count: usize| vec![item; count].join(",");
    let lines = [
        user(&quoted(&"\\".repeat(MEGABYTE))),
        user(&quoted(&"\"".repeat(MEGABYTE))),
        user(&quoted(&"\\\"".repeat(MEGABYTE))),
        user(&quoted(&"<".repeat(MEGABYTE))),
        user(&quoted(&"<ide_a></ide_a>".repeat(MEGABYTE / 16))),
        user(&quoted(&"<ide_a>".repeat(MEGABYTE / 8))),
        user(&format!("\"{}\"", "\\u0020".repeat(MEGABYTE / 6))),
        format!("{{\"a\":\"{}", "\\".repeat(MEGABYTE)),
        format!("{{\"a\":\"{}", "\\\"".repeat(MEGABYTE)),
        "\"".repeat(MEGABYTE),
        "[".repeat(MEGABYTE),
        "{\"a\":".repeat(MEGABYTE / 5),
        "{}".repeat(MEGABYTE / 2),
        user(&nested("[", "]")),
        user(&nested("{\"a\":", "}")),
        format!("{{{}}}", many(r#""type":"user""#, 100_000)),
        format!("{{{}}}", many(r#""message":{"content":"a"}"#, 100_000)),
        format!("{{{}}}", many(r#""toolUseResult":{"structuredPatch":[{"lines":["+a"]}]}"#, 100_000)),
        user(&format!("[{}]", many("{}", 100_000))),
        user(&format!("[{}]", many(r#"{"type":"text","text":"a"}"#, 100_000))),
        user(&format!("[{}]", many(r#"{"type":"tool_result","tool_use_id":"t","content":"a"}"#, 100_000))),
        assistant(&format!(r#"{{"id":"m","content":[{}]}}"#, many(r#"{"type":"text","text":"a"}"#, 100_000))),
        assistant(&format!(r#"{{"id":"m","content":[{{{}}}]}}"#, many(r#""input":{"a":"b"}"#, 100_000))),
        assistant(&format!(r#"{{"id":"m","usage":{{"input_tokens":{}}}}}"#, "9".repeat(MEGABYTE))),
        assistant(&format!(r#"{{"id":"m","usage":{{"input_tokens":1e{}}}}}"#, "9".repeat(MEGABYTE))),
    ];
    for line in lines {
        // Anything quadratic would take minutes here: that this test ends is what it shows.
        let mut transcript = Transcript::default();
        let lines = format!("{line}\n{line}\n");
        transcript.read(&mut lines.as_bytes(), &mut Window::default(), |_| {}).unwrap();
        assert_eq!(transcript.reading.lines, 2);
    }
}

static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
});

/// What streaming has to say about a transcript.
fn streamed(mut transcript: &[u8]) -> Reading {
    let mut streamed = Transcript::default();
    streamed.read(&mut transcript, &mut Window::default(), |_| ()).unwrap();
    streamed.reading
}

#[test]
fn seeds_of_the_fuzzer() {
    assert!(SEEDS.len() >= 30);
    for seed in &*SEEDS {
        agree(seed);
    }
    let all = SEEDS.join(&b'\n');
    agree(&all);
    assert_eq!(streamed(&all), slow(&all).reading);
}

/// A change to the bytes of a transcript.
#[derive(Clone, Debug)]
enum Edit {
    Flip(usize, u8),
    Cut(usize),
    Remove(usize, usize),
    Repeat(usize, usize),
    Insert(usize, &'static str),
    Splice(usize, usize, usize),
}

const PIECES: &[&str] = &[
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "{}",
    "[]",
    "null",
    "true",
    "1e9",
    "-1",
    "\\u",
    "\\ud83d",
    "\n",
    " ",
    "}{",
    "\"type\":",
    "\"type\":\"text\",",
    "\"message\":",
    "\"content\":",
    "<system-reminder>",
    "</system-reminder>",
    "<ide_",
    "<command-name>",
    "</command-name>",
    "\"uuid\":\"u1\",",
    "\"usage\":{\"input_tokens\":5},",
];

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let place = any::<usize>;
    let edit = prop_oneof![
        (place(), any::<u8>()).prop_map(|(at, byte)| Edit::Flip(at, byte)),
        place().prop_map(Edit::Cut),
        (place(), 1..40usize).prop_map(|(at, length)| Edit::Remove(at, length)),
        (place(), 1..60usize).prop_map(|(at, length)| Edit::Repeat(at, length)),
        (place(), prop::sample::select(PIECES)).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        (place(), place(), place()).prop_map(|(at, seed, from)| Edit::Splice(at, seed, from)),
    ];
    prop::collection::vec(edit, 0..6)
}

fn apply(edit: &Edit, bytes: &mut Vec<u8>) {
    let within = |at: usize| at % (bytes.len() + 1);
    match *edit {
        Edit::Flip(at, byte) => {
            let at = within(at);
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        Edit::Cut(at) => bytes.truncate(within(at)),
        Edit::Remove(at, length) => {
            let at = within(at);
            bytes.drain(at..(at + length).min(bytes.len()));
        }
        Edit::Repeat(at, length) => {
            let at = within(at);
            let piece = bytes[at..(at + length).min(bytes.len())].to_vec();
            bytes.splice(at..at, piece);
        }
        Edit::Insert(at, piece) => {
            let at = within(at);
            bytes.splice(at..at, piece.bytes());
        }
        Edit::Splice(at, seed, from) => {
            let other = &SEEDS[seed % SEEDS.len()];
            bytes.truncate(within(at));
            bytes.extend(&other[from % (other.len() + 1)..]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_lines(seed in any::<prop::sample::Index>(), edits in edits()) {
        let mut bytes = SEEDS[seed.index(SEEDS.len())].clone();
        for edit in &edits {
            apply(edit, &mut bytes);
        }
        let difference = difference(&bytes);
        prop_assert!(difference.is_none(), "{}\n{}", String::from_utf8_lossy(&bytes), difference.unwrap_or_default());
    }
}

/// Runs where `HOTWASH_REAL_TRANSCRIPTS` names a folder of transcripts.
#[test]
fn real_transcripts() {
    let Some(folder) = std::env::var_os("HOTWASH_REAL_TRANSCRIPTS") else {
        println!("skipped: HOTWASH_REAL_TRANSCRIPTS names no folder");
        return;
    };
    let (mut folders, mut files) = (vec![PathBuf::from(folder)], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                files += 1;
                let transcript = fs::read(&path).unwrap();
                if let Some(difference) = difference(&transcript) {
                    panic!("{}\n{difference}", path.display());
                }
                assert_eq!(streamed(&transcript), slow(&transcript).reading, "{}", path.display());
            }
        }
    }
    assert!(files > 0, "no transcripts there");
    println!("{files} transcripts");
}
