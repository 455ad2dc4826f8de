//! One simple command of a shell line: its words, what it reads and writes, and what joins it to the next one.
//!
//! Finding where a segment begins and ends is [`split`](super::split)'s work; saying what its program does is left
//! to the classifiers.

use std::borrow::Cow;

/// What stands between a segment and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or a newline
    Seq,
    /// `|` or `|&`
    Pipe,
    /// `&`
    Background,
    /// Nothing follows.
    End,
}

/// A simple command, quotes removed, redirections taken out of the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The words as written: assignments, keywords and wrappers such as `sudo` are still there.
    pub words: Vec<Cow<'a, str>>,
    /// Files the segment writes through `>`, `>>`, `&>`, …; duplications such as `2>&1` are not files.
    pub outputs: Vec<Cow<'a, str>>,
    /// Files the segment reads through `<`.
    pub inputs: Vec<Cow<'a, str>>,
    /// Whether a heredoc (its body is gone) or a here-string is the segment's input.
    pub heredoc: bool,
    /// What follows.
    pub operator: Operator,
    /// How many groups (subshells, loops, braces) the operator is inside of; below the segment's own depth where one closes in between.
    pub(super) level: usize,
    /// Where in `words` the program is; past the end when there is none.
    pub(super) head: usize,
}

impl<'a> Segment<'a> {
    /// The base name of the program that runs, past assignments, keywords and wrappers (`env`, `sudo`, `timeout`, …).
    pub fn program(&self) -> Option<&str> {
        self.words.get(self.head).map(|word| basename(word))
    }

    /// The words from the program on.
    pub fn invocation(&self) -> &[Cow<'a, str>] {
        self.words.get(self.head..).unwrap_or_default()
    }

    /// The words after the program.
    pub fn arguments(&self) -> &[Cow<'a, str>] {
        self.invocation().get(1..).unwrap_or_default()
    }
}

/// The last component of a path; a bare name is its own.
pub(super) fn basename(path: &str) -> &str {
    path.bytes().rposition(|byte| byte == b'/').and_then(|slash| path.get(slash + 1..)).unwrap_or(path)
}

/// The index of the program among the words; `words.len()` when nothing but assignments and keywords is there.
pub(super) fn head(words: &[Cow<'_, str>]) -> usize {
    let mut at = 0;
    // A wrapper that wraps nothing (`env`, `sudo -l`) is the program itself.
    let mut wrapper = None;
    while let Some(word) = words.get(at) {
        if is_assignment(word) {
            at += 1;
            continue;
        }
        match basename(word) {
            "for" | "case" | "select" | "function" => return words.len(),
            "if" | "then" | "else" | "elif" | "fi" | "do" | "done" | "while" | "until" | "esac" | "!" | "{" | "}"
            | "coproc" => at += 1,
            "command" if matches!(words.get(at + 1).map(AsRef::as_ref), Some("-v" | "-V")) => return at,
            program => match wraps(program) {
                Some((flags_with_value, operands)) => {
                    wrapper = Some(at);
                    at = past_flags(words, at + 1, flags_with_value) + operands;
                }
                None => return at,
            },
        }
    }
    wrapper.unwrap_or(words.len())
}

/// How many compound commands are open after a segment with these words, when `open` were before it.
pub(super) fn compounds(words: &[Cow<'_, str>], mut open: usize) -> usize {
    for word in words {
        match word.as_ref() {
            "for" | "case" | "select" => return open + 1,
            "if" | "while" | "until" | "{" => open += 1,
            "fi" | "done" | "esac" | "}" => open = open.saturating_sub(1),
            "then" | "else" | "elif" | "do" | "!" => {}
            _ => break,
        }
    }
    open
}

/// For a program that runs another one: its flags that take a value, and how many operands come before the program.
fn wraps(program: &str) -> Option<(&'static [&'static str], usize)> {
    Some(match program {
        "env" => (&["-u", "--unset", "-C", "--chdir"], 0),
        "sudo" => (&["-u", "-g", "-h", "-p", "-C", "-D", "-r", "-t", "-U", "--user", "--group"], 0),
        "doas" => (&["-u", "-C"], 0),
        "timeout" | "gtimeout" => (&["-s", "-k", "--signal", "--kill-after"], 1),
        "time" => (&["-f", "-o"], 0),
        "nice" => (&["-n", "--adjustment"], 0),
        "ionice" => (&["-c", "-n", "--class", "--classdata"], 0),
        "exec" => (&["-a"], 0),
        "stdbuf" => (&["-i", "-o", "-e"], 0),
        "xvfb-run" => (&["-s", "-n", "-e", "-f"], 0),
        "nohup" | "command" | "builtin" | "setsid" => (&[], 0),
        _ => return None,
    })
}

/// The index of the first word from `at` on that is no flag and no flag's value; `--` ends the flags.
pub(super) fn past_flags(words: &[Cow<'_, str>], mut at: usize, with_value: &[&str]) -> usize {
    while let Some(word) = words.get(at) {
        if word == "--" {
            return at + 1;
        }
        if !word.starts_with('-') {
            return at;
        }
        at += if with_value.contains(&word.as_ref()) { 2 } else { 1 };
    }
    at
}

/// `NAME=…`, `NAME+=…` or `NAME[1]=…`.
pub(super) fn is_assignment(word: &str) -> bool {
    let bytes = word.as_bytes();
    let name = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    name > 0
        && !bytes[0].is_ascii_digit()
        && match bytes[name..] {
            [b'=', ..] | [b'+', b'=', ..] => true,
            [b'[', ref rest @ ..] => memchr::memchr(b'=', rest).is_some(),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::super::segments;

    #[test]
    fn finds_the_program_behind_what_wraps_it() {
        let cases = [
            ("ls -l", Some("ls")),
            ("/usr/bin/grep x y", Some("grep")),
            ("FOO=1 BAR='a b' make", Some("make")),
            ("A[0]=1 B+=2 true", Some("true")),
            ("FOO=bar", None),
            ("env -i -u HOME A=1 node x.js", Some("node")),
            ("env", Some("env")),
            ("sudo -u root -E rm x", Some("rm")),
            ("sudo -l", Some("sudo")),
            ("timeout -k 5 60s cargo test", Some("cargo")),
            ("timeout --signal=KILL 60 pytest", Some("pytest")),
            ("sudo timeout 5 env X=1 nice -n 10 go test", Some("go")),
            ("nohup ./server", Some("server")),
            ("command -v rg", Some("command")),
            ("command ls", Some("ls")),
            ("exec -a name prog", Some("prog")),
            ("! grep -q x f", Some("grep")),
            ("time -p make", Some("make")),
            ("if test -f x", Some("test")),
            ("{ cat x", Some("cat")),
            ("for f in a b", None),
            ("done", None),
            ("1a=b", Some("1a=b")),
        ];
        for (command, program) in cases {
            let found = segments(command);
            assert_eq!(found.first().and_then(|segment| segment.program()), program, "{command}");
        }
    }
}
