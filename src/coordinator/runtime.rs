//! All partitions of one internal topic that this broker coordinates: the handle to ask them.

use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::coordinator::error::Error;
use crate::coordinator::journal::Journal;
use crate::coordinator::machine::Machine;
use crate::coordinator::outcome::Ending;
use crate::coordinator::partition;
use crate::coordinator::partition::Ask;
use crate::coordinator::partition::Status;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::SteadyWall;
use crate::io::task::Tasks;
use crate::metrics::Loads;
use crate::record::Codec;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use tokio::sync::watch;

/// How many commands may wait for one partition's task.
const COMMANDS_MAX: usize = 1024;

/// How a runtime works.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of its tasks.
    pub name: &'static str,
    /// The codec of its batches.
    pub codec: Codec,
    /// How many bytes are read at once while loading.
    pub load_bytes_max: usize,
    /// How long a command waits for a partition that is loading, before it is refused with
    /// [`Error::Loading`]. A partition that was just created loads in no time.
    pub loading_patience: Duration,
}

/// A cheap handle; clones share the partitions.
pub struct Runtime<M: Machine> {
    shared: Arc<Shared<M>>,
}

impl<M: Machine> Clone for Runtime<M> {
    fn clone(&self) -> Self {
        Runtime { shared: Arc::clone(&self.shared) }
    }
}

struct Shared<M: Machine> {
    options: Options,
    clock: Clock,
    partitions: Mutex<BTreeMap<PartitionIndex, Handle<M>>>,
    tasks: Mutex<Tasks>,
    loads: Arc<Mutex<Loads>>,
    /// Counts the partitions that came.
    came: watch::Sender<u64>,
    stopped: Shutdown,
}

struct Handle<M: Machine> {
    epoch: LeaderEpoch,
    commands: mpsc::Sender<Ask<M>>,
    status: watch::Receiver<Status>,
    resign: Shutdown,
}

impl<M: Machine> Runtime<M> {
    /// A runtime without partitions.
    pub fn new(options: Options, clock: Clock) -> Runtime<M> {
        let tasks = Mutex::new(Tasks::new(options.name));
        let partitions = Mutex::new(BTreeMap::new());
        let shared = Shared {
            options,
            clock,
            partitions,
            tasks,
            loads: Arc::default(),
            came: watch::Sender::new(0),
            stopped: Shutdown::new(),
        };
        Runtime { shared: Arc::new(shared) }
    }

    /// Begins to coordinate a partition: loads the log into what `fresh` makes and then takes commands. A
    /// task for an older epoch ends; one for the same or a newer epoch stays.
    pub fn lead<J: Journal>(
        &self,
        index: PartitionIndex,
        epoch: LeaderEpoch,
        journal: J,
        fresh: impl Fn() -> M + Send + Sync + 'static,
    ) {
        let mut partitions = self.shared.partitions.lock();
        if self.shared.stopped.is_triggered() {
            return;
        }
        if partitions.get(&index).is_some_and(|handle| handle.epoch >= epoch && !handle.commands.is_closed())
        {
            return;
        }
        let (commands, receiver) = mpsc::channel(COMMANDS_MAX);
        let (publish, status) = watch::channel(Status::Loading);
        let resign = Shutdown::new();
        let context = partition::Context {
            index,
            options: self.shared.options.clone(),
            clock: self.shared.clock.clone(),
            steady: Mutex::new(SteadyWall::doubting()),
            resign: resign.clone(),
            status: publish,
            loads: Arc::clone(&self.shared.loads),
        };
        if let Some(before) = partitions.insert(index, Handle { epoch, commands, status, resign }) {
            before.resign.trigger();
        }
        self.shared.came.send_modify(|count| *count += 1);
        let mut tasks = self.shared.tasks.lock();
        tasks.reap();
        tasks.spawn(partition::run(context, journal, fresh, receiver));
    }

    /// No longer coordinates a partition: what waits there fails with [`Error::NotCoordinator`].
    pub fn resign(&self, index: PartitionIndex) {
        if let Some(handle) = self.shared.partitions.lock().remove(&index) {
            handle.resign.trigger();
        }
    }

    /// The partitions coordinated here, with their leader epochs.
    pub fn led(&self) -> Vec<(PartitionIndex, LeaderEpoch)> {
        self.shared.partitions.lock().iter().map(|(index, handle)| (*index, handle.epoch)).collect()
    }

    /// The loads of partitions so far.
    pub fn loads(&self) -> Loads {
        *self.shared.loads.lock()
    }

    /// Waits until a partition is led here and takes commands, for at most `patience`; for use right after its
    /// topic was created. Whether it did.
    pub async fn ready(&self, index: PartitionIndex, patience: Duration) -> bool {
        let mut came = self.shared.came.subscribe();
        let ready = async {
            loop {
                came.borrow_and_update();
                match self.channel(index).await {
                    Ok(_) => return true,
                    Err(Error::NotCoordinator) if came.changed().await.is_err() => return false,
                    Err(_) => {}
                }
            }
        };
        self.shared.clock.timeout(patience, ready).await.unwrap_or(false)
    }

    /// Asks a partition's machine. The wait ends: with the machine's answer, or with an error when the
    /// partition goes. How long a machine lets an asker wait is its rule.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn ask(&self, index: PartitionIndex, command: M::Command) -> Result<M::Answer, Error> {
        let commands = self.channel(index).await?;
        let (answer, wait) = oneshot::channel();
        let ask = Ask::Command { command, answer };
        commands.send(ask).await.map_err(|_| Error::NotCoordinator)?;
        wait.await.unwrap_or(Err(Error::NotCoordinator))
    }

    /// Ends a producer's transaction on a partition: writes the marker and lets the machine act on it. Answered when
    /// the marker is committed.
    ///
    /// # Errors
    /// See [`Error`]; the producer's own errors leave everything as it was.
    pub async fn end_transaction(&self, index: PartitionIndex, ending: Ending) -> Result<(), Error> {
        let commands = self.channel(index).await?;
        let (answer, wait) = oneshot::channel();
        commands.send(Ask::End { ending, answer }).await.map_err(|_| Error::NotCoordinator)?;
        wait.await.unwrap_or(Err(Error::NotCoordinator))
    }

    /// The leader epoch in which a partition is coordinated here.
    pub fn epoch_of(&self, index: PartitionIndex) -> Option<LeaderEpoch> {
        self.shared.partitions.lock().get(&index).map(|handle| handle.epoch)
    }

    /// Ends all tasks, for good, and waits for them.
    pub async fn stop(&self) {
        self.shared.stopped.trigger();
        let partitions = std::mem::take(&mut *self.shared.partitions.lock());
        for handle in partitions.values() {
            handle.resign.trigger();
        }
        drop(partitions);
        let mut tasks =
            std::mem::replace(&mut *self.shared.tasks.lock(), Tasks::new(self.shared.options.name));
        tasks.join_all().await;
    }

    async fn channel(&self, index: PartitionIndex) -> Result<mpsc::Sender<Ask<M>>, Error> {
        let (commands, mut status) = {
            let partitions = self.shared.partitions.lock();
            let handle = partitions.get(&index).ok_or(Error::NotCoordinator)?;
            (handle.commands.clone(), handle.status.clone())
        };
        let active = status.wait_for(|status| *status == Status::Active);
        match self.shared.clock.timeout(self.shared.options.loading_patience, active).await {
            Some(Ok(_)) => Ok(commands),
            Some(Err(_)) => Err(Error::NotCoordinator),
            None => Err(Error::Loading),
        }
    }
}
