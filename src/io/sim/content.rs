//! What a simulated file holds: what programs see, what is on the platters, and what is between the two.

use crate::base::Timestamp;
use crate::io::random::Random;

/// One file's bytes.
#[derive(Debug)]
pub(super) struct Content {
    /// What reads see.
    cache: Vec<u8>,
    /// What a power cut cannot take.
    durable: Vec<u8>,
    /// Changes of `cache` since the last sync, in order.
    dirty: Vec<Change>,
    pub(super) modified: Timestamp,
}

#[derive(Debug)]
enum Change {
    Write { position: usize, bytes: Vec<u8> },
    Length(usize),
}

impl Content {
    pub(super) fn new(modified: Timestamp) -> Content {
        Content { cache: Vec::new(), durable: Vec::new(), dirty: Vec::new(), modified }
    }

    /// What reads see, all of it on the platters.
    pub(super) fn settled(&self) -> Content {
        Content {
            cache: self.cache.clone(),
            durable: self.cache.clone(),
            dirty: Vec::new(),
            modified: self.modified,
        }
    }

    /// Changes the bytes without a trace.
    pub(super) fn damage(&mut self, change: impl FnOnce(&mut Vec<u8>)) {
        self.sync();
        change(&mut self.durable);
        self.cache.clone_from(&self.durable);
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.cache
    }

    pub(super) fn write(&mut self, position: usize, bytes: Vec<u8>) {
        put(&mut self.cache, position, &bytes);
        self.dirty.push(Change::Write { position, bytes });
    }

    pub(super) fn set_len(&mut self, length: usize) {
        self.cache.resize(length, 0);
        self.dirty.push(Change::Length(length));
    }

    /// All changes reach the platters.
    pub(super) fn sync(&mut self) {
        for change in self.dirty.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// A sync that fails: some changes reach the platters, the others never will, for the pages count as clean.
    pub(super) fn sync_and_fail(&mut self, random: &mut Random, sector: usize) {
        self.settle(random, sector);
    }

    /// A power cut: some changes reach the platters; what reads see afterwards is what is there.
    pub(super) fn cut(&mut self, random: &mut Random, sector: usize) {
        self.settle(random, sector);
        self.cache.clone_from(&self.durable);
    }

    /// Decides the fate of the dirty changes: all lost, all kept, a prefix with a torn end, or sector by sector.
    fn settle(&mut self, random: &mut Random, sector: usize) {
        let changes = std::mem::take(&mut self.dirty);
        match random.below(4) {
            0 => {}
            1 => changes.iter().for_each(|change| change.apply(&mut self.durable)),
            2 => self.keep_prefix(&changes, random, sector),
            _ => self.keep_sectors(&changes, random, sector),
        }
    }

    fn keep_prefix(&mut self, changes: &[Change], random: &mut Random, sector: usize) {
        let count = u64::try_from(changes.len()).expect("a count fits u64");
        let kept = usize::try_from(random.below(count + 1)).expect("below a count of changes");
        for change in changes.iter().take(kept) {
            change.apply(&mut self.durable);
        }
        if let Some(Change::Write { position, bytes }) = changes.get(kept) {
            let sectors = sectors(*position, bytes, sector);
            let count = u64::try_from(sectors.len()).expect("a count fits u64");
            let whole = usize::try_from(random.below(count)).expect("below a count of sectors");
            for (position, bytes) in sectors.into_iter().take(whole) {
                put(&mut self.durable, position, bytes);
            }
        }
    }

    fn keep_sectors(&mut self, changes: &[Change], random: &mut Random, sector: usize) {
        for change in changes {
            match change {
                Change::Length(_) if random.one_in(2) => {}
                Change::Length(_) => change.apply(&mut self.durable),
                Change::Write { position, bytes } => {
                    // The length may be on the platters before the bytes are: zeros then.
                    let end = position + bytes.len();
                    if random.one_in(2) && self.durable.len() < end {
                        self.durable.resize(end, 0);
                    }
                    for (position, bytes) in sectors(*position, bytes, sector) {
                        if random.one_in(2) {
                            put(&mut self.durable, position, bytes);
                        }
                    }
                }
            }
        }
    }
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Change::Write { position, bytes } => put(to, *position, bytes),
            Change::Length(length) => to.resize(*length, 0),
        }
    }
}

fn put(to: &mut Vec<u8>, position: usize, bytes: &[u8]) {
    let end = position + bytes.len();
    if to.len() < end {
        to.resize(end, 0);
    }
    if let Some(place) = to.get_mut(position..end) {
        place.copy_from_slice(bytes);
    }
}

/// The write cut where the disk's sectors begin.
fn sectors(position: usize, bytes: &[u8], sector: usize) -> Vec<(usize, &[u8])> {
    let mut pieces = Vec::new();
    let (mut position, mut rest) = (position, bytes);
    while !rest.is_empty() {
        let to_border = sector - position % sector;
        let (piece, tail) = rest.split_at(to_border.min(rest.len()));
        pieces.push((position, piece));
        position += piece.len();
        rest = tail;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_what_was_synced_and_tears_only_between_sectors() {
        let mut outcomes = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut content = Content::new(Timestamp(0));
            content.write(0, vec![1; 700]);
            content.sync();
            content.write(700, vec![2; 1400]);
            content.cut(&mut Random::seeded(seed), 512);
            let bytes = content.bytes();
            assert_eq!(bytes[..700], [1; 700], "synced bytes stay, seed {seed}");
            for sector in bytes[700..].chunks(1) {
                assert!(sector[0] == 2 || sector[0] == 0);
            }
            for border in [1024, 1536, 2048] {
                let sector: Vec<u8> =
                    bytes.iter().skip(border - 512).take(512).copied().filter(|byte| *byte != 1).collect();
                assert!(
                    sector.windows(2).all(|pair| pair[0] == pair[1]),
                    "torn within a sector, seed {seed}"
                );
            }
            outcomes.insert(bytes.to_vec());
        }
        assert!(outcomes.len() > 6, "the seeds reach many outcomes: {}", outcomes.len());
    }

    #[test]
    fn what_a_failed_sync_lost_stays_lost_though_reads_show_it() {
        let lost = (0..50).any(|seed| {
            let mut content = Content::new(Timestamp(0));
            content.write(0, b"promise".to_vec());
            content.sync_and_fail(&mut Random::seeded(seed), 512);
            assert_eq!(content.bytes(), b"promise");
            content.sync();
            content.cut(&mut Random::seeded(seed), 512);
            content.bytes().is_empty()
        });
        assert!(lost);
    }
}
