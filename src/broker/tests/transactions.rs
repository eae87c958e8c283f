//! Requests about transactions that no coordinator is asked for.

use super::Bench;
use super::admin::create;
use crate::base::ErrorCode;
use kafka_protocol::messages::ListTransactionsRequest;
use kafka_protocol::messages::ProducerId;
use kafka_protocol::messages::TopicName;
use kafka_protocol::messages::WriteTxnMarkersRequest;
use kafka_protocol::messages::write_txn_markers_request::WritableTxnMarker;
use kafka_protocol::messages::write_txn_markers_request::WritableTxnMarkerTopic;
use kafka_protocol::protocol::StrBytes;

fn marker(producer: i64, topics: &[(&'static str, &[i32])]) -> WritableTxnMarker {
    let topics = topics.iter().map(|(name, indexes)| {
        WritableTxnMarkerTopic::default()
            .with_name(TopicName(StrBytes::from_static_str(name)))
            .with_partition_indexes(indexes.to_vec())
    });
    WritableTxnMarker::default().with_producer_id(ProducerId(producer)).with_topics(topics.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn markers_are_answered_for_the_partitions_that_they_name_and_else_left_out() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let markers = vec![
        marker(7, &[("t", &[]), ("nope", &[])]),
        marker(8, &[]),
        marker(9, &[("nope", &[]), ("t", &[0, 5])]),
    ];
    let answer = bench.ask(&WriteTxnMarkersRequest::default().with_markers(markers), 1).await;
    let answered: Vec<_> = answer.markers.iter().map(|one| one.producer_id.0).collect();
    assert_eq!(answered, [9]);
    let topics = &answer.markers[0].topics;
    assert_eq!(topics.iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>(), ["t"]);
    let codes: Vec<_> =
        topics[0].partitions.iter().map(|one| (one.partition_index, one.error_code)).collect();
    assert_eq!(codes, [(0, 0), (5, ErrorCode::UnknownTopicOrPartition.code())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_refused_does_not_tell_of_unknown_states() {
    let bench = Bench::new(&[]).await;
    let names = ["Bogus", "Dead", "PrepareEpochFence"].map(StrBytes::from_static_str);
    let bogus = ListTransactionsRequest::default().with_state_filters(names.to_vec());
    let listed = bench.ask(&bogus, 2).await;
    let unknown: Vec<_> = listed.unknown_state_filters.iter().map(|name| name.as_str()).collect();
    assert_eq!((listed.error_code, unknown), (0, vec!["Bogus"]));
    let pattern = Some(StrBytes::from_static_str("["));
    let refused = bench.ask(&bogus.with_transactional_id_pattern(pattern), 2).await;
    let code = ErrorCode::InvalidRegularExpression.code();
    assert_eq!((refused.error_code, refused.unknown_state_filters.len()), (code, 0));
}
