//! Measurements of the process and its workers.

use crate::metrics::family::Family;
use crate::metrics::family::Page;
use crate::metrics::family::number;
use crate::metrics::registry::Collectors;
use std::time::Duration;

/// The process at one moment; `None` for what the system does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Process {
    /// Processor time used.
    pub cpu: Option<Duration>,
    /// Seconds from 1970 to the start of the process.
    pub started: Option<f64>,
    /// Bytes of memory that are resident.
    pub resident: Option<u64>,
    /// Bytes of address space.
    pub virtual_size: Option<u64>,
    /// Threads.
    pub threads: Option<u64>,
    /// Open files.
    pub open_files: Option<u64>,
    /// Files that may be open.
    pub open_files_max: Option<u64>,
    /// Bytes that came from disks on behalf of this process, and that it had written to them.
    pub disk_read: Option<u64>,
    /// See [`Process::disk_read`].
    pub disk_written: Option<u64>,
    /// How long the workers were busy, added up.
    pub busy: Option<Duration>,
    /// The part of their time that the workers were idle, over the last minute.
    pub idle: Option<f64>,
    /// Where the broker stands: Kafka's number.
    pub state: u8,
}

/// A measurement with what it shows.
type Showing = (Family, fn(&Process) -> Option<f64>);

/// The names of what is shown of the process.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    families: [Showing; 13],
}

impl Shown {
    pub(super) fn new(collectors: &mut Collectors) -> Shown {
        let mut counter = |name: &str, help, value: fn(&Process) -> Option<f64>| {
            (collectors.looked_up_counter(name.to_owned(), &[], help), value)
        };
        let cpu = counter("process_cpu_seconds_total", "Processor time used, in seconds.", |it| {
            it.cpu.map(|time| time.as_secs_f64())
        });
        let busy = counter(
            "dohle_worker_busy_seconds_total",
            "How long the workers were busy, in seconds, added up over them.",
            |it| it.busy.map(|time| time.as_secs_f64()),
        );
        let mut gauge = |name: &str, help, value: fn(&Process) -> Option<f64>| {
            (collectors.looked_up_gauge(name.to_owned(), &[], help), value)
        };
        const IDLE: &str = "Part of their time that the workers were idle over the last minute, from 0 to 1; \
                            connections and requests share them.";
        Shown {
            families: [
                cpu,
                busy,
                gauge("process_start_time_seconds", "Seconds from 1970 to the start.", |it| it.started),
                gauge("process_resident_memory_bytes", "Memory that is resident.", |it| {
                    it.resident.map(number)
                }),
                gauge("process_virtual_memory_bytes", "Address space.", |it| it.virtual_size.map(number)),
                gauge("process_threads", "Threads.", |it| it.threads.map(number)),
                gauge("process_open_fds", "Open files.", |it| it.open_files.map(number)),
                gauge("process_max_fds", "Files that may be open.", |it| it.open_files_max.map(number)),
                gauge(
                    "kafka_server_kafkaserver_linux_disk_read_bytes",
                    "Bytes that came from disks for this process since its start.",
                    |it| it.disk_read.map(number),
                ),
                gauge(
                    "kafka_server_kafkaserver_linux_disk_write_bytes",
                    "Bytes that this process had written to disks since its start.",
                    |it| it.disk_written.map(number),
                ),
                gauge("kafka_network_socketserver_networkprocessoravgidle_percent", IDLE, |it| it.idle),
                gauge("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", IDLE, |it| {
                    it.idle
                }),
                gauge(
                    "kafka_server_kafkaserver_brokerstate",
                    "2 while logs are recovered, 3 while the broker serves, 6 while it stops.",
                    |it| Some(f64::from(it.state)),
                ),
            ],
        }
    }

    pub(super) fn show(&self, page: &mut Page, process: &Process) {
        for (family, value) in &self.families {
            if let Some(value) = value(process) {
                family.show_one(page, value);
            }
        }
    }
}
