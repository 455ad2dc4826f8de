//! Finding the answer in a reply: alone, in a code fence, or with prose around it.

use super::{Fault, Problem, Reading};
use crate::scores::Flag;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// What a judge is told when there is no answer in its reply.
const NO_JSON: &str = "there is no JSON object that fits the schema";
/// Replies longer than this are not answers.
const LONGEST: usize = 4 << 20;
/// So many braces are tried as the beginning of an object.
const MOST_STARTS: usize = 256;
const TWICE: &str = "a key is there twice";

/// Reads the one answer that a reply holds. `keys` are those of an answer: an object with none of them is something else.
pub(super) fn read<T>(text: &str, keys: &[&str], parse: impl Fn(&Map<String, Value>) -> Reading<T>) -> Reading<T> {
    let found = objects(text);
    let mut answers: Vec<&Map<String, Value>> = Vec::new();
    let mut repeated = false;
    for object in &found.objects {
        if !keys.iter().any(|key| object.contains_key(*key)) {
            continue;
        }
        if answers.contains(&object) {
            repeated = true;
        } else {
            answers.push(object);
        }
    }
    let mut reading = match answers.as_slice() {
        [] if found.twice => {
            let text = "a key is there twice in the same object".to_owned();
            Reading::nothing(Problem { at: String::new(), fault: Fault::DuplicateKey, text })
        }
        [] => Reading::nothing(Problem { at: String::new(), fault: Fault::NoJson, text: NO_JSON.to_owned() }),
        [one] => parse(one),
        several => {
            let mut fitting = several.iter().map(|answer| parse(answer)).filter(|reading| reading.problems.is_empty());
            if let (Some(one), None) = (fitting.next(), fitting.next()) {
                one
            } else {
                let text = "there are several JSON objects that differ; give one".to_owned();
                Reading::nothing(Problem { at: String::new(), fault: Fault::Ambiguous, text })
            }
        }
    };
    if repeated {
        Flag::Repeated.raise(&mut reading.flags);
    }
    reading
}

/// The objects at the top of a text.
#[derive(Default)]
struct Found {
    objects: Vec<Map<String, Value>>,
    /// One was passed over because a key is there twice.
    twice: bool,
}

fn objects(text: &str) -> Found {
    let mut found = Found::default();
    if text.len() > LONGEST {
        return found;
    }
    let (mut rest, mut starts) = (text, 0);
    while let Some(start) = rest.find('{')
        && starts < MOST_STARTS
    {
        starts += 1;
        let Some((_, from)) = rest.split_at_checked(start) else { break };
        let Some((object, after)) = balanced(from).and_then(|len| from.split_at_checked(len)) else {
            // A brace that nothing closes is prose.
            rest = from.get(1..).unwrap_or_default();
            continue;
        };
        match serde_json::from_str::<Strict>(object) {
            Ok(Strict(Value::Object(map))) => found.objects.push(map),
            Ok(_) => {}
            Err(error) => found.twice |= error.to_string().starts_with(TWICE),
        }
        // Nothing inside an object is looked at alone, whatever is wrong with it.
        rest = after;
    }
    found
}

/// The length of the object that a text begins with, if its braces close.
fn balanced(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// JSON in which no key is there twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if map.insert(key, value).is_some() {
                return Err(A::Error::custom(TWICE));
            }
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An answer is `{"a": number}` here.
    fn read_a(text: &str) -> (Option<f64>, Option<Fault>, bool) {
        let parse = |map: &Map<String, Value>| {
            let verdict = map.get("a").and_then(Value::as_f64);
            let missing = || Problem { at: "a".into(), fault: Fault::Missing, text: "is missing".into() };
            let problems = if verdict.is_none() { vec![missing()] } else { Vec::new() };
            Reading { verdict, problems, flags: Vec::new() }
        };
        let reading = read(text, &["a", "b"], parse);
        let fault = reading.problems.first().map(|problem| problem.fault);
        (reading.verdict, fault, reading.flags == [Flag::Repeated])
    }

    #[test]
    fn finds_the_answer_or_says_what_is_wrong() {
        let cases: &[(&str, Option<f64>, Option<Fault>)] = &[
            (r#"{"a":1}"#, Some(1.0), None),
            (" \n{\"a\": 0.5}\n ", Some(0.5), None),
            ("```json\n{\"a\":1}\n```", Some(1.0), None),
            ("```\n{\"a\":1}\n```\nHope that helps {really}!", Some(1.0), None),
            ("Here it is: {\"a\":1}. Bye.", Some(1.0), None),
            ("In {curly} words: {\"a\":1}", Some(1.0), None),
            ("An open { brace, then {\"a\":1}", Some(1.0), None),
            ("[{\"a\":1}]", Some(1.0), None),
            (r#"{"a":1,"s":"} { \" }"}"#, Some(1.0), None),
            (r#"{"event":"e1"} {"a":1}"#, Some(1.0), None),
            (r#"{"b":2} {"a":1}"#, Some(1.0), None),
            (r#"{"a":1} {"a":2}"#, None, Some(Fault::Ambiguous)),
            (r#"{"b":1} {"b":2}"#, None, Some(Fault::Ambiguous)),
            (r#"{"b":1}"#, None, Some(Fault::Missing)),
            (r#"{"a":1,"a":2}"#, None, Some(Fault::DuplicateKey)),
            (r#"{"a":1,"x":{"k":1,"k":1}}"#, None, Some(Fault::DuplicateKey)),
            (r#"{"a":NaN}"#, None, Some(Fault::NoJson)),
            (r#"{"a":Infinity}"#, None, Some(Fault::NoJson)),
            (r#"{"a":-Infinity}"#, None, Some(Fault::NoJson)),
            (r#"{"a":1e999}"#, None, Some(Fault::NoJson)),
            (r#"{"a":1,}"#, None, Some(Fault::NoJson)),
            ("{'a':1}", None, Some(Fault::NoJson)),
            (r#"{"wrapped":{"a":1}}"#, None, Some(Fault::NoJson)),
            (r#""{\"a\":1}""#, None, Some(Fault::NoJson)),
            (r#"{"a":1"#, None, Some(Fault::NoJson)),
            ("I refuse.", None, Some(Fault::NoJson)),
            ("", None, Some(Fault::NoJson)),
            ("null", None, Some(Fault::NoJson)),
            ("[]", None, Some(Fault::NoJson)),
            ("{}", None, Some(Fault::NoJson)),
        ];
        for (text, value, fault) in cases {
            let (found, problem, repeated) = read_a(text);
            assert_eq!((found, problem, repeated), (*value, *fault, false), "{text}");
        }
        assert_eq!(read_a(r#"{"a":1} and again {"a": 1.0e0, "z":0} "#).1, Some(Fault::Ambiguous));
        assert_eq!(read_a("{\"a\":1}\n```json\n{ \"a\" : 1 }\n```"), (Some(1.0), None, true));
    }

    #[test]
    fn a_flood_of_braces_ends_soon() {
        assert_eq!(read_a(&"{".repeat(200_000)).1, Some(Fault::NoJson));
        assert_eq!(read_a(&"{}".repeat(200_000)).1, Some(Fault::NoJson));
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
        assert_eq!(read_a(&deep).1, Some(Fault::NoJson));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}", json in "[\\[\\]{}:,\"\\\\a-c0-9eE. \\n-]{0,200}") {
            read_a(&text);
            read_a(&json);
            read_a(&format!("{text}{{\"a\":{json}}}{text}"));
        }

        #[test]
        fn prose_without_braces_does_not_matter(before in "[^{}\"]{0,80}", after in "[^{}\"]{0,80}", a in 0..1000u32) {
            let a = f64::from(a) / 1000.0;
            prop_assert_eq!(read_a(&format!("{before}{{\"a\":{a}}}{after}")), (Some(a), None, false));
        }
    }
}
