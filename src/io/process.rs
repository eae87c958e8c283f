//! This process as the system sees it: its end, and its limits.

use crate::metrics::Process;
use rustix::process::Resource;
use rustix::process::Rlimit;
use std::io;
use std::time::Duration;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;

/// Waits for the system or a person to ask for the end (SIGTERM, SIGINT, SIGHUP); the signal's name. As with a JVM, a
/// SIGHUP that was ignored from the start (`nohup`) stays ignored.
///
/// From the first look on, a write beyond the limit of file sizes is an error and not the end of the process.
pub async fn end_requested() -> io::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = if is_ignored(libc::SIGHUP) { None } else { Some(signal(SignalKind::hangup())?) };
    let _beyond_the_limit = signal(SignalKind::from_raw(libc::SIGXFSZ))?;
    let hung_up = async {
        match &mut hangup {
            Some(hangup) => hangup.recv().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = terminate.recv() => Ok("SIGTERM"),
        _ = interrupt.recv() => Ok("SIGINT"),
        _ = hung_up => Ok("SIGHUP"),
    }
}

/// Whether this process ignores a signal.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let bit = u32::try_from(signal).ok().and_then(|signal| signal.checked_sub(1));
    bit.and_then(|bit| mask.checked_shr(bit)).is_some_and(|rest| rest & 1 == 1)
}

/// Raises the limit of open files as far as the system lets us; the limit then (`None`: no limit). Each connection
/// and each open segment is a file.
pub fn raise_open_files() -> Option<u64> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match rustix::process::setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// Whether an error says that this process, or the machine, has too many files open: nothing is wrong with the file.
pub fn is_out_of_files(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(errno, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}

/// The niceness of the calling thread.
#[cfg(test)]
pub(in crate::io) fn niceness() -> io::Result<i32> {
    Ok(rustix::process::getpriority_process(None)?)
}

/// How often the calling thread has given up its core to wait for something (and not because its time was up); 0
/// where the system does not tell.
#[allow(unsafe_code, reason = "no package tells this of one thread")]
pub fn times_slept() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for a write of one `rusage`.
    let outcome = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: zeroes are a valid `rusage`, whether or not the call has written one.
    let usage = unsafe { usage.assume_init() };
    if outcome == 0 { u64::try_from(usage.ru_nvcsw).unwrap_or(0) } else { 0 }
}

/// The machine's name, as others on its network know it; `localhost` where it has none.
pub fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "localhost".to_owned() } else { name }
}

/// How long such a thread may go on when another one wakes; without it that is a whole slice, some milliseconds, in which
/// a producer waits for its answer. Linux before 6.12 takes no notice.
const BACKGROUND_SLICE_NS: u64 = 100_000;

/// Lets the calling thread, and it alone, run behind others, and give way to them soon. Where others want the processor
/// too, a niceness of 10 leaves it about a tenth, and one of 19, the most, a seventieth. A system that refuses is obeyed.
/// It cannot be taken back.
#[allow(unsafe_code, reason = "no package offers the call with a slice")]
pub fn lower_priority(niceness: i32) {
    let size = u32::try_from(size_of::<libc::sched_attr>()).expect("a small structure");
    let policy = u32::try_from(libc::SCHED_OTHER).expect("a small number");
    let attributes = libc::sched_attr {
        size,
        sched_policy: policy,
        sched_flags: 0,
        sched_nice: niceness,
        sched_priority: 0,
        sched_runtime: BACKGROUND_SLICE_NS,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the call reads the structure, which says its own size and outlives it; thread 0 is the calling one.
    let outcome = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if outcome != 0 {
        let error = io::Error::last_os_error();
        tracing::debug!(%error, "cannot lower a thread's priority");
    }
}

/// This process's number.
pub fn id() -> u32 {
    std::process::id()
}

/// Looks up in `/proc` what this process uses; what only its rooms know is left empty.
pub fn usage() -> Process {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (stat, status, io) = (text("/proc/self/stat"), text("/proc/self/status"), text("/proc/self/io"));
    // The name of the program stands in parentheses and may hold anything; numbers begin behind it with field 3.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number.checked_sub(3)?)?.parse::<u64>().ok();
    let seconds = |ticks: u64| ticks_in_seconds(ticks);
    let cpu = field(14).zip(field(15)).map(|(user, system)| seconds(user.saturating_add(system)));
    let booted = number_after(&text("/proc/stat"), "btime");
    let started = field(22)
        .zip(booted)
        .map(|(ticks, booted)| Duration::from_secs(booted).saturating_add(seconds(ticks)).as_secs_f64());
    Process {
        cpu,
        started,
        resident: number_after(&status, "VmRSS:").map(|kib| kib.saturating_mul(1024)),
        virtual_size: field(23),
        threads: field(20),
        // The listing itself holds one open.
        open_files: std::fs::read_dir("/proc/self/fd")
            .ok()
            .and_then(|files| u64::try_from(files.count().saturating_sub(1)).ok()),
        open_files_max: rustix::process::getrlimit(Resource::Nofile).current,
        disk_read: number_after(&io, "read_bytes:"),
        disk_written: number_after(&io, "write_bytes:")
            .map(|written| written.saturating_sub(number_after(&io, "cancelled_write_bytes:").unwrap_or(0))),
        ..Process::default()
    }
}

/// The number on the line that begins with `label`.
fn number_after(text: &str, label: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(label))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

fn ticks_in_seconds(ticks: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    let nanos = (ticks % per_second).saturating_mul(1_000_000_000) / per_second;
    Duration::from_secs(ticks / per_second).saturating_add(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_what_this_process_uses() {
        let before = usage();
        let files: Vec<_> = (0..5).map(|_| std::fs::File::open("/proc/self/status").unwrap()).collect();
        let after = usage();
        assert!(after.resident.unwrap() > 1 << 20 && after.virtual_size > after.resident);
        assert!(after.threads.unwrap() >= 1);
        assert!(after.cpu >= before.cpu);
        assert!(after.started.unwrap() > 1_700_000_000.0);
        assert!(after.open_files.unwrap() >= u64::try_from(files.len()).unwrap());
        assert!(after.open_files <= after.open_files_max);
    }

    #[test]
    fn a_number_is_found_behind_its_label() {
        let text = "VmSize:\t  100 kB\nVmRSS:\t   7 kB\n";
        assert_eq!(number_after(text, "VmRSS:"), Some(7));
        assert_eq!(number_after(text, "Threads:"), None);
    }

    #[test]
    fn a_sleep_is_counted() {
        let before = times_slept();
        std::thread::sleep(Duration::from_millis(1));
        assert!(times_slept() > before);
    }

    #[test]
    fn the_machine_has_a_name() {
        let name = host_name();
        assert!(!name.is_empty() && !name.contains('\0'), "{name}");
    }

    #[test]
    fn the_limit_of_open_files_is_raised_to_the_hard_one() {
        let raised = raise_open_files();
        let limit = rustix::process::getrlimit(Resource::Nofile);
        assert_eq!((limit.current, limit.current), (raised, limit.maximum));
    }
}
