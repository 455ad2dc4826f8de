//! What the type promises.

use super::super::{Kind, Machine, Rules, findings, redact};
use super::{env_secret, rules};

#[test]
fn shortening_counts_characters() {
    let text = redact("añb漢c", &rules());
    assert_eq!(text.clone().shorten(5).as_str(), "añb漢c");
    assert_eq!(text.clone().shorten(4).as_str(), "añb…");
    assert_eq!(text.clone().shorten(1).as_str(), "…");
    assert_eq!(text.shorten(0).as_str(), "");
}

#[test]
fn it_serialises_as_its_text() {
    assert_eq!(serde_json::to_string(&redact("a\"b", &rules())).unwrap(), "\"a\\\"b\"");
}

#[test]
fn the_key_decides_the_placeholder() {
    let text = "mail ada@example.com";
    let other = Rules::new(Machine { key: [1; 32], ..Machine::default() });
    let (a, b) = (findings(text, &rules()), findings(text, &other));
    assert_eq!((a[0].kind, b[0].kind), (Kind::Email, Kind::Email));
    assert_ne!(a[0].placeholder, b[0].placeholder);
}

#[test]
fn debug_output_keeps_secrets() {
    let machine = Machine { secrets: vec![env_secret()], ..Machine::default() };
    assert!(!format!("{machine:?}").contains("plain"));
    assert!(!format!("{:?}", rules()).contains("plain"));
}

#[test]
fn the_shape_of_a_placeholder_hides_nothing() {
    let out = redact("password=<SECRET:hunter2horse:3f2a>", &rules());
    assert!(!out.as_str().contains("hunter2horse"), "{out}");
}

#[test]
fn text_made_of_anchors_takes_no_longer_than_its_length() {
    for piece in [
        "sk-",
        "password=",
        "://a:",
        "eyJ",
        "-----BEGIN RSA PRIVATE KEY",
        "a@",
        "/home/a",
        "4",
        "\\u0041",
        "%41",
        "AAAA",
        "+1 ",
        "kind: Secret\ndata:\n  a: YWRtaW4tbW9kZQ==\n",
        "\"kty\"",
        "apikey ",
        "key=",
        "login(\"a\", ",
        "name=\"password\" ",
        "variable \"password\" {",
        "echo a | sudo -S ",
        "mysql ",
        "password: ",
        "seed=",
    ] {
        // Were the work to grow with the square of the length, this would not come to an end.
        redact(&piece.repeat(100_000 / piece.len()), &rules());
    }
}

#[test]
fn every_prefix_is_long_enough_to_be_an_anchor() {
    for pattern in super::super::providers::PATTERNS {
        assert!(pattern.prefix.len() >= 3, "{}", pattern.prefix);
    }
    for keyword in super::super::keywords::KEYWORDS {
        assert!(keyword.word.len() >= 3, "{}", keyword.word);
    }
}
