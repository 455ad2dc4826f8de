use super::{Home, folded};
use insta::assert_snapshot;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

#[test]
fn nothing_there_yet() {
    assert_snapshot!(folded(&Home::empty().run(&["doctor"])));
}

#[test]
fn all_is_well() {
    let home = Home::with_examples();
    home.stdout(&[]);
    let document = home.json(&["doctor", "--json"]);
    for finding in document["findings"].as_array().unwrap() {
        assert_eq!(finding["state"], "ok", "{finding}");
    }
}

#[test]
fn a_damaged_store_is_said_to_be() {
    let home = Home::with_examples();
    fs::create_dir_all(home.path("data/hotwash")).unwrap();
    fs::write(home.store(), "no database at all, only words".repeat(100)).unwrap();
    let block = home.run(&["doctor"]);
    assert!(block.starts_with("exit: 3") && block.contains("bad   store"), "{block}");
}

#[test]
fn what_runs_left_over_is_reported_and_removed_by_the_next_one() {
    let home = Home::with_examples();
    home.stdout(&[]);
    let archive = home.path("data/hotwash/hotwash-archive");
    let old = SystemTime::now() - Duration::from_secs(2 * 24 * 3600);
    for name in ["0123456789abcdef-1.77-0.tmp", "0123456789abcdef-1.state"] {
        fs::write(archive.join(name), "left").unwrap();
        File::options().write(true).open(archive.join(name)).unwrap().set_modified(old).unwrap();
    }
    let of_archive = |home: &Home| {
        let block = folded(&home.run(&["doctor"]));
        block.lines().filter(|line| line.starts_with("warn archive")).map(str::to_owned).collect::<Vec<_>>()
    };
    let text = "warn archive 2 files left over from earlier runs (8 B) the next run removes what is older than a day";
    assert_eq!(of_archive(&home), [text]);
    // Nothing else has changed.
    home.stdout(&[]);
    assert_eq!((of_archive(&home), archive.join("0123456789abcdef-1.state").exists()), (vec![], false));
}
