//! Closed loops: a connection has so many requests in flight, and sends one more for each answer.

use std::collections::VecDeque;

use crate::args::{Args, Result};
use crate::batch;
use crate::batch::Keyed;
use crate::clock::now_ns;
use crate::conn::Conn;
use crate::histogram::Histogram;
use crate::meter::{self, Meter, Worker};
use crate::topic::offsets;
use crate::wire;

/// Sends the same batch again and again to each place in turn.
pub fn produce(args: &Args) -> Result<String> {
    let batch = batch::plain(args.records, args.bytes, args.keys > 0);
    let places = args.places();
    let mut workers: Vec<Worker<'_>> = Vec::new();
    for number in 0..args.connections {
        let mut mine: Vec<&(String, i32)> = places.iter().skip(number).step_by(args.connections).collect();
        if mine.is_empty() {
            mine.push(&places[number % places.len()]);
        }
        let frames: Vec<Vec<u8>> = mine
            .iter()
            .map(|(topic, partition)| wire::produce(args.acks, topic, &[(*partition, &batch)]))
            .collect();
        let mut conn = Conn::open(&args.boot)?;
        let (size, in_flight) = (batch.len(), args.in_flight);
        if args.keys > 0 {
            let keyed = frames.into_iter().map(|frame| Keyed::new(frame, &batch, args.keys));
            let mut frames: Vec<Keyed> = keyed.collect::<Result<_>>()?;
            let count = frames.len();
            workers.push(Box::new(move |meter| {
                keep_sending(&mut conn, size, in_flight, meter, |conn, number| {
                    let keyed = &mut frames[number % count];
                    keyed.change();
                    conn.send(&keyed.frame)
                })
            }));
            continue;
        }
        workers.push(Box::new(move |meter| {
            keep_sending(&mut conn, size, in_flight, meter, |conn, number| {
                conn.send(&frames[number % frames.len()])
            })
        }));
    }
    meter::run(args, workers)
}

fn keep_sending(
    conn: &mut Conn,
    size: usize,
    in_flight: usize,
    meter: &Meter,
    mut send: impl FnMut(&mut Conn, usize) -> Result<()>,
) -> Result<Histogram> {
    let mut durations = Histogram::default();
    let mut sent = VecDeque::with_capacity(in_flight);
    let mut number = 0;
    while meter.running() {
        while sent.len() < in_flight {
            sent.push_back(now_ns());
            send(conn, number)?;
            number += 1;
        }
        wire::check_produced(conn.receive()?)?;
        note(&mut durations, sent.pop_front(), meter);
        meter.count(size);
    }
    for _ in sent {
        wire::check_produced(conn.receive()?)?;
    }
    Ok(durations)
}

/// Reads each connection's partition from its start to its end, again and again.
pub fn fetch(args: &Args) -> Result<String> {
    let mut workers: Vec<Worker<'_>> = Vec::new();
    for number in 0..args.connections {
        let conn = Conn::open(&args.boot)?;
        workers.push(Box::new(move |meter| keep_reading(conn, args, number % args.partitions, meter)));
    }
    meter::run(args, workers)
}

fn keep_reading(mut conn: Conn, args: &Args, partition: usize, meter: &Meter) -> Result<Histogram> {
    let first = offsets(&mut conn, &args.topic, args.partitions, -2)?[partition];
    let end = offsets(&mut conn, &args.topic, args.partitions, -1)?[partition];
    if first == end {
        return Err(format!("{}-{partition} is empty", args.topic).into());
    }
    let mut durations = Histogram::default();
    let mut offset = first;
    while meter.running() {
        let sent = now_ns();
        let ask = ask(args, partition as i32, offset, 1);
        let (next, bytes) = read_one(conn.call(&ask)?)?;
        note(&mut durations, Some(sent), meter);
        meter.count(bytes);
        let next = next.ok_or_else(|| format!("no whole batch at offset {offset}"))?;
        offset = if next >= end { first } else { next };
    }
    Ok(durations)
}

/// Waits at the end of the log, where nothing comes.
pub fn poll(args: &Args) -> Result<String> {
    let mut workers: Vec<Worker<'_>> = Vec::new();
    for number in 0..args.connections {
        let mut conn = Conn::open(&args.boot)?;
        let partition = number % args.partitions;
        let end = offsets(&mut conn, &args.topic, args.partitions, -1)?[partition];
        workers.push(Box::new(move |meter| {
            let mut durations = Histogram::default();
            let ask = ask(args, partition as i32, end, 1);
            while meter.running() {
                let sent = now_ns();
                if read_one(conn.call(&ask)?)?.1 > 0 {
                    return Err("records came to a topic that was to be idle".into());
                }
                note(&mut durations, Some(sent), meter);
                meter.count(0);
            }
            Ok(durations)
        }));
    }
    meter::run(args, workers)
}

/// One Fetch request for one partition, without a session.
pub fn ask(args: &Args, partition: i32, offset: i64, min_bytes: i32) -> Vec<u8> {
    wire::fetch(&wire::Fetch {
        wait_ms: args.wait_ms,
        min_bytes,
        max_bytes: args.max_bytes,
        committed: args.committed,
        session: (0, -1),
        topic: &args.topic,
        places: &[(partition, offset)],
    })
}

/// The offset after the last whole batch of a Fetch answer for one partition, and the bytes of records in it.
pub fn read_one(answer: &[u8]) -> Result<(Option<i64>, usize)> {
    let (mut next, mut bytes) = (None, 0);
    wire::fetched(answer, |one| {
        if one.error != 0 {
            return Err(format!("fetch from partition {}: error code {}", one.partition, one.error).into());
        }
        bytes += one.records.len();
        next = batch::walk(one.records).last().map(|(_, after, _)| after).or(next);
        Ok(())
    })?;
    Ok((next, bytes))
}

fn note(durations: &mut Histogram, sent: Option<u64>, meter: &Meter) {
    if let (Some(sent), true) = (sent, meter.measuring()) {
        durations.add(now_ns() - sent);
    }
}
