//! This process as the system sees it: its end, and its limits.

use rustix::process::Resource;
use rustix::process::Rlimit;
use std::io;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;

/// Waits for the system or a person to ask for the end (SIGTERM, SIGINT); the signal's name.
pub async fn end_requested() -> io::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => Ok("SIGTERM"),
        _ = interrupt.recv() => Ok("SIGINT"),
    }
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

/// The machine's name, as others on its network know it; `localhost` where it has none.
pub fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "localhost".to_owned() } else { name }
}

/// This process's number.
pub fn id() -> u32 {
    std::process::id()
}

#[cfg(test)]
mod tests {
    use super::*;

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
