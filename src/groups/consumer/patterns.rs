//! Patterns of topic names (KIP-848: `SubscribedTopicRegex`).
//!
//! Kafka evaluates them with RE2J, we with the `regex` crate; both take time linear in the text, and most patterns mean
//! the same to both. `docs/operations/groups.md` names the differences.

use crate::base::ErrorCode;
use crate::base::pattern;
use crate::cluster::Image;
use crate::groups::consumer::command::Fault;
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A pattern that must match whole names.
fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    pattern::whole(&without_quotes(pattern))
}

/// Texts between `\Q` and `\E` stand for themselves in RE2J; here they are escaped.
fn without_quotes(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        if let Some(quoted) = after.strip_prefix('Q') {
            let (text, behind) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
            plain.push_str(&regex::escape(text));
            rest = behind;
        } else {
            let mut letters = after.chars();
            plain.push('\\');
            plain.extend(letters.next());
            rest = letters.as_str();
        }
    }
    plain.push_str(rest);
    plain
}

/// Whether this is a pattern.
///
/// # Errors
/// `INVALID_REGULAR_EXPRESSION` with what is wrong.
pub(crate) fn check(pattern: &str) -> Result<(), Fault> {
    compile(pattern).map(drop).map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
        let message =
            format!("SubscribedTopicRegex `{pattern}` is not a valid regular expression: {reason}.");
        Fault::new(ErrorCode::InvalidRegularExpression, message)
    })
}

/// The topics whose names match; none for what is no pattern.
pub(crate) fn matching(pattern: &str, image: &Image) -> BTreeSet<Arc<str>> {
    match compile(pattern) {
        Ok(regex) => {
            let names = image.topics().map(|topic| &topic.name);
            names.filter(|name| regex.is_match(name)).cloned().collect()
        }
        Err(error) => {
            tracing::warn!(pattern, %error, "pattern of topics cannot be read and matches nothing");
            BTreeSet::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::TopicId;
    use crate::cluster::records::TopicRecord;

    fn matched(pattern: &str, names: &[&str]) -> Vec<String> {
        let mut image = Image::empty("c");
        for name in names {
            let topic_id = TopicId::random_from(crate::io::random::uuid);
            image.apply(&TopicRecord { name: (*name).to_owned(), topic_id }.into()).unwrap();
        }
        matching(pattern, &image).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn whole_names_match() {
        let names = ["foo", "foobar", "bar", "barfoo", "__consumer_offsets"];
        assert_eq!(matched("foo", &names), ["foo"]);
        assert_eq!(matched("foo.*", &names), ["foo", "foobar"]);
        assert_eq!(matched("foo|bar", &names), ["bar", "foo"]);
        assert_eq!(matched("^foo$", &names), ["foo"]);
        assert_eq!(matched(".*", &names).len(), 5);
        assert_eq!(matched("(?i)FOO", &names), ["foo"]);
        assert_eq!(matched("(", &names), [""; 0]);
        assert_eq!(matched(r"\Qa.b\E|\Qa+\Eb?", &["a.b", "axb", "a_b", "ab"]), ["a.b"]);
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_a_reason() {
        for pattern in ["(", "[a", "a{2,1}", "*", r"(?=a)b", r"(a)\1", "a)(b", &"(a{500}){500}".repeat(3)] {
            let fault = check(pattern).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidRegularExpression, "{pattern}");
            assert!(fault.message.starts_with("SubscribedTopicRegex `"), "{}", fault.message);
        }
        for pattern in ["", "foo.*", r"\Qa.b\E|c", r"\Qa(", r"\pL+", r"\\Q"] {
            assert!(check(pattern).is_ok(), "{pattern}");
        }
    }
}
