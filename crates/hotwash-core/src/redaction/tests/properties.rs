//! What holds for any text at all.

use proptest::prelude::*;

use super::super::{findings, redact, restore};
use super::{LETTERS, random, rules};

/// Text made of the pieces that rules look for.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "password",
        "=",
        ": ",
        "\"",
        "'",
        "\\",
        "\\n",
        "\\u00",
        "41",
        "%3",
        "%3A",
        "token",
        "secret",
        "-----BEGIN ",
        "RSA PRIVATE KEY",
        "-----",
        "/home/",
        "/Users/",
        "ada",
        "@",
        "example.com",
        "://",
        ":",
        "<SECRET:",
        "github",
        ":3f2a>",
        "<EMAIL:3f2a>",
        "<",
        ">",
        "~",
        "\n",
        " ",
        "+1 555 234 5678",
        "4111111111111111",
        "\u{200b}",
        "\u{ad}",
        "\u{1b}[1m",
        "é",
        "漢",
        "Authorization",
        "Bearer ",
        "Cookie: ",
        "a1b2c3d4e5f6A7B8",
        "eyJ",
        ".",
        "-",
        "_",
        "marguerite",
        "thinkfast",
        "C:\\Users\\",
        "-u ",
        "Basic ",
        "cGFzc3dvcmQ9aHVudGVyMmhvcnNl",
        "login ",
        "sk-",
        "hf_",
        "key",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn redacting_twice_changes_nothing(text in prop_oneof![pieces(), any::<String>()]) {
        let rules = rules();
        let once = redact(&text, &rules);
        prop_assert_eq!(restore(once.as_str(), &rules), once);
    }

    #[test]
    fn findings_are_in_order_and_on_characters(text in prop_oneof![pieces(), any::<String>()]) {
        let mut at = 0;
        for finding in findings(&text, &rules()) {
            prop_assert!(finding.range.start >= at && finding.range.start < finding.range.end);
            prop_assert!(text.get(finding.range.clone()).is_some());
            at = finding.range.end;
        }
    }

    #[test]
    fn a_planted_token_never_comes_out(before in prop_oneof![pieces(), any::<String>()], after in prop_oneof![pieces(), any::<String>()], seed in any::<u64>()) {
        let body = random(LETTERS, 36, seed);
        for prefix in [["gh", "p_"], ["sk-", "ant-"], ["gl", "pat-"], ["xo", "xb-"]] {
            let text = format!("{before}{}{body}{after}", prefix.concat());
            prop_assert!(!redact(&text, &rules()).as_str().contains(&body));
        }
    }
}
