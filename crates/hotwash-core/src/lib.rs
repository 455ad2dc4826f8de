//! The domain of hotwash: what an event, a fact, a rubric, a score is, and the arithmetic on them.
//!
//! Nothing here does I/O, reads a clock or draws a random number: see `Cargo.toml`, which names nothing that could.
//!
//! The pipeline, as far as it is arithmetic:
//!
//! 1. A source tells [`Event`](sessions::Event)s, which borrow from the bytes of a transcript ([`text`]). They are told
//!    in our words, whatever the agent.
//! 2. A [`Ledger`](facts::Ledger) looks at each event once and folds it into [`Facts`](facts::Facts). What a command in
//!    a shell does is read off its text by [`shell`], what tokens cost is looked up in [`prices`].
//! 3. Where transcripts share events, [`sessions::copies`] says whose they are.
//! 4. Words become [`Redacted`](redaction::Redacted) before they are kept or shown.
//! 5. A judge ([`scores::offline`]) turns facts into a [`Score`](scores::Score) for each dimension of a
//!    [`Rubric`](rubric::Rubric), and a [`Grade`](scores::Grade) follows from the scores.
//! 6. Facts also say whether the session reached its goal ([`outcomes`]), and many outcomes make a
//!    [`Prism`](outcomes::Prism) score.
//!
//! Finding transcripts, decoding them and keeping what comes out is the engine's.
//!
//! ```
//! use hotwash_core::rubric::Rubric;
//! use hotwash_core::scores::{Overall, offline};
//! use hotwash_core::sessions::topic::ByWords;
//! use hotwash_core::sessions::{Event, EventId, Kind, Origin, Pieces, Prompt, PromptVia};
//! use hotwash_core::prices;
//!
//! let mut pieces = Pieces::default();
//! let origin = Origin { id: EventId(1), ..Origin::default() };
//! let prompt = Prompt { words: "fix the parser", via: PromptVia::Typed, images: 0 };
//! pieces.event(&Event { origin: &origin, kind: &Kind::Prompt(prompt) }, &ByWords);
//!
//! let facts = pieces.ledger().finish(prices::shipped());
//! assert_eq!(facts.prompts.human_prompts.0, [EventId(1)]);
//!
//! // A prompt alone is too little to grade, which is not a grade of 0.
//! let rubric = Rubric::shipped("v2").expect("it is built in");
//! let grade = offline::grade(&facts, &rubric);
//! assert_eq!(grade.overall, Overall::TooFew { present: 0, needed: 3 });
//! ```

pub mod evidence;
pub mod facts;
pub mod hash;
pub mod labels;
pub mod outcomes;
pub mod ports;
pub mod prices;
pub mod prompts;
pub mod records;
pub mod redaction;
pub mod reports;
pub mod rework;
pub mod rubric;
pub mod scores;
pub mod sessions;
pub mod shell;
pub mod stats;
pub mod text;
pub mod verdicts;
