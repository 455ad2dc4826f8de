//! Words in facts: those of the program, and those from outside, which redaction must visit.

use serde::{Deserialize, Serialize};
use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;

/// A word that comes from a transcript, such as the name of a tool or of a model: anything may be in it. A fact that holds
/// one is shown to redaction, because of its type alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Outside(Cow<'static, str>);

impl From<&'static str> for Outside {
    fn from(word: &'static str) -> Outside {
        Outside(Cow::Borrowed(word))
    }
}

impl From<String> for Outside {
    fn from(word: String) -> Outside {
        Outside(Cow::Owned(word))
    }
}

/// A word of the program, such as a phrase of its lists: it is made of what stands in the source, or read back from a store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Own(Cow<'static, str>);

impl From<&'static str> for Own {
    fn from(word: &'static str) -> Own {
        Own(Cow::Borrowed(word))
    }
}

macro_rules! word {
    ($type:ty) => {
        impl Deref for $type {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }
        impl Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl PartialEq<&str> for $type {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

word!(Outside);
word!(Own);
