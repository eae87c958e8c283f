//! Answers the commands of an admin session, one line each, until the input ends.

use std::io::BufRead;

use chrono::DateTime;
use rskafka::client::Client;
use rskafka::client::partition::{OffsetAt, UnknownTopicHandling};
use serde_json::{Map, Value, json};

use crate::{Outcome, partitions};

pub async fn session(client: Client) -> Outcome<()> {
    for line in std::io::stdin().lock().lines() {
        let line: Vec<Value> = serde_json::from_str(&line?)?;
        match answer(&client, &line).await {
            Ok(value) => println!("{}", json!({"ok": value})),
            Err(error) => println!("{}", json!({"error": error.to_string()})),
        }
    }
    Ok(())
}

fn number(line: &[Value], at: usize) -> Outcome<i64> {
    line.get(at).and_then(Value::as_i64).ok_or_else(|| format!("argument {at} is no number").into())
}

async fn answer(client: &Client, line: &[Value]) -> Outcome<Value> {
    let topic = line.get(1).and_then(Value::as_str).unwrap_or_default();
    match line.first().and_then(Value::as_str) {
        Some("create") => {
            let partitions = i32::try_from(number(line, 2)?)?;
            client.controller_client()?.create_topic(topic, partitions, 1, 10_000).await?;
            Ok(Value::Null)
        }
        Some("topics") => Ok(client.list_topics().await?.into_iter().map(|t| t.name).collect()),
        Some("describe") => Ok(partitions(client, topic).await?.len().into()),
        Some("delete") => {
            client.controller_client()?.delete_topic(topic, 10_000).await?;
            Ok(Value::Null)
        }
        Some("truncate") => {
            let partition = i32::try_from(number(line, 2)?)?;
            let partition = client.partition_client(topic, partition, UnknownTopicHandling::Retry).await?;
            partition.delete_records(number(line, 3)?, 10_000).await?;
            Ok(Value::Null)
        }
        Some("times") => {
            let at = match number(line, 2)? {
                -1 => OffsetAt::Latest,
                -2 => OffsetAt::Earliest,
                time => OffsetAt::Timestamp(DateTime::from_timestamp_millis(time).ok_or("no such time")?),
            };
            let mut found = Map::new();
            for (partition, client) in partitions(client, topic).await? {
                found.insert(partition.to_string(), client.get_offset(at).await?.into());
            }
            Ok(Value::Object(found))
        }
        other => Err(format!("unknown command {other:?}").into()),
    }
}
