//! The same bytes in and out: producers and consumers of the same partitions at once, until all was read.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::args::{Args, Result};
use crate::batch;
use crate::clock::now_ns;
use crate::closed::{ask, read_one};
use crate::conn::Conn;
use crate::process::{cpu_seconds, own_cpu_seconds};
use crate::topic::offsets;
use crate::wire;

/// A producer waits while its reader is this many bytes behind, so that what is read is in memory and not yet deleted.
const BEHIND_MAX: u64 = 64 << 20;

/// Sends `--amount` bytes through `--connections` partitions, a producer and a consumer for each.
pub fn run(args: &Args) -> Result<String> {
    let args = Args { partitions: args.partitions.max(args.connections), ..args.clone() };
    let batch = batch::plain(args.records, args.bytes, false);
    let requests = args.amount.max(1).div_ceil(batch.len() as u64).div_ceil(args.connections as u64);
    let starts = offsets(&mut Conn::open(&args.boot)?, &args.topic, args.partitions, -1)?;
    let failed = AtomicBool::new(false);
    let read_batches: Vec<AtomicU64> = starts.iter().map(|_| AtomicU64::new(0)).collect();
    let (cpu, own, start) = (cpu_seconds(args.pid)?, own_cpu_seconds()?, now_ns());
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (partition, (first, done)) in starts.iter().zip(&read_batches).take(args.connections).enumerate()
        {
            let (args, batch, failed) = (&args, &batch, &failed);
            let guard = move |done: Result<()>| {
                failed.fetch_or(done.is_err(), Relaxed);
                done
            };
            let end = *first + (requests * args.records as u64) as i64;
            threads.push(scope.spawn(move || {
                guard(write(args, partition as i32, batch, requests, &Link { done, failed }))
            }));
            threads.push(
                scope.spawn(move || guard(read(args, partition as i32, *first, end, &Link { done, failed }))),
            );
        }
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a worker panicked")?)
    })?;
    let seconds = (now_ns() - start) as f64 / 1e9;
    let bytes = requests * args.connections as u64 * batch.len() as u64;
    let cpu = cpu_seconds(args.pid)? - cpu;
    Ok(format!(
        "{{\"seconds\":{seconds:.4},\"bytes\":{bytes},\"cpu_s\":{cpu:.6},\"client_cpu_s\":{:.6},\"s_per_gib\":{:.4},\"mib_per_s\":{:.2}}}",
        own_cpu_seconds()? - own,
        cpu * f64::from(1 << 30) / bytes as f64,
        bytes as f64 / seconds / f64::from(1 << 20),
    ))
}

/// What a producer and its reader know of each other.
struct Link<'a> {
    /// Batches that were read.
    done: &'a AtomicU64,
    /// Whether any of them has failed.
    failed: &'a AtomicBool,
}

fn write(args: &Args, partition: i32, batch: &[u8], requests: u64, link: &Link<'_>) -> Result<()> {
    let mut conn = Conn::open(&args.boot)?;
    let frame = wire::produce(args.acks, &args.topic, &[(partition, batch)]);
    let mut waiting = 0;
    let ahead_max = (BEHIND_MAX / batch.len() as u64).max(1);
    for number in 0..requests {
        while number > link.done.load(Relaxed) + ahead_max && !link.failed.load(Relaxed) {
            std::thread::sleep(Duration::from_micros(200));
        }
        if link.failed.load(Relaxed) {
            return Ok(());
        }
        if waiting == args.in_flight {
            wire::check_produced(conn.receive()?)?;
            waiting -= 1;
        }
        conn.send(&frame)?;
        waiting += 1;
    }
    for _ in 0..waiting {
        wire::check_produced(conn.receive()?)?;
    }
    Ok(())
}

fn read(args: &Args, partition: i32, first: i64, end: i64, link: &Link<'_>) -> Result<()> {
    let mut conn = Conn::open(&args.boot)?;
    let mut offset = first;
    while offset < end && !link.failed.load(Relaxed) {
        let request = ask(args, partition, offset, 1);
        offset = read_one(conn.call(&request)?)?.0.unwrap_or(offset);
        link.done.store((offset - first) as u64 / args.records as u64, Relaxed);
    }
    Ok(())
}
