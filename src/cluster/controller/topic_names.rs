//! Which names a topic may have (Kafka's `Topic.validate`).

/// The longest name of a topic.
pub const NAME_LENGTH_MAX: usize = 249;

/// The topic that holds the metadata log; nobody may create it.
pub const CLUSTER_METADATA_TOPIC: &str = "__cluster_metadata";

/// Checks a topic's name.
///
/// # Errors
/// Kafka's sentence about what is wrong with it.
pub fn check(name: &str) -> Result<(), String> {
    match flaw(name) {
        None => Ok(()),
        Some(flaw) => Err(format!("Topic name is invalid: {flaw}")),
    }
}

fn flaw(name: &str) -> Option<String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name.is_empty() {
        Some("the empty string is not allowed".to_owned())
    } else if name == "." || name == ".." {
        Some(format!("'{name}' is not allowed"))
    } else if name.encode_utf16().count() > NAME_LENGTH_MAX {
        Some(format!("the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"))
    } else if !name.bytes().all(legal) {
        Some(format!(
            "'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_refused_with_kafkas_sentences() {
        let check = |name: &str, expect: &str| {
            assert_eq!(super::check(name), Err(format!("Topic name is invalid: {expect}")));
        };
        check("", "the empty string is not allowed");
        check(".", "'.' is not allowed");
        check("..", "'..' is not allowed");
        check(
            "a/b",
            "'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
        );
        check("é", "'é' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'");
        let long = "a".repeat(250);
        check(&long, &format!("the length of '{long}' is longer than the max allowed length 249"));
        assert_eq!(super::check(&"a".repeat(249)), Ok(()));
        assert_eq!(super::check("A.b_c-9"), Ok(()));
    }
}
