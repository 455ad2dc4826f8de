//! The reference page of all facts, made from the comments beside their code.

use super::{Facts, Manual};
use std::fmt::Write;

/// The page as Markdown.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Facts\n\n\
         What hotwash counts in a session, without any model. The same events always give the same facts. Facts that\n\
         point at something name the events (`e41` is line 41 of the transcript). Where a share has nothing to divide\n\
         by it is *not applicable* (`null`), never 0 and never 1.\n\n\
         This page is generated from the comments in `crates/hotwash-core/src/facts/`: edit them there and run\n\
         `HOTWASH_REGENERATE=1 cargo test -p hotwash-core docs_are_current`.\n",
    );
    for (title, manual) in Facts::GROUPS {
        let _ = write!(page, "\n## {title}\n");
        for fact in *manual {
            write_fact(fact, &mut page);
        }
    }
    page
}

fn write_fact(fact: &Manual, page: &mut String) {
    let doc = fact.doc.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let (what, rest) = doc.split_once(" Why: ").unwrap_or((&doc, ""));
    let (why, blind) = rest.split_once(" Blind: ").unwrap_or((rest, ""));
    let _ = write!(
        page,
        "\n### `{}` ({})\n\n{}\n\n- Why it matters: {}\n- What it cannot see: {}\n",
        fact.name,
        fact.form,
        what.trim(),
        why.trim(),
        blind.trim()
    );
}

#[cfg(test)]
mod tests {
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test compares with a file, or makes it")]
    fn docs_are_current() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/facts.md");
        if std::env::var_os("HOTWASH_REGENERATE").is_some() {
            std::fs::write(&path, super::markdown()).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == super::markdown(), "docs/facts.md is out of date; it says how to make it anew");
    }
}
