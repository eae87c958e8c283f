//! Regular expressions that come from outside, in bounded memory.
//!
//! Where Kafka takes patterns it uses RE2J or those of Java; the `regex` crate takes time linear in the text, as RE2J does.

use regex::Regex;
use regex::RegexBuilder;
use regex_syntax::ast;
use regex_syntax::ast::Ast;
use regex_syntax::ast::ClassSetItem;
use regex_syntax::ast::Flag;
use regex_syntax::ast::Flags;
use regex_syntax::ast::GroupKind;
use regex_syntax::ast::parse::Parser;
use std::convert::Infallible;

/// The memory that one compiled pattern may take.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// How many classes such as `\w` and `\pL` a pattern may have: each takes several KiB before the limit of the compiled
/// form counts, which so many reach in any case but for the smallest of them.
const CLASSES_MAX: usize = 512;

/// Code points in the classes of a pattern that ignores case: each is looked up for its other cases before the limit of
/// the compiled form counts, all of Unicode in five milliseconds.
const FOLDED_MAX: u64 = 8 * ALL;

/// Code points of Unicode.
const ALL: u64 = 0x11_0000;

/// A pattern that must match a text as a whole.
///
/// # Errors
/// What is wrong with it, or that it is too large.
pub fn whole(pattern: &str) -> Result<Regex, regex::Error> {
    // Alone first: what is put around it must not make a pattern of what is none.
    let parsed = Parser::new().parse(pattern).map_err(|error| regex::Error::Syntax(error.to_string()))?;
    let Ok(cost) = ast::visit(&parsed, Cost::default());
    if cost.classes > CLASSES_MAX || cost.ignores_case && cost.code_points > FOLDED_MAX {
        return Err(regex::Error::CompiledTooBig(COMPILED_BYTES_MAX));
    }
    RegexBuilder::new(&format!(r"\A(?:{pattern})\z")).size_limit(COMPILED_BYTES_MAX).build()
}

/// What a pattern takes before its compiled form is there to be limited.
#[derive(Default)]
struct Cost {
    /// Classes with a letter for a name.
    classes: usize,
    /// In ranges, and all of them for each Unicode class.
    code_points: u64,
    ignores_case: bool,
}

impl Cost {
    fn flags(&mut self, flags: &Flags) {
        self.ignores_case |= flags.flag_state(Flag::CaseInsensitive) == Some(true);
    }
}

impl ast::Visitor for Cost {
    type Output = Cost;
    type Err = Infallible;

    fn finish(self) -> Result<Cost, Infallible> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Infallible> {
        match ast {
            Ast::Flags(set) => self.flags(&set.flags),
            Ast::Group(group) => {
                if let GroupKind::NonCapturing(flags) = &group.kind {
                    self.flags(flags);
                }
            }
            Ast::ClassPerl(_) => self.classes += 1,
            Ast::ClassUnicode(_) => {
                self.classes += 1;
                self.code_points += ALL;
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        match item {
            ClassSetItem::Range(range) => {
                self.code_points += u64::from(u32::from(range.end.c) - u32::from(range.start.c));
            }
            ClassSetItem::Perl(_) => self.classes += 1,
            ClassSetItem::Unicode(_) => {
                self.classes += 1;
                self.code_points += ALL;
            }
            _ => {}
        }
        Ok(())
    }
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

    #[test]
    fn a_pattern_that_would_take_long_before_it_is_compiled_is_refused() {
        let too_large = |pattern: &str| matches!(whole(pattern), Err(regex::Error::CompiledTooBig(_)));
        for wide in ["[!-\u{10FFFF}]", r"[a\p{any}]", r"\p{any}", "[!-\u{10FFFF}&&[^a]]"] {
            let many = wide.repeat(9);
            assert!(too_large(&format!("(?i){many}")) && too_large(&format!("(?i:{many})")), "{wide}");
            assert!(!too_large(&many) && !too_large(&format!("(?i){wide}")), "{wide}");
            assert!(!too_large(&format!("(?-i){many}")), "{wide}");
        }
    }
}
