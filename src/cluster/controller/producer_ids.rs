//! Gives away blocks of producer ids (`ProducerIdControlManager` of Kafka).

use super::Outcome;
use super::Refusal;
use super::brokers;
use super::command::ProducerIds;
use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::cluster::image::Image;
use crate::cluster::records::ProducerIdsRecord;

/// How many ids a block has.
pub const BLOCK_SIZE: i32 = 1000;

/// Gives the next block to a broker.
///
/// # Errors
/// `STALE_BROKER_EPOCH` or `BROKER_ID_NOT_REGISTERED` for a broker that is not the registered one,
/// `UNKNOWN_SERVER_ERROR` when all ids are used up.
pub fn allocate(image: &Image, broker: BrokerId, broker_epoch: i64) -> Result<Outcome<ProducerIds>, Refusal> {
    brokers::check_epoch(image, broker, broker_epoch)?;
    let first = image.next_producer_id();
    let Some(next_producer_id) = first.0.checked_add(i64::from(BLOCK_SIZE)) else {
        return Err(Refusal::new(
            ErrorCode::UnknownServerError,
            "Exhausted all producerIds as the next block's end producerId has exceeded the int64 type limit",
        ));
    };
    Ok(Outcome {
        records: vec![ProducerIdsRecord { broker_id: broker, broker_epoch, next_producer_id }.into()],
        response: ProducerIds { first, count: BLOCK_SIZE },
    })
}
