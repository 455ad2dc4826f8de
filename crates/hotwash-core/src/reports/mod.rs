//! Reports: functions from rows to data. Terminal, JSON and whatever else shows sessions draw what these return, so that no
//! two of them can disagree. Nothing here knows a screen, a store or a file.

mod counts;
mod goals;
mod listing;
pub mod losses;
mod overview;
pub mod timeline;
mod window;
pub mod words;

pub use counts::{Counts, TOO_LITTLE};
pub use goals::{By, goals, goals_by};
pub use listing::{Filter, Order, PROCESS, Page, list, oldest_first};
pub use overview::{Goals, Overview, Spread, overview};
pub use window::{Bound, Unsettled, Window};
