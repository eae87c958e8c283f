//! The last offset of each key, in a fixed amount of memory (class `SkimpyOffsetMap`).
//!
//! Keys are not kept but their 128-bit SipHash under a key of the kernel's, drawn anew for each run: nobody can bring
//! about two keys of one hash, and by chance a run of a billion keys meets one with odds below 10^-20. An entry takes
//! 24 bytes; one whose last word is 0 is free, so that a map takes memory only as it fills.

use crate::base::Offset;
use crate::io::random;
use siphasher::sip128::Hasher128;
use siphasher::sip128::SipHasher24;
use std::hash::Hasher;
use std::io;

/// Bytes of an entry: the hash, and the offset plus one.
pub(super) const ENTRY_SIZE: usize = 24;
type Entry = [u64; 3];

/// The map.
pub(super) struct OffsetMap {
    hasher: SipHasher24,
    entries: Vec<Entry>,
    count: usize,
    count_max: usize,
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
        let entries = (bytes / ENTRY_SIZE).min(enough.saturating_add(2)).max(2);
        let count_max = (entries / 1024 * load + entries % 1024 * load / 1024).clamp(1, entries - 1);
        Ok(OffsetMap { hasher, entries: vec![[0; 3]; entries], count: 0, count_max })
    }

    /// Notes a key's offset; offsets come in ascending order. `false` when there is no room for another key.
    pub(super) fn put(&mut self, key: &[u8], offset: Offset) -> bool {
        let hash = self.hash(key);
        let slot = self.find(hash);
        let Some(entry) = self.entries.get_mut(slot) else { return false };
        let is_new = is_free(entry);
        if is_new && self.count >= self.count_max {
            return false;
        }
        self.count += usize::from(is_new);
        *entry = [hash.0, hash.1, offset.0.cast_unsigned().wrapping_add(1)];
        true
    }

    /// The last offset of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<Offset> {
        let entry = self.entries.get(self.find(self.hash(key)))?;
        let [_, _, offset] = *entry;
        (!is_free(entry)).then(|| Offset(offset.wrapping_sub(1).cast_signed()))
    }

    /// How full it is, in percent of all entries.
    pub(super) fn percent(&self) -> usize {
        self.count.saturating_mul(100) / self.entries.len().max(1)
    }

    fn hash(&self, key: &[u8]) -> (u64, u64) {
        let mut hasher = self.hasher;
        hasher.write(key);
        let hash = hasher.finish128();
        (hash.h1, hash.h2)
    }

    /// Where the hash is, or would be.
    fn find(&self, (first, second): (u64, u64)) -> usize {
        let count = u128::try_from(self.entries.len()).unwrap_or(1);
        let start = usize::try_from((u128::from(first) * count) >> 64).unwrap_or(0);
        let (low, high) = self.entries.split_at(start.min(self.entries.len()));
        let ends = |entry: &Entry| is_free(entry) || (entry[0], entry[1]) == (first, second);
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

    #[test]
    fn a_full_map_takes_known_keys_only() {
        let mut map = OffsetMap::new(ENTRY_SIZE * 100, 0.9, u64::MAX).unwrap();
        let mut taken = 0;
        for number in 0..100i64 {
            taken += i64::from(map.put(&number.to_be_bytes(), Offset(number)));
        }
        assert!((85..=90).contains(&taken), "{taken}");
        assert!(map.put(&0i64.to_be_bytes(), Offset(500)));
        assert_eq!(map.get(&0i64.to_be_bytes()), Some(Offset(500)));
        assert_eq!(map.get(&99i64.to_be_bytes()), None);
        assert!((85..=90).contains(&map.percent()));
    }

    #[test]
    fn the_smallest_map_and_odd_load_factors_still_hold_a_key() {
        for load_factor in [0.0, 1.0, 7.5, -1.0, f64::NAN] {
            let mut map = OffsetMap::new(0, load_factor, 1).unwrap();
            assert!(map.put(b"", Offset(0)));
            assert_eq!((map.get(b""), map.get(b"x")), (Some(Offset(0)), None));
        }
    }

    #[test]
    fn a_map_is_no_larger_than_its_keys() {
        let map = OffsetMap::new(1 << 40, 0.9, 1000).unwrap();
        assert!(map.entries.len() < 1200);
        assert!(map.count_max >= 1000);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_plain_map(keys in proptest::collection::vec(0u8..60, 0..300)) {
            let mut map = OffsetMap::new(ENTRY_SIZE * 80, 0.9, u64::MAX).unwrap();
            let mut model = HashMap::new();
            for (offset, key) in (0..).zip(keys) {
                assert!(map.put(&[key], Offset(offset)));
                model.insert(key, Offset(offset));
            }
            for key in 0..60 {
                prop_assert_eq!(map.get(&[key]), model.get(&key).copied());
            }
        }
    }
}
