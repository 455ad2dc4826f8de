//! Says of most hashes at the cost of one look that they are not among some others.

/// Hashes as bits in a table, so that a few stand for others too.
#[derive(Debug)]
pub(crate) struct Filter {
    bits: Vec<u64>,
    mask: u32,
}

impl Filter {
    /// One for so many hashes, eight bits for each.
    pub(crate) fn for_so_many(count: usize) -> Filter {
        let bits = (count.saturating_mul(8)).clamp(64, 1 << 26).next_power_of_two();
        Filter { bits: vec![0; bits / 64], mask: bits as u32 - 1 }
    }

    pub(crate) fn add(&mut self, hash: u32) {
        let at = hash & self.mask;
        self.bits[at as usize / 64] |= 1 << (at % 64);
    }

    /// Whether a hash was added, or one that it cannot be told from.
    pub(crate) fn may_have(&self, hash: u32) -> bool {
        let at = hash & self.mask;
        self.bits[at as usize / 64] >> (at % 64) & 1 == 1
    }
}
