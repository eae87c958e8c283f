//! A log on a real folder: the way from an offset to a range of a file, by the index.

use criterion::Criterion;
use criterion::criterion_group;
use criterion::criterion_main;
use dohle::base::LeaderEpoch;
use dohle::base::Offset;
use dohle::base::PartitionIndex;
use dohle::base::Timestamp;
use dohle::base::TopicId;
use dohle::base::TopicPartition;
use dohle::config::ServerConfig;
use dohle::config::TopicConfig;
use dohle::io::Clock;
use dohle::io::Disk;
use dohle::io::task::Shutdown;
use dohle::log::Append;
use dohle::log::Dirs;
use dohle::log::Log;
use dohle::log::Origin;
use dohle::log::Proof;
use dohle::log::Threads;
use dohle::record::BatchBuilder;
use dohle::record::CheckedBatch;
use dohle::record::Codec;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

fn batch(bytes: usize) -> CheckedBatch {
    let mut builder = BatchBuilder::new(Codec::None, Timestamp(1_700_000_000_000));
    builder.push(None, Some(&vec![0x5a; bytes]), &[], Timestamp(1_700_000_000_000));
    builder.build()
}

fn open(folder: &Path) -> (Dirs, Arc<Log>) {
    let text = folder.to_str().expect("a plain path").to_owned();
    // Retention is not run here, and small segments make the lookup find its segment first.
    let set = BTreeMap::from([
        ("log.dirs".to_owned(), text),
        ("node.id".to_owned(), "1".to_owned()),
        ("log.segment.bytes".to_owned(), "16777216".to_owned()),
    ]);
    let config = ServerConfig::new(&set, "localhost").expect("valid settings");
    let topic = TopicConfig::resolve(&config, &BTreeMap::new()).expect("valid settings");
    let metrics = dohle::metrics::Registry::new().log();
    let dirs = Dirs::open(
        Disk::system(),
        Clock::system(),
        Shutdown::new(),
        config.storage,
        Threads::Driven,
        metrics,
    )
    .expect("a new folder");
    let partition = TopicPartition::new("topic", PartitionIndex(0));
    let log = dirs.open_log(&partition, TopicId::METADATA, Arc::new(topic)).expect("a new log");
    (dirs, log)
}

fn lookup(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let (_dirs, log) = open(folder.path());
    let how = Append {
        epoch: LeaderEpoch(0),
        sync: false,
        origin: Origin::Client,
        proof: Proof::Waived,
        hold: false,
    };
    let count = 100_000;
    let batch = batch(940);
    for _ in 0..count {
        log.append(batch.clone(), how).expect("an append");
    }
    let end = log.log_end_offset();
    let mut from = 0i64;
    criterion.bench_function("offset to file range, 100,000 batches in 6 segments", |bencher| {
        bencher.iter(|| {
            from = (from + 77_777) % count;
            log.read(black_box(Offset(from)), end, 1, true).expect("a range")
        });
    });
    let mut next = 0i64;
    criterion.bench_function("offset to file range, one after the other", |bencher| {
        bencher.iter(|| {
            next = (next + 1) % count;
            log.read(black_box(Offset(next)), end, 1, true).expect("a range")
        });
    });
}

criterion_group!(benches, lookup);
criterion_main!(benches);
