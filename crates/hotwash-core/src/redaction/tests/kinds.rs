//! Ways of writing secrets down, by kind (`kinds.txt`), and what looks like them and is none (`lookalikes.txt`).

use super::super::redact;
use super::{CAPITALS, HEXES, LETTERS, random, rules};
use std::collections::BTreeMap;

/// The lines of a file with the kind that each is listed under.
fn listed(file: &'static str) -> impl Iterator<Item = (&'static str, String)> {
    let mut kind = "";
    file.lines().zip(1..).filter_map(move |(line, seed)| {
        if let Some(name) = line.strip_prefix("== ") {
            kind = name;
        }
        let is_form = !line.is_empty() && !line.starts_with("== ") && !line.starts_with("# ");
        is_form.then(|| (kind, expand(line, seed)))
    })
}

/// Puts random letters in the place of `{a22}` and its like.
fn expand(line: &str, seed: u64) -> String {
    let mut out = String::new();
    for (number, part) in (0..).zip(line.split_inclusive('}')) {
        let drawn = part.rfind('{').and_then(|at| {
            let (before, mark) = part.split_at(at);
            let (letters, length) = mark.strip_prefix('{')?.strip_suffix('}')?.split_at_checked(1)?;
            let alphabet = match letters {
                "a" => LETTERS.to_owned(),
                "b" => format!("{LETTERS}/"),
                "c" => format!("{LETTERS}./"),
                "h" => HEXES.to_owned(),
                "H" => HEXES.to_uppercase(),
                "C" => CAPITALS.to_owned(),
                _ => return None,
            };
            Some(before.to_owned() + &random(&alphabet, length.parse().ok()?, seed * 31 + number))
        });
        out.push_str(drawn.as_deref().unwrap_or(part));
    }
    out.replace("\\n", "\n").replace("\\t", "\t")
}

#[test]
fn every_kind_of_secret_is_found() {
    let rules = rules();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut missed = Vec::new();
    for (kind, form) in listed(include_str!("kinds.txt")) {
        *kinds.entry(kind).or_default() += 1;
        let secret = form.split_once('⟦').and_then(|(_, rest)| rest.split_once('⟧')).expect("a secret").0;
        let text = form.replace(['⟦', '⟧'], "");
        let out = redact(&text, &rules);
        assert_eq!(redact(out.as_str(), &rules), out, "twice: {text}");
        let half = secret.char_indices().nth(secret.chars().count() / 2).map_or(0, |(at, _)| at);
        let (head, tail) = secret.split_at(half);
        if out.as_str().contains(head) || out.as_str().contains(tail) {
            missed.push(format!("{kind}: {text} -> {out}"));
        }
    }
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
    assert!(kinds.values().all(|forms| *forms >= 3), "{kinds:?}");
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let rules = rules();
    let harmed: Vec<String> = listed(include_str!("lookalikes.txt"))
        .filter_map(|(kind, text)| {
            let out = redact(&text, &rules);
            (out.as_str() != text).then(|| format!("{kind}: {text} -> {out}"))
        })
        .collect();
    assert!(harmed.is_empty(), "{}", harmed.join("\n"));
}
