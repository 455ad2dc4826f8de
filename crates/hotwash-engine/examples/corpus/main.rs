//! Writes a made-up `~/.claude` of any size: the same seed gives the same bytes.
//!
//! Sizes, record types, key order and escape density follow what was counted in real transcripts; every word is
//! invented. A stream is cut only between records, so a file is a little larger than it was asked to be.

#![expect(clippy::print_stdout, reason = "a command-line tool")]

/// Grows `out` like `write!`, which cannot fail on a `String`.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        let _ = write!($out, $($arg)*);
    }};
}

mod chance;
mod plan;
mod session;
mod words;

use plan::plans;
use session::write_file;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const USAGE: &str = "\
Writes made-up transcripts to DIR/projects; the same seed gives the same bytes.

Usage: corpus DIR [--files 5000] [--bytes 2g] [--seed 7] [--one-file SIZE]

  --files N         how many transcripts
  --bytes SIZE      their size together: 200m, 2g (decimal)
  --seed N          another seed, another corpus
  --one-file SIZE   one transcript of this size instead";

fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
        Some((at, unit)) => (
            text.get(..at)?,
            match unit.to_ascii_lowercase() {
                'k' => 1_000,
                'm' => 1_000_000,
                'g' => 1_000_000_000,
                _ => return None,
            },
        ),
        None => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut root, mut files, mut bytes, mut seed, mut one) = (None, 5_000, 2_000_000_000, 7, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "-h" | "--help" => {
                println!("{USAGE}");
                return Ok(());
            }
            "--files" => files = value()?.parse()?,
            "--seed" => seed = value()?.parse()?,
            "--bytes" => {
                bytes = size(&value()?).ok_or("--bytes takes a size such as 200m or 2g")?;
            }
            "--one-file" => {
                one = Some(size(&value()?).ok_or("--one-file takes a size such as 500m")?);
            }
            _ if arg.starts_with('-') || root.is_some() => {
                return Err(format!("unknown argument {arg}\n\n{USAGE}").into());
            }
            _ => root = Some(PathBuf::from(arg)),
        }
    }
    let root = root.ok_or(USAGE)?;
    let mut plans = plans(&root, if one.is_some() { 1 } else { files }, bytes, seed);
    if let (Some(size), Some(plan)) = (one, plans.first_mut()) {
        plan.bytes = size;
    }
    // The largest first, so that the threads end together.
    plans.sort_by_key(|plan| std::cmp::Reverse(plan.bytes));

    let (next, written) = (AtomicUsize::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let work = || -> io::Result<()> {
            while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
                written.fetch_add(write_file(plan)?, Ordering::Relaxed);
            }
            Ok(())
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .try_for_each(|handle| handle.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))))
    })?;
    println!("{} files, {} bytes", plans.len(), written.into_inner());
    Ok(())
}
