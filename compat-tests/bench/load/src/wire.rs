//! The few requests that load needs, at versions that Apache Kafka since 2.7 and Dohle both serve.

use crate::args::Result;
use crate::bytes::{In, Out};

pub mod floor;
pub mod groups;
pub mod transactions;

const PRODUCE: (i16, i16) = (0, 9);
const FETCH: (i16, i16) = (1, 12);
const LIST_OFFSETS: (i16, i16) = (2, 6);
const METADATA: (i16, i16) = (3, 4);
const API_VERSIONS: (i16, i16) = (18, 0);
const CREATE_TOPICS: (i16, i16) = (19, 5);
const INCREMENTAL_ALTER_CONFIGS: (i16, i16) = (44, 1);

fn start((key, version): (i16, i16), flexible: bool) -> Out {
    let mut out = Out::default();
    out.i32(0);
    out.i16(key);
    out.i16(version);
    out.i32(7);
    out.i16(4);
    out.0.extend_from_slice(b"load");
    if flexible {
        out.no_tags();
    }
    out
}

fn finish(mut out: Out) -> Vec<u8> {
    let size = out.0.len() as i32 - 4;
    out.0[..4].copy_from_slice(&size.to_be_bytes());
    out.0
}

/// The body of an answer behind a header with tagged fields.
fn flexible_body(answer: &[u8]) -> Result<In<'_>> {
    let mut body = In(answer);
    body.i32()?;
    body.tags()?;
    Ok(body)
}

/// A Produce request with one batch for each (partition, batch) of one topic.
pub fn produce(acks: i16, topic: &str, batches: &[(i32, &[u8])]) -> Vec<u8> {
    let mut out = start(PRODUCE, true);
    out.uvarint(0);
    produce_body(&mut out, acks, topic, batches);
    finish(out)
}

/// All of it behind the transactional id.
fn produce_body(out: &mut Out, acks: i16, topic: &str, batches: &[(i32, &[u8])]) {
    out.i16(acks);
    out.i32(60_000);
    out.count(1);
    out.text(topic);
    out.count(batches.len());
    for (partition, batch) in batches {
        out.i32(*partition);
        out.count(batch.len());
        out.0.extend_from_slice(batch);
        out.no_tags();
    }
    out.no_tags();
    out.no_tags();
}

/// Fails unless every partition of a Produce answer has error code 0.
pub fn check_produced(answer: &[u8]) -> Result<()> {
    each_produced(answer, |partition, error| match error {
        0 => Ok(()),
        error => Err(format!("produce to partition {partition}: error code {error}").into()),
    })
}

/// Calls `each` with the error code of every partition of a Produce answer.
fn each_produced(answer: &[u8], mut each: impl FnMut(i32, i16) -> Result<()>) -> Result<()> {
    let mut body = flexible_body(answer)?;
    for _ in 0..body.count()? {
        body.text()?;
        for _ in 0..body.count()? {
            let partition = body.i32()?;
            let error = body.i16()?;
            each(partition, error)?;
            body.take(24)?;
            for _ in 0..body.count()? {
                body.i32()?;
                body.text()?;
                body.tags()?;
            }
            body.text()?;
            body.tags()?;
        }
        body.tags()?;
    }
    Ok(())
}

/// What one Fetch request asks for.
pub struct Fetch<'a> {
    pub wait_ms: i32,
    pub min_bytes: i32,
    /// For the answer and for each partition.
    pub max_bytes: i32,
    /// Only what is committed.
    pub committed: bool,
    /// Session id and epoch; (0, -1) for a request without a session.
    pub session: (i32, i32),
    pub topic: &'a str,
    /// Partition and first offset.
    pub places: &'a [(i32, i64)],
}

pub fn fetch(request: &Fetch<'_>) -> Vec<u8> {
    let mut out = start(FETCH, true);
    out.i32(-1);
    out.i32(request.wait_ms);
    out.i32(request.min_bytes);
    out.i32(request.max_bytes);
    out.i8(i8::from(request.committed));
    out.i32(request.session.0);
    out.i32(request.session.1);
    if request.places.is_empty() {
        out.count(0);
    } else {
        out.count(1);
        out.text(request.topic);
        out.count(request.places.len());
        for (partition, offset) in request.places {
            out.i32(*partition);
            out.i32(-1);
            out.i64(*offset);
            out.i32(-1);
            out.i64(-1);
            out.i32(request.max_bytes);
            out.no_tags();
        }
        out.no_tags();
    }
    out.count(0);
    out.text("");
    out.no_tags();
    finish(out)
}

/// One partition of a Fetch answer.
pub struct Fetched<'a> {
    pub partition: i32,
    pub error: i16,
    pub records: &'a [u8],
}

/// Calls `each` for every partition of a Fetch answer and returns the session id.
pub fn fetched<'a>(answer: &'a [u8], mut each: impl FnMut(Fetched<'a>) -> Result<()>) -> Result<i32> {
    let mut body = flexible_body(answer)?;
    body.i32()?;
    let error = body.i16()?;
    if error != 0 {
        return Err(format!("fetch: error code {error}").into());
    }
    let session = body.i32()?;
    for _ in 0..body.count()? {
        body.text()?;
        for _ in 0..body.count()? {
            let partition = body.i32()?;
            let error = body.i16()?;
            body.take(24)?;
            for _ in 0..body.count()? {
                body.take(16)?;
                body.tags()?;
            }
            body.i32()?;
            let records = body.text()?;
            body.tags()?;
            each(Fetched { partition, error, records })?;
        }
        body.tags()?;
    }
    Ok(session)
}

/// Asks for the first (`-2`) or the next (`-1`) offset of each partition.
pub fn list_offsets(topic: &str, partitions: &[i32], at: i64) -> Vec<u8> {
    let mut out = start(LIST_OFFSETS, true);
    out.i32(-1);
    out.i8(0);
    out.count(1);
    out.text(topic);
    out.count(partitions.len());
    for partition in partitions {
        out.i32(*partition);
        out.i32(-1);
        out.i64(at);
        out.no_tags();
    }
    out.no_tags();
    out.no_tags();
    finish(out)
}

/// Partition and offset of a ListOffsets answer.
pub fn listed_offsets(answer: &[u8]) -> Result<Vec<(i32, i64)>> {
    let mut body = flexible_body(answer)?;
    body.i32()?;
    let mut offsets = Vec::new();
    for _ in 0..body.count()? {
        body.text()?;
        for _ in 0..body.count()? {
            let partition = body.i32()?;
            let error = body.i16()?;
            if error != 0 {
                return Err(format!("offset of partition {partition}: error code {error}").into());
            }
            body.i64()?;
            offsets.push((partition, body.i64()?));
            body.i32()?;
            body.tags()?;
        }
        body.tags()?;
    }
    Ok(offsets)
}

pub fn create_topic(topic: &str, partitions: usize, configs: &[(&str, &str)]) -> Vec<u8> {
    let mut out = start(CREATE_TOPICS, true);
    out.count(1);
    out.text(topic);
    out.i32(partitions as i32);
    out.i16(1);
    out.count(0);
    out.count(configs.len());
    for (name, value) in configs {
        out.text(name);
        out.text(value);
        out.no_tags();
    }
    out.no_tags();
    out.i32(110_000);
    out.i8(0);
    out.no_tags();
    finish(out)
}

/// An IncrementalAlterConfigs request that sets values of a topic.
pub fn alter_topic(topic: &str, configs: &[(&str, &str)]) -> Vec<u8> {
    let mut out = start(INCREMENTAL_ALTER_CONFIGS, true);
    out.count(1);
    out.i8(2);
    out.text(topic);
    out.count(configs.len());
    for (name, value) in configs {
        out.text(name);
        out.i8(0);
        out.text(value);
        out.no_tags();
    }
    out.no_tags();
    out.i8(0);
    out.no_tags();
    finish(out)
}

/// The error code of an answer to `alter_topic`.
pub fn altered_topic(answer: &[u8]) -> Result<i16> {
    let mut body = flexible_body(answer)?;
    body.i32()?;
    body.count()?;
    body.i16()
}

/// The error code of the only topic of a CreateTopics answer.
pub fn created_topic(answer: &[u8]) -> Result<i16> {
    let mut body = flexible_body(answer)?;
    body.i32()?;
    body.count()?;
    body.text()?;
    body.i16()
}

pub fn metadata(topic: &str) -> Vec<u8> {
    let mut out = start(METADATA, false);
    out.i32(1);
    out.i16(topic.len() as i16);
    out.0.extend_from_slice(topic.as_bytes());
    out.i8(0);
    finish(out)
}

/// How many partitions of the only topic of a Metadata answer have a leader.
pub fn led_partitions(answer: &[u8]) -> Result<usize> {
    let mut body = In(answer);
    body.i32()?;
    body.i32()?;
    for _ in 0..body.i32()? {
        body.i32()?;
        body.old_text()?;
        body.i32()?;
        body.old_text()?;
    }
    body.old_text()?;
    body.i32()?;
    body.i32()?;
    body.i16()?;
    body.old_text()?;
    body.i8()?;
    let mut led = 0;
    for _ in 0..body.i32()? {
        let error = body.i16()?;
        body.i32()?;
        led += usize::from(body.i32()? >= 0 && error == 0);
        for _ in 0..2 {
            for _ in 0..body.i32()? {
                body.i32()?;
            }
        }
    }
    Ok(led)
}

pub fn api_versions() -> Vec<u8> {
    finish(start(API_VERSIONS, false))
}
