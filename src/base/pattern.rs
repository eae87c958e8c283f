//! Regular expressions that come from outside, in bounded memory.
//!
//! Where Kafka takes patterns it uses RE2J or those of Java; the `regex` crate takes time linear in the text, as RE2J does.

use regex::Regex;
use regex::RegexBuilder;

/// The memory that one compiled pattern may take.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// How many classes such as `\w` and `\pL` a pattern may have: each takes several KiB before the limit of the compiled
/// form counts, which so many reach in any case but for the smallest of them.
const CLASSES_MAX: usize = 512;

/// A pattern that must match a text as a whole.
///
/// # Errors
/// What is wrong with it, or that it is too large.
pub fn whole(pattern: &str) -> Result<Regex, regex::Error> {
    if classes(pattern) > CLASSES_MAX {
        return Err(regex::Error::CompiledTooBig(COMPILED_BYTES_MAX));
    }
    // Alone first: what is put around it must not make a pattern of what is none.
    RegexBuilder::new(pattern).size_limit(COMPILED_BYTES_MAX).build()?;
    RegexBuilder::new(&format!(r"\A(?:{pattern})\z")).size_limit(COMPILED_BYTES_MAX).build()
}

/// The classes with a letter for a name.
fn classes(pattern: &str) -> usize {
    let mut letters = pattern.chars();
    let mut count = 0;
    while letters.by_ref().any(|letter| letter == '\\') {
        count += usize::from(letters.next().is_some_and(|letter| "dDwWsSpP".contains(letter)));
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_text_matches_or_none_of_it() {
        let pattern = whole("a|ab").unwrap();
        assert!(pattern.is_match("a") && pattern.is_match("ab"));
        assert!(!pattern.is_match("abc") && !pattern.is_match("b\na"));
    }

    #[test]
    fn what_is_no_pattern_alone_is_none() {
        for pattern in ["(", "a)|(b", "[a", "*", r"\"] {
            assert!(whole(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_would_take_much_memory_is_refused() {
        let too_large = |pattern: &str| matches!(whole(pattern), Err(regex::Error::CompiledTooBig(_)));
        assert!(too_large("(a{500}){500}"));
        assert!(too_large(&r"[.\WL2]".repeat(CLASSES_MAX + 1)));
        assert!(!too_large(&r"\d".repeat(100)));
        assert!(!too_large(&r"\\w".repeat(CLASSES_MAX + 1)), "no class, but its name");
    }
}
