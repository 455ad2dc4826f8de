//! Grades in Langfuse, beside the traces they are about, and what people say of sessions there.
//!
//! `config` makes the score configs of a rubric, `target` says what of Langfuse a session is, `encode` what is written of
//! it, `plan` compares that with what is there, `push` carries it out: nothing twice, nothing stale, and `scored` knows what others pushed. `labels` reads what people gave,
//! `dataset` keeps it as ground truth, `doctor` tries everything once.

pub mod config;
pub mod dataset;
pub mod doctor;
pub mod encode;
pub mod labels;
#[cfg(test)]
mod moving_tests;
mod plan;
pub mod push;
pub mod scored;
pub mod target;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
