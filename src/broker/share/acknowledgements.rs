//! What ShareFetch and ShareAcknowledge have in common: the acknowledgements (`KafkaApis.handleAcknowledgements`).

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::cluster::Image;
use crate::protocol::share_fetch::AcknowledgementBatch;
use crate::protocol::share_fetch::RENEW_FROM;
use crate::protocol::share_fetch::Topic;
use crate::share::Acknowledgement;
use crate::share::Failure;
use crate::share::Kind;
use crate::share::sessions::Member;
use crate::share::sessions::Place;

/// What becomes of the acknowledgements of each partition.
pub(super) type Results = Vec<(Place, Result<(), Failure>)>;

/// How acknowledgements may look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// The version of the request.
    pub(super) version: i16,
    /// Whether it says that it renews locks.
    pub(super) is_renew: bool,
}

/// Takes the acknowledgements of all partitions of a request. Where there are none of a partition there is a word of it
/// only when there are some of another.
pub(super) async fn take(broker: &Broker, member: &Member, topics: &[Topic], form: Form) -> Results {
    let image = broker.publisher.current();
    let mut results = Vec::new();
    let (mut waiting, mut empty) = (Vec::new(), Vec::new());
    for topic in topics {
        for partition in &topic.partitions {
            let place = (topic.id, PartitionIndex(partition.index));
            match checked(&image, place, &partition.acknowledgements, form) {
                Ok(said) if said.is_empty() => empty.push((place, Ok(()))),
                Ok(said) => waiting.push((place, said)),
                Err(code) => results.push((place, Err(code.into()))),
            }
        }
    }
    if !waiting.is_empty() {
        results.append(&mut empty);
    }
    for (place, said) in waiting {
        results.push((place, broker.share.acknowledge(member, place, &said).await));
    }
    results
}

fn checked(
    image: &Image,
    place: Place,
    batches: &[AcknowledgementBatch],
    form: Form,
) -> Result<Vec<Acknowledgement>, ErrorCode> {
    let topic = image.topic_by_id(place.0).ok_or(ErrorCode::UnknownTopicId)?;
    let said = form.read(batches).ok_or(ErrorCode::InvalidRequest)?;
    topic.partition(place.1).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    Ok(said)
}

impl Form {
    /// The acknowledgements; `None` when they are not in order, or of kinds that do not belong here.
    fn read(self, batches: &[AcknowledgementBatch]) -> Option<Vec<Acknowledgement>> {
        let mut before: i64 = -1;
        let mut said = Vec::with_capacity(batches.len());
        for batch in batches {
            let length = batch.last_offset.checked_sub(batch.first_offset)?.checked_add(1)?;
            let types = i64::try_from(batch.types.len()).ok()?;
            if length < 1 || batch.first_offset < before || (types != 1 && types != length) {
                return None;
            }
            let kinds: Option<Vec<Kind>> = batch.types.iter().map(|number| self.kind(*number)).collect();
            let end = batch.last_offset.checked_add(1)?;
            said.push(Acknowledgement { first: batch.first_offset, end, kinds: kinds? });
            before = batch.last_offset;
        }
        Some(said)
    }

    fn kind(self, number: i8) -> Option<Kind> {
        let renews = self.version >= RENEW_FROM && self.is_renew;
        Kind::from_number(number).filter(|kind| *kind != Kind::Renew || renews)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(first_offset: i64, last_offset: i64, types: &[i8]) -> AcknowledgementBatch {
        AcknowledgementBatch { first_offset, last_offset, types: types.to_vec() }
    }

    #[test]
    fn acknowledgements_are_in_order_and_of_known_kinds() {
        let first = Form { version: 1, is_renew: false };
        let check = |form: Form, batches: &[AcknowledgementBatch]| form.read(batches).is_some();
        assert!(check(first, &[batch(0, 2, &[1]), batch(3, 4, &[0, 3])]));
        assert!(!check(first, &[batch(3, 2, &[1])]));
        assert!(!check(first, &[batch(3, 4, &[1]), batch(2, 2, &[1])]));
        assert!(!check(first, &[batch(0, 2, &[])]));
        assert!(!check(first, &[batch(0, 2, &[1, 1])]));
        assert!(!check(first, &[batch(0, 0, &[4])]));
        assert!(!check(first, &[batch(0, 0, &[5])]));
        assert!(!check(first, &[batch(0, 0, &[-1])]));
        assert!(!check(first, &[batch(0, i64::MAX, &[1])]));
        assert!(!check(first, &[batch(i64::MIN, i64::MAX, &[1])]));
        assert!(!check(Form { version: 2, is_renew: false }, &[batch(0, 0, &[4])]));
        assert!(check(Form { version: 2, is_renew: true }, &[batch(0, 0, &[4])]));
    }
}
