//! The records of `__transaction_state`, byte for byte as Kafka 4.4 writes and reads them.
//!
//! ```text
//! key    version i16 = 0, transactional id string           no value: the id is forgotten
//! value  version i16 = 0 or 1
//!        producer id i64, producer epoch i16, timeout in ms i32, state i8,
//!        partitions (nullable): topic string, partition numbers [i32]
//!        last update i64, start i64
//!        v1 (compact lengths) ends with tags: 0 = previous producer id i64, 1 = next producer id i64,
//!        2 = the client's version of transactions i16, 3 = next producer epoch i16 (KIP-939; passed over)
//! ```
//! Version 1 is written where `transaction.version` is at least 1 (`TransactionLog`, `TransactionLogValue.json`).

use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::coordinator::Malformed;
use crate::coordinator::Reader;
use crate::coordinator::Writer;
use crate::coordinator::machine::Entry;
use crate::txn::transaction::NO_EPOCH;
use crate::txn::transaction::Partitions;
use crate::txn::transaction::State;
use crate::txn::transaction::Transaction;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

const KEY_VERSION: i16 = 0;
const FLEXIBLE_VERSION: i16 = 1;

const PREVIOUS_PRODUCER: u32 = 0;
const NEXT_PRODUCER: u32 = 1;
const CLIENT_VERSION: u32 = 2;

/// A fact of `__transaction_state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The transactional id.
    pub id: Arc<str>,
    /// How it stands; `None` forgets it.
    pub value: Option<Box<Transaction>>,
    /// Whether the value is written in version 1.
    pub flexible: bool,
}

impl Record {
    /// The record's bytes.
    pub fn write(&self) -> Entry {
        let mut key = Writer::new(KEY_VERSION);
        key.string(&self.id);
        let value = self.value.as_ref().map(|value| write(value, self.flexible));
        Entry { key: key.finish(), value }
    }

    /// The record in these bytes; `None` when its key is of another kind.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn read(entry: &Entry) -> Result<Option<Record>, Malformed> {
        let mut key = Reader::new(&entry.key);
        if key.i16()? != KEY_VERSION {
            return Ok(None);
        }
        let id = key.string()?;
        let Some(bytes) = &entry.value else { return Ok(Some(Record { id, value: None, flexible: false })) };
        let (value, flexible) = read(bytes)?;
        Ok(Some(Record { id, value: Some(Box::new(value)), flexible }))
    }
}

fn write(value: &Transaction, flexible: bool) -> Bytes {
    let mut out = Writer::new(if flexible { FLEXIBLE_VERSION } else { 0 });
    out.set_flexible(flexible);
    out.i64(value.producer.0);
    out.i16(value.epoch.0);
    out.i32(value.timeout_ms);
    out.i8(value.state.number());
    if value.state == State::Empty {
        // Kafka has no partitions where there is no transaction.
        out.null_count();
    } else {
        out.count(value.partitions.len());
        for (topic, partitions) in &value.partitions {
            out.string(topic);
            out.count(partitions.len());
            partitions.iter().for_each(|partition| out.i32(*partition));
            out.no_tags();
        }
    }
    out.i64(value.updated.0);
    out.i64(value.started.0);
    if flexible {
        write_tags(&mut out, value);
    }
    out.finish()
}

fn write_tags(out: &mut Writer, value: &Transaction) {
    let producers = [(PREVIOUS_PRODUCER, value.previous_producer), (NEXT_PRODUCER, value.next_producer)];
    let producers: Vec<_> = producers.into_iter().filter(|(_, id)| *id != ProducerId::NONE).collect();
    let versions = usize::from(value.client_version != 0);
    out.unsigned_varint(u32::try_from(producers.len() + versions).unwrap_or(0));
    for (tag, id) in producers {
        out.unsigned_varint(tag);
        out.unsigned_varint(8);
        out.i64(id.0);
    }
    if value.client_version != 0 {
        out.unsigned_varint(CLIENT_VERSION);
        out.unsigned_varint(2);
        out.i16(value.client_version);
    }
}

fn read(bytes: &Bytes) -> Result<(Transaction, bool), Malformed> {
    let mut value = Reader::new(bytes);
    let version = value.i16()?;
    if !(0..=FLEXIBLE_VERSION).contains(&version) {
        return Err(Malformed::Version(version));
    }
    let flexible = version == FLEXIBLE_VERSION;
    value.set_flexible(flexible);
    let producer = ProducerId(value.i64()?);
    let epoch = ProducerEpoch(value.i16()?);
    let timeout_ms = value.i32()?;
    let state = value.i8()?;
    let known = State::ALL.into_iter().find(|known| known.number() == state);
    let state = known.ok_or_else(|| Malformed::Value(i64::from(state)))?;
    let partitions = read_partitions(&mut value)?;
    let (updated, started) = (Timestamp(value.i64()?), Timestamp(value.i64()?));
    let tags = value.all_tagged()?;
    let tag = |wanted: u32| tags.iter().find(|(tag, _)| *tag == wanted).map(|(_, field)| Reader::new(field));
    let producer_in = |wanted: u32| match tag(wanted) {
        Some(mut field) => Ok::<_, Malformed>(ProducerId(field.i64()?)),
        None => Ok(ProducerId::NONE),
    };
    let client_version = match tag(CLIENT_VERSION) {
        Some(mut field) => field.i16()?,
        None => 0,
    };
    let value = Transaction {
        producer,
        previous_producer: producer_in(PREVIOUS_PRODUCER)?,
        next_producer: producer_in(NEXT_PRODUCER)?,
        epoch,
        last_epoch: NO_EPOCH,
        timeout_ms,
        state,
        // Where there is no transaction there are no partitions, whatever the record says.
        partitions: if state == State::Empty { Partitions::new() } else { partitions },
        started,
        updated,
        client_version,
    };
    Ok((value, flexible))
}

fn read_partitions(value: &mut Reader) -> Result<Partitions, Malformed> {
    // A topic takes at least the lengths of its name and of its list: two bytes in the tightest version.
    let topics = value.nullable_count_of::<(Arc<str>, BTreeSet<i32>)>(2)?.unwrap_or(0);
    let mut partitions = Partitions::new();
    for _ in 0..topics {
        let topic = value.string()?;
        let count = value.count_of::<[i32; 3]>(4)?;
        let of_topic: &mut BTreeSet<i32> = partitions.entry(topic).or_default();
        for _ in 0..count {
            of_topic.insert(value.i32()?);
        }
        value.tagged(u32::MAX)?;
    }
    Ok(partitions)
}
