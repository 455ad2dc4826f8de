//! Tools as their rows show them: which tool, whether it failed, and what it changed.

use super::lost;
use crate::sources::claude_code::decode;
use hotwash_core::sessions::Tool;
use hotwash_core::text::Text;
use serde_json::Value;

/// A tool by its name, as Claude Code, Codex or `OpenCode` call it.
pub(super) fn tool(name: &str) -> Tool {
    match decode::tool(Text::plain(name)) {
        Tool::Other => {}
        known => return known,
    }
    match name.to_ascii_lowercase().as_str() {
        "bash" | "shell" | "local_shell" | "shell_command" | "exec_command" | "container.exec" | "execute_command" => {
            Tool::Shell
        }
        "read" | "read_file" | "view" => Tool::Read,
        "edit" | "multiedit" | "edit_file" | "apply_patch" | "patch" | "str_replace" => Tool::Edit,
        "write" | "write_file" | "create_file" => Tool::Write,
        "grep" | "search" | "codesearch" | "search_files" => Tool::Search,
        "glob" | "list" | "ls" | "list_dir" | "list_files" => Tool::ListFiles,
        "webfetch" | "web_fetch" | "fetch" => Tool::WebFetch,
        "websearch" | "web_search" => Tool::WebSearch,
        "task" | "agent" | "spawn_agent" => Tool::Subagent,
        "todowrite" | "todoread" | "update_plan" => Tool::Todo,
        "skill" => Tool::Skill,
        "question" | "request_user_input" => Tool::AskPerson,
        _ => Tool::Other,
    }
}

/// What a shell's output begins with where the command failed.
const SHELL_FAILED: &[&str] = &["Exit code ", "Error: Exit code ", "<tool_use_error>"];
/// What another tool's output begins with where it failed.
const FAILED: &[&str] = &[
    "<tool_use_error>",
    "Error: ",
    "Error calling tool",
    "InputValidationError",
    "File has not been read yet",
    "File has been modified since read",
    "File does not exist",
    "String to replace not found",
    "EISDIR",
    "ENOENT",
    "EACCES",
];
/// What any tool's output begins with where it was not let.
const STOPPED: &[&str] = &[
    "The user doesn't want to proceed",
    "The user doesn't want to take this action",
    "[Request interrupted by user",
    "Sibling tool call errored",
    "Cancelled: parallel tool call",
    "Permission to use ",
    "Claude requested permissions to ",
];

/// Whether a tool's output says that it failed. Only its beginning is a tool's own word; the rest may quote anything.
pub(super) fn failed(tool: Tool, output: &str) -> bool {
    let output = output.trim_start();
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| output.starts_with(beginning));
    let by_tool = if tool == Tool::Shell { begins(SHELL_FAILED) } else { begins(FAILED) };
    (by_tool || begins(STOPPED)) && !output.starts_with("Exit code 0") && !output.starts_with("Error: Exit code 0")
}

/// What a call did to a file, as far as its arguments tell.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Changed {
    /// The file, where the arguments do not name it as such.
    pub(super) path: String,
    /// Lines with their signs.
    pub(super) patch: Vec<String>,
    /// The whole content of a new file.
    pub(super) created: Option<String>,
    /// What cannot be told of it.
    pub(super) lost: &'static [&'static str],
}

/// What a call that worked did to a file.
pub(super) fn changed(tool: Tool, input: &Value, output: &str) -> Option<Changed> {
    if !tool.edits() {
        return None;
    }
    let text = |from: &Value, names: &[&str]| -> Option<String> {
        names.iter().find_map(|name| from.get(*name)?.as_str().map(str::to_owned))
    };
    let patch = text(input, &["patch", "input"]).or_else(|| input.as_str().map(str::to_owned));
    if let Some(patch) = patch.filter(|patch| patch.contains("*** Begin Patch")) {
        return Some(of_patch(&patch));
    }
    let content = text(input, &["content", "file_text"]);
    if let (Tool::Write, Some(content)) = (tool, content) {
        return Some(if output.contains("created successfully") {
            Changed { created: Some(content), ..Changed::default() }
        } else if output.contains("has been updated") {
            Changed { lost: lost::BEFORE, ..Changed::default() }
        } else {
            Changed { lost: lost::CREATED, ..Changed::default() }
        });
    }
    let edits = input.get("edits").and_then(Value::as_array);
    let edits = edits.map_or_else(|| vec![input], |edits| edits.iter().collect());
    let mut lines = Vec::new();
    for edit in edits {
        let old = text(edit, &["old_string", "oldString", "old_str"]);
        let new = text(edit, &["new_string", "newString", "new_str"]);
        if let (Some(old), Some(new)) = (old, new) {
            replaced(&old, &new, &mut lines);
        }
    }
    let lost = if lines.is_empty() { lost::BEFORE } else { lost::LINES };
    Some(Changed { patch: lines, lost, ..Changed::default() })
}

/// The lines of a replacement. What both begin or end with is left as it was.
fn replaced(old: &str, new: &str, patch: &mut Vec<String>) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let shortest = old.len().min(new.len());
    let first = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let last = old.iter().rev().zip(new.iter().rev()).take(shortest - first).take_while(|(a, b)| a == b).count();
    let mut sign = |sign: char, lines: &[&str]| patch.extend(lines.iter().map(|line| format!("{sign}{line}")));
    sign(' ', &old[..first]);
    sign('-', &old[first..old.len() - last]);
    sign('+', &new[first..new.len() - last]);
    sign(' ', &old[old.len() - last..]);
}

/// Codex's own form of a patch. A patch of several files is told as one of the first.
fn of_patch(patch: &str) -> Changed {
    let mut changed = Changed::default();
    let (mut files, mut added) = (0, false);
    for line in patch.lines() {
        let file = |mark: &str| line.strip_prefix(mark).map(|path| path.trim().to_owned());
        if let Some(path) = file("*** Update File: ").or_else(|| file("*** Delete File: ")) {
            files += 1;
            if files == 1 {
                changed.path = path;
            }
        } else if let Some(path) = file("*** Add File: ") {
            files += 1;
            if files == 1 {
                (changed.path, added) = (path, true);
            }
        } else if files == 1 && line.starts_with(['+', '-', ' ']) {
            changed.patch.push(line.to_owned());
        }
    }
    if files > 1 {
        changed.lost = lost::BEFORE;
    }
    if added {
        let lines: Vec<&str> = changed.patch.iter().filter_map(|line| line.strip_prefix('+')).collect();
        changed.created = Some(lines.join("\n") + "\n");
        changed.patch.clear();
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_failure_is_a_tools_own_first_word() {
        for (tool, output, says) in [
            (Tool::Shell, "Error: Exit code 1\n1 failed", true),
            (Tool::Shell, "Exit code 127\nnot found", true),
            (Tool::Shell, "Exit code 0\nfine", false),
            (Tool::Shell, "Error: cannot open x", false),
            (Tool::Shell, "12 passed", false),
            (Tool::Edit, "<tool_use_error>String to replace not found</tool_use_error>", true),
            (Tool::Edit, "The file a.rs has been updated.", false),
            (Tool::Read, "     1\tError: is what it prints", false),
            (Tool::Other, "Error: no such issue", true),
            (Tool::Shell, "The user doesn't want to proceed with this tool use.", true),
        ] {
            assert_eq!(failed(tool, output), says, "{tool:?} {output}");
        }
    }

    #[test]
    fn changes_are_told_from_arguments() {
        let edit = changed(Tool::Edit, &json!({"old_string": "a\nb\nc", "new_string": "a\nx\ny\nc"}), "").unwrap();
        assert_eq!(edit.patch, [" a", "-b", "+x", "+y", " c"]);
        assert_eq!(edit.lost, lost::LINES);
        let new = changed(Tool::Write, &json!({"content": "a\n"}), "File created successfully at: /a").unwrap();
        assert_eq!((new.created.as_deref(), new.lost), (Some("a\n"), &[][..]));
        assert_eq!(changed(Tool::Write, &json!({"content": "a\n"}), "has been updated.").unwrap().lost, lost::BEFORE);
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-old\n+new\n*** End Patch";
        let patched = changed(Tool::Edit, &json!({"input": patch}), "Done!").unwrap();
        assert_eq!((patched.path.as_str(), patched.patch), ("src/a.rs", vec!["-old".to_owned(), "+new".to_owned()]));
        assert_eq!(changed(Tool::Read, &json!({}), ""), None);
    }
}
