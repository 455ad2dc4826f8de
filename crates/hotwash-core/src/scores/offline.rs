//! (being written)
#![allow(missing_docs)]
use super::*;
use crate::{facts::Facts, rubric::Rubric};
pub const JUDGE: &str = "offline";
pub const VERSION: &str = "1";
pub fn grade(_: &Facts, rubric: &Rubric) -> Grade {
    Grade::of(Vec::new(), rubric)
}
