//! Runs hotwash, ccusage and a newline count over one corpus, in turns, and prints what each took.
//!
//! `scripts/bench` makes the corpus and calls this. Numbers are printed and set beside the bars; nothing is asserted.

#![expect(clippy::print_stdout, reason = "a command-line tool")]

#[cfg(not(unix))]
fn main() {
    println!("bench reads the resource usage of its children, which only Unix reports");
}

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    unix::main()
}

#[cfg(unix)]
mod unix {
    use std::error::Error;
    use std::fs::File;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    const USAGE: &str = "\
Usage: bench --corpus DIR --hotwash BIN --newlines BIN --work DIR [--one DIR] [--ccusage BIN] [--rounds 5]";

    // -- what is run

    /// What is measured, in the order of a round.
    #[derive(Clone, Copy, PartialEq)]
    enum Job {
        Newlines,
        First,
        Second,
        Ccusage,
        OneFile,
    }

    impl Job {
        const ALL: [Self; 5] = [Self::Newlines, Self::First, Self::Second, Self::Ccusage, Self::OneFile];

        fn label(self) -> &'static str {
            match self {
                Self::Newlines => "newline count",
                Self::First => "hotwash, first run",
                Self::Second => "hotwash, second run",
                Self::Ccusage => "ccusage daily",
                Self::OneFile => "hotwash, one file",
            }
        }
    }

    struct Setup {
        corpus: PathBuf,
        one: Option<PathBuf>,
        hotwash: PathBuf,
        ccusage: Option<PathBuf>,
        newlines: PathBuf,
        work: PathBuf,
        rounds: usize,
    }

    impl Setup {
        /// The one place that knows how the programs are called. `None`: not asked for.
        fn command(&self, job: Job) -> Option<Command> {
            let (program, args, claude): (_, &[&str], _) = match job {
                Job::Newlines => (&self.newlines, &[], &self.corpus),
                Job::First | Job::Second => (&self.hotwash, &[], &self.corpus),
                Job::Ccusage => (self.ccusage.as_ref()?, &["daily", "--offline", "--json"], &self.corpus),
                Job::OneFile => (&self.hotwash, &[], self.one.as_ref()?),
            };
            let mut command = Command::new(program);
            // An empty home: nothing but the corpus is read, by any of them.
            command
                .args(args)
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .env("HOME", self.work.join("home"))
                .env("TZ", "UTC")
                .env("CLAUDE_CONFIG_DIR", claude)
                .env("HOTWASH_STORE", self.store(job))
                .current_dir(&self.work)
                .stdin(Stdio::null());
            if job == Job::Newlines {
                command.arg(&self.corpus);
            }
            Some(command)
        }

        fn store(&self, job: Job) -> PathBuf {
            self.work.join(if job == Job::OneFile { "store-one" } else { "store" }).join("hotwash.db")
        }

        fn bytes(&self, job: Job) -> io::Result<u64> {
            match (job, &self.one) {
                (Job::OneFile, Some(one)) => size(one),
                _ => size(&self.corpus),
            }
        }
    }

    fn size(path: &Path) -> io::Result<u64> {
        let about = path.symlink_metadata()?;
        if !about.is_dir() {
            return Ok(about.len());
        }
        path.read_dir()?.map(|entry| size(&entry?.path())).sum()
    }

    // -- measuring

    #[derive(Clone, Copy)]
    struct Sample {
        wall: Duration,
        cpu: Duration,
        peak: u64,
    }

    /// Runs a command to its end. An error is a run that does not count.
    fn measure(command: &mut Command, output: &Path) -> Result<Sample, String> {
        command.stdout(File::create(output).map_err(|error| error.to_string())?);
        command.stderr(File::create(output.with_extension("err")).map_err(|error| error.to_string())?);
        let start = Instant::now();
        let child = command.spawn().map_err(|error| format!("cannot start: {error}"))?;
        let (status, usage) = wait(child.id()).map_err(|error| error.to_string())?;
        let wall = start.elapsed();
        if status != 0 {
            let said = std::fs::read_to_string(output.with_extension("err")).unwrap_or_default();
            return Err(format!("status {status}: {}", said.lines().last().unwrap_or_default()));
        }
        let time = |value: libc::timeval| Duration::new(value.tv_sec as u64, value.tv_usec as u32 * 1_000);
        // Kilobytes, but bytes on macOS.
        let unit = if cfg!(target_os = "macos") { 1 } else { 1_024 };
        Ok(Sample { wall, cpu: time(usage.ru_utime) + time(usage.ru_stime), peak: usage.ru_maxrss as u64 * unit })
    }

    /// `wait4`: the only way to the peak memory of one child (and of its own children).
    #[expect(unsafe_code, reason = "no safe crate offers wait4")]
    fn wait(pid: u32) -> io::Result<(i32, libc::rusage)> {
        let mut status = 0;
        loop {
            // SAFETY: all zero is a valid `rusage`, a plain C struct of integers.
            let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
            // SAFETY: both pointers are to live locals of the types that `wait4` writes.
            if unsafe { libc::wait4(pid as libc::pid_t, &raw mut status, 0, &raw mut usage) } >= 0 {
                return Ok((status, usage));
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    fn fresh(folder: &Path) -> io::Result<()> {
        if folder.exists() {
            std::fs::remove_dir_all(folder)?;
        }
        std::fs::create_dir_all(folder)
    }

    fn run(setup: &Setup, job: Job) -> Option<Result<Sample, String>> {
        let mut command = setup.command(job)?;
        let store = setup.store(job);
        let writes = matches!(job, Job::First | Job::OneFile);
        if writes && let Err(error) = store.parent().map_or(Ok(()), fresh) {
            return Some(Err(error.to_string()));
        }
        let output = setup.work.join("stdout");
        let sample = measure(&mut command, &output);
        // A program that does nothing is fast.
        Some(match sample {
            Ok(_) if std::fs::metadata(&output).map_or(0, |about| about.len()) == 0 => {
                Err("printed nothing".to_owned())
            }
            Ok(_) if writes && !store.exists() => Err("wrote no store".to_owned()),
            other => other,
        })
    }

    // -- reporting

    /// Of some runs of one command.
    struct Row {
        job: Job,
        samples: Vec<Sample>,
        failed: Option<String>,
        bytes: u64,
    }

    fn median<T: Copy + Ord>(values: impl Iterator<Item = T>) -> Option<T> {
        let mut values: Vec<T> = values.collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    }

    impl Row {
        fn wall(&self) -> Option<f64> {
            median(self.samples.iter().map(|sample| sample.wall)).map(|wall| wall.as_secs_f64())
        }

        fn cpu(&self) -> Option<f64> {
            median(self.samples.iter().map(|sample| sample.cpu)).map(|cpu| cpu.as_secs_f64())
        }

        /// The worst of all rounds, in MB.
        fn peak(&self) -> Option<f64> {
            self.samples.iter().map(|sample| sample.peak).max().map(|peak| peak as f64 / 1e6)
        }

        fn bandwidth(&self) -> Option<f64> {
            Some(self.bytes as f64 / 1e9 / self.wall()?)
        }

        fn print(&self) {
            if let Some(why) = &self.failed {
                println!("{:<20} FAILED: {why}", self.job.label());
                return;
            }
            let least = self.samples.iter().map(|sample| sample.wall).min().unwrap_or_default().as_secs_f64();
            let (Some(wall), Some(cpu), Some(peak), Some(bandwidth)) =
                (self.wall(), self.cpu(), self.peak(), self.bandwidth())
            else {
                println!("{:<20} not run", self.job.label());
                return;
            };
            println!(
                "{:<20} {wall:>9.3} s [{least:>7.3}] {cpu:>9.3} s {peak:>10.1} MB {bandwidth:>7.2} GB/s",
                self.job.label()
            );
        }
    }

    fn bar(what: &str, value: Option<f64>, unit: &str, least: bool, bar: f64) {
        let sign = if least { ">=" } else { "<=" };
        match value {
            Some(value) => {
                let met = if least { value >= bar } else { value <= bar };
                println!(
                    "{what:<52} {value:>9.2}{unit:<3} (bar {sign} {bar}{unit}) {}",
                    if met { "ok" } else { "MISSED" }
                );
            }
            None => println!("{what:<52} {:>9}{:<3} (bar {sign} {bar}{unit}) not measured", "-", ""),
        }
    }

    fn report(rows: &[Row], rounds: usize) {
        println!(
            "{:<20} {:>11} {:>9} {:>11} {:>13} {:>12}",
            format!("{rounds} rounds"),
            "wall median",
            "[min]",
            "CPU",
            "peak memory",
            "bandwidth"
        );
        for row in rows {
            row.print();
        }
        let of = |job: Job| rows.iter().find(|row| row.job == job && row.failed.is_none());
        let ratio = |above: Option<f64>, below: Option<f64>| Some(above? / below?);
        let (first, ccusage) = (of(Job::First), of(Job::Ccusage));
        println!();
        bar(
            "first run: times faster than ccusage daily, wall",
            ratio(ccusage.and_then(Row::wall), first.and_then(Row::wall)),
            "x",
            true,
            4.0,
        );
        bar(
            "first run: times faster than ccusage daily, CPU",
            ratio(ccusage.and_then(Row::cpu), first.and_then(Row::cpu)),
            "x",
            true,
            4.0,
        );
        let share = ratio(first.and_then(Row::bandwidth), of(Job::Newlines).and_then(Row::bandwidth));
        bar("first run: share of newline-count bandwidth", share.map(|share| share * 100.0), "%", true, 30.0);
        bar("first run: peak memory", first.and_then(Row::peak), "MB", false, 64.0);
        bar("one file: peak memory", of(Job::OneFile).and_then(Row::peak), "MB", false, 64.0);
        bar(
            "second run, nothing changed",
            of(Job::Second).and_then(Row::wall).map(|wall| wall * 1e3),
            "ms",
            false,
            60.0,
        );
    }

    // -- the command line

    fn setup() -> Result<Setup, Box<dyn Error>> {
        let (mut corpus, mut one, mut hotwash, mut ccusage, mut newlines, mut work, mut rounds) =
            (None, None, None, None, None, None, 5);
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let value = args.next().ok_or(USAGE)?;
            let path = || std::path::absolute(&value).map(Some);
            match arg.as_str() {
                "--corpus" => corpus = path()?,
                "--one" => one = path()?,
                "--hotwash" => hotwash = path()?,
                "--ccusage" => ccusage = path()?,
                "--newlines" => newlines = path()?,
                "--work" => work = path()?,
                "--rounds" => rounds = value.parse()?,
                _ => return Err(format!("unknown argument {arg}\n\n{USAGE}").into()),
            }
        }
        Ok(Setup {
            corpus: corpus.ok_or(USAGE)?,
            one,
            hotwash: hotwash.ok_or(USAGE)?,
            ccusage,
            newlines: newlines.ok_or(USAGE)?,
            work: work.ok_or(USAGE)?,
            rounds,
        })
    }

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let setup = setup()?;
        fresh(&setup.work)?;
        std::fs::create_dir_all(setup.work.join("home"))?;
        // Once before the clock starts, so that every round finds the files in the page cache.
        for folder in [Some(&setup.corpus), setup.one.as_ref()].into_iter().flatten() {
            Command::new(&setup.newlines).arg(folder).stdout(Stdio::null()).status()?;
        }
        let mut rows = Vec::new();
        for job in Job::ALL {
            rows.push(Row { job, samples: Vec::new(), failed: None, bytes: setup.bytes(job)? });
        }
        // In turns, so that a slow minute of the machine hits all of them.
        for _ in 0..setup.rounds {
            for row in &mut rows {
                match run(&setup, row.job) {
                    Some(Ok(sample)) => row.samples.push(sample),
                    Some(Err(why)) => row.failed = Some(why),
                    None => {}
                }
            }
        }
        report(&rows, setup.rounds);
        std::fs::remove_dir_all(&setup.work)?;
        Ok(())
    }
}
