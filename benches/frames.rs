//! Produce and Fetch: a frame out of the stream to a typed request, and a typed answer to bytes.

use bytes::Bytes;
use bytes::BytesMut;
use criterion::Criterion;
use criterion::criterion_group;
use criterion::criterion_main;
use dohle::base::ErrorCode;
use dohle::base::TopicId;
use dohle::protocol::Part;
use dohle::protocol::RequestHeader;
use dohle::protocol::fetch;
use dohle::protocol::frame;
use dohle::protocol::produce;
use dohle::protocol::sample;
use std::hint::black_box;

fn header(api_key: i16, api_version: i16) -> RequestHeader {
    RequestHeader { api_key, api_version, correlation_id: 7, client_id: None }
}

fn stream(body: &Bytes) -> Vec<u8> {
    let size = u32::try_from(body.len()).expect("a small frame");
    [&size.to_be_bytes(), body.as_ref()].concat()
}

fn framing(criterion: &mut Criterion) {
    let stream = stream(&Bytes::from(vec![0; 1024])).repeat(16);
    criterion.bench_function("cut 16 frames of 1 KiB", |bencher| {
        bencher.iter(|| {
            let mut buffer = BytesMut::from(black_box(stream.as_slice()));
            while let Some(frame) = frame::next(&mut buffer, 1 << 20).expect("good frames") {
                black_box(frame);
            }
        });
    });
}

fn decoding(criterion: &mut Criterion) {
    for (name, api_key, version) in [("Produce", 0, 13), ("Fetch", 1, 18)] {
        let body = sample::request(api_key, version, 3).expect("an offered version");
        let header = header(api_key, version);
        criterion.bench_function(&format!("decode {name} v{version}, {} bytes", body.len()), |bencher| {
            bencher.iter(|| match api_key {
                0 => drop(black_box(produce::decode(&header, body.clone()).expect("a good body"))),
                _ => drop(black_box(fetch::decode(&header, body.clone()).expect("a good body"))),
            });
        });
    }
}

fn produced(partitions: i32) -> produce::Answer {
    let partition = |index| produce::PartitionAnswer {
        index,
        error: ErrorCode::None,
        base_offset: 41,
        log_append_time_ms: -1,
        log_start_offset: 0,
        record_errors: Vec::new(),
        error_message: None,
        current_leader: None,
    };
    produce::Answer {
        topics: vec![produce::TopicAnswer {
            name: "topic".into(),
            id: TopicId::METADATA,
            partitions: (0..partitions).map(partition).collect(),
        }],
        throttle_time_ms: 0,
        node_endpoints: Vec::new(),
    }
}

fn fetched(partitions: i32) -> fetch::Answer {
    let partition = |index| fetch::PartitionAnswer {
        index,
        error: ErrorCode::None,
        high_watermark: 42,
        last_stable_offset: 42,
        log_start_offset: 0,
        diverging_epoch: None,
        current_leader: None,
        snapshot_id: None,
        aborted_transactions: None,
        preferred_read_replica: -1,
        records: vec![Part::Bytes(Bytes::from_static(&[0x5a; 1024]))],
    };
    fetch::Answer {
        throttle_time_ms: 0,
        error: ErrorCode::None,
        session_id: 7,
        topics: vec![fetch::TopicAnswer {
            name: "topic".into(),
            id: TopicId::METADATA,
            partitions: (0..partitions).map(partition).collect(),
        }],
        node_endpoints: Vec::new(),
    }
}

fn encoding(criterion: &mut Criterion) {
    for partitions in [1, 100] {
        let (to_produce, to_fetch) = (header(0, 13), header(1, 18));
        let answer = produced(partitions);
        criterion.bench_function(&format!("encode Produce v13, {partitions} partitions"), |bencher| {
            bencher.iter(|| produce::encode(&to_produce, black_box(&answer)).expect("an answer"));
        });
        criterion.bench_function(
            &format!("build and encode Fetch v18, {partitions} partitions"),
            |bencher| {
                bencher.iter(|| fetch::encode(&to_fetch, black_box(fetched(partitions))).expect("an answer"));
            },
        );
    }
}

criterion_group!(benches, framing, decoding, encoding);
criterion_main!(benches);
