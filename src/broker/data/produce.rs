//! Produce, in two stages: the first checks and appends, in the order of requests; the second waits until the
//! promise of `acks` holds, and answers.

use crate::base::ErrorCode;
use crate::base::Instant;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::context::Answer;
use crate::broker::context::Context;
use crate::broker::context::Reply;
use crate::broker::crowd;
use crate::broker::data::leader::Leaders;
use crate::broker::data::leader::Topic;
use crate::broker::data::proofs;
use crate::broker::data::proofs::Proofs;
use crate::broker::data::refusal;
use crate::broker::data::refusal::Refusal;
use crate::broker::data::repeats;
use crate::broker::errors::Refused;
use crate::broker::throttling;
use crate::cluster::image::is_internal;
use crate::io::Clock;
use crate::protocol::produce;
use crate::protocol::produce::PartitionAnswer;
use crate::protocol::produce::Request;
use crate::protocol::produce::TOPIC_IDS_FROM;
use crate::protocol::produce::TopicAnswer;
use crate::protocol::versions;
use crate::quota::Kind;
use crate::record::Header;
use crate::record::check;
use crate::replica;
use crate::replica::Acks;
use crate::replica::AppendInfo;
use crate::replica::Entry;
use crate::replica::Origin;
use crate::replica::Partition;
use crate::replica::PendingAppend;
use crate::replica::Proof;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;
use std::sync::Arc;
use std::time::Duration;
use tracing::debug;

/// The client id of Kafka's admin tools, which may write to internal topics (`AdminUtils.ADMIN_CLIENT_ID`).
const ADMIN_CLIENT_ID: &str = "__admin_client";
/// The first version that names leaders in the answer (KIP-951).
const LEADERS_FROM: i16 = 10;

/// Records up to this many bytes wait for those of the next request, where that is here already: a write has a price
/// of its own, which for larger ones no longer counts.
const HELD_MAX: usize = 64 << 10;

/// What became of one partition's records.
enum Outcome {
    /// In the log; the promise may not hold yet.
    Appended(PendingAppend),
    /// The promise holds.
    Done(AppendInfo),
    /// Refused.
    Refused(Box<Refusal>),
}

/// A request between its two stages.
struct Staged {
    context: Context,
    acks: Option<Acks>,
    began: Instant,
    deadline: Instant,
    /// Bytes of the request, as the client's limit counts them.
    size: usize,
    /// Topics with the outcome of each partition, in the order of the request.
    topics: Vec<(produce::Topic, Vec<Outcome>)>,
}

/// Handles a Produce request.
pub(crate) fn handle(broker: &Arc<Broker>, context: Context, body: Bytes) -> Reply {
    let (began, size) = (broker.clock.now(), body.len());
    let mut request = match produce::decode(&context.header, body) {
        Ok(request) => request,
        Err(error) => return Reply::Now(Answer::close(format!("Produce: {error}"))),
    };
    let named = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    if crowd::too_many(&broker.publisher.current(), named) {
        return Reply::Now(Answer::close(format!("Produce: {named} partitions are too many")));
    }
    repeats::keep_last(&mut request.topics);
    let version = context.version();
    let refusal = refuse_all(&request);
    let (proofs, questions) = match refusal {
        // Transactions are asked for before Kafka looks at `acks` (`ReplicaManager.handleProduceAppend`).
        None | Some(ErrorCode::InvalidRequiredAcks) => proofs::begin(broker, &request, version),
        Some(_) => (Proofs::default(), None),
    };
    let entries = enter(broker, &request, version);
    if let Some(entries) = &entries
        && questions.is_none()
    {
        return first_stage(broker, context, (request, proofs), (began, size, refusal), entries);
    }
    if entries.is_none() {
        broker.metrics.produce_waits.inc();
    }
    // The disk is behind, a log is on its way to another directory, or the transaction coordinator is asked: this
    // connection waits, and takes no further request, until there is room and an answer.
    drop(entries);
    let broker = Arc::clone(broker);
    // Nothing is taken meanwhile, so there is nothing to be written with.
    let context = Context { followed: false, ..context };
    Reply::Later(Box::pin(async move {
        let patience = replica::disk_patience(deadline(&request, began), began);
        let proofs = match questions {
            Some(questions) => questions.answered(&broker, proofs).await,
            None => proofs,
        };
        let entries = broker.clock.timeout(patience, wait_to_enter(&broker, &request, version)).await;
        let refusal = refusal.or_else(|| entries.is_none().then_some(ErrorCode::RequestTimedOut));
        let entries = entries.unwrap_or_default();
        match first_stage(&broker, context, (request, proofs), (began, size, refusal), &entries) {
            Reply::Now(answer) => answer,
            Reply::Later(pending) | Reply::Pipelined(pending) => pending.await,
        }
    }))
}

fn deadline(request: &Request, began: Instant) -> Instant {
    began.plus(Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0)))
}

/// Appends, unless everything is refused; the logs were entered for it.
fn first_stage(
    broker: &Arc<Broker>,
    context: Context,
    (request, proofs): (Request, Proofs),
    (began, size, refusal): (Instant, usize, Option<ErrorCode>),
    _entries: &[Entry],
) -> Reply {
    let mut staged = Staged {
        acks: Acks::from_number(request.acks),
        began,
        size,
        deadline: deadline(&request, began),
        topics: append_all(broker, &context, (request, proofs), refusal),
        context,
    };
    if staged.settle() {
        return Reply::Now(staged.answer(broker));
    }
    let broker = Arc::clone(broker);
    Reply::Pipelined(Box::pin(async move {
        staged.wait(&broker.clock).await;
        staged.answer(&broker)
    }))
}

/// Appends what can be appended; the outcome of each partition stands in its topic's list.
fn append_all(
    broker: &Broker,
    context: &Context,
    (request, mut proofs): (Request, Proofs),
    refusal: Option<ErrorCode>,
) -> Vec<(produce::Topic, Vec<Outcome>)> {
    let Request { acks, topics, .. } = request;
    let acks = Acks::from_number(acks).unwrap_or(Acks::None);
    let mut outcomes = Vec::with_capacity(topics.len());
    for (number, mut topic) in topics.into_iter().enumerate() {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for place in 0..topic.partitions.len() {
            let Some(partition) = topic.partitions.get_mut(place) else { continue };
            let (index, records) = (PartitionIndex(partition.index), partition.records.take());
            let outcome = match (refusal, proofs.take((number, place))) {
                (None | Some(ErrorCode::InvalidRequiredAcks), Err(refused)) => {
                    Err(Refusal { told: true, ..refused.into() })
                }
                (Some(code), _) => {
                    Err(refusal::of_all(broker, context, (&topic, index), records.as_ref(), code))
                }
                (None, Ok(proof)) => {
                    append(broker, context, (&topic, index), (records.unwrap_or_default(), proof), acks)
                }
            };
            partitions.push(match outcome {
                Ok(pending) => Outcome::Appended(pending),
                Err(refusal) => Outcome::Refused(Box::new(refusal)),
            });
        }
        outcomes.push((topic, partitions));
    }
    outcomes
}

/// Why every partition of the request is refused (`ReplicaManager.appendRecords`, `KafkaApis.handleProduceRequest`).
fn refuse_all(request: &Request) -> Option<ErrorCode> {
    let mut all = request.topics.iter().flat_map(|topic| &topic.partitions);
    if all.any(|partition| partition.records.as_deref().is_some_and(check::begins_damaged)) {
        return Some(ErrorCode::CorruptMessage);
    }
    let mut batches = request.topics.iter().flat_map(|topic| &topic.partitions).filter_map(header);
    match &request.transactional_id {
        None if batches.any(|header| header.is_transactional()) => {
            return Some(ErrorCode::TransactionalIdAuthorizationFailed);
        }
        Some(_) if proofs::has_many_producers(request) => return Some(ErrorCode::InvalidProducerIdMapping),
        Some(_) | None => {}
    }
    Acks::from_number(request.acks).is_none().then_some(ErrorCode::InvalidRequiredAcks)
}

/// The header of a partition's batch; `None` where the bytes end before the batch does, which is none then.
pub(super) fn header(partition: &produce::Partition) -> Option<Header> {
    let records = partition.records.as_deref()?;
    Header::parse(records).filter(|header| header.total_size() <= records.len())
}

/// The partition that the request names.
pub(super) fn find(
    broker: &Broker,
    topic: &produce::Topic,
    index: PartitionIndex,
    version: i16,
) -> Result<Arc<Partition>, replica::Error> {
    if version >= TOPIC_IDS_FROM {
        broker.replicas.by_id(topic.id, index)
    } else {
        broker.replicas.by_name(&topic.name, index)
    }
}

/// Enters the logs that the request names, if all have room for more bytes that are not written yet and none is on its way
/// to another directory. Topics that are not here need none of that.
fn enter(broker: &Broker, request: &Request, version: i16) -> Option<Vec<Entry>> {
    let enter = |partition: Arc<Partition>| partition.log().enter().filter(|_| partition.log().has_room());
    partitions(broker, request, version).map(enter).collect()
}

async fn wait_to_enter(broker: &Broker, request: &Request, version: i16) -> Vec<Entry> {
    loop {
        if let Some(entries) = enter(broker, request, version) {
            return entries;
        }
        for partition in partitions(broker, request, version) {
            partition.log().room().await;
            partition.log().opened().await;
        }
    }
}

fn partitions(broker: &Broker, request: &Request, version: i16) -> impl Iterator<Item = Arc<Partition>> {
    request.topics.iter().flat_map(move |topic| {
        let indexes = topic.partitions.iter().map(|partition| PartitionIndex(partition.index));
        indexes.filter_map(move |index| find(broker, topic, index, version).ok())
    })
}

fn append(
    broker: &Broker,
    context: &Context,
    (topic, index): (&produce::Topic, PartitionIndex),
    (records, proof): (Bytes, Proof),
    acks: Acks,
) -> Result<PendingAppend, Refusal> {
    let version = context.version();
    let partition = find(broker, topic, index, version).map_err(|error| Refused::from(&error))?;
    if is_internal(&partition.name().topic) && context.client_id() != ADMIN_CLIENT_ID {
        let message = format!("Cannot append to internal topic {}", partition.name().topic);
        return Err(Refused::new(ErrorCode::InvalidTopicException, message).into());
    }
    refusal::check_codec(Some(&records), version)?;
    let hold = context.followed && records.len() <= HELD_MAX;
    let appended = if hold {
        context.connection.hold(&partition);
        partition.append_held(records, acks, proof)
    } else {
        partition.append(records, acks, Origin::Client, proof)
    };
    appended.map_err(|error| refusal::of_records(&error, &partition))
}

impl Staged {
    /// Settles what needs no waiting; true when that is all.
    fn settle(&mut self) -> bool {
        let mut all = true;
        for outcome in self.topics.iter_mut().flat_map(|(_, outcomes)| outcomes) {
            if let Outcome::Appended(pending) = outcome {
                if pending.is_done() {
                    *outcome = Outcome::Done(pending.info());
                } else {
                    all = false;
                }
            }
        }
        all
    }

    /// Waits for every promise. They run out at the same moment, so one after the other takes no longer.
    async fn wait(&mut self, clock: &Clock) {
        let now = clock.now();
        let disk_deadline = now.plus(replica::disk_patience(self.deadline, now));
        for (topic, outcomes) in &mut self.topics {
            for outcome in outcomes {
                let Outcome::Appended(pending) = outcome else { continue };
                let promise = pending.done_by(self.deadline, disk_deadline).await;
                *outcome = match promise {
                    Ok(info) => Outcome::Done(info),
                    Err(error) => {
                        debug!(topic = %topic.name, %error, "append not acknowledged");
                        Outcome::Refused(Box::new(Refused::from(&error).into()))
                    }
                };
            }
        }
    }

    /// The answer; with acks=0 none, except that errors close the connection, which is all such a producer can see.
    fn answer(self, broker: &Broker) -> Answer {
        let mut answer = if self.acks == Some(Acks::None) { self.silent() } else { self.encode(broker) };
        if broker.quotas.has(Kind::Produce) {
            let size = f64::from(u32::try_from(self.size).unwrap_or(u32::MAX));
            let pause = broker.quotas.record(Kind::Produce, self.context.who(), size);
            throttling::hold(broker, &self.context.connection, &mut answer, pause);
        }
        broker.measure(versions::PRODUCE, self.began);
        answer
    }

    fn silent(&self) -> Answer {
        let refusals = self.topics.iter().flat_map(|(topic, outcomes)| {
            topic.partitions.iter().zip(outcomes).filter_map(move |(partition, outcome)| match outcome {
                Outcome::Refused(refusal) => Some((&topic.name, partition.index, &refusal.refused)),
                Outcome::Appended(_) | Outcome::Done(_) => None,
            })
        });
        match refusals.into_iter().next() {
            None => Answer::Silent,
            Some((topic, partition, refused)) => {
                Answer::close(format!("Produce with acks=0 failed for {topic}-{partition}: {refused}"))
            }
        }
    }

    fn encode(&self, broker: &Broker) -> Answer {
        let version = self.context.version();
        let mut leaders = None;
        let mut topics = Vec::with_capacity(self.topics.len());
        for (topic, outcomes) in self.topics.iter().filter(|(_, outcomes)| !outcomes.is_empty()) {
            let mut partitions = Vec::with_capacity(outcomes.len());
            for (partition, outcome) in topic.partitions.iter().zip(outcomes) {
                let mut answer = partition_answer(partition.index, outcome);
                if answer.error != ErrorCode::None {
                    debug!(topic = %topic.name, partition = answer.index, error = %answer.error, "produce refused");
                }
                if answer.error == ErrorCode::NotLeaderOrFollower && version >= LEADERS_FROM {
                    let leaders = leaders
                        .get_or_insert_with(|| Leaders::new(broker, &self.context.connection.listener));
                    let named = if version >= TOPIC_IDS_FROM {
                        Topic::Id(topic.id)
                    } else {
                        Topic::Name(&topic.name)
                    };
                    answer.current_leader = Some(leaders.of(named, PartitionIndex(partition.index)));
                }
                partitions.push(answer);
            }
            topics.push(TopicAnswer { name: topic.name.clone(), id: topic.id, partitions });
        }
        let node_endpoints = leaders.map(|leaders| leaders.endpoints).unwrap_or_default();
        let answer = produce::Answer { topics, throttle_time_ms: 0, node_endpoints };
        match produce::encode(&self.context.header, &answer) {
            Ok(response) => Answer::Send(response),
            Err(error) => Answer::close(format!("Produce: {error}")),
        }
    }
}

fn partition_answer(index: i32, outcome: &Outcome) -> PartitionAnswer {
    let done = |info: AppendInfo| PartitionAnswer {
        index,
        error: ErrorCode::None,
        base_offset: info.base_offset.0,
        log_append_time_ms: info.append_time.0,
        log_start_offset: info.log_start_offset.0,
        record_errors: Vec::new(),
        error_message: None,
        current_leader: None,
    };
    match outcome {
        Outcome::Done(info) => done(*info),
        Outcome::Appended(pending) => done(pending.info()),
        Outcome::Refused(refusal) => PartitionAnswer {
            index,
            error: refusal.refused.code,
            base_offset: -1,
            log_append_time_ms: -1,
            log_start_offset: refusal.log_start_offset,
            record_errors: refusal.record_errors.clone(),
            error_message: refusal
                .refused
                .message
                .clone()
                .filter(|_| refusal.told)
                .map(StrBytes::from_string),
            current_leader: None,
        },
    }
}
