//! The requests of a transactional producer of Kafka 4: partitions join by the first write, an end gives a new epoch.

use super::{finish, flexible_body, start};
use crate::args::Result;
use crate::batch::Producer;

const PRODUCE: (i16, i16) = (0, 12);
const FIND_COORDINATOR: (i16, i16) = (10, 4);
const INIT_PRODUCER_ID: (i16, i16) = (22, 4);
const END_TXN: (i16, i16) = (26, 5);
const TRANSACTION: i8 = 1;
const TIMEOUT_MS: i32 = 60_000;

pub fn find_coordinator(id: &str) -> Vec<u8> {
    let mut out = start(FIND_COORDINATOR, true);
    out.i8(TRANSACTION);
    out.count(1);
    out.text(id);
    out.no_tags();
    finish(out)
}

/// The error code for the only id asked for.
pub fn found_coordinator(answer: &[u8]) -> Result<i16> {
    let mut body = flexible_body(answer)?;
    body.i32()?;
    body.count()?;
    body.text()?;
    body.i32()?;
    body.text()?;
    body.i32()?;
    body.i16()
}

pub fn init_producer_id(id: &str) -> Vec<u8> {
    let mut out = start(INIT_PRODUCER_ID, true);
    out.text(id);
    out.i32(TIMEOUT_MS);
    out.i64(-1);
    out.i16(-1);
    out.no_tags();
    finish(out)
}

pub fn end_txn(id: &str, producer: &Producer, commit: bool) -> Vec<u8> {
    let mut out = start(END_TXN, true);
    out.text(id);
    out.i64(producer.id);
    out.i16(producer.epoch);
    out.i8(i8::from(commit));
    out.no_tags();
    finish(out)
}

/// Error code, producer id and epoch of an InitProducerId or EndTxn answer.
pub fn producer(answer: &[u8]) -> Result<(i16, i64, i16)> {
    let mut body = flexible_body(answer)?;
    body.i32()?;
    Ok((body.i16()?, body.i64()?, body.i16()?))
}

/// One batch for each (partition, batch) of one topic, with acks=all.
pub fn produce(id: &str, topic: &str, batches: &[(i32, &[u8])]) -> Vec<u8> {
    let mut out = start(PRODUCE, true);
    out.text(id);
    super::produce_body(&mut out, -1, topic, batches);
    finish(out)
}

/// The first error code that is not 0.
pub fn produced(answer: &[u8]) -> Result<i16> {
    let mut found = 0;
    super::each_produced(answer, |_, error| {
        if found == 0 {
            found = error;
        }
        Ok(())
    })?;
    Ok(found)
}
