//! The last offset of each key, in a fixed amount of memory (class `SkimpyOffsetMap`).
//!
//! Keys are not kept but their 128-bit SipHash under a key of the kernel's, drawn anew for each run: nobody can bring
//! about two keys of one hash, and by chance a run of a billion keys meets one with odds below 10^-20. An entry takes
//! 24 bytes; one whose last word is 0 is free. A map grows fourfold as it fills, up to what it may take (and a quarter
//! more while it moves for the last time).
//!
//! An entry lies where its hash says, so each access waits for memory. [`OffsetMap::hashes`] brings in the entries of
//! many keys side by side, which takes little longer than one.

use crate::base::Offset;
use crate::io::random;
use siphasher::sip128::Hasher128;
use siphasher::sip128::SipHasher24;
use std::hash::Hasher;
use std::io;

/// Bytes of an entry: the hash, and the offset plus one.
pub(super) const ENTRY_SIZE: usize = 24;
type Entry = [u64; 3];

/// What stands for a key.
pub(super) type Hash = (u64, u64);

/// A map begins with this many entries, or fewer.
const ENTRIES_FIRST: usize = 1 << 14;

/// The map.
pub(super) struct OffsetMap {
    hasher: SipHasher24,
    entries: Vec<Entry>,
    count: usize,
    entries_max: usize,
    count_max: usize,
    /// There are `entries_max >> shift` entries.
    shift: u32,
}

impl OffsetMap {
    /// A map in at most `bytes` of memory, filled up to `load_factor`, for at most `keys` keys.
    ///
    /// # Errors
    /// When the kernel has no random numbers.
    pub(super) fn new(bytes: usize, load_factor: f64, keys: u64) -> io::Result<OffsetMap> {
        let (mut first, mut second) = ([0; 8], [0; 8]);
        random::fill_from_kernel(&mut first)?;
        random::fill_from_kernel(&mut second)?;
        let hasher = SipHasher24::new_with_keys(u64::from_le_bytes(first), u64::from_le_bytes(second));
        // In 1024ths; there is always a free entry, where a search ends.
        let load = (1..1024).rev().find(|load| f64::from(*load) / 1024.0 <= load_factor).unwrap_or(1);
        let load = usize::try_from(load).unwrap_or(1);
        let keys = usize::try_from(keys).unwrap_or(usize::MAX);
        let enough = keys.saturating_mul(1024) / load;
        let entries_max = (bytes / ENTRY_SIZE).min(enough.saturating_add(2)).max(2);
        let count_max =
            (entries_max / 1024 * load + entries_max % 1024 * load / 1024).clamp(1, entries_max - 1);
        let mut shift = 0;
        while entries_max >> shift > ENTRIES_FIRST {
            shift += 2;
        }
        let entries = vec![[0; 3]; entries_max >> shift];
        Ok(OffsetMap { hasher, entries, count: 0, entries_max, count_max, shift })
    }

    /// What stands for these keys, into `hashes`; what the map knows of them is at hand when this returns.
    pub(super) fn hashes<'k>(&self, keys: impl Iterator<Item = &'k [u8]>, hashes: &mut Vec<Hash>) {
        hashes.clear();
        hashes.extend(keys.map(|key| self.hash(key)));
        // Nothing here depends on what is read, so the processor reads many at once.
        let touched = hashes.iter().fold(0, |touched, hash| {
            let entry = self.entries.get(self.home(*hash));
            touched ^ entry.map_or(0, |entry| entry[2])
        });
        std::hint::black_box(touched);
    }

    /// Notes a key's offset; offsets come in ascending order. `false` when there is no room for another key.
    pub(super) fn put(&mut self, hash: Hash, offset: Offset) -> bool {
        let mut slot = self.find(hash);
        let is_new = self.entries.get(slot).is_none_or(is_free);
        if is_new {
            if self.count >= self.count_max {
                return false;
            }
            if self.shift > 0 && self.count >= self.entries.len() / 4 * 3 {
                self.grow();
                slot = self.find(hash);
            }
            self.count += 1;
        }
        let Some(entry) = self.entries.get_mut(slot) else { return false };
        *entry = [hash.0, hash.1, offset.0.cast_unsigned().wrapping_add(1)];
        true
    }

    /// The last offset of a key.
    pub(super) fn get(&self, hash: Hash) -> Option<Offset> {
        let entry = self.entries.get(self.find(hash))?;
        let [_, _, offset] = *entry;
        (!is_free(entry)).then(|| Offset(offset.wrapping_sub(1).cast_signed()))
    }

    fn grow(&mut self) {
        self.shift = self.shift.saturating_sub(2);
        let entries = vec![[0; 3]; self.entries_max >> self.shift];
        for old in std::mem::replace(&mut self.entries, entries) {
            if !is_free(&old) {
                let slot = self.find((old[0], old[1]));
                let entry = self.entries.get_mut(slot).expect("a larger map has room");
                *entry = old;
            }
        }
    }

    /// How full it is, in percent of all entries that it may have.
    pub(super) fn percent(&self) -> usize {
        self.count.saturating_mul(100) / self.entries_max.max(1)
    }

    fn hash(&self, key: &[u8]) -> Hash {
        let mut hasher = self.hasher;
        hasher.write(key);
        let hash = hasher.finish128();
        (hash.h1, hash.h2)
    }

    /// Where a search for the hash begins.
    fn home(&self, (first, _): Hash) -> usize {
        let count = u128::try_from(self.entries.len()).unwrap_or(1);
        usize::try_from((u128::from(first) * count) >> 64).unwrap_or(0)
    }

    /// Where the hash is, or would be.
    fn find(&self, hash: Hash) -> usize {
        let start = self.home(hash);
        let (low, high) = self.entries.split_at(start.min(self.entries.len()));
        let ends = |entry: &Entry| is_free(entry) || (entry[0], entry[1]) == hash;
        match high.iter().position(ends) {
            Some(place) => start + place,
            None => low.iter().position(ends).unwrap_or(usize::MAX),
        }
    }
}

fn is_free(entry: &Entry) -> bool {
    entry[2] == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::prop_assert_eq;
    use proptest::proptest;
    use std::collections::HashMap;

    impl OffsetMap {
        fn put_key(&mut self, key: &[u8], offset: Offset) -> bool {
            let mut hashes = Vec::new();
            self.hashes(std::iter::once(key), &mut hashes);
            self.put(hashes[0], offset)
        }

        fn get_key(&self, key: &[u8]) -> Option<Offset> {
            self.get(self.hash(key))
        }
    }

    #[test]
    fn a_full_map_takes_known_keys_only() {
        let mut map = OffsetMap::new(ENTRY_SIZE * 100, 0.9, u64::MAX).unwrap();
        let mut taken = 0;
        for number in 0..100i64 {
            taken += i64::from(map.put_key(&number.to_be_bytes(), Offset(number)));
        }
        assert!((85..=90).contains(&taken), "{taken}");
        assert!(map.put_key(&0i64.to_be_bytes(), Offset(500)));
        assert_eq!(map.get_key(&0i64.to_be_bytes()), Some(Offset(500)));
        assert_eq!(map.get_key(&99i64.to_be_bytes()), None);
        assert!((85..=90).contains(&map.percent()));
    }

    #[test]
    fn the_smallest_map_and_odd_load_factors_still_hold_a_key() {
        for load_factor in [0.0, 1.0, 7.5, -1.0, f64::NAN] {
            let mut map = OffsetMap::new(0, load_factor, 1).unwrap();
            assert!(map.put_key(b"", Offset(0)));
            assert_eq!((map.get_key(b""), map.get_key(b"x")), (Some(Offset(0)), None));
        }
    }

    #[test]
    fn a_map_is_no_larger_than_its_keys() {
        let map = OffsetMap::new(1 << 40, 0.9, 1000).unwrap();
        assert!(map.entries_max < 1200);
        assert!(map.count_max >= 1000);
    }

    #[test]
    fn a_map_grows_with_its_keys_and_keeps_them_all() {
        let mut map = OffsetMap::new(ENTRY_SIZE * 500_000, 0.9, u64::MAX).unwrap();
        assert!(map.entries.len() <= ENTRIES_FIRST);
        let mut sizes = vec![map.entries.len()];
        for number in 0..400_000i64 {
            assert!(map.put_key(&number.to_be_bytes(), Offset(number)), "{number}");
            if sizes.last() != Some(&map.entries.len()) {
                sizes.push(map.entries.len());
                for number in 0..=number {
                    assert_eq!(map.get_key(&number.to_be_bytes()), Some(Offset(number)));
                }
            }
            assert!(map.count < map.entries.len());
        }
        assert_eq!(sizes, [7_812, 31_250, 125_000, 500_000]);
        assert_eq!(map.percent(), 80);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_plain_map(keys in proptest::collection::vec(0u8..60, 0..300)) {
            let mut map = OffsetMap::new(ENTRY_SIZE * 80, 0.9, u64::MAX).unwrap();
            let mut model = HashMap::new();
            for (offset, key) in (0..).zip(keys) {
                assert!(map.put_key(&[key], Offset(offset)));
                model.insert(key, Offset(offset));
            }
            for key in 0..60 {
                prop_assert_eq!(map.get_key(&[key]), model.get(&key).copied());
            }
        }
    }
}
