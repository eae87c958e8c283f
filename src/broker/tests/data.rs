//! Produce, Fetch and what belongs to them, in every version that is offered.

use super::Bench;
use super::admin::create;
use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::broker::context::Answer;
use crate::broker::context::Reply;
use crate::io::Clock;
use crate::io::sim::SimClock;
use crate::log::Threads;
use crate::protocol::versions;
use crate::record::BatchBuilder;
use crate::record::Codec;
use crate::record::walk;
use bytes::Bytes;
use kafka_protocol::messages::BrokerId;
use kafka_protocol::messages::DeleteRecordsRequest;
use kafka_protocol::messages::DescribeProducersRequest;
use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::FetchResponse;
use kafka_protocol::messages::InitProducerIdRequest;
use kafka_protocol::messages::ListOffsetsRequest;
use kafka_protocol::messages::OffsetForLeaderEpochRequest;
use kafka_protocol::messages::ProduceRequest;
use kafka_protocol::messages::TopicName;
use kafka_protocol::messages::TransactionalId;
use kafka_protocol::messages::delete_records_request::DeleteRecordsPartition;
use kafka_protocol::messages::delete_records_request::DeleteRecordsTopic;
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::fetch_request::FetchPartition;
use kafka_protocol::messages::fetch_request::FetchTopic;
use kafka_protocol::messages::list_offsets_request::ListOffsetsPartition;
use kafka_protocol::messages::list_offsets_request::ListOffsetsTopic;
use kafka_protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderPartition;
use kafka_protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderTopic;
use kafka_protocol::messages::produce_request::PartitionProduceData;
use kafka_protocol::messages::produce_request::TopicProduceData;
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::protocol::StrBytes;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use uuid::Uuid;

const TIME: i64 = 1_700_000_000_000;

fn name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}

fn builder(codec: Codec) -> BatchBuilder {
    BatchBuilder::new(codec, Timestamp(TIME))
}

fn filled(mut builder: BatchBuilder, values: &[&str]) -> Bytes {
    for value in values {
        builder.push(Some(b"k"), Some(value.as_bytes()), &[], Timestamp(TIME));
    }
    builder.build().bytes().clone()
}

pub(super) fn batch(values: &[&str]) -> Bytes {
    filled(builder(Codec::None), values)
}

fn id_of(bench: &Bench, topic: &str) -> Uuid {
    bench.broker.publisher.current().topic(topic).map_or(Uuid::from_u128(99), |topic| topic.id.0)
}

/// A Produce request for one partition of a topic.
fn produce(bench: &Bench, version: i16, topic: &str, index: i32, records: Bytes) -> ProduceRequest {
    let data = PartitionProduceData::default().with_index(index).with_records(Some(records));
    let topic = if version >= 13 {
        TopicProduceData::default().with_topic_id(id_of(bench, topic))
    } else {
        TopicProduceData::default().with_name(name(topic))
    };
    ProduceRequest::default()
        .with_acks(-1)
        .with_timeout_ms(30_000)
        .with_topic_data(vec![topic.with_partition_data(vec![data])])
}

async fn produced(bench: &Bench, request: &ProduceRequest, version: i16) -> PartitionProduceResponse {
    let mut response = bench.ask(request, version).await;
    response.responses.remove(0).partition_responses.remove(0)
}

pub(super) async fn send(
    bench: &Bench,
    version: i16,
    topic: &str,
    records: Bytes,
) -> PartitionProduceResponse {
    produced(bench, &produce(bench, version, topic, 0, records), version).await
}

/// The error of sending `records` with a version that has messages and record errors.
/// Two records for a topic's first partition.
pub(super) async fn produce_some(bench: &Bench, topic: &str) {
    produce_values(bench, topic, &["one", "two"]).await;
}

/// Records for a topic's first partition.
pub(super) async fn produce_values(bench: &Bench, topic: &str, values: &[&str]) {
    assert_eq!(send(bench, 9, topic, batch(values)).await.error_code, 0);
}

async fn refusal(bench: &Bench, topic: &str, records: Bytes) -> ErrorCode {
    ErrorCode::from_code(send(bench, 12, topic, records).await.error_code).unwrap()
}

/// A Fetch request for partitions of a topic, each from an offset on.
fn fetch(bench: &Bench, version: i16, topic: &str, partitions: &[(i32, i64)]) -> FetchRequest {
    let wanted = partitions.iter().map(|(index, offset)| {
        FetchPartition::default()
            .with_partition(*index)
            .with_fetch_offset(*offset)
            .with_partition_max_bytes(1 << 20)
    });
    let topic = if version >= 13 {
        FetchTopic::default().with_topic_id(id_of(bench, topic))
    } else {
        FetchTopic::default().with_topic(name(topic))
    };
    let mut request = FetchRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_max_wait_ms(0)
        .with_min_bytes(1)
        .with_topics(vec![topic.with_partitions(wanted.collect())]);
    if version >= 7 {
        request.session_epoch = -1;
    }
    request
}

#[tokio::test]
async fn a_produce_that_finds_no_room_is_refused_when_its_time_is_up_and_not_stored_later() {
    let time = SimClock::new();
    let lines = vec![("message.max.bytes".to_owned(), "10000000".to_owned())];
    // The disk's task runs only when this one waits.
    let outside = (Clock::Sim(time.clone()), Threads::Tasks);
    let bench = Bench::start_with(tempfile::tempdir().unwrap(), lines, outside).await;
    create(&bench, "t", 1).await;
    let request = produce(&bench, 12, "t", 0, batch(&["x".repeat(8 << 20).as_str()]));
    let mut stored = Vec::new();
    let mut late = loop {
        match bench.broker.handle(&bench.connection, super::frame(&request, 12), false) {
            Reply::Pipelined(pending) => stored.push(pending),
            Reply::Later(pending) => break pending,
            Reply::Now(answer) => panic!("{answer:?}"),
        }
        assert!(stored.len() < 20, "there is always room");
    };
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(late.as_mut().poll(&mut context).is_pending());
    time.advance(Duration::from_secs(29));
    assert!(late.as_mut().poll(&mut context).is_pending());
    time.advance(Duration::from_secs(1));
    let Poll::Ready(answer) = late.as_mut().poll(&mut context) else { panic!("it waits on") };
    let error = |answer: Answer| {
        Bench::read::<ProduceRequest>(answer, 12).responses[0].partition_responses[0].error_code
    };
    assert_eq!(error(answer), ErrorCode::RequestTimedOut.code());
    let count = i64::try_from(stored.len()).unwrap();
    for pending in stored {
        assert_eq!(error(pending.await), 0, "what was appended is stored all the same");
    }
    let partition = bench.broker.replicas.by_name("t", PartitionIndex(0)).unwrap();
    assert_eq!(partition.log_end_offset().0, count);
}

#[tokio::test]
async fn a_disk_that_stands_still_lets_all_partitions_of_a_request_run_out_at_once() {
    let time = SimClock::new();
    let outside = (Clock::Sim(time.clone()), Threads::Tasks);
    let bench = Bench::start_with(tempfile::tempdir().unwrap(), Vec::new(), outside).await;
    create(&bench, "t", 4).await;
    let mut request = produce(&bench, 12, "t", 0, batch(&["a"]));
    let partitions = &mut request.topic_data[0].partition_data;
    for index in 1..4 {
        partitions.push(partitions[0].clone().with_index(index));
    }
    let reply = bench.broker.handle(&bench.connection, super::frame(&request, 12), false);
    let Reply::Pipelined(mut pending) = reply else { panic!("{reply:?}") };
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(pending.as_mut().poll(&mut context).is_pending());
    time.advance(Duration::from_secs(30));
    let Poll::Ready(answer) = pending.as_mut().poll(&mut context) else { panic!("it waits on") };
    let answer = Bench::read::<ProduceRequest>(answer, 12);
    let codes: Vec<i16> =
        answer.responses[0].partition_responses.iter().map(|partition| partition.error_code).collect();
    assert_eq!(codes, [ErrorCode::RequestTimedOut.code(); 4]);
}

#[tokio::test]
async fn a_fetch_that_waits_does_not_keep_its_request_in_memory() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    for version in Bench::versions(versions::FETCH) {
        let request = fetch(&bench, version, "t", &[(0, 0)]).with_max_wait_ms(60_000);
        let frame = Arc::new(super::frame_of(&request, version, Some("a client that has a name")));
        let reply =
            bench.broker.handle(&bench.connection, Bytes::from_owner(Frame(Arc::clone(&frame))), false);
        assert!(matches!(reply, Reply::Later(_)), "version {version}: {reply:?}");
        assert_eq!(Arc::strong_count(&frame), 1, "version {version} keeps it");
    }
}

/// A request's bytes; who holds them is counted.
struct Frame(Arc<Bytes>);

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn offsets_of(response: &FetchResponse) -> Vec<(i32, Vec<i64>)> {
    let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
    partitions
        .map(|partition| {
            let records = partition.records.clone().unwrap_or_default();
            let offsets = walk(&records).map(|batch| batch.unwrap().1.base_offset).collect();
            (partition.partition_index, offsets)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_produced_is_fetched_in_every_version() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let mut base = 0;
    for version in Bench::versions(versions::PRODUCE) {
        let answer = send(&bench, version, "t", batch(&["a", "b"])).await;
        assert_eq!((answer.error_code, answer.base_offset), (0, base), "{version}");
        assert_eq!(answer.log_append_time_ms, -1);
        base += 2;
    }
    let expected: Vec<i64> = (0..base).step_by(2).collect();
    for version in Bench::versions(versions::FETCH) {
        let response = bench.ask(&fetch(&bench, version, "t", &[(0, 0)]), version).await;
        assert_eq!(offsets_of(&response), [(0, expected.clone())], "{version}");
        let partition = &response.responses[0].partitions[0];
        assert_eq!((partition.error_code, partition.high_watermark), (0, base), "{version}");
        assert_eq!(partition.last_stable_offset, base);
        assert!(partition.aborted_transactions.is_none());
        assert_eq!(response.responses[0].topic_id.is_nil(), version < 13);
        let mut committed = fetch(&bench, version, "t", &[(0, 0)]);
        committed.isolation_level = 1;
        let response = bench.ask(&committed, version).await;
        assert_eq!(response.responses[0].partitions[0].aborted_transactions, Some(Vec::new()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_comes_back_byte_for_byte_behind_its_new_head() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let sent = filled(builder(codec), &["one", "two", "three"]);
        let base = send(&bench, 9, "t", sent.clone()).await.base_offset;
        let response = bench.ask(&fetch(&bench, 12, "t", &[(0, base)]), 12).await;
        let got = response.responses[0].partitions[0].records.clone().unwrap();
        assert_eq!(got.len(), sent.len());
        assert_eq!(got[16..], sent[16..], "{codec:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn produce_refuses_what_kafka_refuses() {
    let bench = Bench::new(&[("message.max.bytes", "1000")]).await;
    create(&bench, "t", 1).await;
    create(&bench, "__consumer_offsets", 1).await;
    let code = async |records| refusal(&bench, "t", records).await;
    assert_eq!(refusal(&bench, "nope", batch(&["a"])).await, ErrorCode::UnknownTopicOrPartition);
    assert_eq!(send(&bench, 13, "nope", batch(&["a"])).await.error_code, ErrorCode::UnknownTopicId.code());
    let elsewhere = produced(&bench, &produce(&bench, 12, "t", 5, batch(&["a"])), 12).await;
    assert_eq!(elsewhere.error_code, ErrorCode::UnknownTopicOrPartition.code());
    let internal = refusal(&bench, "__consumer_offsets", batch(&["a"])).await;
    assert_eq!(internal, ErrorCode::InvalidTopicException);
    assert_eq!(code(Bytes::new()).await, ErrorCode::InvalidRecord);
    let twice = [batch(&["a"]), batch(&["b"])].concat();
    assert_eq!(code(twice.into()).await, ErrorCode::InvalidRecord);
    let mut torn = batch(&["a"]).to_vec();
    torn[40] ^= 1;
    assert_eq!(code(torn.into()).await, ErrorCode::CorruptMessage);
    assert_eq!(code(batch(&["x".repeat(2000).as_str()])).await, ErrorCode::MessageTooLarge);
    let old_zstd = send(&bench, 6, "t", filled(builder(Codec::Zstd), &["a"])).await;
    assert_eq!(old_zstd.error_code, ErrorCode::UnsupportedCompressionType.code());
    let request = produce(&bench, 12, "t", 0, batch(&["a"])).with_acks(2);
    assert_eq!(produced(&bench, &request, 12).await.error_code, ErrorCode::InvalidRequiredAcks.code());
    let stored = bench.broker.replicas.by_name("t", PartitionIndex(0)).unwrap().log_end_offset();
    assert_eq!(stored.0, 0, "nothing of all this is stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_records_are_answered_with_no_more_than_kafka_tells() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let told = async |records: Bytes| {
        let answer = send(&bench, 12, "t", records).await;
        assert_eq!(answer.error_message, None);
        (ErrorCode::from_code(answer.error_code).unwrap(), answer.log_start_offset)
    };
    let mut torn = batch(&["a"]).to_vec();
    torn[40] ^= 1;
    assert_eq!(told(torn.into()).await, (ErrorCode::CorruptMessage, -1));
    assert_eq!(told([batch(&["a"]), batch(&["b"])].concat().into()).await, (ErrorCode::InvalidRecord, -1));
    // No batch has format 3: the whole request is refused, with words.
    let mut odd = batch(&["a"]).to_vec();
    odd[16] = 3;
    let mut request = produce(&bench, 12, "t", 0, batch(&["a"]));
    let second = PartitionProduceData::default().with_index(1).with_records(Some(odd.into()));
    request.topic_data[0].partition_data.push(second);
    let answers = bench.ask(&request, 12).await.responses.remove(0).partition_responses;
    assert!(
        answers
            .iter()
            .all(|one| one.error_code == ErrorCode::CorruptMessage.code() && one.error_message.is_some())
    );
    assert_eq!(answers.len(), 2);
    // Kafka finds this out with the log at hand.
    let mut moved = batch(&["a"]).to_vec();
    moved[7] = 5;
    assert_eq!(told(moved.into()).await, (ErrorCode::InvalidRecord, 0));
    // What is no batch, and what is not there, is told before wrong acks; a topic without partitions is not told of.
    let request = produce(&bench, 12, "t", 0, Bytes::new()).with_acks(2);
    assert_eq!(produced(&bench, &request, 12).await.error_code, ErrorCode::InvalidRecord.code());
    let request = produce(&bench, 12, "nope", 0, batch(&["a"])).with_acks(2);
    assert_eq!(produced(&bench, &request, 12).await.error_code, ErrorCode::UnknownTopicOrPartition.code());
    let mut request = produce(&bench, 12, "t", 0, batch(&["a"]));
    request.topic_data[0].partition_data.clear();
    assert!(bench.ask(&request, 12).await.responses.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_named_twice_is_fetched_and_cut_once_as_it_was_named_last() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 2).await;
    for _ in 0..3 {
        send(&bench, 9, "t", batch(&["a"])).await;
    }
    let response = bench.ask(&fetch(&bench, 12, "t", &[(0, 0), (1, 0), (0, 2)]), 12).await;
    assert_eq!(offsets_of(&response), [(0, vec![2]), (1, vec![])]);
    let cut = |offset| DeleteRecordsPartition::default().with_partition_index(0).with_offset(offset);
    let topic =
        DeleteRecordsTopic::default().with_name(name("t")).with_partitions(vec![cut(3), cut(99), cut(1)]);
    let request = DeleteRecordsRequest::default().with_timeout_ms(5000).with_topics(vec![topic]);
    let answers = bench.ask(&request, 2).await.topics.remove(0).partitions;
    let answers: Vec<_> = answers.iter().map(|one| (one.error_code, one.low_watermark)).collect();
    assert_eq!(answers, [(0, 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_isolation_level_that_nobody_knows_reads_nothing() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    send(&bench, 9, "t", batch(&["a"])).await;
    let unknown = ErrorCode::UnknownServerError.code();
    let response = bench.ask(&fetch(&bench, 12, "t", &[(0, 0)]).with_isolation_level(2), 12).await;
    let partition = &response.responses[0].partitions[0];
    assert_eq!((response.error_code, partition.error_code, partition.high_watermark), (unknown, unknown, -1));
    let response = bench.ask(&fetch(&bench, 16, "t", &[(0, 0)]).with_isolation_level(-1), 16).await;
    assert_eq!((response.error_code, response.responses.len()), (unknown, 0));
    let response = bench.ask(&fetch(&bench, 12, "t", &[(7, 0)]).with_isolation_level(2), 12).await;
    let code = response.responses[0].partitions[0].error_code;
    let absent = ErrorCode::UnknownTopicOrPartition.code();
    assert_eq!((response.error_code, code), (0, absent), "nothing is to be read at any level");
    let partition = ListOffsetsPartition::default().with_partition_index(0).with_timestamp(-1);
    let topic = ListOffsetsTopic::default().with_name(name("t")).with_partitions(vec![partition]);
    let request = ListOffsetsRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_isolation_level(2)
        .with_topics(vec![topic]);
    let partition = &bench.ask(&request, 7).await.topics[0].partitions[0];
    assert_eq!((partition.error_code, partition.offset), (unknown, -1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_without_key_is_named_and_harms_no_other_partition() {
    let bench = Bench::new(&[("log.cleanup.policy", "compact")]).await;
    create(&bench, "t", 2).await;
    let mut mixed = builder(Codec::None);
    for key in [Some(&b"k"[..]), Some(b"k"), None, Some(b"k"), Some(b"k")] {
        mixed.push(key, Some(b"v"), &[], Timestamp(TIME));
    }
    let mut request = produce(&bench, 9, "t", 0, mixed.build().bytes().clone());
    let good = PartitionProduceData::default().with_index(1).with_records(Some(batch(&["a"])));
    request.topic_data[0].partition_data.push(good);
    let response = bench.ask(&request, 9).await;
    let [bad, good] = response.responses[0].partition_responses.as_slice() else { panic!("two answers") };
    assert_eq!(bad.error_code, ErrorCode::InvalidRecord.code());
    assert_eq!(bad.record_errors.iter().map(|error| error.batch_index).collect::<Vec<_>>(), [2]);
    assert!(bad.record_errors[0].batch_index_error_message.as_ref().unwrap().contains("key"));
    let words = bad.error_message.as_ref().unwrap();
    assert!(
        words.starts_with("One or more records have been rejected due to 1 record errors in total"),
        "{words}"
    );
    assert!(words.contains("[RecordError(batchIndex=2, message='"), "{words}");
    assert_eq!((good.error_code, good.base_offset), (0, 0));
    let partition = bench.broker.replicas.by_name("t", PartitionIndex(0)).unwrap();
    assert_eq!(partition.log_end_offset().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_out_of_their_topics_time_are_all_named() {
    let bench = Bench::new(&[("log.message.timestamp.after.max.ms", "1000")]).await;
    create(&bench, "t", 1).await;
    let later = Timestamp(bench.broker.clock.wall().0 + 5 * 60 * 1000);
    let mut late = BatchBuilder::new(Codec::Gzip, later);
    for value in ["hello", "there", "beautiful"] {
        late.push(None, Some(value.as_bytes()), &[], later);
    }
    let answer = send(&bench, 9, "t", late.build().bytes().clone()).await;
    assert_eq!(answer.error_code, ErrorCode::InvalidTimestamp.code());
    assert_eq!(answer.record_errors.iter().map(|error| error.batch_index).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(answer.record_errors.iter().all(|error| error.batch_index_error_message.is_some()));
    let words = "One or more records have been rejected due to invalid timestamp";
    assert_eq!(answer.error_message.as_deref(), Some(words));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_acks_nothing_is_answered_and_an_error_closes() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let request = produce(&bench, 9, "t", 0, batch(&["a"])).with_acks(0);
    assert!(matches!(bench.outcome(&request, 9).await, Answer::Silent));
    assert_eq!(bench.broker.replicas.by_name("t", PartitionIndex(0)).unwrap().high_watermark().0, 1);
    let request = produce(&bench, 9, "nope", 0, batch(&["a"])).with_acks(0);
    assert!(matches!(bench.outcome(&request, 9).await, Answer::Close(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn append_time_is_the_brokers_and_is_answered() {
    let bench = Bench::new(&[("log.message.timestamp.type", "LogAppendTime")]).await;
    create(&bench, "t", 1).await;
    for codec in [Codec::None, Codec::Lz4] {
        let before = bench.broker.clock.wall().0;
        let answer = send(&bench, 9, "t", filled(builder(codec), &["a", "b"])).await;
        assert!(answer.log_append_time_ms >= before);
        let response = bench.ask(&fetch(&bench, 12, "t", &[(0, answer.base_offset)]), 12).await;
        let records = response.responses[0].partitions[0].records.clone().unwrap();
        let (_, header) = walk(&records).next().unwrap().unwrap();
        assert_eq!(header.max_timestamp, answer.log_append_time_ms);
        assert!(crate::record::is_intact(&records));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotent_producers_get_ids_and_transactions_need_their_coordinator() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let mut ids = Vec::new();
    for version in Bench::versions(versions::INIT_PRODUCER_ID) {
        let mut request = InitProducerIdRequest::default().with_transactional_id(None);
        if version >= 3 {
            // A producer that asks for a higher epoch gets a fresh id, as from Kafka.
            request = request.with_producer_id(ids.first().map_or_else(|| 7.into(), |id: &i64| (*id).into()));
            request.producer_epoch = 0;
        }
        let answer = bench.ask(&request, version).await;
        assert_eq!((answer.error_code, answer.producer_epoch), (0, 0), "{version}");
        ids.push(answer.producer_id.0);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), Bench::versions(versions::INIT_PRODUCER_ID).count());
    let id = |id: &str| Some(TransactionalId(StrBytes::from_string(id.to_owned())));
    let empty = InitProducerIdRequest::default().with_transactional_id(id(""));
    assert_eq!(bench.ask(&empty, 4).await.error_code, ErrorCode::InvalidRequest.code());
    let some = InitProducerIdRequest::default().with_transactional_id(id("tx"));
    for version in Bench::versions(versions::INIT_PRODUCER_ID) {
        let code = bench.ask(&some, version).await.error_code;
        assert_eq!(code, ErrorCode::NotCoordinator.code(), "{version}");
    }

    let sequenced = |sequence| {
        let builder = builder(Codec::None).producer(ProducerId(ids[0]), ProducerEpoch(0), sequence);
        filled(builder, &["a"])
    };
    assert_eq!(send(&bench, 9, "t", sequenced(0)).await.base_offset, 0);
    assert_eq!(send(&bench, 9, "t", sequenced(1)).await.base_offset, 1);
    assert_eq!(send(&bench, 9, "t", sequenced(0)).await.base_offset, 0, "a duplicate is a success");
    let gap = ErrorCode::OutOfOrderSequenceNumber;
    assert_eq!(refusal(&bench, "t", sequenced(5)).await, gap);
    let topic = TopicRequest::default().with_name(name("t")).with_partition_indexes(vec![0, 9]);
    let answer = bench.ask(&DescribeProducersRequest::default().with_topics(vec![topic]), 0).await;
    let [here, unknown] = answer.topics[0].partitions.as_slice() else { panic!("two answers") };
    let producer = &here.active_producers[0];
    assert_eq!((producer.producer_id.0, producer.last_sequence), (ids[0], 1));
    assert_eq!(producer.current_txn_start_offset, -1);
    assert_eq!(unknown.error_code, ErrorCode::UnknownTopicOrPartition.code());

    let open = || builder(Codec::None).producer(ProducerId(ids[1]), ProducerEpoch(0), 0).transactional();
    let mut request = produce(&bench, 9, "t", 0, filled(open(), &["a"]));
    let without_id = ErrorCode::TransactionalIdAuthorizationFailed.code();
    assert_eq!(produced(&bench, &request, 9).await.error_code, without_id);
    // What ends before its batch does is none, and so of no transaction.
    let mut long = filled(open(), &["a"]).to_vec();
    long[11] += 5;
    let torn = produce(&bench, 9, "t", 0, long.into());
    assert_eq!(produced(&bench, &torn, 9).await.error_code, ErrorCode::InvalidRecord.code());
    request.transactional_id = id("tx");
    // Nobody vouches for the transaction, and the producer is to send again.
    for version in [9, 11, 12] {
        let code = produced(&bench, &request, version).await.error_code;
        assert_eq!(code, ErrorCode::NotEnoughReplicas.code(), "{version}");
    }
    request.acks = -2;
    let code = produced(&bench, &request, 12).await.error_code;
    assert_eq!(code, ErrorCode::NotEnoughReplicas.code(), "acks are looked at later");
    request.acks = -1;
    let two = PartitionProduceData::default().with_index(1).with_records(Some(filled(
        builder(Codec::None).producer(ProducerId(99), ProducerEpoch(0), 0).transactional(),
        &["a"],
    )));
    request.topic_data[0].partition_data.push(two);
    let code = produced(&bench, &request, 9).await.error_code;
    assert_eq!(code, ErrorCode::InvalidProducerIdMapping.code(), "two producers in one request");
}

#[tokio::test(flavor = "multi_thread")]
async fn fetch_answers_each_trouble_with_its_code() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    send(&bench, 9, "t", batch(&["a"])).await;
    let code = async |request: FetchRequest, version| {
        let response = bench.ask(&request, version).await;
        let partition = &response.responses[0].partitions[0];
        assert_eq!(partition.high_watermark, -1);
        ErrorCode::from_code(partition.error_code).unwrap()
    };
    assert_eq!(code(fetch(&bench, 12, "t", &[(0, 2)]), 12).await, ErrorCode::OffsetOutOfRange);
    assert_eq!(code(fetch(&bench, 12, "t", &[(7, 0)]), 12).await, ErrorCode::UnknownTopicOrPartition);
    assert_eq!(code(fetch(&bench, 12, "nope", &[(0, 0)]), 12).await, ErrorCode::UnknownTopicOrPartition);
    assert_eq!(code(fetch(&bench, 13, "nope", &[(0, 0)]), 13).await, ErrorCode::UnknownTopicId);
    let mut newer = fetch(&bench, 12, "t", &[(0, 0)]);
    newer.topics[0].partitions[0].current_leader_epoch = 9;
    assert_eq!(code(newer, 12).await, ErrorCode::UnknownLeaderEpoch);
    let follower = fetch(&bench, 12, "t", &[(0, 0)]).with_replica_id(BrokerId(5));
    assert_eq!(code(follower, 12).await, ErrorCode::NotLeaderOrFollower);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_opened_stepped_and_closed() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 3).await;
    let version = 16;
    let open = fetch(&bench, version, "t", &[(0, 0), (1, 0), (2, 0)]).with_session_epoch(0);
    let opened = bench.ask(&open, version).await;
    assert_eq!((opened.error_code, opened.responses[0].partitions.len()), (0, 3));
    let step = |epoch| {
        let mut request = fetch(&bench, version, "t", &[]).with_session_epoch(epoch);
        request.topics.clear();
        request.with_session_id(opened.session_id)
    };
    let quiet = bench.ask(&step(1), version).await;
    assert_eq!((quiet.error_code, quiet.session_id), (0, opened.session_id));
    assert!(quiet.responses.is_empty());
    produced(&bench, &produce(&bench, 9, "t", 1, batch(&["a"])), 9).await;
    let news = bench.ask(&step(2), version).await;
    assert_eq!(offsets_of(&news), [(1, vec![0])]);
    let wrong = bench.ask(&step(9), version).await;
    assert_eq!(wrong.error_code, ErrorCode::InvalidFetchSessionEpoch.code());
    let close = step(-1);
    assert_eq!(bench.ask(&close, version).await.error_code, 0);
    let gone = bench.ask(&step(3), version).await;
    assert_eq!(gone.error_code, ErrorCode::FetchSessionIdNotFound.code());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_poll_ends_with_the_record_it_waits_for() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 2).await;
    for version in Bench::versions(versions::FETCH) {
        let end = bench.broker.replicas.by_name("t", PartitionIndex(1)).unwrap().high_watermark().0;
        let waiting = fetch(&bench, version, "t", &[(0, 0), (1, end)]).with_max_wait_ms(60_000);
        let producing = produce(&bench, 9, "t", 1, batch(&["a"]));
        let (response, _) = tokio::join!(bench.ask(&waiting, version), bench.ask(&producing, 9));
        assert_eq!(offsets_of(&response), [(0, vec![]), (1, vec![end])], "{version}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_are_listed_in_every_version() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    send(&bench, 9, "t", batch(&["a", "b", "c"])).await;
    let ask = async |timestamp, version, index| {
        let partition = ListOffsetsPartition::default().with_partition_index(index).with_timestamp(timestamp);
        let topic = ListOffsetsTopic::default().with_name(name("t")).with_partitions(vec![partition]);
        let request = ListOffsetsRequest::default().with_replica_id(BrokerId(-1)).with_topics(vec![topic]);
        let response = bench.ask(&request, version).await;
        let answer = &response.topics[0].partitions[0];
        (answer.error_code, answer.offset, answer.timestamp)
    };
    for version in Bench::versions(versions::LIST_OFFSETS).filter(|version| *version <= 10) {
        assert_eq!(ask(-1, version, 0).await, (0, 3, -1), "{version}");
        assert_eq!(ask(-2, version, 0).await, (0, 0, -1), "{version}");
        assert_eq!(ask(TIME, version, 0).await, (0, 0, TIME), "{version}");
        assert_eq!(ask(TIME + 1, version, 0).await, (0, -1, -1), "beyond the end, {version}");
        let max = if version >= 7 { (0, 0, TIME) } else { (35, -1, -1) };
        assert_eq!(ask(-3, version, 0).await, max, "{version}");
        assert_eq!(ask(-1, version, 9).await, (3, -1, -1));
    }
    let partition = ListOffsetsPartition::default().with_timestamp(-1);
    let topic =
        ListOffsetsTopic::default().with_name(name("t")).with_partitions(vec![partition.clone(), partition]);
    let request = ListOffsetsRequest::default().with_replica_id(BrokerId(-1)).with_topics(vec![topic]);
    let response = bench.ask(&request, 5).await;
    let codes = response.topics[0].partitions.iter().map(|one| one.error_code).collect::<Vec<_>>();
    assert_eq!(codes, [ErrorCode::InvalidRequest.code(); 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_deleted_and_epochs_end_where_the_log_ends() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    send(&bench, 9, "t", batch(&["a"])).await;
    send(&bench, 9, "t", batch(&["b", "c"])).await;
    let delete = async |topic: &str, offset, version| {
        let partition = DeleteRecordsPartition::default().with_offset(offset);
        let topic = DeleteRecordsTopic::default().with_name(name(topic)).with_partitions(vec![partition]);
        let request = DeleteRecordsRequest::default().with_topics(vec![topic]).with_timeout_ms(1000);
        let response = bench.ask(&request, version).await;
        let answer = &response.topics[0].partitions[0];
        (answer.error_code, answer.low_watermark)
    };
    assert_eq!(delete("t", 1, 0).await, (0, 1));
    assert_eq!(delete("t", 4, 1).await, (ErrorCode::OffsetOutOfRange.code(), -1));
    assert_eq!(delete("t", -1, 2).await, (0, 3));
    // Whether it is there is asked before whether it is a topic of the broker's own.
    for missing in ["nope", "__consumer_offsets"] {
        assert_eq!(delete(missing, 0, 2).await, (ErrorCode::UnknownTopicOrPartition.code(), -1));
    }
    create(&bench, "__consumer_offsets", 1).await;
    let refused = (ErrorCode::InvalidTopicException.code(), -1);
    assert_eq!(delete("__consumer_offsets", 0, 2).await, refused);
    let before = bench.ask(&fetch(&bench, 12, "t", &[(0, 1)]), 12).await;
    assert_eq!(before.responses[0].partitions[0].error_code, ErrorCode::OffsetOutOfRange.code());

    for version in Bench::versions(versions::OFFSET_FOR_LEADER_EPOCH) {
        let asked = |epoch| OffsetForLeaderPartition::default().with_leader_epoch(epoch);
        let partitions = vec![asked(0), asked(5)];
        let topic = OffsetForLeaderTopic::default().with_topic(name("t")).with_partitions(partitions);
        let request =
            OffsetForLeaderEpochRequest::default().with_replica_id(BrokerId(-1)).with_topics(vec![topic]);
        let response = bench.ask(&request, version).await;
        let ends = response.topics[0].partitions.iter();
        let ends: Vec<_> = ends.map(|end| (end.error_code, end.leader_epoch, end.end_offset)).collect();
        assert_eq!(ends, [(0, 0, 3), (0, -1, -1)], "{version}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_topic_is_used_at_once() {
    let bench = Bench::new(&[]).await;
    for round in 0..20 {
        let topic = format!("t{round}");
        create(&bench, &topic, 5).await;
        for index in 0..5 {
            let answer = produced(&bench, &produce(&bench, 13, &topic, index, batch(&["a"])), 13).await;
            assert_eq!((answer.error_code, answer.base_offset), (0, 0));
        }
        let response = bench.ask(&fetch(&bench, 16, &topic, &[(4, 0)]), 16).await;
        assert_eq!(offsets_of(&response), [(4, vec![0])]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_records_producers_and_ids() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let sequenced =
        |sequence| filled(builder(Codec::None).producer(ProducerId(5), ProducerEpoch(0), sequence), &["a"]);
    let next_id = async |bench: &Bench| {
        let request = InitProducerIdRequest::default().with_transactional_id(None);
        bench.ask(&request, 2).await.producer_id.0
    };
    let first = next_id(&bench).await;
    send(&bench, 9, "t", sequenced(0)).await;
    send(&bench, 9, "t", sequenced(1)).await;
    let bench = bench.restart().await;
    assert_eq!(send(&bench, 9, "t", sequenced(1)).await.base_offset, 1, "still known as a duplicate");
    assert_eq!(send(&bench, 9, "t", sequenced(2)).await.base_offset, 2);
    assert!(next_id(&bench).await > first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_names_far_more_partitions_than_there_are_closes_the_connection() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let few: Vec<(i32, i64)> = (0..1000).map(|index| (index, 0)).collect();
    assert!(matches!(bench.outcome(&fetch(&bench, 12, "t", &few), 12).await, Answer::Send(_)));
    let many: Vec<(i32, i64)> = (0..20_000).map(|index| (index, 0)).collect();
    assert!(matches!(bench.outcome(&fetch(&bench, 12, "t", &many), 12).await, Answer::Close(_)));
    let mut request = produce(&bench, 9, "t", 0, Bytes::new());
    let data = request.topic_data[0].partition_data[0].clone();
    request.topic_data[0].partition_data = vec![data; 20_000];
    assert!(matches!(bench.outcome(&request, 9).await, Answer::Close(_)));
}
