//! The bundled example week, and the temporary place that it and stdin are read from.

use crate::env::Environment;
use hotwash_engine::platform::private_folder;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Name and content of each file.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// A folder that is gone with the run.
pub(crate) struct Place {
    folder: PathBuf,
    name: &'static str,
}

impl Place {
    /// The example week, unpacked.
    pub(crate) fn with_examples(env: &Environment) -> io::Result<Place> {
        let place = Place::new(env, "example")?;
        for (name, content) in FILES {
            let path = place.folder.join(name);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, content)?;
        }
        Ok(place)
    }

    /// What comes from a pipe.
    pub(crate) fn with_stdin(env: &Environment) -> io::Result<Place> {
        let place = Place::new(env, "stdin")?;
        io::copy(&mut io::stdin().lock(), &mut File::create(place.folder.join("stdin.jsonl"))?)?;
        Ok(place)
    }

    fn new(env: &Environment, name: &'static str) -> io::Result<Place> {
        let mut random = [0; 8];
        getrandom::fill(&mut random)?;
        let folder =
            PathBuf::from(env.folders().temporary).join(format!("hotwash-{name}-{:016x}", u64::from_le_bytes(random)));
        // For the owner's eyes only, and an error if somebody else was there first.
        private_folder().create(&folder)?;
        Ok(Place { folder, name })
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A path in it as people should see it: the folder means nothing to them.
    pub(crate) fn shown(&self, path: &str) -> Option<String> {
        let inside = Path::new(path).strip_prefix(&self.folder).ok()?;
        Some(if self.name == "stdin" { "-".into() } else { format!("{}:{}", self.name, inside.display()) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
