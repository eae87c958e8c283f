//! The measured part of a run: warm up, read the clocks, let it run, read them again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::args::{Args, Result};
use crate::clock::now_ns;
use crate::histogram::Histogram;
use crate::process::{cpu_seconds, own_cpu_seconds};

/// What workers count, and what tells them to stop.
#[derive(Default)]
pub struct Meter {
    requests: AtomicU64,
    bytes: AtomicU64,
    measuring: AtomicBool,
    stop: AtomicBool,
}

impl Meter {
    /// One answered request that moved `bytes` of batches.
    pub fn count(&self, bytes: usize) {
        self.requests.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub fn running(&self) -> bool {
        !self.stop.load(Relaxed)
    }

    /// Whether a duration belongs to the measured part.
    pub fn measuring(&self) -> bool {
        self.measuring.load(Relaxed)
    }
}

/// Work of one thread: runs while the meter does and returns the durations it saw.
pub type Worker<'a> = Box<dyn FnOnce(&Meter) -> Result<Histogram> + Send + 'a>;

/// Runs the workers side by side; the report is one JSON object.
pub fn run(args: &Args, workers: Vec<Worker<'_>>) -> Result<String> {
    let meter = Meter::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .into_iter()
            .map(|work| {
                let meter = &meter;
                scope.spawn(move || {
                    let done = work(meter);
                    meter.stop.store(true, Relaxed);
                    done
                })
            })
            .collect();
        let measured = measure(args, &meter);
        meter.stop.store(true, Relaxed);
        let mut durations = Histogram::default();
        for thread in threads {
            durations.merge(&thread.join().map_err(|_| "a worker panicked")??);
        }
        Ok(format!("{{{},{}}}", measured?, durations.json("")))
    })
}

fn measure(args: &Args, meter: &Meter) -> Result<String> {
    let warm_end = now_ns() + (args.warm_seconds * 1e9) as u64;
    while now_ns() < warm_end && meter.running() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let (requests, bytes) = (meter.requests.load(Relaxed), meter.bytes.load(Relaxed));
    let (cpu, own) = (cpu_seconds(args.pid)?, own_cpu_seconds()?);
    let start = now_ns();
    meter.measuring.store(true, Relaxed);
    let end = start + (args.seconds * 1e9) as u64;
    while now_ns() < end && meter.running() {
        if args.amount > 0 && meter.bytes.load(Relaxed) - bytes >= args.amount {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let seconds = (now_ns() - start) as f64 / 1e9;
    let (cpu, own) = (cpu_seconds(args.pid)? - cpu, own_cpu_seconds()? - own);
    let (requests, bytes) = (meter.requests.load(Relaxed) - requests, meter.bytes.load(Relaxed) - bytes);
    if requests == 0 {
        return Err("no request was answered in the measured part".into());
    }
    Ok(format!(
        "\"seconds\":{seconds:.4},\"requests\":{requests},\"bytes\":{bytes},\"cpu_s\":{cpu:.6},\"client_cpu_s\":{own:.6},\
         \"us_per_request\":{:.3},\"s_per_gib\":{:.4},\"requests_per_s\":{:.1},\"mib_per_s\":{:.2}",
        cpu * 1e6 / requests as f64,
        if bytes == 0 { 0.0 } else { cpu * f64::from(1 << 30) / bytes as f64 },
        requests as f64 / seconds,
        bytes as f64 / seconds / f64::from(1 << 20),
    ))
}
