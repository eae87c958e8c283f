//! Open loop at a fixed rate: a record carries the time at which it was to be sent, and the consumer takes that from the
//! time of receipt. A broker or a client that falls behind makes every later record late, and all of them are counted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::args::{Args, Result};
use crate::batch::{self, Row};
use crate::clock::{now_ns, sharp_sleep, sleep_until, unix_ms};
use crate::conn::Conn;
use crate::histogram::Histogram;
use crate::process::{cpu_seconds, own_cpu_seconds};
use crate::topic::offsets;
use crate::wire;

const DRAIN_NS: u64 = 30_000_000_000;

/// When the measured part begins and ends, by planned time of sending, and how many of its records came.
struct Plan {
    first: u64,
    gap: u64,
    total: u64,
    warm: u64,
    received: AtomicU64,
    stop: AtomicBool,
}

/// Sends `--rate` records a second over the partitions by key, and consumes them.
pub fn run(args: &Args) -> Result<String> {
    let gap = 1_000_000_000 / args.rate.max(1);
    let of = |seconds: f64| (seconds * 1e9) as u64 / gap;
    let warm = of(args.warm_seconds);
    let plan = Plan {
        first: now_ns() + 200_000_000,
        gap,
        total: warm + of(args.seconds),
        warm,
        received: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    };
    let mut consumer = Conn::open(&args.boot)?;
    let starts = offsets(&mut consumer, &args.topic, args.partitions, -1)?;
    let producer = Conn::open(&args.boot)?;
    let sender = producer.sender()?;
    let (sent, to_answer) = channel();
    let (permit, permits) = channel();
    (0..args.in_flight).try_for_each(|_| permit.send(()))?;

    std::thread::scope(|scope| {
        let plan = &plan;
        let guard = move |done: Result<Histogram>| {
            plan.stop.fetch_or(done.is_err(), Relaxed);
            done
        };
        let reader = scope.spawn(move || guard(consume(consumer, args, starts, plan)));
        let answers = scope.spawn(move || guard(take_answers(producer, to_answer, permit)));
        let writer = scope.spawn(move || {
            guard(send_on_time(sender, args, plan, sent, permits).map(|()| Histogram::default()))
        });
        sleep_until(plan.first + plan.gap * plan.warm);
        let (cpu, own, from) = (cpu_seconds(args.pid)?, own_cpu_seconds()?, now_ns());
        writer.join().map_err(|_| "the sender panicked")??;
        let (cpu, own, seconds) =
            (cpu_seconds(args.pid)? - cpu, own_cpu_seconds()? - own, (now_ns() - from) as f64 / 1e9);
        let acked = answers.join().map_err(|_| "the reader of answers panicked")??;
        let seen = reader.join().map_err(|_| "the consumer panicked")??;
        let measured = plan.total - plan.warm;
        let missing = measured - seen.total().min(measured);
        Ok(format!(
            "{{\"rate\":{},\"records\":{measured},\"missing\":{missing},\"seconds\":{seconds:.3},\"cpu_s\":{cpu:.6},\"client_cpu_s\":{own:.6},\
             \"us_per_record\":{:.3},{},{}}}",
            args.rate,
            cpu * 1e6 / measured.max(1) as f64,
            seen.json(""),
            acked.json("ack_"),
        ))
    })
}

/// Sends what is due whenever a permit is there; what waits for one goes into the next request.
fn send_on_time(
    mut to: std::net::TcpStream,
    args: &Args,
    plan: &Plan,
    sent: Sender<Vec<u64>>,
    permits: Receiver<()>,
) -> Result<()> {
    use std::io::Write;
    sharp_sleep();
    let mut next = 0;
    let mut due: Vec<Vec<(u64, u64)>> = vec![Vec::new(); args.partitions];
    while next < plan.total && !plan.stop.load(Relaxed) {
        sleep_until(plan.first + plan.gap * next);
        if permits.recv_timeout(Duration::from_secs(60)).is_err() {
            return Err("no answer for 60 seconds".into());
        }
        let now = now_ns();
        let mut times = Vec::new();
        while next < plan.total && plan.first + plan.gap * next <= now {
            let at = plan.first + plan.gap * next;
            let key = scatter(next);
            due[(key % args.partitions as u64) as usize].push((key, at));
            // What was sent in the warm part is told apart by a zero.
            times.push(if next < plan.warm { 0 } else { at });
            next += 1;
        }
        let batches = build_due(&mut due, args.bytes, plan);
        let parts: Vec<(i32, &[u8])> =
            batches.iter().map(|(partition, batch)| (*partition, batch.as_slice())).collect();
        let frame = wire::produce(args.acks, &args.topic, &parts);
        sent.send(times)?;
        to.write_all(&frame)?;
    }
    Ok(())
}

fn build_due(due: &mut [Vec<(u64, u64)>], bytes: usize, plan: &Plan) -> Vec<(i32, Vec<u8>)> {
    let warm_end = plan.first + plan.gap * plan.warm;
    let mut batches = Vec::new();
    for (partition, rows) in due.iter_mut().enumerate().filter(|(_, rows)| !rows.is_empty()) {
        let parts: Vec<([u8; 8], Vec<u8>)> = rows
            .drain(..)
            .map(|(key, at)| {
                let mut value = vec![0x61; bytes.max(16)];
                value[..8].copy_from_slice(&at.to_be_bytes());
                value[8..16].copy_from_slice(&u64::from(at >= warm_end).to_be_bytes());
                (key.to_be_bytes(), value)
            })
            .collect();
        let rows: Vec<Row<'_>> = parts.iter().map(|(key, value)| Row { key: Some(key), value }).collect();
        batches.push((partition as i32, batch::build(unix_ms(), &rows)));
    }
    batches
}

fn take_answers(mut conn: Conn, sent: Receiver<Vec<u64>>, permit: Sender<()>) -> Result<Histogram> {
    let mut acked = Histogram::default();
    // Ends when the sender has gone and every request was answered.
    while let Ok(times) = sent.recv() {
        wire::check_produced(conn.receive()?)?;
        let now = now_ns();
        times.iter().filter(|at| **at > 0).for_each(|at| acked.add(now - at));
        if permit.send(()).is_err() {
            continue;
        }
    }
    Ok(acked)
}

/// Fetches with a session, as clients do: only partitions that moved are named again.
fn consume(mut conn: Conn, args: &Args, starts: Vec<i64>, plan: &Plan) -> Result<Histogram> {
    let mut seen = Histogram::default();
    let mut offsets = starts;
    let mut session = (0, 0);
    let mut moved: Vec<(i32, i64)> =
        offsets.iter().enumerate().map(|(partition, offset)| (partition as i32, *offset)).collect();
    let limit = plan.first + plan.gap * plan.total + DRAIN_NS;
    while plan.received.load(Relaxed) < plan.total && now_ns() < limit && !plan.stop.load(Relaxed) {
        let ask = wire::fetch(&wire::Fetch {
            wait_ms: args.wait_ms,
            min_bytes: 1,
            max_bytes: args.max_bytes,
            committed: false,
            session,
            topic: &args.topic,
            places: &moved,
        });
        moved.clear();
        let answer = conn.call(&ask)?;
        let now = now_ns();
        let id = wire::fetched(answer, |one| {
            if one.error != 0 {
                return Err(
                    format!("fetch from partition {}: error code {}", one.partition, one.error).into()
                );
            }
            let offset =
                offsets.get_mut(one.partition as usize).ok_or("a partition that was not asked for")?;
            for (_, after, bytes) in batch::walk(one.records) {
                batch::values(bytes, |value| note(value, now, plan, &mut seen))?;
                *offset = after;
            }
            if !one.records.is_empty() {
                moved.push((one.partition, *offset));
            }
            Ok(())
        })?;
        session = (id, if id == 0 { -1 } else { session.1 + 1 });
        if id == 0 {
            moved =
                offsets.iter().enumerate().map(|(partition, offset)| (partition as i32, *offset)).collect();
        }
    }
    Ok(seen)
}

fn note(value: &[u8], now: u64, plan: &Plan, seen: &mut Histogram) {
    let number = |from: usize| {
        value.get(from..from + 8).and_then(|eight| eight.try_into().ok()).map(u64::from_be_bytes)
    };
    if let (Some(at), Some(measured)) = (number(0), number(8)) {
        plan.received.fetch_add(1, Relaxed);
        if measured == 1 {
            seen.add(now.saturating_sub(at));
        }
    }
}

/// A number that looks random, the same for the same input.
fn scatter(number: u64) -> u64 {
    let mixed = (number ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}
