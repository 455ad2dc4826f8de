//! Whether words say what is wanted, so that they can name a session: more than assent, courtesy, digits or a pointing
//! finger ("yes", "take a look at this", "1").

use super::speech::first_line;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::LazyLock;

/// Words that say nothing of what a session is about. The list is in `data/phrases/filler.txt`.
static FILLER: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lines = include_str!("../../data/phrases/filler.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect()
});

/// Commands of the client that steer it and ask for no work.
const STEERING: &[&str] = &[
    "add-dir",
    "agents",
    "bug",
    "clear",
    "compact",
    "config",
    "context",
    "copy",
    "cost",
    "doctor",
    "effort",
    "exit",
    "export",
    "fast",
    "feedback",
    "goal",
    "help",
    "hooks",
    "ide",
    "init",
    "login",
    "logout",
    "mcp",
    "memory",
    "model",
    "output-style",
    "permissions",
    "plugin",
    "quit",
    "release-notes",
    "rename",
    "resume",
    "rewind",
    "stats",
    "status",
    "statusline",
    "tasks",
    "terminal-setup",
    "theme",
    "todos",
    "upgrade",
    "usage",
    "vim",
];

/// How much some words say of what is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Telling {
    /// Nothing.
    #[default]
    Nothing,
    /// One word of it.
    Little,
    /// Enough to know it by.
    Enough,
}

/// How much some words say.
pub fn telling(words: &str) -> Telling {
    let mut told = 0;
    for word in words.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        // Scripts without spaces put several words into one; those that only agree are short and in the list.
        let unspaced = word.chars().filter(|c| *c >= '\u{2E80}').count();
        let lower = word.to_lowercase().replace('’', "'");
        if letters < 2 && unspaced == 0 || FILLER.contains(lower.as_str()) {
            continue;
        }
        // A command that somebody made says what it is for.
        let command = word.contains(':') && letters > 5;
        told += if unspaced > 3 || command { 2 } else { 1 };
        if told > 1 {
            return Telling::Enough;
        }
    }
    if told == 0 { Telling::Nothing } else { Telling::Little }
}

/// How much a prompt says, by its lines.
pub fn of_prompt(prompt: &str) -> Telling {
    let mut most = Telling::Nothing;
    let _ = first_line(prompt, |line| {
        let said = if is_listed(line) { Telling::Nothing } else { telling(line) };
        most = most.max(said);
        (most == Telling::Enough).then_some(())
    });
    most
}

/// Whether a program drew the line: a terminal's bullet or mark.
pub fn is_listed(line: &str) -> bool {
    line.trim_start().starts_with(['•', '◦', '▪', '✓', '✔', '✅', '❌', '⚠'])
}

/// What a slash command asks for: what was typed behind it, or the name of one that the client does not have by itself.
pub fn commanded(name: &str, args: &str) -> Option<(Telling, String)> {
    let command = name.trim_start_matches('/');
    if STEERING.contains(&command) {
        return None;
    }
    match telling(args) {
        Telling::Enough if !args.starts_with("http") => Some((Telling::Enough, args.to_owned())),
        // Those that somebody made say what they are for.
        _ if command.contains(':') => Some((Telling::Enough, format!("{name} {args}").trim_end().to_owned())),
        _ => Some((Telling::Little, format!("{name} {args}").trim_end().to_owned())),
    }
}

/// How much is known of what is wanted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Wanted(Telling);

impl Wanted {
    /// Whether nothing that comes can say more.
    pub(super) fn is_known(&self) -> bool {
        self.0 == Telling::Enough
    }

    /// Whether words that say so much say more than those before.
    pub(super) fn hear(&mut self, telling: Telling) -> bool {
        let more = telling > self.0;
        self.0 = self.0.max(telling);
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Telling::{Enough, Little, Nothing};

    #[test]
    fn assent_digits_and_pointing_say_nothing() {
        for (words, expected) in [
            ("yes", Nothing),
            ("Yes and yes", Nothing),
            ("9", Nothing),
            ("1, 2 and 5", Nothing),
            ("Continue until all are done", Nothing),
            ("Merged", Nothing),
            ("can you take a look at this?", Nothing),
            ("Still not quite right", Nothing),
            ("ja, bitte", Nothing),
            ("oui, vas-y", Nothing),
            ("sí, adelante", Nothing),
            ("sim, pode continuar", Nothing),
            ("好的", Nothing),
            ("はい", Nothing),
            ("Did you push?", Little),
            ("fix it", Little),
            ("fix the parser", Enough),
            ("mise run lint fails", Enough),
            ("/work:review", Enough),
            ("push to github", Enough),
            ("修复登录问题", Enough),
        ] {
            assert_eq!(telling(words), expected, "{words}");
        }
    }

    #[test]
    fn a_command_asks_for_what_stands_behind_it() {
        assert_eq!(commanded("/clear", ""), None);
        assert_eq!(commanded("/model", "the large one"), None);
        assert_eq!(commanded("/work:plan", "move the store to disk"), Some((Enough, "move the store to disk".into())));
        assert_eq!(commanded("/work:review", ""), Some((Enough, "/work:review".into())));
        assert_eq!(commanded("/review", "12"), Some((Little, "/review 12".into())));
    }
}
