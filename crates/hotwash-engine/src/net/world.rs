//! What a backend needs besides a prompt: keys, a clock, a way to be stopped, and somebody who hears of what is sent.

use super::egress::Egress;
use super::{CallError, Failing};
use hotwash_core::sessions::Timestamp;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Something secret: a key, or a URL with a password in it. It does not show itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Takes a key as it was given; blanks around it are a slip of the hand.
    pub fn new(key: &str) -> Key {
        Key(key.trim().to_owned())
    }

    /// Nothing was given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text without this key in it.
    pub(crate) fn hidden_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "<KEY>") }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Key()" } else { "Key(…)" })
    }
}

/// Time, which tests make up.
pub trait Clock: Send + Sync {
    /// What time it is.
    fn now(&self) -> Timestamp;
    /// Waits.
    fn sleep(&self, time: Duration);
}

/// The clock on the wall.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(since.as_millis() as i64)
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// What surrounds a backend. Clones share everything.
#[derive(Clone)]
pub struct World {
    /// What time it is, and how to wait.
    pub clock: Arc<dyn Clock>,
    /// Nothing more is to be sent. What is under way is waited for, because it is paid for.
    pub stop: Arc<AtomicBool>,
    /// Hears of everything that is sent, before it is.
    pub egress: Arc<dyn Egress>,
    /// Hears what is waited for and for how long, and when that is over.
    pub waits: Arc<Waits>,
}

/// Hears what is waited for and for how long; nothing when that is over.
pub type Waits = dyn Fn(Option<(&str, Duration)>) + Send + Sync;

/// A shorter wait is not worth a word.
const WORTH_SAYING: Duration = Duration::from_secs(1);

impl World {
    /// The wall clock, and nothing that stops it.
    pub fn new(egress: Arc<dyn Egress>) -> World {
        World { clock: Arc::new(SystemClock), stop: Arc::default(), egress, waits: Arc::new(|_| {}) }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits in small steps, so that it can be stopped. Says whether it was not.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let mut left = time;
        while !left.is_zero() && !self.is_stopped() {
            let step = left.min(Duration::from_millis(100));
            self.clock.sleep(step);
            left -= step;
        }
        !self.is_stopped()
    }

    /// Waits, and says what for.
    pub(crate) fn wait_for(&self, what: &str, time: Duration) -> bool {
        if time < WORTH_SAYING {
            return self.wait(time);
        }
        (self.waits)(Some((what, time)));
        let goes_on = self.wait(time);
        (self.waits)(None);
        goes_on
    }

    pub(crate) fn stopped(requests: u32) -> CallError {
        CallError { kind: Failing::Stopped, message: "stopped before it was asked".into(), requests }
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("stop", &self.is_stopped()).finish_non_exhaustive()
    }
}
