//! What clients send, as frames and as bodies, and what they are answered with.

use super::Input;
use bytes::Buf;
use bytes::Bytes;
use bytes::BytesMut;
use dohle::base::ErrorCode;
use dohle::base::TopicId;
use dohle::groups;
use dohle::protocol::Error;
use dohle::protocol::Part;
use dohle::protocol::RequestHeader;
use dohle::protocol::Response;
use dohle::protocol::client_payload;
use dohle::protocol::fetch;
use dohle::protocol::frame;
use dohle::protocol::guard;
use dohle::protocol::header;
use dohle::protocol::produce;
use dohle::protocol::share_fetch;
use dohle::protocol::supplement;
use dohle::protocol::versions;
use kafka_protocol::messages::ApiKey;
use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::FetchResponse;
use kafka_protocol::messages::ProduceRequest;
use kafka_protocol::messages::ProduceResponse;
use kafka_protocol::messages::RequestKind;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::protocol::Encodable;
use kafka_protocol::protocol::StrBytes;
use std::collections::BTreeMap;
use uuid::Uuid;

/// `socket.request.max.bytes` for the fuzzer.
const FRAME_MAX: usize = 1 << 20;

/// A body for any API in any version, by its key and a further byte; or, where the first is 255, a stream of frames.
pub(super) fn request(input: &mut Input<'_>) {
    let choice = input.u8();
    if choice == 255 {
        return stream(input);
    }
    let apis = versions::all();
    // By its key, so that kept inputs mean the same when there are more APIs.
    let other = &apis[usize::from(choice) % apis.len()];
    let api = apis.iter().find(|api| api.key == i16::from(choice)).unwrap_or(other);
    let version = api.min + i16::from(input.u8()) % (api.max - api.min + 1);
    let header = RequestHeader { api_key: api.key, api_version: version, correlation_id: 7, client_id: None };
    decode(&header, input.body());
}

fn stream(input: &mut Input<'_>) {
    let mut buffer = BytesMut::from(&input.body()[..]);
    let before = buffer.len();
    let mut used = 0;
    while let Ok(Some(mut frame)) = frame::next(&mut buffer, FRAME_MAX) {
        used += frame.len() + 4;
        assert_eq!(used + buffer.len(), before, "frames lie one behind the other");
        if let Ok(header) = header::parse(&mut frame) {
            decode(&header, frame);
        }
    }
}

/// The broker's way from a body to a typed request.
fn decode(header: &RequestHeader, body: Bytes) {
    let (key, version) = (header.api_key, header.api_version);
    let guarded = guard::check(key, version, &body).is_ok();
    let decoded = match key {
        versions::PRODUCE => produce::decode(header, body).map(drop),
        versions::FETCH => fetch::decode(header, body).map(drop),
        versions::OFFSET_COMMIT => supplement::offset_commit::decode(header, body).map(drop),
        versions::OFFSET_FETCH => supplement::offset_fetch::decode(header, body).map(drop),
        versions::API_VERSIONS => supplement::api_versions::decode(header, body).map(drop),
        versions::DESCRIBE_LOG_DIRS => supplement::describe_log_dirs::decode(header, body).map(drop),
        versions::DELETE_GROUPS => supplement::delete_groups::decode(header, body).map(drop),
        versions::WRITE_TXN_MARKERS => supplement::write_txn_markers::decode(header, body).map(drop),
        versions::TXN_OFFSET_COMMIT => supplement::txn_offset_commit::decode(header, body).map(drop),
        versions::STREAMS_GROUP_HEARTBEAT => {
            supplement::streams_group_heartbeat::decode(header, body).map(drop)
        }
        versions::STREAMS_GROUP_DESCRIBE => {
            supplement::streams_group_describe::decode(header, body).map(drop)
        }
        versions::SHARE_FETCH => share_fetch::decode(header, body).map(drop),
        versions::SHARE_ACKNOWLEDGE => supplement::share_acknowledge::decode(header, body).map(drop),
        versions::DESCRIBE_SHARE_GROUP_OFFSETS => supplement::share_offsets::decode(header, body).map(drop),
        versions::WRITE_SHARE_GROUP_STATE => supplement::share_state::decode_write(header, body).map(drop),
        versions::READ_SHARE_GROUP_STATE_SUMMARY => {
            supplement::share_state::decode_summarize(header, body).map(drop)
        }
        versions::STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE => {
            supplement::streams_group_topology_description_update::decode(header, body).map(drop)
        }
        _ => {
            let Ok(mut body) = guard::checked(key, version, body) else {
                assert!(!guarded, "the guard says the same twice");
                return;
            };
            let layout = if key == versions::LIST_OFFSETS { version.min(10) } else { version };
            let key = ApiKey::try_from(key).expect("an API that is served");
            drop(RequestKind::decode(key, &mut body, layout));
            return;
        }
    };
    // Our own decoders take what the guard takes, and no more.
    assert_eq!(decoded.is_ok(), guarded, "api {key} version {version}: {decoded:?}");
}

fn header_of(api_key: i16, api_version: i16) -> RequestHeader {
    RequestHeader { api_key, api_version, correlation_id: 7, client_id: None }
}

/// What our decoder made of a body is held while the crate decodes it, and while it is written and read again.
fn allow_twice(input: &mut Input<'_>, body: &Bytes) {
    input.allow(2 * (body.len() * guard::DECODED_RATIO + guard::DECODED_SLACK));
}

/// Produce requests: ours against the crate's, and again what the crate writes.
pub(super) fn produce(input: &mut Input<'_>) {
    let version = 3 + i16::from(input.u8() % 11);
    let header = header_of(versions::PRODUCE, version);
    let body = input.body();
    let Ok(ours) = produce::decode(&header, body.clone()) else { return };
    allow_twice(input, &body);
    let mut mended =
        guard::checked(versions::PRODUCE, version, body).expect("what was decoded passes the guard");
    let mut theirs = ProduceRequest::decode(&mut mended, version).expect("what we read, they read");
    assert_eq!((ours.acks, ours.timeout_ms), (theirs.acks, theirs.timeout_ms));
    assert_eq!(ours.transactional_id, theirs.transactional_id.as_ref().map(|id| id.0.clone()));
    assert_eq!(ours.topics.len(), theirs.topic_data.len());
    for (topic, other) in ours.topics.iter().zip(&theirs.topic_data) {
        assert_eq!((&topic.name, topic.id), (&other.name.0, TopicId(other.topic_id)));
        let one = topic.partitions.iter().map(|partition| (partition.index, partition.records.as_ref()));
        let two = other.partition_data.iter().map(|partition| (partition.index, partition.records.as_ref()));
        assert!(one.eq(two), "the same records for the same partitions");
    }
    let mut written = BytesMut::new();
    drop_large_tags(&mut theirs.unknown_tagged_fields);
    for topic in &mut theirs.topic_data {
        drop_large_tags(&mut topic.unknown_tagged_fields);
        topic.partition_data.iter_mut().for_each(|it| drop_large_tags(&mut it.unknown_tagged_fields));
    }
    theirs.encode(&mut written, version).expect("what was read can be written");
    match produce::decode(&header, written.freeze()) {
        // Without tags that nobody knows a frame is smaller, and may be too small for what it holds.
        Err(Error::TooLarge { .. }) => {}
        again => assert_eq!(again.expect("what was written"), ours),
    }
}

/// Fetch requests: ours against the crate's, and again what the crate writes.
pub(super) fn fetch(input: &mut Input<'_>) {
    let version = 4 + i16::from(input.u8() % 15);
    let header = header_of(versions::FETCH, version);
    let body = input.body();
    let Ok(ours) = fetch::decode(&header, body.clone()) else { return };
    allow_twice(input, &body);
    let mut mended =
        guard::checked(versions::FETCH, version, body).expect("what was decoded passes the guard");
    let mut theirs = match FetchRequest::decode(&mut mended, version) {
        Ok(theirs) => theirs,
        // Within a tag the guard mends nothing: our codec does it while it reads.
        Err(error) if error.to_string().contains("utf-8") => return,
        Err(error) => panic!("what we read, they read: {error:#}"),
    };
    assert_eq!((ours.max_wait_ms, ours.min_bytes), (theirs.max_wait_ms, theirs.min_bytes));
    assert_eq!((ours.session_id, ours.session_epoch), (theirs.session_id, theirs.session_epoch));
    assert_eq!((ours.max_bytes, ours.isolation_level), (theirs.max_bytes, theirs.isolation_level));
    assert_eq!(ours.rack_id, theirs.rack_id);
    let replica = if version >= 15 { theirs.replica_state.replica_id } else { theirs.replica_id };
    assert_eq!(ours.replica_id, replica.0);
    assert_eq!(
        (ours.topics.len(), ours.forgotten.len()),
        (theirs.topics.len(), theirs.forgotten_topics_data.len())
    );
    for (topic, other) in ours.topics.iter().zip(&theirs.topics) {
        assert_eq!((&topic.name, topic.id), (&other.topic.0, TopicId(other.topic_id)));
        let one = topic.partitions.iter().map(|partition| (partition.index, partition.fetch_offset));
        let two = other.partitions.iter().map(|partition| (partition.partition, partition.fetch_offset));
        assert!(one.eq(two), "the same offsets for the same partitions");
    }
    let mut written = BytesMut::new();
    drop_large_tags(&mut theirs.unknown_tagged_fields);
    drop_large_tags(&mut theirs.replica_state.unknown_tagged_fields);
    theirs.forgotten_topics_data.iter_mut().for_each(|it| drop_large_tags(&mut it.unknown_tagged_fields));
    for topic in &mut theirs.topics {
        drop_large_tags(&mut topic.unknown_tagged_fields);
        topic.partitions.iter_mut().for_each(|it| drop_large_tags(&mut it.unknown_tagged_fields));
    }
    theirs.encode(&mut written, version).expect("what was read can be written");
    let again = match fetch::decode(&header, written.freeze()) {
        Err(Error::TooLarge { .. }) => return,
        again => again.expect("what was written"),
    };
    assert_eq!(again.topics, ours.topics);
    assert_eq!(again.forgotten, ours.forgotten);
}

/// Unknown tags from 2^31 on: the crate reads them as negative numbers, counts them when it writes, and leaves them
/// out. Kafka and we read and skip them; we write no unknown tags.
fn drop_large_tags(tags: &mut BTreeMap<i32, Bytes>) {
    tags.retain(|tag, _| *tag >= 0);
}

/// Answers with any content: what we write, the crate reads to its end, and what it writes of it reads the same. (It
/// leaves out what has its default value, so the bytes may differ.)
pub(super) fn answers(input: &mut Input<'_>) {
    if input.u8() & 1 == 0 {
        let header = header_of(versions::PRODUCE, 3 + i16::from(input.u8() % 11));
        let answer = produce_answer(input);
        let body = body_of(&header, produce::encode(&header, &answer).expect("an answer far below 2 GiB"));
        let mut rest = body;
        let read = ProduceResponse::decode(&mut rest, header.api_version).expect("a client reads it");
        assert!(rest.is_empty(), "nothing is left over");
        assert_eq!(read.responses.len(), answer.topics.len());
        let mut again = BytesMut::new();
        read.encode(&mut again, header.api_version).expect("what was read can be written");
        let again =
            ProduceResponse::decode(&mut again.freeze(), header.api_version).expect("what was written");
        assert_eq!(again, read);
    } else {
        let header = header_of(versions::FETCH, 4 + i16::from(input.u8() % 15));
        let answer = fetch_answer(input);
        let topics = answer.topics.len();
        let body = body_of(&header, fetch::encode(&header, answer).expect("an answer far below 2 GiB"));
        let mut rest = body;
        let read = FetchResponse::decode(&mut rest, header.api_version).expect("a client reads it");
        assert!(rest.is_empty(), "nothing is left over");
        assert_eq!(read.responses.len(), topics);
        let mut again = BytesMut::new();
        read.encode(&mut again, header.api_version).expect("what was read can be written");
        let again = FetchResponse::decode(&mut again.freeze(), header.api_version).expect("what was written");
        assert_eq!(again, read);
    }
}

/// The answer's bytes behind frame size and header, after a look at both.
fn body_of(header: &RequestHeader, answer: Response) -> Bytes {
    let mut all = BytesMut::new();
    for part in &answer.parts {
        let Part::Bytes(bytes) = part else { panic!("no answer of these has files") };
        all.extend_from_slice(bytes);
    }
    let mut body = all.freeze();
    assert_eq!(usize::try_from(body.get_i32()).expect("a size"), body.len(), "the frame's size");
    assert_eq!(body.get_i32(), 7, "the correlation id");
    if header.flexible() {
        assert_eq!(body.get_u8(), 0, "no tags");
    }
    body
}

fn string(input: &mut Input<'_>) -> StrBytes {
    let length = usize::from(input.u8());
    StrBytes::from_string(String::from_utf8_lossy(input.take(length)).into_owned())
}

fn topic_id(input: &mut Input<'_>) -> TopicId {
    TopicId(Uuid::from_u64_pair(input.i64().cast_unsigned(), input.i64().cast_unsigned()))
}

fn some<T>(input: &mut Input<'_>, make: impl Fn(&mut Input<'_>) -> T) -> Option<T> {
    (input.u8() & 1 == 1).then(|| make(input))
}

fn many<T>(input: &mut Input<'_>, make: impl Fn(&mut Input<'_>) -> T) -> Vec<T> {
    let count = input.u8() % 4;
    (0..count).map(|_| make(input)).collect()
}

fn error(input: &mut Input<'_>) -> ErrorCode {
    [ErrorCode::None, ErrorCode::OffsetOutOfRange, ErrorCode::NotLeaderOrFollower]
        [usize::from(input.u8() % 3)]
}

fn leader(input: &mut Input<'_>) -> produce::LeaderIdAndEpoch {
    produce::LeaderIdAndEpoch { leader_id: input.i32(), leader_epoch: input.i32() }
}

fn endpoint(input: &mut Input<'_>) -> produce::NodeEndpoint {
    produce::NodeEndpoint {
        node_id: input.i32(),
        host: string(input),
        port: input.i32(),
        rack: some(input, string),
    }
}

fn produce_answer(input: &mut Input<'_>) -> produce::Answer {
    produce::Answer {
        topics: many(input, |input| produce::TopicAnswer {
            name: string(input),
            id: topic_id(input),
            partitions: many(input, |input| produce::PartitionAnswer {
                index: input.i32(),
                error: error(input),
                base_offset: input.i64(),
                log_append_time_ms: input.i64(),
                log_start_offset: input.i64(),
                record_errors: many(input, |input| produce::RecordError {
                    batch_index: input.i32(),
                    message: some(input, string),
                }),
                error_message: some(input, string),
                current_leader: some(input, leader),
            }),
        }),
        throttle_time_ms: input.i32(),
        node_endpoints: many(input, endpoint),
    }
}

fn fetch_answer(input: &mut Input<'_>) -> fetch::Answer {
    fetch::Answer {
        throttle_time_ms: input.i32(),
        error: error(input),
        session_id: input.i32(),
        topics: many(input, |input| fetch::TopicAnswer {
            name: string(input),
            id: topic_id(input),
            partitions: many(input, |input| fetch::PartitionAnswer {
                index: input.i32(),
                error: error(input),
                high_watermark: input.i64(),
                last_stable_offset: input.i64(),
                log_start_offset: input.i64(),
                diverging_epoch: some(input, |input| fetch::EpochEndOffset {
                    epoch: input.i32(),
                    end_offset: input.i64(),
                }),
                current_leader: some(input, leader),
                snapshot_id: some(input, |input| fetch::SnapshotId {
                    end_offset: input.i64(),
                    epoch: input.i32(),
                }),
                aborted_transactions: some(input, |input| {
                    many(input, |input| fetch::AbortedTransaction {
                        producer_id: input.i64(),
                        first_offset: input.i64(),
                    })
                }),
                preferred_read_replica: input.i32(),
                records: many(input, |input| Part::Bytes(input.piece())),
            }),
        }),
        node_endpoints: many(input, endpoint),
    }
}

/// What members of a group send each other through the broker.
pub(super) fn payloads(input: &mut Input<'_>) {
    let choice = input.u8();
    let bytes = input.body();
    match choice % 3 {
        0 => {
            // One after the other: each has the budget for itself.
            let named = client_payload::subscription(bytes.clone()).map(|read| read.topics.len());
            let counted = groups::probe::subscribed(&bytes);
            if let (Ok(named), Some(counted)) = (named, counted) {
                // The two readers agree where what the broker needs is well written; one counts a topic once.
                assert!(counted <= named);
            }
        }
        1 => drop(client_payload::assignment(bytes)),
        _ => {
            groups::probe::subscribed(&bytes);
        }
    }
}
