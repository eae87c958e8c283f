//! What a broker stands on: the machine, or a simulated one.

use crate::config::StorageSettings;
use crate::io::Clock;
use crate::io::Disk;
use crate::io::Shutdown;
#[cfg(feature = "sim")]
use crate::io::sim::SimClock;
#[cfg(feature = "sim")]
use crate::io::sim::SimDisk;
use crate::log;
use crate::log::Dirs;
#[cfg(feature = "sim")]
use crate::log::Faults;
use crate::log::Threads;
use crate::metrics;
#[cfg(feature = "sim")]
use std::sync::Arc;

/// Where files are, what tells the time, and whether there are sockets.
#[derive(Clone, Debug)]
pub struct Platform {
    pub(super) disk: Disk,
    pub(super) clock: Clock,
    pub(super) sockets: Sockets,
    threads: Threads,
    #[cfg(feature = "sim")]
    faults: Arc<Faults>,
}

/// Whether listeners are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sockets {
    /// As the settings say.
    Real,
    /// None: requests come by [`crate::broker::Broker::handle`].
    None,
}

impl Platform {
    /// This machine.
    pub fn system() -> Platform {
        Platform {
            disk: Disk::system(),
            clock: Clock::system(),
            sockets: Sockets::Real,
            threads: Threads::Own,
            #[cfg(feature = "sim")]
            faults: Arc::default(),
        }
    }

    /// A machine in memory without sockets, on which everything happens on the caller's thread. The runtime must be
    /// of one thread, and that thread a [`crate::io::sim::SimThread`].
    #[cfg(feature = "sim")]
    pub fn simulated(disk: SimDisk, clock: SimClock, faults: Arc<Faults>) -> Platform {
        Platform {
            disk: Disk::Sim(disk),
            clock: Clock::Sim(clock),
            sockets: Sockets::None,
            threads: Threads::Tasks,
            faults,
        }
    }

    pub(super) fn open_folders(
        self,
        shutdown: Shutdown,
        settings: StorageSettings,
        metrics: metrics::Log,
    ) -> Result<Dirs, log::Error> {
        let Platform { disk, clock, threads, .. } = self;
        #[cfg(feature = "sim")]
        return Dirs::open_with((disk, clock, metrics), shutdown, settings, threads, self.faults);
        #[cfg(not(feature = "sim"))]
        Dirs::open(disk, clock, shutdown, settings, threads, metrics)
    }
}
