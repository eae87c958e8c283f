//! From what was read to a Fetch answer.

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::broker::context::Answer;
use crate::broker::context::Context;
use crate::broker::data::fetch_session::Answered;
use crate::broker::data::fetch_session::Finished;
use crate::broker::data::fetch_session::Key;
use crate::broker::data::fetch_session::NO_SESSION;
use crate::broker::data::fetch_session::News;
use crate::broker::data::fetch_session::TopicKey;
use crate::broker::data::fetch_session::Wanted;
use crate::broker::data::leader::Leaders;
use crate::broker::data::leader::Topic;
use crate::broker::errors::Refused;
use crate::config::Compression;
use crate::metrics;
use crate::protocol::Part;
use crate::protocol::fetch;
use crate::protocol::fetch::AbortedTransaction;
use crate::protocol::fetch::EpochEndOffset;
use crate::protocol::fetch::PartitionAnswer;
use crate::protocol::fetch::TopicAnswer;
use crate::protocol::produce::NodeEndpoint;
use crate::replica::Fetch;
use crate::replica::ReadAnswer;
use kafka_protocol::protocol::StrBytes;
use tracing::debug;

/// The last version whose clients may not know KAFKA_STORAGE_ERROR.
const STORAGE_ERROR_AFTER: i16 = 5;
/// The first version whose clients know zstd (KIP-110).
const ZSTD_FROM: i16 = 10;
/// The first version that names leaders in the answer (KIP-951).
const LEADERS_FROM: i16 = 16;

/// One partition's answer with what the session must know of it.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) key: Key,
    pub(super) wanted: Wanted,
    pub(super) answer: PartitionAnswer,
}

impl Answered for Fetched {
    fn key(&self) -> &Key {
        &self.key
    }

    fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    fn news(&self) -> News {
        let answer = &self.answer;
        News {
            records: !answer.records.is_empty(),
            high_watermark: answer.high_watermark,
            log_start: answer.log_start_offset,
            error: answer.error != ErrorCode::None,
            redirect: answer.diverging_epoch.is_some() || answer.preferred_read_replica != -1,
        }
    }
}

/// Records of a topic that stores everything with zstd are not for clients that do not know it
/// (`KafkaApis.maybeConvertFetchedData`).
pub(super) fn readable(
    answer: ReadAnswer,
    fetch: &Fetch,
    place: usize,
    version: i16,
) -> Result<ReadAnswer, Refused> {
    let zstd = version < ZSTD_FROM
        && fetch.targets.get(place).is_some_and(|target| {
            matches!(target.partition.log().config().compression, Compression::Zstd { .. })
        });
    if zstd { Err(ErrorCode::UnsupportedCompressionType.into()) } else { Ok(answer) }
}

/// One partition's answer.
pub(super) fn partition(
    broker: &Broker,
    context: &Context,
    (key, wanted): (&Key, &Wanted),
    (outcome, traffic): (Result<ReadAnswer, Refused>, Option<&metrics::Traffic>),
    leaders: &mut Option<Leaders>,
) -> PartitionAnswer {
    let refused = match outcome {
        Ok(answer) => {
            if let Some(traffic) = traffic {
                traffic.fetched(answer.bytes);
            }
            return read(key.partition, answer);
        }
        Err(refused) => refused,
    };
    if let Some(traffic) = traffic {
        if is_unexpected(refused.code) { traffic.fetch_failed() } else { traffic.fetched(0) }
    }
    debug!(?key, offset = wanted.offset.0, %refused, "fetch refused");
    let version = context.version();
    let error = match refused.code {
        ErrorCode::KafkaStorageError if version <= STORAGE_ERROR_AFTER => ErrorCode::NotLeaderOrFollower,
        code => code,
    };
    let moved = matches!(error, ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch);
    let current_leader = (moved && version >= LEADERS_FROM).then(|| {
        let leaders = leaders.get_or_insert_with(|| Leaders::new(broker, &context.connection.listener));
        let topic = match &key.topic {
            TopicKey::Id(id) => Topic::Id(*id),
            TopicKey::Name(name) => Topic::Name(name),
        };
        leaders.of(topic, PartitionIndex(key.partition))
    });
    let aborted = is_unread(error).then(Vec::new);
    PartitionAnswer { current_leader, ..unread(key.partition, error, aborted) }
}

/// Whether Kafka refuses such a partition without reading it, with an answer that nobody filled: its aborted
/// transactions are empty, and null where a read failed (`KafkaApis.handleFetchRequest`, `ReplicaManager.readFromLog`).
fn is_unread(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::UnknownTopicOrPartition
            | ErrorCode::UnknownTopicId
            | ErrorCode::UnsupportedCompressionType
    )
}

/// Whether Kafka counts the error as a failure of the broker (`ReplicaManager.readFromLog`): what clients cause or
/// can get over is not one.
fn is_unexpected(code: ErrorCode) -> bool {
    !matches!(
        code,
        ErrorCode::UnknownTopicOrPartition
            | ErrorCode::NotLeaderOrFollower
            | ErrorCode::UnknownLeaderEpoch
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::ReplicaNotAvailable
            | ErrorCode::KafkaStorageError
            | ErrorCode::OffsetOutOfRange
            | ErrorCode::InconsistentTopicId
            | ErrorCode::UnsupportedCompressionType
    )
}

fn read(index: i32, answer: ReadAnswer) -> PartitionAnswer {
    let aborted = answer.aborted.map(|aborted| {
        let transaction = |one: &crate::log::AbortedTransaction| AbortedTransaction {
            producer_id: one.producer.0,
            first_offset: one.first.0,
        };
        aborted.iter().map(transaction).collect()
    });
    PartitionAnswer {
        index,
        error: ErrorCode::None,
        high_watermark: answer.high_watermark.0,
        last_stable_offset: answer.last_stable_offset.0,
        log_start_offset: answer.log_start_offset.0,
        diverging_epoch: answer
            .diverging
            .map(|diverging| EpochEndOffset { epoch: diverging.epoch.0, end_offset: diverging.offset.0 }),
        current_leader: None,
        snapshot_id: None,
        aborted_transactions: aborted,
        preferred_read_replica: -1,
        records: answer.slices.into_iter().map(Part::File).collect(),
    }
}

/// The whole answer: partitions keep their order, and neighbours of one topic share its entry.
pub(super) fn encode(
    context: &Context,
    finished: Finished<Fetched>,
    node_endpoints: Vec<NodeEndpoint>,
) -> Answer {
    let mut topics: Vec<TopicAnswer> = Vec::new();
    let mut last: Option<TopicKey> = None;
    for Fetched { key, answer, .. } in finished.answers {
        if last.as_ref() != Some(&key.topic) {
            let (name, id) = match &key.topic {
                TopicKey::Id(id) => (StrBytes::new(), *id),
                TopicKey::Name(name) => (StrBytes::from_string(name.as_ref().to_owned()), TopicId::ZERO),
            };
            topics.push(TopicAnswer { name, id, partitions: Vec::new() });
            last = Some(key.topic);
        }
        if let Some(topic) = topics.last_mut() {
            topic.partitions.push(answer);
        }
    }
    send(
        context,
        fetch::Answer {
            throttle_time_ms: 0,
            error: finished.error,
            session_id: finished.session_id,
            topics,
            node_endpoints,
        },
    )
}

/// The answer to a request that its session refused as a whole.
pub(super) fn refused(context: &Context, error: ErrorCode) -> Answer {
    debug!(%error, "fetch session refused");
    let (topics, node_endpoints) = (Vec::new(), Vec::new());
    send(
        context,
        fetch::Answer { throttle_time_ms: 0, error, session_id: NO_SESSION, topics, node_endpoints },
    )
}

/// The answer to an isolation level that nobody knows, over which Kafka's code fails: every partition with
/// UNKNOWN_SERVER_ERROR, and none where topics have ids (`FetchRequest.getErrorResponse`).
pub(super) fn failed(context: &Context, request: &fetch::Request) -> Answer {
    let error = ErrorCode::UnknownServerError;
    debug!(level = request.isolation_level, "fetch at an unknown isolation level");
    let named: &[fetch::Topic] =
        if context.version() < fetch::TOPIC_IDS_FROM { &request.topics } else { &[] };
    let topics = named.iter().map(|topic| TopicAnswer {
        name: topic.name.clone(),
        id: TopicId::ZERO,
        partitions: topic
            .partitions
            .iter()
            .map(|partition| unread(partition.index, error, Some(Vec::new())))
            .collect(),
    });
    let (session_id, node_endpoints) = (request.session_id, Vec::new());
    send(
        context,
        fetch::Answer { throttle_time_ms: 0, error, session_id, topics: topics.collect(), node_endpoints },
    )
}

/// A partition of which nothing was read.
fn unread(
    index: i32,
    error: ErrorCode,
    aborted_transactions: Option<Vec<AbortedTransaction>>,
) -> PartitionAnswer {
    PartitionAnswer {
        index,
        error,
        high_watermark: -1,
        last_stable_offset: -1,
        log_start_offset: -1,
        diverging_epoch: None,
        current_leader: None,
        snapshot_id: None,
        aborted_transactions,
        preferred_read_replica: -1,
        records: Vec::new(),
    }
}

fn send(context: &Context, answer: fetch::Answer) -> Answer {
    match fetch::encode(&context.header, answer) {
        Ok(response) => Answer::Send(response),
        Err(error) => Answer::close(format!("Fetch: {error}")),
    }
}
