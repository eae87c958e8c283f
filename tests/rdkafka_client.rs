//! librdkafka, through the `rdkafka` crate, as a real client of a broker in this process: `cargo test` alone proves that
//! a client which nobody here wrote can produce, consume, and share a topic in a group.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "helpers of a test panic as tests do, and wait for a client that runs on threads of its own"
)]

use dohle::config;
use dohle::config::Sources;
use dohle::server::Platform;
use dohle::server::Server;
use rdkafka::ClientConfig;
use rdkafka::Message;
use rdkafka::Offset;
use rdkafka::TopicPartitionList;
use rdkafka::admin::AdminClient;
use rdkafka::admin::AdminOptions;
use rdkafka::admin::NewTopic;
use rdkafka::admin::TopicReplication;
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::BaseConsumer;
use rdkafka::consumer::CommitMode;
use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaError;
use rdkafka::message::Header;
use rdkafka::message::Headers;
use rdkafka::message::OwnedHeaders;
use rdkafka::message::OwnedMessage;
use rdkafka::producer::FutureProducer;
use rdkafka::producer::FutureRecord;
use rdkafka::producer::Producer;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

async fn start(folder: &Path) -> (Server, String) {
    let overrides = [
        "listeners=PLAINTEXT://127.0.0.1:0".to_owned(),
        format!("log.dirs={}", folder.display()),
        "offsets.topic.num.partitions=2".to_owned(),
        "group.initial.rebalance.delay.ms=0".to_owned(),
    ];
    let sources = Sources { file: None, environment: &[], overrides: &overrides, host_name: "localhost" };
    let loaded = config::load(&sources).unwrap();
    let platform = Platform::system();
    let server = Server::start(loaded.config, platform).await.unwrap();
    let address = server.listening()[0].addresses[0].to_string();
    (server, address)
}

fn client(address: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", address).set("auto.offset.reset", "earliest");
    config
}

async fn create(address: &str, topic: &str, partitions: i32) {
    let admin: AdminClient<DefaultClientContext> = client(address).create().unwrap();
    let topic = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
    for answer in admin.create_topics([&topic], &AdminOptions::new()).await.unwrap() {
        answer.unwrap();
    }
}

async fn send(producer: &FutureProducer, topic: &str, number: usize) {
    let (key, value) = (format!("key-{}", number % 5), format!("value-{number}"));
    let headers = OwnedHeaders::new()
        .insert(Header { key: "twice", value: Some("first") })
        .insert(Header { key: "twice", value: Some("second") })
        .insert(Header { key: "null", value: None::<&str> });
    let record = FutureRecord::to(topic).key(&key).payload(&value).headers(headers);
    producer.send(record, PATIENCE).await.unwrap();
}

/// Reads `count` messages, or fails.
fn read(consumer: &BaseConsumer, count: usize) -> Vec<OwnedMessage> {
    let until = Instant::now() + PATIENCE;
    let mut messages = Vec::new();
    while messages.len() < count {
        assert!(Instant::now() < until, "only {} of {count} messages came", messages.len());
        if let Some(message) = consumer.poll(Duration::from_millis(100)) {
            messages.push(message.unwrap().detach());
        }
    }
    messages
}

fn headers(message: &OwnedMessage) -> Vec<(String, Option<Vec<u8>>)> {
    let headers = message.headers().unwrap();
    headers.iter().map(|header| (header.key.to_owned(), header.value.map(<[u8]>::to_vec))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_produced_with_any_codec_is_consumed_with_keys_and_headers_in_order() {
    let folder = TempDir::new().unwrap();
    let (server, address) = start(folder.path()).await;
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let topic = format!("codec-{codec}");
        create(&address, &topic, 1).await;
        let mut config = client(&address);
        config.set("compression.codec", codec).set("enable.idempotence", "true").set("linger.ms", "1");
        let producer: FutureProducer = config.create().unwrap();
        for number in 0..50 {
            send(&producer, &topic, number).await;
        }
        let consumer: BaseConsumer = client(&address).set("group.id", "unused").create().unwrap();
        let mut from = TopicPartitionList::new();
        from.add_partition_offset(&topic, 0, Offset::Beginning).unwrap();
        consumer.assign(&from).unwrap();
        let messages = tokio::task::block_in_place(|| read(&consumer, 50));
        for (number, message) in messages.iter().enumerate() {
            assert_eq!(message.offset(), i64::try_from(number).unwrap(), "{codec}");
            assert_eq!(message.key().unwrap(), format!("key-{}", number % 5).as_bytes());
            assert_eq!(message.payload().unwrap(), format!("value-{number}").as_bytes());
            let expected = vec![
                ("twice".to_owned(), Some(b"first".to_vec())),
                ("twice".to_owned(), Some(b"second".to_vec())),
                ("null".to_owned(), None),
            ];
            assert_eq!(headers(message), expected);
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_goes_on_where_it_committed_after_the_broker_was_restarted() {
    let folder = TempDir::new().unwrap();
    let (server, address) = start(folder.path()).await;
    create(&address, "work", 3).await;
    let producer: FutureProducer = client(&address).create().unwrap();
    for number in 0..30 {
        send(&producer, "work", number).await;
    }
    drop(producer);
    let consumer: BaseConsumer =
        client(&address).set("group.id", "workers").set("enable.auto.commit", "false").create().unwrap();
    consumer.subscribe(&["work"]).unwrap();
    tokio::task::block_in_place(|| {
        assert_eq!(read(&consumer, 30).len(), 30);
        consumer.commit_consumer_state(CommitMode::Sync).unwrap();
    });
    drop(consumer);
    server.stop().await;

    let (server, address) = start(folder.path()).await;
    let producer: FutureProducer = client(&address).create().unwrap();
    for number in 30..40 {
        send(&producer, "work", number).await;
    }
    let consumer: BaseConsumer = client(&address).set("group.id", "workers").create().unwrap();
    consumer.subscribe(&["work"]).unwrap();
    let mut values: Vec<String> = tokio::task::block_in_place(|| read(&consumer, 10))
        .iter()
        .map(|message| String::from_utf8(message.payload().unwrap().to_vec()).unwrap())
        .collect();
    values.sort();
    assert_eq!(values, (30..40).map(|number| format!("value-{number}")).collect::<Vec<_>>());
    drop(consumer);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn committed_readers_see_committed_transactions_and_a_newer_producer_fences_an_older_one() {
    let folder = TempDir::new().unwrap();
    let (server, address) = start(folder.path()).await;
    create(&address, "ledger", 2).await;
    let transactional = || -> FutureProducer {
        let producer: FutureProducer = client(&address).set("transactional.id", "tx").create().unwrap();
        tokio::task::block_in_place(|| producer.init_transactions(PATIENCE)).unwrap();
        producer
    };
    let write = async |producer: &FutureProducer, numbers: std::ops::Range<usize>, commit: bool| {
        producer.begin_transaction().unwrap();
        for number in numbers {
            send(producer, "ledger", number).await;
        }
        tokio::task::block_in_place(|| {
            if commit { producer.commit_transaction(PATIENCE) } else { producer.abort_transaction(PATIENCE) }
        })
    };
    let producer = transactional();
    write(&producer, 0..20, true).await.unwrap();
    write(&producer, 20..40, false).await.unwrap();
    write(&producer, 40..60, true).await.unwrap();
    let values = |level: &str, count: usize| {
        let group = format!("readers-{level}");
        let config = client(&address).set("group.id", group).set("isolation.level", level).clone();
        let consumer: BaseConsumer = config.create().unwrap();
        consumer.subscribe(&["ledger"]).unwrap();
        let read = tokio::task::block_in_place(|| read(&consumer, count));
        let text = |message: &OwnedMessage| String::from_utf8(message.payload().unwrap().to_vec()).unwrap();
        let mut values: Vec<String> = read.iter().map(text).collect();
        values.sort();
        values
    };
    let named = |numbers: &mut dyn Iterator<Item = usize>| {
        let mut names: Vec<String> = numbers.map(|number| format!("value-{number}")).collect();
        names.sort();
        names
    };
    assert_eq!(values("read_committed", 40), named(&mut (0..20).chain(40..60)));
    assert_eq!(values("read_uncommitted", 60), named(&mut (0..60)));

    let newer = transactional();
    producer.begin_transaction().unwrap();
    let record = FutureRecord::to("ledger").key("k").payload("late");
    let _refused = producer.send(record, PATIENCE).await;
    let fenced = tokio::task::block_in_place(|| producer.commit_transaction(PATIENCE)).unwrap_err();
    let KafkaError::Transaction(fenced) = fenced else { panic!("{fenced:?}") };
    assert!(fenced.is_fatal(), "{fenced:?}");
    write(&newer, 60..70, true).await.unwrap();
    drop((producer, newer));
    server.stop().await;
}
