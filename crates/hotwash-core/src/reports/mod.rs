//! Reports: functions from rows to data. Terminal, JSON and whatever else shows sessions draw what these return.

mod listing;

pub use listing::Page;
