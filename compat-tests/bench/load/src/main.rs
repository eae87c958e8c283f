//! A lean load generator: frames are built once, sockets are plain, and each run prints one line of JSON.
//!
//! Real client libraries need more CPU than a good broker, so they measure themselves. This program measures the broker:
//! with `--pid` it reads that process's CPU clock (every thread, also those that have ended and the kernel's io_uring
//! workers) at the ends of the measured part.

mod args;
mod batch;
mod bytes;
mod clock;
mod closed;
mod conn;
mod floor;
mod group;
mod histogram;
mod idle;
mod latency;
mod meter;
mod pair;
mod process;
mod sync;
mod topic;
mod touch;
mod transact;
mod wire;

use std::process::ExitCode;

const USAGE: &str = "usage: load MODE --boot HOST:PORT [--option value ...]
modes:
  topic    creates --topic (--partitions, --configs k=v,k=v) and waits until it has leaders; --topics N makes N of them
  alter    sets --configs of --topic
  probe    asks until every partition of --topic answers a fetch; prints how long that took
  produce  closed loop: --connections --in-flight --acks --records --bytes --partitions --topics --keys
  fetch    closed loop: --connections --max-bytes --partitions --committed, from the start of the log, again and again
  poll     long polls at the end of the log: --connections --wait-ms
  pair     the same bytes in and out: --amount, --connections producers and as many consumers
  latency  open loop at a fixed --rate: from the planned time of sending to the consumer's receipt
  group    --connections members of --protocol classic or consumer share --partitions: all join, one leaves, some restart
  transact transactions of --spread batches, --abort-every so manieth aborted; a request is a whole transaction
  idle     opens --connections and keeps them for --seconds
  sync     what the disk below --path does: appends of --bytes, each followed by fdatasync
  floor    serves produce and fetch on --boot with the least that can be done, for comparison
  touch    writes --amount bytes below --path and removes them, so that the next run finds pages to recycle
common: --pid (the broker), --warm-seconds, --seconds, --amount (bytes; ends a run early)";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(mode) = words.next() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let done = args::Args::parse(words).and_then(|args| match mode.as_str() {
        "topic" => topic::create(&args),
        "alter" => topic::alter(&args),
        "probe" => topic::probe(&args),
        "produce" => closed::produce(&args),
        "fetch" => closed::fetch(&args),
        "poll" => closed::poll(&args),
        "pair" => pair::run(&args),
        "latency" => latency::run(&args),
        "group" => group::run(&args),
        "transact" => transact::run(&args),
        "idle" => idle::run(&args),
        "sync" => sync::run(&args),
        "floor" => floor::run(&args),
        "touch" => touch::run(&args),
        other => Err(format!("unknown mode {other}\n{USAGE}").into()),
    });
    match done {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("load {mode}: {error}");
            ExitCode::FAILURE
        }
    }
}
