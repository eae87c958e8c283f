//! Gives the kernel pages to recycle: a virtual machine's first touch of a page costs far more than any later one, and
//! whoever happens to grow the page cache would pay for it.

use std::fs::{File, remove_file};
use std::io::Write;
use std::path::Path;

use crate::args::{Args, Result};

/// Writes `--amount` bytes to a file below `--path` and removes it.
pub fn run(args: &Args) -> Result<String> {
    let path = Path::new(&args.path).join("load-touch");
    let mut file = File::create(&path)?;
    let piece = vec![0x5a; 1 << 20];
    for _ in 0..args.amount >> 20 {
        file.write_all(&piece)?;
    }
    drop(file);
    remove_file(&path)?;
    Ok("{}".into())
}
