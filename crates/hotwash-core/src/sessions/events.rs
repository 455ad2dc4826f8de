//! A list of events, which mostly holds one or two.

use super::EventId;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// So many take no memory of their own.
const FEW: usize = 3;

/// Room for most lists that hold more, so that they need not grow.
const ROOM: usize = 16;

/// Events that something points at. A session has dozens of such lists, so a few events stand in the list itself, which is
/// no larger than a `Vec`.
#[derive(Clone, Deserialize)]
#[serde(from = "Vec<EventId>")]
pub struct Events(List);

#[derive(Clone)]
enum List {
    /// The first of them, as many as the number says.
    Few(u32, [EventId; FEW]),
    Many(Vec<EventId>),
}

impl Events {
    /// One more.
    pub fn push(&mut self, event: EventId) {
        match &mut self.0 {
            List::Few(count, few) => {
                if let Some(free) = few.get_mut(*count as usize) {
                    *free = event;
                    *count += 1;
                } else {
                    let mut many = Vec::with_capacity(ROOM);
                    many.extend_from_slice(few);
                    many.push(event);
                    self.0 = List::Many(many);
                }
            }
            List::Many(many) => many.push(event),
        }
    }

    /// None any more.
    pub fn clear(&mut self) {
        match &mut self.0 {
            List::Few(count, _) => *count = 0,
            List::Many(many) => many.clear(),
        }
    }

    /// Keeps those that are wanted.
    pub fn retain(&mut self, wanted: impl FnMut(&EventId) -> bool) {
        match &mut self.0 {
            List::Few(..) => *self = self.iter().copied().filter(wanted).collect(),
            List::Many(many) => many.retain(wanted),
        }
    }
}

impl Default for Events {
    #[inline]
    fn default() -> Events {
        Events(List::Few(0, [EventId::default(); FEW]))
    }
}

impl Deref for Events {
    type Target = [EventId];

    #[inline]
    fn deref(&self) -> &[EventId] {
        match &self.0 {
            List::Few(count, few) => &few[..*count as usize],
            List::Many(many) => many,
        }
    }
}

impl DerefMut for Events {
    #[inline]
    fn deref_mut(&mut self) -> &mut [EventId] {
        match &mut self.0 {
            List::Few(count, few) => &mut few[..*count as usize],
            List::Many(many) => many,
        }
    }
}

impl From<EventId> for Events {
    fn from(event: EventId) -> Events {
        Events(List::Few(1, [event, EventId::default(), EventId::default()]))
    }
}

impl From<Vec<EventId>> for Events {
    fn from(events: Vec<EventId>) -> Events {
        if events.len() > FEW { Events(List::Many(events)) } else { events.into_iter().collect() }
    }
}

impl From<&[EventId]> for Events {
    fn from(events: &[EventId]) -> Events {
        if events.len() > FEW { Events(List::Many(events.to_vec())) } else { events.iter().copied().collect() }
    }
}

impl FromIterator<EventId> for Events {
    fn from_iter<I: IntoIterator<Item = EventId>>(all: I) -> Events {
        let mut events = Events::default();
        all.into_iter().for_each(|event| events.push(event));
        events
    }
}

impl<'a> IntoIterator for &'a Events {
    type Item = &'a EventId;
    type IntoIter = std::slice::Iter<'a, EventId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: AsRef<[EventId]> + ?Sized> PartialEq<T> for Events {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Events {}

impl AsRef<[EventId]> for Events {
    fn as_ref(&self) -> &[EventId] {
        self
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Serialize for Events {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_list_is_no_larger_than_a_vec() {
        assert_eq!(size_of::<Events>(), size_of::<Vec<EventId>>());
    }

    proptest! {
        #[test]
        fn a_list_is_what_was_put_into_it(ids in proptest::collection::vec(0u32..20, 0..8), least in 0u32..20) {
            let mut plain: Vec<EventId> = ids.into_iter().map(EventId).collect();
            let mut events: Events = plain.iter().copied().collect();
            prop_assert_eq!(&events, &plain);
            prop_assert_eq!(&Events::from(plain.clone()), &plain);
            prop_assert_eq!(&Events::from(&*plain), &plain);
            let json = serde_json::to_string(&plain).unwrap();
            prop_assert_eq!(&serde_json::to_string(&events).unwrap(), &json);
            prop_assert_eq!(&serde_json::from_str::<Events>(&json).unwrap(), &plain);
            events.sort_unstable();
            plain.sort_unstable();
            events.retain(|event| event.0 >= least);
            plain.retain(|event| event.0 >= least);
            prop_assert_eq!(events, plain);
        }
    }
}
