//! The topics in a consumer's subscription blob (`ConsumerProtocolSubscription`): all that the coordinator
//! needs of it.

use crate::coordinator::Malformed;
use crate::coordinator::Reader;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a topic takes in a set, beside its name: the entry, and its share of the set's nodes.
const TOPIC_SIZE: usize = 2 * size_of::<Arc<str>>();

/// Reads version and topic names; later fields are the clients' business.
pub(crate) fn topics(metadata: &Bytes) -> Result<BTreeSet<Arc<str>>, Malformed> {
    let mut blob = Reader::new(metadata);
    let version = blob.i16()?;
    if version < 0 {
        return Err(Malformed::Version(version));
    }
    let mut topics = BTreeSet::new();
    for _ in 0..blob.count_of::<()>(2)? {
        blob.charge(TOPIC_SIZE)?;
        topics.insert(blob.string()?);
    }
    Ok(topics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_every_version_and_damage_is_noticed() {
        let blob =
            |version: u8| Bytes::from(vec![0, version, 0, 0, 0, 2, 0, 1, b'a', 0, 2, b'b', b'c', 9, 9]);
        for version in 0..4 {
            assert_eq!(topics(&blob(version)), Ok(BTreeSet::from([Arc::from("a"), Arc::from("bc")])));
        }
        assert_eq!(topics(&Bytes::from_static(&[255, 255, 0, 0, 0, 0])), Err(Malformed::Version(-1)));
        assert_eq!(topics(&Bytes::new()), Err(Malformed::Short));
        assert_eq!(
            topics(&Bytes::from_static(&[0, 0, 127, 255, 255, 255])),
            Err(Malformed::Length(0x7fff_ffff))
        );
    }

    #[test]
    fn many_names_of_nothing_are_refused_before_they_fill_the_memory() {
        let blob = |count: i32, length: usize| {
            let name = [&u16::try_from(length).unwrap().to_be_bytes()[..], &vec![b'x'; length]].concat();
            let names = name.repeat(usize::try_from(count).unwrap());
            Bytes::from([&[0, 0][..], &count.to_be_bytes(), &names].concat())
        };
        assert_eq!(topics(&blob(1_000_000, 0)), Err(Malformed::TooLarge(2_000_006)));
        assert_eq!(topics(&blob(1_000_000, 20)).map(|topics| topics.len()), Ok(1));
    }
}
