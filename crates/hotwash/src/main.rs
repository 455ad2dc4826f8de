//! hotwash grades AI coding sessions.

fn main() {}
