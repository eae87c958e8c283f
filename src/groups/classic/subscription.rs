//! The topics in a consumer's subscription blob (`ConsumerProtocolSubscription`): all that the coordinator
//! needs of it.

use crate::groups::wire::Malformed;
use crate::groups::wire::Reader;
use bytes::Bytes;
use std::sync::Arc;

/// Reads version and topic names; later fields are the clients' business.
pub(crate) fn topics(metadata: &Bytes) -> Result<Vec<Arc<str>>, Malformed> {
    let mut blob = Reader::new(metadata);
    let version = blob.i16()?;
    if version < 0 {
        return Err(Malformed::Version(version));
    }
    let count = blob.count(2)?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        topics.push(blob.string()?);
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
            assert_eq!(topics(&blob(version)), Ok(vec![Arc::from("a"), Arc::from("bc")]));
        }
        assert_eq!(topics(&Bytes::from_static(&[255, 255, 0, 0, 0, 0])), Err(Malformed::Version(-1)));
        assert_eq!(topics(&Bytes::new()), Err(Malformed::Short));
        assert_eq!(
            topics(&Bytes::from_static(&[0, 0, 127, 255, 255, 255])),
            Err(Malformed::Length(0x7fff_ffff))
        );
    }
}
