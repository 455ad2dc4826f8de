//! Transcripts kept beside the store, because the agent deletes its own after a month.
//!
//! A transcript is copied. Only when a run finds more than it can copy in passing, it links cold ones, and the rest where
//! very many are hot (another name of the same file, which survives its deletion, though not being rewritten in place). What
//! has gone cold is compressed later, in small portions, links first, which also makes it independent of the original. The
//! archive is the owner's: nothing in it is redacted, nothing of it leaves the machine.

use crate::platform::{file_number, modified_ns, private_folder};
use crate::sources::discover::Found;
use crate::stores::{Archived, Form};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// A file written within this time may still be rewritten in place.
const HOT_NS: i64 = 24 * 3600 * 1_000_000_000;
/// A file left alone for this long is cold, and worth its own compressed copy.
const COLD_NS: i64 = HOT_NS;
/// How much a run copies of cold files, if that is all of them, and how large a file may be for that.
const COPIED_BYTES: u64 = 32 << 20;
const COPIED_FILE: u64 = 1 << 20;
/// How much it copies of the others. More than that was hardly written within a day: times are new where files were moved
/// to another machine without theirs.
const COPIED_HOT_BYTES: u64 = 256 << 20;
/// A compromise of speed and size.
const LEVEL: i32 = 3;
/// How much of a transcript's own name is part of the name that it is kept under.
const NAME_CHARS: usize = 64;
/// Room for most names.
const NAME_ROOM: usize = 80;

/// The folder of kept transcripts.
#[derive(Clone, Debug)]
pub struct Archive {
    folder: PathBuf,
    now_ns: i64,
    /// What may still be copied in this run, of cold files and of others.
    budget: Arc<AtomicU64>,
    hot_budget: Arc<AtomicU64>,
}

/// A file that no transcript is kept in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leftover {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub size: u64,
    /// Whether it is older than a day.
    pub is_old: bool,
}

impl Archive {
    /// The archive beside a store. `now_ns` tells hot from cold.
    pub fn beside(store: &Path, now_ns: i64) -> Archive {
        let name = store.file_stem().map_or_else(|| "hotwash".into(), |stem| stem.to_string_lossy().into_owned());
        Archive {
            folder: store.with_file_name(format!("{name}-archive")),
            now_ns,
            budget: Arc::new(AtomicU64::new(COPIED_BYTES)),
            hot_budget: Arc::new(AtomicU64::new(COPIED_HOT_BYTES)),
        }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder, for the owner's eyes only.
    pub fn prepare(&self) -> io::Result<()> {
        private_folder().recursive(true).create(&self.folder)
    }

    /// Is told what a run will keep. Where that is more than it can copy in passing, it copies none of the cold ones: the
    /// few that it could would be no safer than the rest is.
    pub fn expect<'f>(&self, found: impl Iterator<Item = &'f Found>) {
        let copies = found.filter(|found| self.is_cold(found) && found.size <= COPIED_FILE);
        if copies.map(|found| found.size).sum::<u64>() > self.budget.load(Ordering::Relaxed) {
            self.budget.store(0, Ordering::Relaxed);
        }
    }

    /// Whether nobody has written to a file for so long that nobody is likely to do so now.
    pub(crate) fn is_cold(&self, found: &Found) -> bool {
        self.now_ns - found.mtime_ns > HOT_NS
    }

    /// Keeps a transcript that somebody has opened. `before` is what the archive has of it under the same version, and how
    /// much of that is known to stand in the file still.
    pub fn keep(&self, found: &Found, file: &File, version: u32, before: Option<&Archived>) -> io::Result<Archived> {
        let path = found.path.to_string_lossy().into_owned();
        let name = before.map_or_else(|| name_of(&path, version), |before| before.name.clone());
        let mut kept = Archived { path, version, name, form: Form::Copy, size: found.size };
        let to = || self.folder.join(&kept.name);
        match before.map(|before| (before.form, before.size)) {
            // Another name of a file that has grown has grown with it.
            Some((Form::Link, _)) if same_file(&to(), found) => kept.form = Form::Link,
            Some((Form::Copy, size)) if size <= found.size && to().exists() => append(file, size, &to())?,
            // As a whole: what was added by a run that was killed could not be told from the rest.
            Some((Form::Zstd, _)) => {
                kept.form = Form::Zstd;
                let mut from = file;
                from.rewind()?;
                replace(&to(), |out| compress(from, out))?;
            }
            _ => kept.form = self.keep_anew(found, file, &kept.name)?,
        }
        Ok(kept)
    }

    fn keep_anew(&self, found: &Found, file: &File, name: &str) -> io::Result<Form> {
        let to = || self.folder.join(name);
        if !self.may_copy(found) {
            match link(found, file, &to()) {
                Ok(()) => return Ok(Form::Link),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && same_file(&to(), found) => {
                    return Ok(Form::Link);
                }
                Err(_) => {} // another file system, one without links, or another file in its place: copy
            }
        }
        replace(&to(), |out| {
            let mut from = file;
            from.rewind()?;
            io::copy(&mut from, out).map(drop)
        })?;
        Ok(Form::Copy)
    }

    /// Whether a file may be copied in this run, which uses some of what may be.
    fn may_copy(&self, found: &Found) -> bool {
        let (budget, largest) =
            if self.is_cold(found) { (&self.budget, COPIED_FILE) } else { (&self.hot_budget, u64::MAX) };
        let take = |left: u64| left.checked_sub(found.size);
        found.size <= largest && budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// Opens a kept transcript.
    pub fn open(&self, kept: &Archived) -> io::Result<Box<dyn Read>> {
        let file = File::open(self.folder.join(&kept.name))?;
        Ok(match kept.form {
            Form::Zstd => Box::new(zstd::Decoder::new(file)?),
            Form::Link | Form::Copy => Box::new(file),
        })
    }

    /// Compresses what has gone cold, about `budget` bytes of it in so many files. Says what is now kept otherwise.
    pub fn compress_cold(&self, kept: &[Archived], budget: u64, files: usize) -> Vec<Archived> {
        let mut compressed = Vec::new();
        let mut spent = 0;
        let of_form = |form: Form| kept.iter().filter(move |entry| entry.form == form);
        for entry in of_form(Form::Link).chain(of_form(Form::Copy)) {
            if spent >= budget || compressed.len() >= files {
                break;
            }
            let from = self.folder.join(&entry.name);
            let Ok(metadata) = fs::metadata(&from) else {
                continue;
            };
            if self.now_ns - modified_ns(&metadata) < COLD_NS {
                continue;
            }
            let name = format!("{}.zst", entry.name);
            if replace(&self.folder.join(&name), |out| compress(File::open(&from)?, out)).is_err() {
                break; // what is done is done; the rest will be tried again
            }
            spent += metadata.len();
            compressed.push(Archived { name, form: Form::Zstd, size: metadata.len(), ..entry.clone() });
        }
        compressed
    }

    /// Keeps the state to go on from when a transcript grows. It holds words as they were said, so it belongs here.
    pub fn keep_state(&self, path: &str, version: u32, state: &[u8]) -> io::Result<()> {
        let sum = xxh3_64(state).to_le_bytes();
        let file = self.state_file(path, version);
        fs::write(&file, [&sum, state].concat()).inspect_err(|_| {
            // Half of it is of no use, and the disk may be full.
            let _ = fs::remove_file(&file);
        })
    }

    /// The state that was kept, if it is whole.
    pub fn state(&self, path: &str, version: u32) -> Option<Vec<u8>> {
        let mut kept = fs::read(self.state_file(path, version)).ok()?;
        let state = kept.split_off(8.min(kept.len()));
        (kept == xxh3_64(&state).to_le_bytes()).then_some(state)
    }

    /// Drops the state of a transcript, which has to be read as a whole when it grows.
    pub fn drop_state(&self, path: &str, version: u32) {
        let _ = fs::remove_file(self.state_file(path, version));
    }

    fn state_file(&self, path: &str, version: u32) -> PathBuf {
        self.folder.join(format!("{}.state", stem(path, version)))
    }

    /// Removes everything of some transcripts, given by place and version, also what a run that was killed left of them.
    pub fn forget(&self, transcripts: &[(String, u32)]) -> io::Result<()> {
        let stems: HashSet<String> = transcripts.iter().map(|(path, version)| stem(path, *version)).collect();
        let names = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            names => names?,
        };
        for name in names {
            let name = name?.file_name().to_string_lossy().into_owned();
            if name.split('.').next().is_some_and(|start| stems.contains(start)) {
                self.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Removes what is left over and older than a day.
    pub fn tidy(&self) {
        for Leftover { path, .. } in self.leftovers().filter(|leftover| leftover.is_old) {
            let _ = fs::remove_file(path);
        }
    }

    /// Drafts of runs that were killed or are under way, and states so old that their transcripts hardly grow any more. One
    /// that does is read as a whole.
    pub fn leftovers(&self) -> impl Iterator<Item = Leftover> {
        fs::read_dir(&self.folder).into_iter().flatten().flatten().filter_map(|entry| {
            let name = entry.file_name();
            let ends_in = |ending: &str| name.as_encoded_bytes().ends_with(ending.as_bytes());
            let (is_draft, is_state) = (ends_in(".tmp"), ends_in(".state"));
            let metadata = if is_draft || is_state { entry.metadata().ok() } else { None }?;
            let is_old = self.now_ns - modified_ns(&metadata) > HOT_NS;
            (is_draft || is_old).then(|| Leftover { path: entry.path(), size: metadata.len(), is_old })
        })
    }

    /// Lets go of another name of a file that has been rewritten in place: it shows the new content now.
    pub fn drop_rewritten(&self, kept: &Archived, found: &Found) -> io::Result<()> {
        if kept.form == Form::Link && same_file(&self.folder.join(&kept.name), found) {
            self.remove(&kept.name)?;
        }
        Ok(())
    }

    /// Removes a kept file. One that is already gone is fine.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Writes a file beside its place and then puts it there, so that a crash leaves the old one or the new one.
fn replace(to: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    // Nobody else's: not another process's, nor another thread's.
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = to.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let done = File::create(&draft).and_then(|mut file| write(&mut file)).and_then(|()| fs::rename(&draft, to));
    if done.is_err() {
        let _ = fs::remove_file(&draft);
    }
    done
}

/// Gives the file that was opened a second name, unless another has taken its place.
fn link(found: &Found, file: &File, to: &Path) -> io::Result<()> {
    let opened = file_number(&file.metadata()?).filter(|_| found.inode != 0);
    let opened = opened.ok_or(io::ErrorKind::Unsupported)?;
    fs::hard_link(&found.path, to)?;
    // Of a symbolic link, not the file but the link may have got the name.
    if file_number(&fs::symlink_metadata(to)?) == Some(opened) {
        return Ok(());
    }
    fs::remove_file(to)?;
    Err(io::Error::new(io::ErrorKind::NotFound, "another file has taken its place"))
}

fn same_file(kept: &Path, found: &Found) -> bool {
    found.inode != 0 && fs::metadata(kept).is_ok_and(|metadata| file_number(&metadata) == Some(found.inode))
}

/// Adds what came after `size` bytes. A crash in between leaves a few bytes too many, which are cut first.
fn append(mut from: &File, size: u64, to: &Path) -> io::Result<()> {
    let mut out = File::options().write(true).open(to)?;
    out.set_len(size.min(out.metadata()?.len()))?;
    let size = out.seek(SeekFrom::End(0))?;
    from.seek(SeekFrom::Start(size))?;
    io::copy(&mut from, &mut out)?;
    Ok(())
}

fn compress(from: impl Read, to: &mut File) -> io::Result<()> {
    zstd::stream::copy_encode(from, &mut *to, LEVEL)?;
    to.sync_data()
}

/// The name that a transcript is kept under. Its own is a part of it, by which a person finds it. That makes names long, and
/// long names are found sooner: fewer of them stand in one block of the folder, each of which is looked through from its
/// beginning.
fn name_of(path: &str, version: u32) -> String {
    let mut name = stem(path, version);
    let own = Path::new(path).file_stem().and_then(|own| own.to_str()).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !own.is_empty() && own.len() <= NAME_CHARS && own.chars().all(is_plain) {
        name.push('.');
        name.push_str(own);
    }
    name.push_str(".jsonl");
    name
}

/// How the names of all that is kept of a transcript begin, up to the first dot.
fn stem(path: &str, version: u32) -> String {
    let mut stem = String::with_capacity(NAME_ROOM);
    // Writing to a string cannot fail.
    let _ = write!(stem, "{:016x}-{version}", xxh3_64(path.as_bytes()));
    stem
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;

    struct Case {
        folder: tempfile::TempDir,
        archive: Archive,
    }

    impl Case {
        /// An archive on day 100.
        fn new() -> Case {
            let folder = tempfile::tempdir().unwrap();
            let archive = Archive::beside(&folder.path().join("hotwash.db"), 100 * DAY_NS);
            archive.prepare().unwrap();
            Case { folder, archive }
        }

        fn write(&self, text: &str, day: u64) -> Found {
            self.write_as("t.jsonl", text, day)
        }

        fn write_as(&self, name: &str, text: &str, day: u64) -> Found {
            let path = self.folder.path().join(name);
            fs::write(&path, text).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(day * 24 * 3600)).unwrap();
            Found::new(path.clone(), &fs::metadata(&path).unwrap())
        }

        fn keep(&self, found: &Found, version: u32, before: Option<&Archived>) -> Archived {
            self.archive.keep(found, &File::open(&found.path).unwrap(), version, before).unwrap()
        }

        fn content(&self, kept: &Archived) -> String {
            let mut text = String::new();
            self.archive.open(kept).unwrap().read_to_string(&mut text).unwrap();
            text
        }
    }

    #[test]
    fn a_cold_file_survives_its_deletion_however_it_is_kept() {
        for (form, budget) in [(Form::Copy, COPIED_BYTES), (Form::Link, 0)] {
            let case = Case::new();
            case.archive.budget.store(budget, Ordering::Relaxed);
            let found = case.write("one\n", 50);
            let kept = case.keep(&found, 1, None);
            assert_eq!(kept.form, form);
            fs::remove_file(&found.path).unwrap();
            assert_eq!(case.content(&kept), "one\n");
        }
    }

    #[test]
    fn what_was_opened_is_kept_whatever_has_taken_its_place() {
        for (is_replaced, day) in [(false, 50), (true, 50), (true, 100)] {
            let case = Case::new();
            case.archive.budget.store(0, Ordering::Relaxed);
            let found = case.write("one\n", day);
            let mut file = File::open(&found.path).unwrap();
            file.seek(SeekFrom::End(0)).unwrap();
            if is_replaced {
                fs::remove_file(&found.path).unwrap();
            } else {
                fs::rename(&found.path, case.folder.path().join("elsewhere")).unwrap();
            }
            case.write("other\n", day);
            let kept = case.archive.keep(&found, &file, 1, None).unwrap();
            assert_eq!(case.content(&kept), "one\n", "{is_replaced} {day}");
        }
    }

    #[test]
    fn what_was_opened_is_followed_whatever_has_taken_its_place() {
        for is_compressed in [false, true] {
            let case = Case::new();
            case.archive.budget.store(if is_compressed { 0 } else { COPIED_BYTES }, Ordering::Relaxed);
            let mut kept = case.keep(&case.write("one\n", 50), 1, None);
            if is_compressed {
                kept = case.archive.compress_cold(&[kept], 1, 9).remove(0);
            }
            let grown = case.write("one\ntwo\n", 100);
            let mut file = File::open(&grown.path).unwrap();
            file.seek(SeekFrom::End(0)).unwrap();
            fs::rename(&grown.path, case.folder.path().join("elsewhere")).unwrap();
            case.write("another\nand more\n", 100);
            let kept = case.archive.keep(&grown, &file, 1, Some(&kept)).unwrap();
            assert_eq!(case.content(&kept), "one\ntwo\n", "{is_compressed}");
        }
    }

    #[test]
    fn where_files_have_no_numbers_all_are_copied() {
        let case = Case::new();
        case.archive.budget.store(0, Ordering::Relaxed);
        let unnumbered = |text: &str| Found { inode: 0, ..case.write(text, 50) };
        let kept = case.keep(&unnumbered("one\n"), 1, None);
        let kept = case.keep(&unnumbered("one\ntwo\n"), 1, Some(&kept));
        assert_eq!((kept.form, case.content(&kept).as_str()), (Form::Copy, "one\ntwo\n"));
        let again = case.keep(&unnumbered("another\n"), 1, None);
        assert_eq!((again.form, case.content(&again).as_str()), (Form::Copy, "another\n"));
    }

    #[cfg(unix)]
    #[test]
    fn of_a_symbolic_link_the_file_is_kept() {
        let case = Case::new();
        case.archive.budget.store(0, Ordering::Relaxed);
        let file = case.write_as("elsewhere.jsonl", "one\n", 50);
        let path = case.folder.path().join("t.jsonl");
        std::os::unix::fs::symlink(&file.path, &path).unwrap();
        let found = Found::new(path.clone(), &fs::metadata(&path).unwrap());
        let kept = case.keep(&found, 1, None);
        fs::remove_file(&file.path).unwrap();
        assert_eq!(case.content(&kept), "one\n");
    }

    #[test]
    fn a_transcript_is_found_by_its_own_name_and_forgotten_by_its_place() {
        let case = Case::new();
        let long = "a".repeat(NAME_CHARS + 1);
        for (name, own) in
            [("a-1_b.jsonl", ".a-1_b"), ("a b.jsonl", ""), ("a.b.jsonl", ""), (&format!("{long}.jsonl"), "")]
        {
            let found = case.write_as(name, "one\n", 50);
            let kept = case.keep(&found, 1, None);
            assert_eq!(kept.name, format!("{}{own}.jsonl", stem(&kept.path, 1)));
            case.archive.forget(&[(kept.path.clone(), 1)]).unwrap();
            assert!(case.archive.open(&kept).is_err(), "{name}");
        }
    }

    #[test]
    fn cold_files_are_copied_where_all_can_be() {
        for (files, form) in [(32, Form::Copy), (33, Form::Link)] {
            let case = Case::new();
            let found = case.write("one\n", 50);
            let each = Found { size: COPIED_FILE, ..found.clone() };
            let large = Found { size: COPIED_BYTES * 2, ..found.clone() };
            let hot = Found { mtime_ns: 100 * DAY_NS, ..large.clone() };
            case.archive.expect(std::iter::repeat_n(&each, files).chain([&large, &hot]));
            assert_eq!(case.keep(&found, 1, None).form, form, "{files}");
        }
    }

    #[test]
    fn files_whose_times_are_all_new_are_not_all_copied() {
        let case = Case::new();
        let found = case.write("one\n", 100);
        case.archive.hot_budget.store(found.size + 1, Ordering::Relaxed);
        let forms = [1, 2].map(|version| case.keep(&found, version, None).form);
        assert_eq!(forms, [Form::Copy, Form::Link]);
    }

    #[test]
    fn a_file_rewritten_in_place_leaves_the_archive_alone() {
        for day in [50, 100] {
            let case = Case::new();
            let found = case.write("one\n", day);
            let kept = case.keep(&found, 1, None);
            fs::write(&found.path, "other\n").unwrap();
            assert_eq!(case.content(&kept), "one\n");
        }
    }

    #[test]
    fn what_is_left_over_goes_after_a_day() {
        let case = Case::new();
        let kept = case.keep(&case.write("one\n", 50), 1, None);
        let cases = [
            ("a-1.9-0.tmp", 98, Some(true)),
            ("b-1.9-0.tmp", 100, Some(false)),
            ("a-1.state", 98, Some(true)),
            ("b-1.state", 100, None),
            ("c-1.jsonl", 98, None),
        ];
        for (name, day, _) in cases {
            case.write_as(&format!("hotwash-archive/{name}"), "four", day);
        }
        let mut left: Vec<_> = case.archive.leftovers().collect();
        left.sort();
        let mut expected: Vec<_> = cases
            .iter()
            .filter_map(|(name, _, is_old)| {
                Some(Leftover { path: case.archive.folder().join(name), size: 4, is_old: (*is_old)? })
            })
            .collect();
        expected.sort();
        assert_eq!(left, expected);

        case.archive.tidy();
        for (name, _, is_old) in cases {
            assert_eq!(case.archive.folder().join(name).exists(), is_old != Some(true), "{name}");
        }
        assert_eq!(case.content(&kept), "one\n");
    }

    #[test]
    fn a_state_that_cannot_be_kept_leaves_nothing() {
        let case = Case::new();
        case.archive.keep_state("/t", 1, b"state").unwrap();
        assert_eq!(case.archive.state("/t", 1).unwrap(), b"state");
        fs::remove_dir_all(case.archive.folder()).unwrap();
        assert!(case.archive.keep_state("/t", 1, b"state").is_err());
        assert_eq!((case.archive.state("/t", 1), case.archive.leftovers().count()), (None, 0));
    }

    #[test]
    fn links_are_compressed_before_copies() {
        let case = Case::new();
        let found = case.write("one\n", 50);
        let copied = case.keep(&found, 1, None);
        case.archive.budget.store(0, Ordering::Relaxed);
        let linked = case.keep(&found, 2, None);
        let compressed = case.archive.compress_cold(&[copied, linked], 1, 9);
        assert_eq!(compressed.iter().map(|kept| kept.version).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn growing_is_followed_in_every_form() {
        for day in [50, 100] {
            let case = Case::new();
            let kept = case.keep(&case.write("one\n", day), 1, None);
            let kept = case.keep(&case.write("one\ntwo\n", day), 1, Some(&kept));
            assert_eq!(case.content(&kept), "one\ntwo\n");
        }
    }

    #[test]
    fn cold_files_are_compressed_and_still_grow() {
        let case = Case::new();
        case.archive.budget.store(0, Ordering::Relaxed);
        let found = case.write("one\n", 50);
        let kept = case.keep(&found, 1, None);
        let compressed = case.archive.compress_cold(std::slice::from_ref(&kept), 1 << 20, 9);
        case.archive.remove(&kept.name).unwrap();
        assert_eq!((compressed[0].form, case.content(&compressed[0])), (Form::Zstd, "one\n".to_string()));

        let grown = case.keep(&case.write("one\ntwo\n", 100), 1, Some(&compressed[0]));
        assert_eq!(case.content(&grown), "one\ntwo\n");
        // In place, and the archive does not follow: the compressed copy is its own.
        fs::write(&found.path, "other\n").unwrap();
        assert_eq!(case.content(&grown), "one\ntwo\n");
    }
}
