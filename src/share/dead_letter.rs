//! Records that a group has given up, written to its dead-letter topic (KIP-1191, `ShareGroupDLQStateManager`).

use crate::base::ErrorCode;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::cluster::command::CreateTopics;
use crate::cluster::command::NewTopic;
use crate::cluster::effective;
use crate::record::BatchBuilder;
use crate::record::CheckedBatch;
use crate::record::Codec;
use crate::record::HEADER_SIZE;
use crate::record::Header;
use crate::record::Record;
use crate::record::records_of;
use crate::record::walk;
use crate::replica;
use crate::replica::Acks;
use crate::replica::Origin;
use crate::replica::Proof;
use crate::share::GroupRules;
use crate::share::Service;
use crate::share::live::Live;
use crate::share::partition::Cause;
use crate::share::partition::Dead;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::time::Duration;
use thiserror::Error;

/// How often an append is tried while the partition has no leader here, and the pause between, which doubles.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);
/// How long an append may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How much of the log is read at once for copies.
const READ_BYTES: usize = 1 << 20;
/// More than the fixed fields of a record take.
const RECORD_OVERHEAD: usize = 64;

/// Why there is no dead letter.
#[derive(Debug, Error)]
pub(super) enum Error {
    /// The group has none, or has none any more.
    #[error("the group has no dead-letter topic")]
    NoTopic,
    /// The name is not one for a dead-letter topic.
    #[error("{0:?} cannot be a dead-letter topic: {1}")]
    Name(String, &'static str),
    /// The topic does not want dead letters, or is not there.
    #[error("{0:?} is not a dead-letter topic: {1}")]
    Topic(String, &'static str),
    /// The topic cannot be made.
    #[error("{0:?} cannot be made: {1}")]
    Creation(String, String),
    /// The records cannot be written.
    #[error("cannot be written: {0}")]
    Append(#[from] replica::Error),
}

impl Service {
    /// Writes dead letters of these records, in order.
    pub(super) async fn write_dead_letters(&self, live: &Live, dead: Dead) -> Result<(), Error> {
        let rules = self.rules(&live.key.group);
        let topic = self.dead_letter_topic(&rules).await?;
        let image = self.shared.publisher.current();
        // Its partitions are to be opened here first, also where another one made it a moment ago.
        let opened = self.shared.replicas.applied(image.offset);
        let _in_time = self.shared.clock.timeout(TIMEOUT, opened).await;
        let partitions = image.topic(&topic).map_or(1, |topic| topic.partitions.len());
        let count = i32::try_from(partitions).unwrap_or(i32::MAX).max(1);
        let index = PartitionIndex(live.key.partition.0.rem_euclid(count));
        let letter = Letter {
            topic: live.log.name().topic.to_string(),
            partition: live.key.partition.to_string(),
            group: live.key.group.to_string(),
            count: dead.count.to_string(),
            message: message(&rules, dead),
        };
        let mut next = dead.first;
        while next < dead.end {
            let bytes_max = self.shared.replicas.by_name(&topic, index)?.log().config().max_message_bytes;
            let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
            let (copies, known_to) = if rules.copies_dead_letters {
                copies(live, next..dead.end, bytes_max)
            } else {
                (BTreeMap::new(), dead.end)
            };
            let end = known_to.clamp(next.saturating_add(1), dead.end);
            let (batch, written) = letter.batch(next..end, &copies, (bytes_max, self.shared.clock.wall()));
            self.append(&topic, index, batch).await?;
            next = written;
        }
        tracing::debug!(key = %live.key, first = dead.first, end = dead.end, topic, "dead letters are written");
        Ok(())
    }

    async fn append(&self, topic: &str, index: PartitionIndex, batch: CheckedBatch) -> Result<(), Error> {
        let clock = &self.shared.clock;
        let mut pause = PAUSE;
        for attempt in 1..=ATTEMPTS {
            // As a client's batch: the topic's rules hold, and what they refuse is not written (`ShareGroupDLQStateManager`
            // sends Produce requests).
            let records = batch.bytes().clone();
            let appended = self
                .shared
                .replicas
                .by_name(topic, index)
                .and_then(|partition| partition.append(records, Acks::All, Origin::Client, Proof::None));
            let outcome = match appended {
                Ok(pending) => pending.done(clock.now().plus(TIMEOUT)).await.map(drop),
                Err(error) => Err(error),
            };
            match outcome {
                Err(replica::Error::NotLeaderOrFollower) if attempt < ATTEMPTS => {
                    clock.sleep(pause).await;
                    pause = pause.saturating_mul(2);
                }
                outcome => return Ok(outcome?),
            }
        }
        Err(replica::Error::NotLeaderOrFollower.into())
    }

    /// The group's dead-letter topic; made when that is allowed.
    async fn dead_letter_topic(&self, rules: &GroupRules) -> Result<String, Error> {
        let name = rules.dead_letter_topic.clone().ok_or(Error::NoTopic)?;
        let image = self.shared.publisher.current();
        let broker = effective::server_config(&self.shared.config, &image);
        if name.starts_with("__") {
            return Err(Error::Name(name, "it begins with __"));
        }
        let prefix = broker.get("errors.deadletterqueue.topic.name.prefix").unwrap_or_default();
        if !name.starts_with(&prefix) {
            return Err(Error::Name(
                name,
                "it does not begin as errors.deadletterqueue.topic.name.prefix says",
            ));
        }
        let is_true = |text: Option<&str>| text.is_some_and(|text| text.eq_ignore_ascii_case("true"));
        if image.topic(&name).is_some() {
            let enabled = image.topic_configs(&name).get("errors.deadletterqueue.group.enable");
            if !is_true(enabled.map(String::as_str)) {
                return Err(Error::Topic(name, "errors.deadletterqueue.group.enable is not true"));
            }
            return Ok(name);
        }
        if !is_true(broker.get("errors.deadletterqueue.auto.create.topics.enable").as_deref()) {
            return Err(Error::Topic(name, "there is no such topic, and none is to be made"));
        }
        drop(broker);
        self.make_topic(name).await
    }

    async fn make_topic(&self, name: String) -> Result<String, Error> {
        let setting = |key: &str, value: &str| (key.to_owned(), Some(value.to_owned()));
        let topic = NewTopic {
            name: name.clone(),
            num_partitions: -1,
            replication_factor: -1,
            assignments: Vec::new(),
            configs: vec![
                setting("errors.deadletterqueue.group.enable", "true"),
                setting("message.timestamp.type", "CreateTime"),
            ],
        };
        let command = CreateTopics { topics: vec![topic], validate_only: false };
        let created = self.shared.controller.create_topics(command).await;
        let created = created.map_err(|error| Error::Creation(name.clone(), error.to_string()))?;
        for creation in created.value {
            match creation.result {
                Err(refusal) if refusal.code != ErrorCode::TopicAlreadyExists => {
                    return Err(Error::Creation(name, refusal.to_string()));
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(name)
    }
}

/// Why the records are given up, in Kafka's words. After a restart only their count tells.
fn message(rules: &GroupRules, dead: Dead) -> &'static str {
    let exhausted = dead.count >= rules.rules.delivery_limit;
    match dead.cause {
        Some(Cause::Rejected) => "Offset rejected by client.",
        None if !exhausted => "Offset rejected by client.",
        Some(Cause::Exhausted) | None => "Offset delivery count exceeded the threshold.",
    }
}

/// What all dead letters of a range have in common.
struct Letter {
    topic: String,
    partition: String,
    group: String,
    count: String,
    message: &'static str,
}

impl Letter {
    /// A batch of dead letters, as many as fit but at least one; and where they end.
    fn batch(
        &self,
        range: std::ops::Range<i64>,
        copies: &BTreeMap<i64, Record>,
        (bytes_max, now): (usize, crate::base::Timestamp),
    ) -> (CheckedBatch, i64) {
        let mut builder = BatchBuilder::new(Codec::None, now);
        let mut end = range.start;
        for offset in range {
            let text = offset.to_string();
            let headers: [(&[u8], Option<&[u8]>); 6] = [
                (b"__dlq.errors.topic", Some(self.topic.as_bytes())),
                (b"__dlq.errors.partition", Some(self.partition.as_bytes())),
                (b"__dlq.errors.offset", Some(text.as_bytes())),
                (b"__dlq.errors.group", Some(self.group.as_bytes())),
                (b"__dlq.errors.delivery.count", Some(self.count.as_bytes())),
                (b"__dlq.errors.message", Some(self.message.as_bytes())),
            ];
            let copy = copies.get(&offset);
            let key = copy.and_then(|record| record.key.as_deref());
            let value = copy.and_then(|record| record.value.as_deref());
            let mut size = RECORD_OVERHEAD + key.map_or(0, <[u8]>::len) + value.map_or(0, <[u8]>::len);
            size +=
                headers.iter().map(|(key, value)| key.len() + value.map_or(0, <[u8]>::len)).sum::<usize>();
            if !builder.is_empty() && builder.size().saturating_add(size) > bytes_max {
                break;
            }
            // A record that does not fit with its letter around it goes without its content.
            let fits = size.saturating_add(HEADER_SIZE) <= bytes_max;
            builder.push(key.filter(|_| fits), value.filter(|_| fits), &headers, now);
            end = offset.saturating_add(1);
        }
        (builder.build(), end)
    }
}

/// The records of a range as far as they can be had, and up to where was looked. What is larger than `bytes_max` is left
/// out.
fn copies(live: &Live, range: std::ops::Range<i64>, bytes_max: usize) -> (BTreeMap<i64, Record>, i64) {
    let mut found = BTreeMap::new();
    let log = live.log.log();
    // Whole batches come, and the range may end within one. Of one record only its batch is read.
    let is_one = range.end.saturating_sub(range.start) == 1;
    let bytes_wanted = if is_one { 1 } else { READ_BYTES };
    let bytes = match log.read_bytes(Offset(range.start), live.log.high_watermark(), bytes_wanted) {
        Ok(bytes) => bytes,
        Err(error) => {
            tracing::warn!(key = %live.key, first = range.start, %error, "records cannot be copied");
            return (found, range.end);
        }
    };
    let mut known_to = range.start;
    let mut collected = 0usize;
    for (at, header) in walk(&bytes).map_while(Result::ok) {
        let batch = bytes.get(at..at.saturating_add(header.total_size())).map(|batch| bytes.slice_ref(batch));
        let Some(batch) = batch else { break };
        let records = if header.is_control() { Vec::new() } else { opened(live, &header, &batch, bytes_max) };
        for record in records {
            let offset = record.offset.0;
            if !range.contains(&offset) {
                continue;
            }
            let size =
                record.key.as_ref().map_or(0, Bytes::len) + record.value.as_ref().map_or(0, Bytes::len);
            if collected > 0 && collected.saturating_add(size) > bytes_max {
                return (found, known_to.max(range.start.saturating_add(1)));
            }
            collected = collected.saturating_add(size);
            known_to = offset.saturating_add(1);
            found.insert(offset, record);
        }
        known_to = known_to.max(header.last_offset().saturating_add(1));
    }
    // Where nothing was found there is nothing.
    if known_to <= range.start { (found, range.end) } else { (found, known_to.min(range.end)) }
}

/// The records of a batch; none when it cannot be opened, or is too large when it is.
fn opened(live: &Live, header: &Header, batch: &Bytes, bytes_max: usize) -> Vec<Record> {
    let records = records_of(batch, bytes_max.max(batch.len()))
        .and_then(|records| records.collect::<Result<Vec<Record>, _>>());
    records.unwrap_or_else(|error| {
        tracing::warn!(key = %live.key, offset = header.base_offset, %error, "records are not copied");
        Vec::new()
    })
}
