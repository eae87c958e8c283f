//! Batches: the walk over stored ones, and the check of a produced one with the head it is stored behind.

use bytes::Bytes;
use criterion::Criterion;
use criterion::Throughput;
use criterion::criterion_group;
use criterion::criterion_main;
use dohle::base::LeaderEpoch;
use dohle::base::Offset;
use dohle::base::Timestamp;
use dohle::config::ServerConfig;
use dohle::config::TopicConfig;
use dohle::record::BatchBuilder;
use dohle::record::Codec;
use dohle::record::Policy;
use std::collections::BTreeMap;
use std::hint::black_box;

fn batch(records: usize, bytes: usize) -> Bytes {
    let mut builder = BatchBuilder::new(Codec::None, Timestamp(1_700_000_000_000));
    let value = vec![0x5a; bytes];
    for _ in 0..records {
        builder.push(None, Some(&value), &[], Timestamp(1_700_000_000_000));
    }
    builder.build().bytes().clone()
}

/// A topic's rules as they are without settings.
fn policy() -> Policy {
    let defaults = ServerConfig::new(&BTreeMap::new(), "localhost").expect("the defaults are valid");
    let topic = TopicConfig::resolve(&defaults, &BTreeMap::new()).expect("the defaults are valid");
    Policy {
        max_message_bytes: topic.max_message_bytes,
        max_decompressed_bytes: i32::MAX,
        keys_required: false,
        timestamp_type: topic.timestamp_type,
        before_max_ms: topic.timestamp_before_max_ms,
        after_max_ms: topic.timestamp_after_max_ms,
        compression: topic.compression,
        now: Timestamp(1_700_000_000_000),
        client: true,
    }
}

fn walk(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("walk");
    for (name, records, bytes, count) in [("1 KiB", 1, 940, 1024), ("16 KiB", 16, 1010, 64)] {
        let one = batch(records, bytes);
        let all: Vec<u8> = one.iter().copied().cycle().take(one.len() * count).collect();
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(format!("{count} batches of {name}"), |bencher| {
            bencher.iter(|| {
                dohle::record::walk(black_box(&all)).map(|step| step.expect("a batch").0).sum::<usize>()
            });
        });
    }
    group.finish();
}

fn check(criterion: &mut Criterion) {
    let policy = policy();
    let mut group = criterion.benchmark_group("check and head");
    for (name, records, bytes) in [("1 KiB", 1, 940), ("16 KiB", 16, 1010), ("900 KiB", 900, 1024)] {
        let one = batch(records, bytes);
        group.throughput(Throughput::Bytes(one.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let checked = dohle::record::check(black_box(one.clone()), &policy).expect("a good batch");
                (checked.head(Offset(41), LeaderEpoch(3)), checked.rest())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, walk, check);
criterion_main!(benches);
