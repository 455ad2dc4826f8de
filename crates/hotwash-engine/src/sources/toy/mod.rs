//! A toy agent, which only tests have: what it takes to add one.
//!
//! A line is a kind, an id and words, with tabs between them: `asks` or `says`.

mod decode;
mod discover;
#[cfg(test)]
mod tests;

use super::{Decoder, Source};
use hotwash_core::facts::Facts;
use hotwash_core::records::{Reading, Role};
use hotwash_core::sessions::Part;
use std::path::Path;

pub(super) struct Toy;

impl Source for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn owns(&self, path: &Path) -> bool {
        discover::owns(path)
    }

    fn version(&self) -> u32 {
        decode::DECODER
    }

    fn reads_on(&self) -> bool {
        true
    }

    fn recorded_by(&self, _: &Path) -> Option<String> {
        Some("Toy".into())
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::Lines)
    }

    fn role(&self, _: &Path, _: &Reading, pieces: &[(&Part, &Facts)]) -> Role {
        let asked = pieces.iter().any(|(_, facts)| facts.prompts.human_prompts.count() > 0);
        if asked { Role::Main } else { Role::Empty }
    }
}
