//! What another process has used.

use crate::args::Result;

/// CPU seconds of a process since it began: all its threads, those that have ended too. 0 stands for no process.
pub fn cpu_seconds(pid: i32) -> Result<f64> {
    if pid == 0 {
        return Ok(0.0);
    }
    let mut clock = 0;
    // SAFETY: both calls write one plain value behind a pointer to a local.
    if unsafe { libc::clock_getcpuclockid(pid, &mut clock) } != 0 {
        return Err(format!("no process {pid}").into());
    }
    clock_seconds(clock)
}

/// CPU seconds of this process.
pub fn own_cpu_seconds() -> Result<f64> {
    clock_seconds(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn clock_seconds(clock: libc::clockid_t) -> Result<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local of the right type.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

/// Resident memory of a process, in bytes.
pub fn rss_bytes(pid: i32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no VmRSS")?.parse()?;
    Ok(kib * 1024)
}

/// Raises this process's limit on open files to the most it may have.
pub fn raise_open_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls take a pointer to a local of the right type; a failure leaves the limit as it is.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}
