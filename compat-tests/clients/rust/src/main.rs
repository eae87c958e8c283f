//! rskafka behind the verbs that every client of the compatibility tests offers. It has no consumer groups.

mod admin;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, Write};
use std::sync::Arc;

use chrono::Utc;
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["produce", bootstrap, topic, codec] => produce(bootstrap, topic, codec).await,
        ["dump", bootstrap, topic] => read(bootstrap, topic, true).await,
        ["digest", bootstrap, topic] => read(bootstrap, topic, false).await,
        ["admin", bootstrap] => admin::session(connect(bootstrap).await?).await,
        _ => Err(format!("unknown verb {args:?}").into()),
    }
}

async fn connect(bootstrap: &str) -> Outcome<Client> {
    let brokers = bootstrap.split(',').map(str::to_owned).collect();
    Ok(ClientBuilder::new(brokers).max_message_size(32 << 20).build().await?)
}

/// A client for each partition of a topic, by number.
async fn partitions(client: &Client, topic: &str) -> Outcome<Vec<(i32, Arc<PartitionClient>)>> {
    let found = client.list_topics().await?.into_iter().find(|t| t.name == topic).ok_or("no such topic")?;
    let mut clients = Vec::new();
    for number in found.partitions {
        let partition = client.partition_client(topic, number, UnknownTopicHandling::Retry).await?;
        clients.push((number, Arc::new(partition)));
    }
    Ok(clients)
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    value.as_str().map(|text| text.as_bytes().to_vec())
}

fn record(line: &str) -> Outcome<Record> {
    let row: Value = serde_json::from_str(line)?;
    let mut headers = BTreeMap::new();
    for header in row[2].as_array().into_iter().flatten() {
        let name = header[0].as_str().ok_or("a header without a name")?;
        headers.insert(name.to_owned(), bytes(&header[1]).ok_or("rskafka has no null headers")?);
    }
    Ok(Record { key: bytes(&row[0]), value: bytes(&row[1]), headers, timestamp: Utc::now() })
}

/// Spreads rows over the partitions by the hash of their key, and sends 500 of a partition at a time, at most 700 KB.
async fn produce(bootstrap: &str, topic: &str, codec: &str) -> Outcome<()> {
    let codec = match codec {
        "none" => Compression::NoCompression,
        "gzip" => Compression::Gzip,
        "snappy" => Compression::Snappy,
        "lz4" => Compression::Lz4,
        "zstd" => Compression::Zstd,
        other => return Err(format!("unknown codec {other}").into()),
    };
    let client = connect(bootstrap).await?;
    let partitions = partitions(&client, topic).await?;
    let mut waiting: Vec<(Vec<Record>, usize)> = partitions.iter().map(|_| (Vec::new(), 0)).collect();
    let mut acked = 0;
    for line in std::io::stdin().lock().lines() {
        let record = record(&line?)?;
        let hash = Sha256::digest(record.key.as_deref().unwrap_or_default());
        let at = usize::from(hash[0]) % partitions.len();
        let size = record.approximate_size();
        if waiting[at].1 + size > 700_000 || waiting[at].0.len() == 500 {
            acked += flush(&partitions[at].1, &mut waiting[at], codec).await?;
        }
        waiting[at].0.push(record);
        waiting[at].1 += size;
    }
    for (at, (_, partition)) in partitions.iter().enumerate() {
        acked += flush(partition, &mut waiting[at], codec).await?;
    }
    println!("{}", json!({"acked": acked, "failed": 0}));
    Ok(())
}

async fn flush(
    partition: &PartitionClient,
    waiting: &mut (Vec<Record>, usize),
    codec: Compression,
) -> Outcome<usize> {
    let (records, _) = std::mem::take(waiting);
    if records.is_empty() {
        return Ok(0);
    }
    Ok(partition.produce(records, codec).await?.len())
}

fn text(value: Option<&[u8]>) -> Outcome<Value> {
    Ok(value.map(|bytes| std::str::from_utf8(bytes)).transpose()?.map_or(Value::Null, Value::from))
}

fn add(hash: &mut Sha256, value: Option<&[u8]>) {
    let size = value.map_or(-1, |bytes| bytes.len() as i32);
    hash.update(size.to_be_bytes());
    hash.update(value.unwrap_or_default());
}

async fn read(bootstrap: &str, topic: &str, dump: bool) -> Outcome<()> {
    let client = connect(bootstrap).await?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut digests = serde_json::Map::new();
    for (number, partition) in partitions(&client, topic).await? {
        let mut next = partition.get_offset(OffsetAt::Earliest).await?;
        let end = partition.get_offset(OffsetAt::Latest).await?;
        let (mut hash, mut count) = (Sha256::new(), 0);
        while next < end {
            let (records, _) = partition.fetch_records(next, 1..8 << 20, 1000).await?;
            let first = next;
            for found in records.into_iter().filter(|r| r.offset >= first && r.offset < end) {
                let record = found.record;
                count += 1;
                if dump {
                    let headers: Outcome<Vec<Value>> = record
                        .headers
                        .iter()
                        .map(|(name, value)| Ok(json!([name, text(Some(value))?])))
                        .collect();
                    let (key, value) = (text(record.key.as_deref())?, text(record.value.as_deref())?);
                    let time = record.timestamp.timestamp_millis();
                    writeln!(out, "{}", json!([number, found.offset, time, key, value, headers?]))?;
                } else {
                    hash.update(found.offset.to_be_bytes());
                    add(&mut hash, record.key.as_deref());
                    add(&mut hash, record.value.as_deref());
                }
                next = found.offset + 1;
            }
        }
        digests.insert(number.to_string(), json!([count, format!("{:x}", hash.finalize())]));
    }
    if !dump {
        writeln!(out, "{}", Value::Object(digests))?;
    }
    Ok(out.flush()?)
}
