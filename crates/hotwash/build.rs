//! Writes the list of bundled example transcripts, so that the program carries them inside.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let examples = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../examples");
    println!("cargo::rerun-if-changed={}", examples.display());
    let mut files = Vec::new();
    collect(&examples.join("projects"), &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&examples).map_err(io::Error::other)?;
        let whole = file.canonicalize()?;
        writeln!(list, "    ({:?}, include_bytes!({:?})),", name.display().to_string(), whole.display().to_string())
            .map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("examples.rs"), list)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
