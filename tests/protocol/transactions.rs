//! Transactions one right after the other: what comes before the markers are written waits for them.

use crate::node::Client;
use crate::node::Node;
use bytes::BytesMut;
use dohle::protocol::versions;
use kafka_protocol::messages as m;
use kafka_protocol::messages::GroupId;
use kafka_protocol::messages::ProducerId;
use kafka_protocol::messages::TopicName;
use kafka_protocol::messages::TransactionalId;
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::protocol::Encodable;
use kafka_protocol::protocol::StrBytes;

/// Of each request the last version for clients that add partitions themselves.
const VERSION: i16 = 3;

fn id() -> TransactionalId {
    TransactionalId(StrBytes::from_static_str("ledger"))
}

fn topic() -> TopicName {
    TopicName(StrBytes::from_static_str("entries"))
}

fn call<Q: Encodable, A: Decodable>(client: &mut Client, key: i16, version: i16, request: &Q) -> A {
    let mut body = BytesMut::new();
    request.encode(&mut body, version).unwrap();
    A::decode(&mut client.ask(key, version, &body).unwrap(), version).unwrap()
}

/// The producer's id and epoch.
fn init(client: &mut Client) -> (ProducerId, i16) {
    let request = m::InitProducerIdRequest::default()
        .with_transactional_id(Some(id()))
        .with_transaction_timeout_ms(60_000);
    let answer: m::InitProducerIdResponse = call(client, versions::INIT_PRODUCER_ID, 4, &request);
    assert_eq!(answer.error_code, 0, "a producer begins");
    (answer.producer_id, answer.producer_epoch)
}

fn add_partitions(client: &mut Client, (producer, epoch): (ProducerId, i16)) -> i16 {
    let entries = AddPartitionsToTxnTopic::default().with_name(topic()).with_partitions(vec![0, 1, 2]);
    let request = m::AddPartitionsToTxnRequest::default()
        .with_v3_and_below_transactional_id(id())
        .with_v3_and_below_producer_id(producer)
        .with_v3_and_below_producer_epoch(epoch)
        .with_v3_and_below_topics(vec![entries]);
    let answer: m::AddPartitionsToTxnResponse =
        call(client, versions::ADD_PARTITIONS_TO_TXN, VERSION, &request);
    answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
}

fn add_offsets(client: &mut Client, (producer, epoch): (ProducerId, i16)) -> i16 {
    let request = m::AddOffsetsToTxnRequest::default()
        .with_transactional_id(id())
        .with_producer_id(producer)
        .with_producer_epoch(epoch)
        .with_group_id(GroupId(StrBytes::from_static_str("readers")));
    let answer: m::AddOffsetsToTxnResponse = call(client, versions::ADD_OFFSETS_TO_TXN, VERSION, &request);
    answer.error_code
}

fn end(client: &mut Client, (producer, epoch): (ProducerId, i16)) -> i16 {
    let request = m::EndTxnRequest::default()
        .with_transactional_id(id())
        .with_producer_id(producer)
        .with_producer_epoch(epoch)
        .with_committed(true);
    let answer: m::EndTxnResponse = call(client, versions::END_TXN, VERSION, &request);
    answer.error_code
}

#[test]
fn the_next_transaction_waits_for_the_markers_of_the_one_before() {
    // Longer than any machine takes for markers: nobody is to be told to come again.
    let patient = ("add.partitions.to.txn.retry.backoff.max.ms", "9000");
    let node = Node::start(&[
        ("offsets.topic.num.partitions", "1"),
        ("transaction.state.log.num.partitions", "1"),
        patient,
    ]);
    let mut client = node.client();
    let entries =
        CreatableTopic::default().with_name(topic()).with_num_partitions(3).with_replication_factor(1);
    let create = m::CreateTopicsRequest::default().with_topics(vec![entries]).with_timeout_ms(9_000);
    let created: m::CreateTopicsResponse = call(&mut client, versions::CREATE_TOPICS, 5, &create);
    assert_eq!(created.topics[0].error_code, 0);
    for key_type in [0, 1] {
        let find = m::FindCoordinatorRequest::default().with_key(id().0).with_key_type(key_type);
        let found = |client: &mut Client| {
            let answer: m::FindCoordinatorResponse = call(client, versions::FIND_COORDINATOR, 2, &find);
            answer.error_code == 0
        };
        assert!((0..1000).any(|_| found(&mut client)), "no coordinator of type {key_type}");
    }

    let mut producer = init(&mut client);
    for turn in 0..30 {
        assert_eq!(add_partitions(&mut client, producer), 0, "partitions join transaction {turn}");
        assert_eq!(end(&mut client, producer), 0, "transaction {turn} ends");
        assert_eq!(end(&mut client, producer), 0, "the request to end transaction {turn} comes again");
        assert_eq!(add_offsets(&mut client, producer), 0, "a group joins the transaction after {turn}");
        // A new producer has the open transaction aborted.
        let next = init(&mut client);
        assert!(next.0 == producer.0 && next.1 > producer.1, "{producer:?}, then {next:?}");
        producer = next;
    }
}
