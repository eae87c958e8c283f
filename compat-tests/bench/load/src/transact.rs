//! Transactions of version 2 (KIP-890) in a closed loop: each connection is a transactional producer that writes a batch
//! to each of some partitions, ends the transaction, and begins the next.

use crate::args::{Args, Result};
use crate::batch::{self, Producer};
use crate::clock::now_ns;
use crate::conn::Conn;
use crate::histogram::Histogram;
use crate::meter::{self, Meter, Worker};
use crate::wire::transactions as wire;
use std::time::Duration;

/// Error codes after which the same request is sent again: the coordinator is being found or loaded, or the markers of
/// the transaction before are being written.
const AGAIN: [i16; 5] = [14, 15, 16, 51, 3];

pub fn run(args: &Args) -> Result<String> {
    let mut workers: Vec<Worker<'_>> = Vec::new();
    for number in 0..args.connections {
        let id = format!("{}-{number}", args.topic);
        let mut conn = Conn::open(&args.boot)?;
        let producer = begin(&mut conn, &id)?;
        workers.push(Box::new(move |meter| keep_committing(conn, args, (&id, number), producer, meter)));
    }
    meter::run(args, workers)
}

/// Makes the topic of transactions if need be, and gets a producer.
fn begin(conn: &mut Conn, id: &str) -> Result<Producer> {
    again(|| wire::found_coordinator(conn.call(&wire::find_coordinator(id))?))?;
    let mut producer = Producer { id: -1, epoch: -1, sequence: 0 };
    again(|| {
        let (error, id, epoch) = wire::producer(conn.call(&wire::init_producer_id(id))?)?;
        producer = Producer { id, epoch, sequence: 0 };
        Ok(error)
    })?;
    Ok(producer)
}

fn again(mut ask: impl FnMut() -> Result<i16>) -> Result<()> {
    for _ in 0..20_000 {
        match ask()? {
            0 => return Ok(()),
            error if AGAIN.contains(&error) => std::thread::sleep(Duration::from_millis(1)),
            error => return Err(format!("error code {error}").into()),
        }
    }
    Err("the coordinator never has time".into())
}

fn keep_committing(
    mut conn: Conn,
    args: &Args,
    (id, number): (&str, usize),
    mut producer: Producer,
    meter: &Meter,
) -> Result<Histogram> {
    let mut durations = Histogram::default();
    let mine: Vec<i32> = (0..args.spread).map(|more| ((number + more) % args.partitions) as i32).collect();
    for count in 1u64.. {
        if !meter.running() {
            break;
        }
        let started = now_ns();
        let batch = batch::transactional(args.records, args.bytes, &producer);
        let batches: Vec<(i32, &[u8])> =
            mine.iter().map(|partition| (*partition, batch.as_slice())).collect();
        let frame = wire::produce(id, &args.topic, &batches);
        again(|| wire::produced(conn.call(&frame)?))?;
        let commit = args.abort_every == 0 || count % args.abort_every != 0;
        let end = wire::end_txn(id, &producer, commit);
        let mut next = producer;
        again(|| {
            let (error, id, epoch) = wire::producer(conn.call(&end)?)?;
            next = Producer { id, epoch, sequence: 0 };
            Ok(error)
        })?;
        producer = next;
        if meter.measuring() {
            durations.add(now_ns() - started);
        }
        meter.count(batch.len() * batches.len());
    }
    Ok(durations)
}
