//! Records that are nearly right: each input is a list of choices from which a transcript is written, key by key.
//!
//! Bytes mutated one by one seldom stay JSON. Choices always do, so the fuzzer gets past the grammar to the rules: keys
//! that come twice or in another order, values of the wrong type, marks in texts. A choice now and then damages the text
//! as well.

#![no_main]

use hotwash_engine::sources::claude_code::oracle::difference;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|choices: &[u8]| {
    let mut writer = Writer { choices: choices.iter().copied(), out: Vec::new() };
    writer.transcript();
    if let Some(difference) = difference(&writer.out) {
        panic!("{}\n{difference}", String::from_utf8_lossy(&writer.out));
    }
});

/// Values that a key may have, by what the decoders expect there.
#[derive(Clone, Copy)]
enum Shape {
    Word(&'static [&'static str]),
    Text,
    Flag,
    Number,
    Object(&'static [(&'static str, Shape)]),
    Array(&'static Shape),
    /// A string or blocks.
    Either(&'static Shape),
}

use Shape::{Array, Either, Flag, Number, Object, Text, Word};

const ID: Shape = Word(&["u1", "u2", "t1", "m1", "\\u00751", ""]);

const RECORD: Shape = Object(&[
    (
        "type",
        Word(&[
            "user",
            "assistant",
            "system",
            "attachment",
            "progress",
            "queue-operation",
            "ai-title",
            "custom-title",
            "mode",
            "summary",
            "x",
            "\\u0075ser",
        ]),
    ),
    ("message", MESSAGE),
    ("message", MESSAGE),
    ("toolUseResult", RESULT),
    ("attachment", ATTACHMENT),
    ("uuid", ID),
    ("subtype", Word(&["compact_boundary", "api_error", "local_command", "turn_duration"])),
    ("content", Text),
    ("operation", Word(&["enqueue", "dequeue"])),
    ("data", PROGRESS),
    ("origin", Object(&[("kind", Word(&["human", "task-notification", ""]))])),
    ("isMeta", Flag),
    ("isSidechain", Flag),
    ("isCompactSummary", Flag),
    ("isApiErrorMessage", Flag),
    ("compactMetadata", Object(&[("trigger", Word(&["manual", "auto"]))])),
    (
        "timestamp",
        Word(&["2026-10-05T09:14:03.250Z", "2026-10-05T09:14:03+02:00", "2026-10-05", "9999-12-31T23:59:59Z"]),
    ),
    ("sessionId", ID),
    ("agentId", ID),
    ("cwd", Word(&["/w", "C:\\\\w", "."])),
    ("gitBranch", ID),
    ("version", Word(&["2.1.325", "1.0.17"])),
    ("entrypoint", Word(&["cli", "sdk-cli"])),
    ("aiTitle", Text),
    ("customTitle", Text),
    ("parentUuid", ID),
]);

const MESSAGE: Shape = Object(&[
    ("content", Either(&BLOCK)),
    ("id", ID),
    ("usage", USAGE),
    ("model", Word(&["claude-opus-5-5", "<synthetic>"])),
    ("role", Word(&["user", "assistant"])),
]);

const USAGE: Shape = Object(&[
    ("input_tokens", Number),
    ("output_tokens", Number),
    ("cache_read_input_tokens", Number),
    ("cache_creation_input_tokens", Number),
    ("cache_creation", Object(&[("ephemeral_1h_input_tokens", Number), ("ephemeral_5m_input_tokens", Number)])),
    ("speed", Word(&["fast", "standard"])),
]);

const BLOCK: Shape = Object(&[
    (
        "type",
        Word(&[
            "text",
            "tool_use",
            "tool_result",
            "image",
            "thinking",
            "redacted_thinking",
            "server_tool_use",
            "t\\u0065xt",
        ]),
    ),
    ("text", Text),
    ("id", ID),
    ("tool_use_id", ID),
    ("content", Either(&PART)),
    ("is_error", Flag),
    (
        "name",
        Word(&[
            "Bash",
            "Read",
            "Edit",
            "Write",
            "MultiEdit",
            "NotebookEdit",
            "Grep",
            "Glob",
            "LS",
            "WebFetch",
            "WebSearch",
            "Task",
            "TodoWrite",
            "ExitPlanMode",
            "Skill",
            "AskUserQuestion",
            "other",
        ]),
    ),
    ("input", INPUT),
]);

const PART: Shape = Object(&[("type", Word(&["text", "image"])), ("text", Text)]);

const INPUT: Shape = Object(&[
    ("command", Text),
    ("file_path", Word(&["/w/a.rs", "b.rs", ""])),
    ("notebook_path", Word(&["/w/n.ipynb", ""])),
    ("path", Word(&["/w", ""])),
    ("pattern", Text),
    ("query", Text),
    ("url", Text),
    ("skill", Word(&["pdf", ""])),
    ("subagent_type", Word(&["explore", ""])),
    ("offset", Number),
    ("limit", Number),
    ("old_string", Text),
]);

const RESULT: Shape = Object(&[
    ("type", Word(&["create", "update", "text"])),
    ("filePath", Word(&["/w/a.rs", "b.rs"])),
    ("content", Text),
    ("structuredPatch", Array(&Object(&[("lines", Array(&Text)), ("oldStart", Number)]))),
    ("file", Object(&[("numLines", Number), ("content", Text)])),
    ("agentId", ID),
]);

const ATTACHMENT: Shape = Object(&[
    ("type", Word(&["queued_command", "file"])),
    ("commandMode", Word(&["prompt", "task-notification"])),
    ("prompt", Either(&PART)),
]);

const PROGRESS: Shape = Object(&[
    ("type", Word(&["agent_progress", "hook_progress"])),
    ("agentId", ID),
    ("message", Object(&[("type", Word(&["assistant", "user"])), ("message", MESSAGE)])),
]);

const MARKS: &[&str] = &[
    "hello",
    " ",
    "\\n",
    "<system-reminder>",
    "</system-reminder>",
    "<system_instruction>",
    "</system_instruction>",
    "<user-prompt-submit-hook>",
    "</user-prompt-submit-hook>",
    "<ide_a>",
    "<ide_a b=\\\"c\\\">",
    "</ide_a>",
    "<ide_",
    ">",
    "<command-name>",
    "</command-name>",
    "<command-message>",
    "<command-args>",
    "/clear",
    "<bash-input>",
    "</bash-input>",
    "<bash-stdout>",
    "<task-notification>",
    "<teammate-message>",
    "<local-command-stdout>",
    "Operation stopped by hook:",
    "Caveat: The messages below were generated by the user while running local commands",
    "[Request interrupted by user",
    "Implement the following plan:",
    "\\u003c",
    "\\ud83d",
    "\\ude00",
    "\\u12",
    "\\x",
    "\\\\",
    "\\\"",
    "\\/",
    "é",
    "\u{3000}",
    "+",
    "-",
    "cargo test",
    " && ",
    " | tail -1",
    "git commit -m x",
    "[main abc1234]",
    "3 failed",
    "test result: ok",
    "{",
    "/",
    "all tests pass.",
    "The user doesn't want to proceed",
];

const NUMBERS: &[&str] =
    &["0", "7", "-1", "2.9", "1e3", "-0", "1e400", "9223372036854775808", "99999999999999999999", "1E-2"];

const WRONG: &[&str] =
    &["null", "true", "false", "5", "\"x\"", "[]", "{}", "[1]", "{\"type\":\"text\"}", "\"\"", "[[]]"];

struct Writer<I> {
    choices: I,
    out: Vec<u8>,
}

impl<I: Iterator<Item = u8>> Writer<I> {
    /// The next choice; zero, the plainest, when there are no more.
    fn choice(&mut self) -> usize {
        self.choices.next().map_or(0, usize::from)
    }

    fn write(&mut self, text: &str) {
        self.out.extend(text.bytes());
    }

    fn one_of(&mut self, texts: &[&str]) {
        let choice = self.choice();
        self.write(texts[choice % texts.len()]);
    }

    fn transcript(&mut self) {
        for _ in 0..=self.choice() % 4 {
            self.value(RECORD);
            match self.choice() {
                240..244 => {}
                244..248 => self.one_of(WRONG),
                248..252 => {
                    let length = self.out.len().saturating_sub(self.choice());
                    self.out.truncate(length);
                }
                252..256 => {
                    let at = self.out.len().saturating_sub(1 + self.choice());
                    let byte = self.choice() as u8;
                    if let Some(place) = self.out.get_mut(at) {
                        *place = byte;
                    }
                }
                choice => self.write(["\n", "\r\n", "\n\n"][choice % 3]),
            }
        }
    }

    fn value(&mut self, shape: Shape) {
        match self.choice() {
            245..250 => return self.one_of(WRONG),
            250..252 => return self.deep(),
            _ => {}
        }
        match shape {
            Word(words) => {
                self.write("\"");
                self.one_of(words);
                self.write("\"");
            }
            Text => self.text(),
            Flag => self.one_of(&["true", "false"]),
            Number => self.one_of(NUMBERS),
            Object(keys) => self.object(keys),
            Array(item) => self.array(*item),
            Either(item) => {
                if self.choice() % 2 == 0 {
                    self.array(*item);
                } else {
                    self.text();
                }
            }
        }
    }

    fn object(&mut self, keys: &[(&str, Shape)]) {
        self.write("{");
        // Zero chooses the first key, which is the one that decides the most.
        let count = 1 + self.choice() % 7;
        for nth in 0..count {
            if nth > 0 {
                self.write(",");
            }
            let choice = self.choice();
            let (key, shape) = keys[choice % keys.len()];
            if choice >= 250 {
                // A key in escapes is the same key.
                self.write(&format!("\"\\u{:04x}{}\":", key.as_bytes()[0], key.get(1..).unwrap_or_default()));
            } else {
                self.write(&format!("\"{key}\":"));
            }
            self.value(shape);
        }
        self.write("}");
    }

    fn array(&mut self, item: Shape) {
        self.write("[");
        for nth in 0..self.choice() % 5 {
            if nth > 0 {
                self.write(",");
            }
            self.value(item);
        }
        self.write("]");
    }

    fn text(&mut self) {
        self.write("\"");
        for _ in 0..self.choice() % 8 {
            let choice = self.choice();
            match choice {
                // Longer than the decoder looks at once.
                250 => self.write(&"x".repeat(4090)),
                251 => self.write(&" ".repeat(4090)),
                252 => self.out.extend([0xff; 4090]),
                253 => self.write(&"\\\\".repeat(2045)),
                254 => self.out.push(0xe2),
                255 => self.write("\u{1}"),
                _ => self.write(MARKS[choice % MARKS.len()]),
            }
        }
        self.write("\"");
    }

    /// Nesting around the limit.
    fn deep(&mut self) {
        let depth = 118 + self.choice() % 12;
        let (open, close) = if self.choice() % 2 == 0 { ("[", "]") } else { ("{\"a\":", "}") };
        self.write(&format!("{}1{}", open.repeat(depth), close.repeat(depth)));
    }
}
