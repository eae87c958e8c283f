//! Fetch: which partitions and from where (its session says), read them, and wait when there is too little.

use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::base::Instant;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::context::Answer;
use crate::broker::context::Context;
use crate::broker::context::Reply;
use crate::broker::crowd;
use crate::broker::data::fetch_answer;
use crate::broker::data::fetch_answer::Fetched;
use crate::broker::data::fetch_session;
use crate::broker::data::fetch_session::Ask;
use crate::broker::data::fetch_session::Key;
use crate::broker::data::fetch_session::TopicKey;
use crate::broker::data::fetch_session::Wanted;
use crate::broker::data::repeats;
use crate::broker::errors::Refused;
use crate::broker::throttling;
use crate::cluster::Image;
use crate::protocol::fetch;
use crate::protocol::fetch::Request;
use crate::protocol::fetch::TOPIC_IDS_FROM;
use crate::protocol::versions;
use crate::quota::Kind;
use crate::replica;
use crate::replica::Fetch;
use crate::replica::FetchLimits;
use crate::replica::Outcomes;
use crate::replica::ReadRequest;
use crate::replica::Reader;
use crate::replica::Target;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The isolation level that reads all records.
const READ_UNCOMMITTED: i8 = 0;
/// The isolation level that reads committed records only.
const READ_COMMITTED: i8 = 1;

/// About how many bytes an answer has beside the records, for each partition.
const ANSWER_BYTES: u64 = 60;

/// A request from its beginning to its answer.
struct InWork {
    context: Context,
    session: fetch_session::Context,
    began: Instant,
    /// What the session wants, in order, each with its place in `fetch` or the error that it is answered with.
    wanted: Vec<(Key, Wanted, Result<usize, Refused>)>,
    fetch: Fetch,
    /// Whether a consumer asks, whose bytes may be limited.
    consumer: bool,
}

/// Handles a Fetch request.
pub(crate) fn handle(broker: &Arc<Broker>, context: Context, body: Bytes) -> Reply {
    let began = broker.clock.now();
    let request = match fetch::decode(&context.header, body) {
        Ok(request) => request,
        Err(error) => return Reply::Now(Answer::close(format!("Fetch: {error}"))),
    };
    let image = broker.publisher.current();
    let version = context.version();
    let wanted = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    let dropped = request.forgotten.iter().map(|topic| topic.partitions.len()).sum();
    if crowd::too_many(&image, wanted) || crowd::too_many(&image, dropped) {
        return Reply::Now(Answer::close(format!("Fetch: {wanted} and {dropped} partitions are too many")));
    }
    let ask = Ask {
        session_id: request.session_id,
        epoch: request.session_epoch,
        topic_ids: version >= TOPIC_IDS_FROM,
        follower: request.replica_id >= 0,
    };
    let (named, forgotten) = (named(&image, &request, version), forgotten(&image, &request, version));
    let (session, wanted) = match broker.fetch_sessions.begin(ask, named, &forgotten, began) {
        Ok(begun) => begun,
        Err(code) => {
            broker.measure(versions::FETCH, began);
            return Reply::Now(fetch_answer::refused(&context, code));
        }
    };
    let limits = limits(broker, &context, &request, began);
    let (wanted, fetch, urgent) = targets(broker, &request, wanted, limits);
    // Kafka looks at the level only where it knows one of the partitions.
    let reads = urgent || !fetch.targets.is_empty();
    if reads && !matches!(request.isolation_level, READ_UNCOMMITTED | READ_COMMITTED) {
        broker.measure(versions::FETCH, began);
        return Reply::Now(fetch_answer::failed(&context, &request));
    }
    let consumer = request.replica_id < 0;
    let work = InWork { context, session, began, wanted, fetch, consumer };
    match work.fetch.read() {
        Ok(outcomes) => Reply::Now(work.answer(broker, outcomes)),
        Err(outcomes) if urgent || request.max_wait_ms <= 0 => Reply::Now(work.answer(broker, outcomes)),
        Err(_too_little) => {
            let broker = Arc::clone(broker);
            let work = InWork { context: work.context.detached(), ..work };
            Reply::Later(Box::pin(async move {
                let outcomes = work.fetch.wait_and_read(&broker.clock).await;
                work.answer(&broker, outcomes)
            }))
        }
    }
}

/// A topic's name as sessions keep it: the image's own copy where there is one, so that no frame is kept alive.
fn topic_key(image: &Image, name: &str, id: crate::base::TopicId, version: i16) -> TopicKey {
    if version >= TOPIC_IDS_FROM {
        return TopicKey::Id(id);
    }
    TopicKey::Name(image.topic(name).map_or_else(|| Arc::from(name), |topic| Arc::clone(&topic.name)))
}

fn named(image: &Image, request: &Request, version: i16) -> Vec<(Key, Wanted)> {
    let mut named = Vec::with_capacity(request.topics.iter().map(|topic| topic.partitions.len()).sum());
    for topic in &request.topics {
        let key = topic_key(image, &topic.name, topic.id, version);
        for partition in &topic.partitions {
            let epoch = |epoch: i32| (epoch >= 0).then_some(LeaderEpoch(epoch));
            let wanted = Wanted {
                offset: Offset(partition.fetch_offset),
                max_bytes: partition.partition_max_bytes,
                leader_epoch: epoch(partition.current_leader_epoch),
                last_fetched_epoch: epoch(partition.last_fetched_epoch),
                log_start: Offset(partition.log_start_offset),
            };
            named.push((Key { topic: key.clone(), partition: partition.index }, wanted));
        }
    }
    if repeats::any(&request.topics) { keep_last(named) } else { named }
}

/// A partition that the request names more than once is read once, in its first place, as it was named last
/// (`FetchRequest.fetchData`).
fn keep_last(named: Vec<(Key, Wanted)>) -> Vec<(Key, Wanted)> {
    let mut places: HashMap<Key, usize> = HashMap::with_capacity(named.len());
    let mut kept: Vec<(Key, Wanted)> = Vec::with_capacity(named.len());
    for (key, wanted) in named {
        match places.get(&key).and_then(|place| kept.get_mut(*place)) {
            Some(earlier) => earlier.1 = wanted,
            None => {
                places.insert(key.clone(), kept.len());
                kept.push((key, wanted));
            }
        }
    }
    kept
}

fn forgotten(image: &Image, request: &Request, version: i16) -> Vec<Key> {
    let mut forgotten = Vec::new();
    for topic in &request.forgotten {
        let key = topic_key(image, &topic.name, topic.id, version);
        forgotten.extend(topic.partitions.iter().map(|index| Key { topic: key.clone(), partition: *index }));
    }
    forgotten
}

type Places = Vec<(Key, Wanted, Result<usize, Refused>)>;

/// Finds the partitions. Also whether one must be answered now: one that is known, but cannot be read here.
fn targets(
    broker: &Broker,
    request: &Request,
    wanted: Vec<(Key, Wanted)>,
    limits: FetchLimits,
) -> (Places, Fetch, bool) {
    let mut targets = Vec::with_capacity(wanted.len());
    let mut places = Vec::with_capacity(wanted.len());
    let mut urgent = false;
    for (key, wanted) in wanted {
        let index = PartitionIndex(key.partition);
        let found = match &key.topic {
            TopicKey::Id(id) => broker.replicas.by_id(*id, index),
            TopicKey::Name(name) => broker.replicas.by_name(name, index),
        };
        let place = match found {
            Ok(partition) => {
                targets.push(Target { partition, request: read_request(request, &wanted) });
                Ok(targets.len() - 1)
            }
            Err(error) => {
                let unknown =
                    matches!(error, replica::Error::UnknownTopicOrPartition | replica::Error::UnknownTopicId);
                urgent |= !unknown;
                Err(Refused::from(&error))
            }
        };
        places.push((key, wanted, place));
    }
    (places, Fetch { targets, limits }, urgent)
}

fn limits(broker: &Broker, context: &Context, request: &Request, now: Instant) -> FetchLimits {
    let mut max_bytes = request.max_bytes.min(broker.config.network.fetch_max_bytes).max(0);
    if request.replica_id < 0
        && let Some(most) = broker.quotas.most_in_windows(Kind::Fetch, context.who())
    {
        // What is more than the client may be sent in all windows could never be sent at all.
        max_bytes = max_bytes.min(whole(most));
    }
    FetchLimits {
        min_bytes: u64::try_from(request.min_bytes.min(max_bytes)).unwrap_or(0),
        max_bytes: usize::try_from(max_bytes).unwrap_or(0),
        deadline: now.plus(Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0))),
    }
}

fn whole(bytes: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "saturates, as it should")]
    let whole = bytes as i32;
    whole
}

fn read_request(request: &Request, wanted: &Wanted) -> ReadRequest {
    let reader = match (request.replica_id, request.isolation_level) {
        (id, _) if id >= 0 => Reader::Follower {
            id: BrokerId(id),
            log_start: Some(wanted.log_start).filter(|start| start.0 >= 0),
        },
        (_, READ_COMMITTED) => Reader::Committed,
        _ => Reader::Consumer,
    };
    ReadRequest {
        from: wanted.offset,
        max_bytes: usize::try_from(wanted.max_bytes).unwrap_or(0),
        at_least_one: true,
        reader,
        leader_epoch: wanted.leader_epoch,
        last_fetched_epoch: wanted.last_fetched_epoch,
    }
}

impl InWork {
    /// How long the client has to pause before it may be sent this much. Then nothing of it is sent, and so does not
    /// count.
    fn pause(&self, broker: &Broker, outcomes: &Outcomes) -> Duration {
        if !self.consumer || !broker.quotas.has(Kind::Fetch) {
            return Duration::ZERO;
        }
        let slices = outcomes.iter().flatten().flat_map(|answer| &answer.slices);
        let records: u64 = slices.map(|slice| slice.length).sum();
        let around = ANSWER_BYTES.saturating_mul(u64::try_from(self.wanted.len()).unwrap_or(u64::MAX));
        let size = f64::from(u32::try_from(records.saturating_add(around)).unwrap_or(u32::MAX));
        let pause = broker.quotas.record(Kind::Fetch, self.context.who(), size);
        if !pause.is_zero() {
            broker.quotas.take_back(Kind::Fetch, self.context.who(), size);
        }
        pause
    }

    fn answer(self, broker: &Broker, outcomes: Outcomes) -> Answer {
        let pause = self.pause(broker, &outcomes);
        let InWork { context, session, began, wanted, fetch, .. } = self;
        if !pause.is_zero() {
            let finished = broker.fetch_sessions.hold_back(session);
            let mut answer = fetch_answer::encode(&context, finished, Vec::new());
            throttling::hold(broker, &context.connection, &mut answer, pause);
            broker.measure(versions::FETCH, began);
            return answer;
        }
        let mut outcomes: Vec<Option<_>> = outcomes.into_iter().map(Some).collect();
        let mut answers = Vec::with_capacity(wanted.len());
        let mut leaders = None;
        for (key, wanted, place) in wanted {
            let target = place.as_ref().ok().and_then(|place| fetch.targets.get(*place));
            let traffic = target.map(|target| target.partition.traffic());
            let outcome = match place {
                Err(refused) => Err(refused),
                Ok(place) => match outcomes.get_mut(place).and_then(Option::take) {
                    Some(Ok(answer)) => Ok(answer),
                    Some(Err(error)) => Err(Refused::from(&error)),
                    None => Err(ErrorCode::UnknownServerError.into()),
                }
                .and_then(|answer| fetch_answer::readable(answer, &fetch, place, context.version())),
            };
            let answer =
                fetch_answer::partition(broker, &context, (&key, &wanted), (outcome, traffic), &mut leaders);
            answers.push(Fetched { key, wanted, answer });
        }
        let now = broker.clock.now();
        let finished = broker.fetch_sessions.finish(session, answers, now);
        let endpoints = leaders.map(|leaders| leaders.endpoints).unwrap_or_default();
        let answer = fetch_answer::encode(&context, finished, endpoints);
        broker.measure(versions::FETCH, began);
        answer
    }
}
