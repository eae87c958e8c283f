//! Randomness: seeded for everything that must replay, from the kernel for everything that must not be guessed.

#[cfg(feature = "sim")]
use crate::io::sim::thread;
use std::io;
use uuid::Uuid;

/// A small generator (SplitMix64). Same seed, same numbers. Not for secrets: use [`fill_from_kernel`].
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator that gives the same numbers for the same seed.
    pub fn seeded(seed: u64) -> Random {
        Random { state: seed }
    }

    /// A generator seeded by the kernel.
    pub fn from_kernel() -> io::Result<Random> {
        let mut seed = [0; 8];
        fill_from_kernel(&mut seed)?;
        Ok(Random::seeded(u64::from_le_bytes(seed)))
    }

    /// The next number, each as likely as any other.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to but not including `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(end);
        u64::try_from(wide >> 64).expect("the upper half of a product of two u64 fits u64")
    }

    /// True once in `rarity` calls on average; never when `rarity` is 0.
    pub fn one_in(&mut self, rarity: u64) -> bool {
        rarity != 0 && self.below(rarity) == 0
    }
}

/// A fresh random UUID (version 4); in a simulation, from its seed.
pub fn uuid() -> Uuid {
    #[cfg(feature = "sim")]
    if let (Some(high), Some(low)) = (thread::next_u64(), thread::next_u64()) {
        let drawn = (u128::from(high) << 64) | u128::from(low);
        return uuid::Builder::from_random_bytes(drawn.to_be_bytes()).into_uuid();
    }
    Uuid::new_v4()
}

/// Fills the buffer with bytes nobody can guess.
pub fn fill_from_kernel(buffer: &mut [u8]) -> io::Result<()> {
    #[cfg(feature = "sim")]
    if thread::is_simulated() {
        for chunk in buffer.chunks_mut(8) {
            let drawn = thread::next_u64().unwrap_or_default().to_le_bytes();
            chunk.iter_mut().zip(drawn).for_each(|(byte, drawn)| *byte = drawn);
        }
        return Ok(());
    }
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_seed_others() {
        let numbers = |seed| {
            let mut random = Random::seeded(seed);
            (0..32).map(|_| random.next_u64()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
    }

    #[test]
    fn below_stays_below_and_reaches_every_value() {
        let mut random = Random::seeded(3);
        let mut seen = [0; 10];
        for _ in 0..1000 {
            seen[usize::try_from(random.below(10)).unwrap()] += 1;
        }
        assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }
}
