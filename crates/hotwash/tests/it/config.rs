use super::Home;
use insta::assert_snapshot;
use std::fs;

#[test]
fn every_value_says_where_it_comes_from() {
    let home = Home::empty();
    fs::create_dir(home.path("config/hotwash")).unwrap();
    fs::write(home.path("config/hotwash/config.toml"), "since = \"2w\"\njobs = 3\nwide = false\n").unwrap();
    fs::write(home.path("work/.hotwash.toml"), "rubric = \"v1\"\nsince = \"30d\"\n").unwrap();
    let mut command = home.command(&["config", "--utc"]);
    let output = command.env("HOTWASH_JOBS", "2").env_remove("NO_COLOR").output().unwrap();
    let columns = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_snapshot!(home.shown(&output).lines().map(columns).collect::<Vec<_>>().join("\n"));
}

#[test]
fn settings_that_cannot_be_used_name_file_and_line() {
    let home = Home::empty();
    let file = home.path("work/.hotwash.toml");
    for text in
        ["rubric = \"v1\"\ncolour = true\n", "\njobs = \"many\"\n", "rubric = \n", "# mine\npager = \"sh -c reboot\"\n"]
    {
        fs::write(&file, text).unwrap();
        let block = home.run(&["config"]);
        // Where a hint is broken hangs on how long the temporary directory's name is.
        let block = match block.split_once("hint: ") {
            Some((error, hint)) if !hint.starts_with("the settings are ") => {
                format!("{error}hint: {}\n", super::folded(hint))
            }
            // All of them, which are listed elsewhere too.
            Some((error, _)) => format!("{error}hint: the settings are ...\n"),
            None => block,
        };
        assert_snapshot!(block);
    }
}

#[test]
fn a_wrong_value_is_blamed_on_the_file_that_holds_it() {
    let home = Home::with_examples();
    let file = home.path("work/.hotwash.toml");
    for (text, line) in [("since = \"yesterday\"\n", 1), ("# mine\nrubric = \"v9\"\n", 2)] {
        fs::write(&file, text).unwrap();
        let block = home.run(&["sessions"]);
        assert!(block.starts_with("exit: 2") && block.contains("[DIR]/work/.hotwash.toml"), "{block}");
        assert!(block.contains(&format!("line {line}")) && !block.contains("--since is"), "{block}");
    }
    let block = home.run(&["sessions", "--since", "2w", "--rubric", "v8"]);
    assert!(block.contains("there is no rubric `v8`") && !block.contains(".toml says so"), "{block}");
}

#[test]
fn variables_are_documented() {
    assert_snapshot!(Home::empty().run(&["config", "--variables"]));
}

#[test]
fn help_teaches() {
    assert_snapshot!(Home::empty().run(&["--help"]));
}

#[test]
fn completions_for_a_shell() {
    assert!(Home::empty().stdout(&["completions", "bash"]).contains("complete -F _hotwash"));
}
