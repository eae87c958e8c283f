//! Topics to load: made, found, and waited for.

use std::time::Duration;

use crate::args::{Args, Result};
use crate::clock::now_ns;
use crate::conn::Conn;
use crate::wire;

const EXISTS: i16 = 36;
const LIMIT_NS: u64 = 300_000_000_000;

/// Sets values of the topic.
pub fn alter(args: &Args) -> Result<String> {
    let mut conn = Conn::open(&args.boot)?;
    let start = now_ns();
    let error = wire::altered_topic(conn.call(&wire::alter_topic(&args.topic, &configs(args)))?)?;
    if error != 0 {
        return Err(format!("changing {}: error code {error}", args.topic).into());
    }
    Ok(format!("{{\"seconds\":{:.4}}}", seconds_since(start)))
}

fn configs(args: &Args) -> Vec<(&str, &str)> {
    args.configs.split(',').filter_map(|pair| pair.split_once('=')).collect()
}

/// Creates the topics unless they exist, and waits until every partition has a leader that answers.
pub fn create(args: &Args) -> Result<String> {
    let configs = configs(args);
    let mut conn = Conn::open(&args.boot)?;
    let start = now_ns();
    for number in 0..args.topics {
        let name = args.topic_name(number);
        let error = wire::created_topic(conn.call(&wire::create_topic(&name, args.partitions, &configs))?)?;
        if error != 0 && error != EXISTS {
            return Err(format!("creating {name}: error code {error}").into());
        }
    }
    for number in 0..args.topics {
        let ask = wire::metadata(&args.topic_name(number));
        while wire::led_partitions(conn.call(&ask)?)? < args.partitions {
            wait(start)?;
        }
    }
    // A leader may be named before it has opened its log.
    probe(args)
}

/// Asks each topic for records at offset 0 until every partition answers, from before the broker listens.
pub fn probe(args: &Args) -> Result<String> {
    let start = now_ns();
    for number in 0..args.topics {
        let topic = args.topic_name(number);
        let places: Vec<(i32, i64)> = (0..args.partitions).map(|partition| (partition as i32, 0)).collect();
        let ask = wire::fetch(&wire::Fetch {
            wait_ms: 0,
            min_bytes: 0,
            max_bytes: 1,
            committed: false,
            session: (0, -1),
            topic: &topic,
            places: &places,
        });
        while !answers(&args.boot, &ask, args.partitions) {
            wait(start)?;
        }
    }
    Ok(format!("{{\"seconds\":{:.4}}}", seconds_since(start)))
}

fn answers(boot: &str, ask: &[u8], partitions: usize) -> bool {
    let Ok(mut conn) = Conn::open(boot) else { return false };
    let Ok(answer) = conn.call(ask) else { return false };
    let mut good = 0;
    let walked = wire::fetched(answer, |one| {
        // Retention may have taken offset 0 away: out of range is an answer of the log.
        good += usize::from(one.error == 0 || one.error == 1);
        Ok(())
    });
    walked.is_ok() && good == partitions
}

/// The next (`-1`) or first (`-2`) offset of every partition of a topic, in order of partitions.
pub fn offsets(conn: &mut Conn, topic: &str, partitions: usize, at: i64) -> Result<Vec<i64>> {
    let all: Vec<i32> = (0..partitions as i32).collect();
    let mut found = wire::listed_offsets(conn.call(&wire::list_offsets(topic, &all, at))?)?;
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, offset)| offset).collect())
}

fn wait(start: u64) -> Result<()> {
    if now_ns() - start > LIMIT_NS {
        return Err("not ready after 300 seconds".into());
    }
    std::thread::sleep(Duration::from_millis(1));
    Ok(())
}

fn seconds_since(start: u64) -> f64 {
    (now_ns() - start) as f64 / 1e9
}
