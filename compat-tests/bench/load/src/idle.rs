//! Connections that do nothing: what each of them costs the broker in memory.

use crate::args::{Args, Result};
use crate::clock::now_ns;
use crate::conn::Conn;
use crate::process::{cpu_seconds, raise_open_files, rss_bytes};
use crate::wire;

/// Opens `--connections`, keeps them for `--seconds`, and reports the broker's memory before and after.
pub fn run(args: &Args) -> Result<String> {
    raise_open_files();
    let before = rss_bytes(args.pid)?;
    let hello = wire::api_versions();
    let opening = now_ns();
    let mut held = Vec::with_capacity(args.connections);
    for number in 0..args.connections {
        let mut conn =
            Conn::open(&args.boot).map_err(|error| format!("after {number} connections: {error}"))?;
        if args.hello {
            conn.call(&hello)?;
        }
        conn.shrink();
        held.push(conn);
    }
    let opened = (now_ns() - opening) as f64 / 1e9;
    let (cpu, start) = (cpu_seconds(args.pid)?, now_ns());
    std::thread::sleep(std::time::Duration::from_secs_f64(args.seconds));
    let idle_cpu = (cpu_seconds(args.pid)? - cpu) * 1e9 / (now_ns() - start) as f64;
    let after = rss_bytes(args.pid)?;
    for conn in &mut held {
        conn.call(&hello)?;
    }
    Ok(format!(
        "{{\"connections\":{},\"rss_before\":{before},\"rss_after\":{after},\"kib_per_connection\":{:.3},\"opened_in_s\":{opened:.3},\"idle_cpu_share\":{idle_cpu:.5}}}",
        args.connections,
        (after as f64 - before as f64) / 1024.0 / args.connections as f64,
    ))
}
