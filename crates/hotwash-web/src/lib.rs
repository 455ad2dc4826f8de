//! The dashboard and the JSON API: a function from state to router.
//!
//! Nothing is served yet. The crate stands here because dependencies point one way, `hotwash → hotwash-web →
//! hotwash-engine → hotwash-core`, and what comes will fit in between.
