//! What the cursor reads and what it refuses.

use super::*;

fn skips(text: &str) -> bool {
    let mut cursor = Cursor::new(text.as_bytes());
    cursor.skip().is_ok() && cursor.peek().is_none()
}

proptest::proptest! {
    #[test]
    fn a_string_ends_at_its_first_quote_that_is_not_escaped(text in r#"[a"\\\\\n]{0,90}"#, long in 0usize..90) {
        let text = format!("{}{text}", "x".repeat(long));
        let mut escaped = false;
        let end = text.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let quoted = format!("\"{text}");
        let inside = |mut cursor: Cursor<'_>| {
            let mut text = Text::default();
            cursor.string(&mut text).ok().map(|()| text.raw().to_vec())
        };
        let expected = end.map(|end| text.as_bytes()[..end].to_vec());
        proptest::prop_assert_eq!(inside(Cursor::new(quoted.as_bytes())), expected);
    }

    #[test]
    fn numbers_are_read_alike_however_long(text in r"-?[0-9]{1,22}(\.[0-9])?(e[0-9])?") {
        let whole = skips(&text).then(|| text.parse().ok().or_else(|| text.parse().ok().map(|n: f64| n as i64)));
        let read = |text: &str, end: Option<u8>| {
            let mut cursor = Cursor::new(text.as_bytes());
            cursor.integer().ok().filter(|_| cursor.peek() == end)
        };
        proptest::prop_assert_eq!(read(&text, None), whole);
        proptest::prop_assert_eq!(read(&format!("{text},\"next\":0"), Some(b',')), whole);
    }

    #[test]
    fn an_expected_length_makes_no_difference(text in r#"[a"\\ ]{0,3}[a-z]{12,17}[a"\\\n]{0,3}"#) {
        let line = format!("\"{text}\",\"next\":\"{text}\"}}");
        let (mut one, mut other) = (Cursor::new(line.as_bytes()), Cursor::new(line.as_bytes()));
        let (mut read, mut expected) = (Text::default(), Text::plain("something else"));
        proptest::prop_assert_eq!(one.text_of::<17>(&mut read), other.text(&mut expected));
        proptest::prop_assert_eq!(read, expected);
        proptest::prop_assert_eq!(one.rest(), other.rest());
    }

    #[test]
    fn what_stood_elsewhere_makes_no_difference(text in r#"[a"\\\n]{0,6}"#, more in r#"[a"\\\n]{0,6}"#, again: bool) {
        let first = format!("\"{text}\",");
        let mut cursor = Cursor::new(first.as_bytes());
        let inside = cursor.skip_long().unwrap_or_default();
        let line = if again { format!("{first}{more}\"}}") } else { format!("\"{text}{more}\"}}") };
        let (mut one, mut other) = (Cursor::new(line.as_bytes()), Cursor::new(line.as_bytes()));
        let read = other.skip();
        proptest::prop_assert_eq!(one.skip_again(inside), read);
        if read.is_ok() {
            proptest::prop_assert_eq!(one.rest(), other.rest());
        }
        let (mut one, mut other) = (Cursor::new(line.as_bytes()), Cursor::new(line.as_bytes()));
        let mut text = Text::default();
        let read = other.text_if(&mut text).map(|is_text| is_text.then_some(text));
        proptest::prop_assert_eq!(one.text_again(Text::json(inside)), read);
        if read.is_ok() {
            proptest::prop_assert_eq!(one.rest(), other.rest());
        }
    }
}

#[test]
fn whole_values_are_skipped() {
    for text in [
        "{}",
        "[]",
        r#"{"a":1}"#,
        r#"[1,-2.5e+7,"x",null,true,false,{"a":[{}]}]"#,
        r#""a\"b\\""#,
        " { \"a\" : [ ] } ",
        "\"raw \n newline\"",
        r#""\x odd escape""#,
        "0",
        "-0.5",
    ] {
        assert!(skips(text), "{text}");
    }
}

#[test]
fn broken_values_are_not() {
    for text in [
        "",
        "{",
        "[",
        "{]",
        "[}",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        "[1,]",
        "[,1]",
        r"{a:1}",
        "nul",
        "truely",
        "01",
        "1.",
        "1e",
        "-",
        "+1",
        r#""open"#,
        r#""open\""#,
        "[1 2]",
        r#"{"a":1 "b":2}"#,
        "NaN",
        "{}x",
    ] {
        assert!(!skips(text), "{text}");
    }
}

#[test]
fn nesting_has_a_limit_and_no_stack() {
    assert!(skips(&format!("{}{}", "[".repeat(128), "]".repeat(128))));
    assert!(!skips(&format!("{}{}", "[".repeat(129), "]".repeat(129))));
    assert!(!skips(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))));
}

#[test]
fn nesting_is_counted_from_the_outermost_container() {
    for (depth, fits) in [(126, true), (127, false)] {
        let text = format!(r#"{{"a":[{}{}],"b":{{}}}}"#, "[".repeat(depth), "]".repeat(depth));
        let read = Cursor::new(text.as_bytes()).object(|cursor, _| cursor.array_or_skip(Cursor::skip));
        assert_eq!(read.is_ok(), fits, "{depth}");
        assert_eq!(skips(&text), fits, "{depth}");
    }
}

#[test]
fn values_of_the_wrong_type_are_skipped() {
    let mut cursor = Cursor::new(br#"{"a":[1],"b":"x","c":12.9,"d":true,"e":"true"}"#);
    let (mut seen, mut text) = (Vec::new(), Text::plain("something else"));
    cursor
        .object(|cursor, key| {
            seen.push(match key {
                b"a" => format!("{:?} {text:?}", cursor.text(&mut text)),
                b"b" | b"c" => format!("{:?}", cursor.integer()?),
                _ => format!("{:?}", cursor.is_true()?),
            });
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, [r#"Ok(()) """#, "None", "Some(12)", "true", "false"]);
}
