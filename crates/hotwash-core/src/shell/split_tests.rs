use proptest::prelude::*;

use super::super::segment::{Operator, Segment};
use super::segments;

/// One line per command: words joined by `,`, redirections as `>file` and `<file`, then the operator.
fn shown(command: &str) -> String {
    let operator = |segment: &Segment<'_>| match segment.operator {
        Operator::And => " &&",
        Operator::Or => " ||",
        Operator::Seq => " ;",
        Operator::Pipe => " |",
        Operator::Background => " &",
        Operator::End => "",
    };
    let shown = |segment: &Segment<'_>| {
        let outputs = segment.outputs.iter().map(|file| format!(" >{file}"));
        let inputs = segment.inputs.iter().map(|file| format!(" <{file}"));
        let files = outputs.chain(inputs).collect::<Vec<_>>().concat();
        let heredoc = if segment.heredoc { " <<" } else { "" };
        segment.words.join(",") + &files + heredoc + operator(segment)
    };
    segments(command).iter().map(shown).collect::<Vec<_>>().join(" ")
}

#[test]
fn cuts_commands_where_a_shell_does() {
    let cases = [
        ("", ""),
        ("  \n\n ; ", ""),
        ("ls", "ls"),
        ("a && b || c; d | e & f", "a && b || c ; d | e & f"),
        ("a\nb\r\nc", "a ; b ; c"),
        ("a &&\n  b |\n c", "a && b | c"),
        ("a \\\n  b", "a,b"),
        ("echo 'a && b' \"c | d\" e\\;f", "echo,a && b,c | d,e;f"),
        (r#"echo "say \"hi\" \$x \n""#, r#"echo,say "hi" $x \n"#),
        ("echo a'b'\"c\"d ''", "echo,abcd,"),
        (r"echo $'it\'s' x", r"echo,it\'s,x"),
        ("a # b && c\nd", "a ; d"),
        ("a#b", "a#b"),
        ("make 2>&1 | tail -5", "make | tail,-5"),
        ("make &> log && cat log", "make >log && cat,log"),
        ("make &>> log", "make >log"),
        ("make >& log", "make >log"),
        ("a > f 2>/dev/null < in >> g", "a >f >/dev/null >g <in"),
        ("echo 2 > f", "echo,2 >f"),
        ("echo \"2\">f", "echo,2 >f"),
        ("sort <<< \"a b\" | uniq", "sort << | uniq"),
        ("cat <<EOF\nrm -rf && b\nEOF\nls", "cat << ; ls"),
        ("cat <<'E O' > f; x\n$(\nE O\nls", "cat >f << ; x ; ls"),
        ("cat <<-EOF\n\tbody\n\tEOF\nls", "cat << ; ls"),
        ("cat <<A <<B\na\nA\nb\nB\nls", "cat << ; ls"),
        ("cat <<EOF\nnever closed", "cat <<"),
        ("x $(a && b) `c | d`", "x,$(a && b),`c | d`"),
        ("x \"$(echo \")\")\" y", "x,$(echo \")\"),y"),
        ("x ${y:-a b} z", "x,${y:-a b},z"),
        ("x $((1 << 2)) && y", "x,$((1 << 2)) && y"),
        ("m \"$(cat <<'EOF'\nit's (odd) \"\nEOF\n)\" && n", "m,$(cat <<'EOF'\nit's (odd) \"\nEOF\n) && n"),
        ("(cd a && b) | c", "cd,a && b | c"),
        ("(a; b) > log 2>&1 && c", "a ; b >log && c"),
        ("f() { a; }; f", "{,a ; } ; f"),
        ("xs=(1 2 3); a", "xs=(1 2 3) ; a"),
        ("diff <(a | b) <(c)", "diff,<(a | b),<(c)"),
        ("for f in *.c; do cc $f; done", "for,f,in,*.c ; do,cc,$f ; done"),
        ("case x in a) b;; c) d;; esac", "case,x,in,a ; b ; c ; d ; esac"),
        ("echo 'open && x", "echo,open && x"),
        ("echo ) && x", "echo && x"),
        ("> f", " >f"),
        ("écho «x» && ü", "écho,«x» && ü"),
    ];
    for (command, expected) in cases {
        assert_eq!(shown(command), expected, "{command:?}");
    }
}

#[test]
fn borrows_words_that_need_no_change() {
    for segment in segments("grep -rn 'some words' src | head \"-5\"") {
        assert!(segment.words.iter().all(|word| matches!(word, std::borrow::Cow::Borrowed(_))));
    }
}

#[test]
fn takes_any_depth_of_nesting() {
    let deep = "$(".repeat(200_000);
    assert_eq!(segments(&deep).len(), 1);
    assert_eq!(segments(&"(".repeat(200_000)).len(), 1);
}

proptest! {
    #[test]
    fn any_text_is_taken(text in any::<String>()) {
        segments(&text);
    }

    #[test]
    fn any_shell_noise_is_taken(text in "[a$(){}<>&|;'\"`\\\\\n #=é-]{0,60}") {
        segments(&text);
    }

    #[test]
    fn quoted_words_come_back_whole(words in prop::collection::vec(any::<String>(), 1..6)) {
        let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect::<Vec<_>>();
        let command = format!("echo {} && ls", quoted.join(" "));
        let found = segments(&command);
        prop_assert_eq!(found.len(), 2);
        prop_assert_eq!(&found[0].words[1..], &words[..]);
    }

    #[test]
    fn double_quoted_words_come_back_whole(words in prop::collection::vec(any::<String>(), 1..6)) {
        let escape = |word: &String| word.chars().fold(String::new(), |mut text, letter| {
            if matches!(letter, '"' | '\\' | '$' | '`') {
                text.push('\\');
            }
            text.push(letter);
            text
        });
        let quoted = words.iter().map(|word| format!("\"{}\"", escape(word))).collect::<Vec<_>>();
        let command = format!("echo {}; ls", quoted.join(" "));
        let found = segments(&command);
        prop_assert_eq!(found.len(), 2);
        prop_assert_eq!(&found[0].words[1..], &words[..]);
    }
}
