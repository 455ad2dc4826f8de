//! Lists of sessions and of other things: a part of them at a time.

/// Which part of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// How many are left out at the start.
    pub offset: usize,
    /// At most so many follow; nothing for all.
    pub limit: Option<usize>,
}

impl Page {
    /// This part of a list.
    pub fn of<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        let rest = all.get(self.offset..).unwrap_or_default();
        rest.get(..self.limit.unwrap_or(rest.len())).unwrap_or(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_everything_once() {
        let all: Vec<u32> = (0..7).collect();
        let page = |offset, limit| Page { offset, limit }.of(&all);
        assert_eq!([page(0, Some(3)), page(3, Some(3)), page(6, Some(3))].concat(), all);
        assert_eq!(page(0, None), all);
        assert_eq!(page(5, None), [5, 6]);
        assert!(page(7, Some(3)).is_empty() && page(99, None).is_empty() && page(0, Some(0)).is_empty());
    }
}
