//! Counts the newlines of all files under a folder: how fast memory can be read, the yardstick for everything else.

#![expect(clippy::print_stdout, reason = "a command-line tool")]

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

const THREADS: usize = 2;
const BLOCK: usize = 256 * 1024;

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files(&entry.path(), found)?;
        } else {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn count(path: &Path, block: &mut [u8]) -> io::Result<usize> {
    let mut file = File::open(path)?;
    let mut newlines = 0;
    loop {
        match file.read(block)? {
            0 => return Ok(newlines),
            read => newlines += memchr::memchr_iter(b'\n', &block[..read]).count(),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: newlines FOLDER")?;
    let mut found = Vec::new();
    files(Path::new(&folder), &mut found)?;
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<usize> {
        let mut block = vec![0; BLOCK];
        let mut newlines = 0;
        while let Some(path) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
            newlines += count(path, &mut block)?;
        }
        Ok(newlines)
    };
    let total = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))))
            .sum::<io::Result<usize>>()
    })?;
    println!("{total} newlines in {} files", found.len());
    Ok(())
}
