//! What the disk itself can do: an append, then fdatasync.

use std::fs::{File, remove_file};
use std::io::Write;
use std::path::Path;

use crate::args::{Args, Result};
use crate::clock::now_ns;
use crate::histogram::Histogram;

/// Appends `--bytes` and syncs, again and again for `--seconds`, in a file below `--path`.
pub fn run(args: &Args) -> Result<String> {
    let path = Path::new(&args.path).join("load-sync");
    let mut file = File::create(&path)?;
    let piece = vec![0x5a; args.bytes];
    let mut durations = Histogram::default();
    let start = now_ns();
    while now_ns() - start < (args.seconds * 1e9) as u64 {
        let from = now_ns();
        file.write_all(&piece)?;
        file.sync_data()?;
        durations.add(now_ns() - from);
    }
    let seconds = (now_ns() - start) as f64 / 1e9;
    remove_file(&path)?;
    Ok(format!("{{\"syncs_per_s\":{:.1},{}}}", durations.total() as f64 / seconds, durations.json("")))
}
