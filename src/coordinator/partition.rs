//! The task of one partition: takes commands and timers, decides, appends, applies, and answers what is committed.

use crate::base::Instant;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::ProducerId;
use crate::coordinator::batch::Gathering;
use crate::coordinator::error::Error;
use crate::coordinator::journal::Committing;
use crate::coordinator::journal::Journal;
use crate::coordinator::load;
use crate::coordinator::machine::Entry;
use crate::coordinator::machine::Machine;
use crate::coordinator::machine::Now;
use crate::coordinator::machine::Place;
use crate::coordinator::outcome::Ending;
use crate::coordinator::outcome::Outcome;
use crate::coordinator::outcome::Ticket;
use crate::coordinator::outcome::TimerChange;
use crate::coordinator::outcome::Transaction;
use crate::coordinator::runtime::Options;
use crate::coordinator::timer::Timers;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::SteadyWall;
use crate::metrics::Loads;
use crate::record::CheckedBatch;
use crate::record::control::EndTransaction;
use crate::replica::Proof;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use tokio::sync::watch;

/// Records of more bytes are decoded before they are written.
const PROVED_FROM: usize = 16 << 10;

/// How many commands are decided before their records are appended together.
const TURN_MAX: usize = 64;

/// The wait before a log that could not be read or written is read again; doubles while it cannot be read.
const RELOAD_DELAY: Duration = Duration::from_millis(500);
const RELOAD_DELAY_MAX: Duration = Duration::from_secs(15);

/// What a partition's task is asked, with the place for its answer.
pub(super) enum Ask<M: Machine> {
    /// A command for the machine.
    Command { command: M::Command, answer: Asker<M> },
    /// The end of a producer's transaction on this partition.
    End { ending: Ending, answer: Ended },
}

type Asker<M> = oneshot::Sender<Result<<M as Machine>::Answer, Error>>;
type Ended = oneshot::Sender<Result<(), Error>>;

impl<M: Machine> Ask<M> {
    fn refuse(self, error: Error) {
        match self {
            Ask::Command { answer, .. } => drop(answer.send(Err(error))),
            Ask::End { answer, .. } => drop(answer.send(Err(error))),
        }
    }
}

/// An answer that waits for the log. Who asked may be gone by then.
enum Reply<M: Machine> {
    Answer(Asker<M>, M::Answer),
    Ended(Ended),
}

impl<M: Machine> Reply<M> {
    fn give(self) {
        match self {
            Reply::Answer(asker, answer) => drop(asker.send(Ok(answer))),
            Reply::Ended(asker) => drop(asker.send(Ok(()))),
        }
    }

    fn fail(self, error: Error) {
        match self {
            Reply::Answer(asker, _) => drop(asker.send(Err(error))),
            Reply::Ended(asker) => drop(asker.send(Err(error))),
        }
    }
}

/// Whether a partition takes commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// The log is being read.
    Loading,
    /// Commands are taken.
    Active,
}

/// What a partition's task is given.
pub(super) struct Context {
    pub(super) index: PartitionIndex,
    pub(super) options: Options,
    pub(super) clock: Clock,
    /// The wall clock as decisions see it.
    pub(super) steady: Mutex<SteadyWall>,
    pub(super) resign: Shutdown,
    pub(super) status: watch::Sender<Status>,
    pub(super) loads: Arc<Mutex<Loads>>,
}

impl Context {
    fn count_load(&self, time: Duration) {
        let mut loads = self.loads.lock();
        loads.count = loads.count.saturating_add(1);
        loads.total = loads.total.saturating_add(time);
        loads.longest = loads.longest.max(time);
    }
}

/// Why a record would be passed over when the log is read. Small ones are not looked at: nothing that this broker writes
/// in so few bytes is refused by its reader, whose least bound for what a record becomes is 64 times that.
fn unreadable<M: Machine>(entry: &Entry) -> Option<String> {
    let bytes = entry.key.len().saturating_add(entry.value.as_ref().map_or(0, bytes::Bytes::len));
    if bytes > PROVED_FROM { M::decode(entry).err() } else { None }
}

/// Runs until the leadership goes. After a failed append everything is read again.
pub(super) async fn run<M: Machine, J: Journal>(
    context: Context,
    journal: J,
    fresh: impl Fn() -> M + Send + Sync + 'static,
    mut commands: mpsc::Receiver<Ask<M>>,
) {
    let mut delay = RELOAD_DELAY;
    let end = loop {
        let began = context.clock.now();
        let loading = load::load(fresh(), &journal, context.options.load_bytes_max);
        let loaded = tokio::select! {
            biased;
            () = context.resign.triggered() => break Error::NotCoordinator,
            loaded = loading => loaded,
        };
        let failed = match loaded {
            Ok((machine, end)) => {
                delay = RELOAD_DELAY;
                context.count_load(context.clock.now().since(began));
                let mut desk = Desk::new(&context, &journal, machine, end);
                let failed = desk.serve(&mut commands).await;
                desk.fail(failed);
                failed
            }
            Err(error) => error,
        };
        context.status.send_replace(Status::Loading);
        if context.resign.is_triggered() || commands.is_closed() {
            break Error::NotCoordinator;
        }
        tracing::warn!(partition = %context.index, error = %failed, "coordinator reads its log again");
        refuse(&mut commands, failed);
        tokio::select! {
            biased;
            () = context.resign.triggered() => break Error::NotCoordinator,
            () = context.clock.sleep(delay) => {}
        }
        delay = (delay * 2).min(RELOAD_DELAY_MAX);
    };
    commands.close();
    refuse(&mut commands, end);
    tracing::debug!(partition = %context.index, "no longer coordinates");
}

/// Fails the commands that wait in the channel.
fn refuse<M: Machine>(commands: &mut mpsc::Receiver<Ask<M>>, error: Error) {
    while let Ok(ask) = commands.try_recv() {
        ask.refuse(error);
    }
}

/// Answers that wait for an append.
struct Parked<M: Machine> {
    committed: Committing,
    answers: Vec<Reply<M>>,
}

/// A loaded partition at work.
struct Desk<'a, M: Machine, J> {
    context: &'a Context,
    journal: &'a J,
    machine: M,
    timers: Timers<M::Timer>,
    gathering: Gathering,
    /// Where the next record will stand.
    end: Offset,
    tickets: u64,
    /// Those who wait for the machine.
    askers: HashMap<Ticket, Asker<M>>,
    /// Those whose answer waits for the log, in the order of the log.
    parked: VecDeque<Parked<M>>,
    /// Answers of this turn.
    answers: Vec<Reply<M>>,
}

impl<'a, M: Machine, J: Journal> Desk<'a, M, J> {
    fn new(context: &'a Context, journal: &'a J, machine: M, end: Offset) -> Desk<'a, M, J> {
        Desk {
            context,
            journal,
            machine,
            timers: Timers::new(),
            gathering: Gathering::new(context.options.codec, journal.batch_bytes_max()),
            end,
            tickets: 0,
            askers: HashMap::new(),
            parked: VecDeque::new(),
            answers: Vec::new(),
        }
    }

    /// Works until something fails or the leadership goes.
    async fn serve(&mut self, commands: &mut mpsc::Receiver<Ask<M>>) -> Error {
        // What was loaded may not be committed yet: nobody hears of it before it is.
        self.parked.push_back(Parked { committed: self.journal.committed(self.end), answers: Vec::new() });
        let woken = self.machine.loaded(self.now());
        if let Err(error) = self.take_for(None, woken).and_then(|()| self.flush()) {
            return error;
        }
        self.context.status.send_replace(Status::Active);
        tracing::debug!(partition = %self.context.index, offset = %self.end, "coordinates");
        loop {
            let next_timer = self.timers.next();
            let clock = &self.context.clock;
            let worked = tokio::select! {
                biased;
                () = self.context.resign.triggered() => return Error::NotCoordinator,
                committed = first_committed(&mut self.parked) => self.release(committed),
                () = sleep_until(clock, next_timer) => self.turn(None, commands),
                ask = commands.recv() => match ask {
                    Some(ask) => self.turn(Some(ask), commands),
                    None => return Error::NotCoordinator,
                },
            };
            if let Err(error) = worked {
                return error;
            }
        }
    }

    /// Everything that is due and waits now, as one append.
    fn turn(&mut self, first: Option<Ask<M>>, commands: &mut mpsc::Receiver<Ask<M>>) -> Result<(), Error> {
        while let Some(timer) = self.timers.pop(self.context.clock.now()) {
            let outcome = self.machine.expired(self.now(), timer);
            self.take_for(None, outcome)?;
        }
        let mut next = first;
        for left in (0..TURN_MAX).rev() {
            match next.take() {
                None => break,
                Some(Ask::Command { command, answer }) => {
                    self.tickets += 1;
                    let ticket = Ticket(self.tickets);
                    self.askers.insert(ticket, answer);
                    let outcome = self.machine.decide(self.now(), ticket, command);
                    self.take_for(Some(ticket), outcome)?;
                }
                Some(Ask::End { ending, answer }) => self.end_transaction(ending, answer)?,
            }
            // Who is taken from the queue is answered in this turn.
            if left == 0 || self.gathering.is_large() {
                break;
            }
            next = commands.try_recv().ok();
        }
        self.flush()
    }

    /// As [`Desk::take`]; what would write a record that is too large, or for a producer that may not write, changes
    /// nothing, and who asked for it is refused.
    fn take_for(&mut self, ticket: Option<Ticket>, outcome: Outcome<M>) -> Result<(), Error> {
        match self.take(outcome) {
            Err(error) if error.is_of_command() => {
                if let Some(asker) = ticket.and_then(|ticket| self.askers.remove(&ticket)) {
                    let _asker_may_be_gone = asker.send(Err(error));
                }
                Ok(())
            }
            taken => taken,
        }
    }

    /// Writes down and applies what was decided. An error of the command comes before anything is changed.
    fn take(&mut self, outcome: Outcome<M>) -> Result<(), Error> {
        let entries: Vec<Entry> = outcome.records.iter().map(M::encode).collect();
        if let Some(entry) = entries.iter().find(|entry| !self.gathering.fits(entry)) {
            let bytes = entry.key.len() + entry.value.as_ref().map_or(0, bytes::Bytes::len);
            tracing::warn!(partition = %self.context.index, bytes, "record is larger than a batch may be");
            return Err(Error::TooLarge);
        }
        if let Some(error) = entries.iter().find_map(unreadable::<M>) {
            tracing::warn!(partition = %self.context.index, error, "record could not be read again");
            return Err(Error::TooLarge);
        }
        match outcome.transaction {
            Some(transaction) => self.write_in_transaction(transaction, &outcome.records, &entries)?,
            None => self.write(&outcome.records, &entries)?,
        }
        for change in outcome.changes {
            self.machine.install(change);
        }
        let now = self.context.clock.now();
        for change in outcome.timers {
            match change {
                TimerChange::Set(timer, after) => self.timers.set(timer, now.plus(after)),
                TimerChange::Cancel(timer) => self.timers.cancel(&timer),
            }
        }
        for (ticket, answer) in outcome.answers {
            if let Some(asker) = self.askers.remove(&ticket) {
                self.answers.push(Reply::Answer(asker, answer));
            }
        }
        Ok(())
    }

    /// Gathers records for the turn's append, and applies them at once.
    fn write(&mut self, records: &[M::Record], entries: &[Entry]) -> Result<(), Error> {
        let wall = self.context.clock.wall();
        for (record, entry) in records.iter().zip(entries) {
            if let Some(full) = self.gathering.push(entry, wall) {
                self.append(full)?;
            }
            self.apply(record, ProducerId::NONE);
        }
        Ok(())
    }

    /// Appends the records of a transaction in batches of their own, behind what was gathered; they are applied when
    /// the log has taken the first, because it may refuse the producer.
    fn write_in_transaction(
        &mut self,
        transaction: Transaction,
        records: &[M::Record],
        entries: &[Entry],
    ) -> Result<(), Error> {
        if let Some(batch) = self.gathering.take() {
            self.append(batch)?;
        }
        let wall = self.context.clock.wall();
        let mut gathering = self.gathering.in_transaction(transaction.producer, transaction.epoch);
        let mut batches: Vec<CheckedBatch> =
            entries.iter().filter_map(|entry| gathering.push(entry, wall)).collect();
        batches.extend(gathering.take());
        let mut end = self.end;
        for (place, batch) in batches.into_iter().enumerate() {
            end = Offset(end.0 + i64::from(batch.header().record_count));
            match self.append_to(batch, transaction.proof, end) {
                // The first batch opened the transaction, so the next was refused for no reason of the client.
                Err(error) if place > 0 && error.is_of_command() => return Err(Error::NotAvailable),
                appended => appended?,
            }
        }
        records.iter().for_each(|record| self.apply(record, transaction.producer));
        Ok(())
    }

    fn apply(&mut self, record: &M::Record, producer: ProducerId) {
        self.machine.apply(Place { offset: self.end, producer }, record);
        self.end = Offset(self.end.0 + 1);
    }

    /// Writes the marker that ends a producer's transaction and lets the machine act on it. When the log refuses the
    /// marker, only who asked is told.
    fn end_transaction(&mut self, ending: Ending, answer: Ended) -> Result<(), Error> {
        if let Some(batch) = self.gathering.take() {
            self.append(batch)?;
        }
        let Ending { producer, epoch, committed, coordinator_epoch, proof } = ending;
        let marker = EndTransaction { committed, coordinator_epoch };
        let batch = marker.batch(producer, epoch, self.context.clock.wall());
        let end = Offset(self.end.0 + 1);
        match self.append_to(batch, proof, end) {
            Ok(()) => {
                self.machine.end_transaction(producer, committed);
                self.end = end;
                self.answers.push(Reply::Ended(answer));
                Ok(())
            }
            Err(error) => {
                let _asker_may_be_gone = answer.send(Err(error));
                if error.is_of_command() { Ok(()) } else { Err(error) }
            }
        }
    }

    /// Appends what the turn gathered. Its answers wait for the last append that is under way, so that nobody
    /// hears of something that is not committed.
    fn flush(&mut self) -> Result<(), Error> {
        if let Some(batch) = self.gathering.take() {
            self.append(batch)?;
        }
        let answers = std::mem::take(&mut self.answers);
        match self.parked.back_mut() {
            Some(last) => last.answers.extend(answers),
            None => answers.into_iter().for_each(Reply::give),
        }
        Ok(())
    }

    fn append(&mut self, batch: CheckedBatch) -> Result<(), Error> {
        self.append_to(batch, Proof::None, self.end)
    }

    /// Appends a batch that must reach `end`.
    fn append_to(&mut self, batch: CheckedBatch, proof: Proof, end: Offset) -> Result<(), Error> {
        let records = i64::from(batch.header().record_count);
        let appended = self.journal.append(batch, proof)?;
        if appended.base.checked_add(records) != Some(end) {
            // Someone else has written to this partition, so the applied places are wrong.
            tracing::error!(partition = %self.context.index, base = %appended.base, "append at another place");
            return Err(Error::NotAvailable);
        }
        self.parked.push_back(Parked { committed: appended.committed, answers: Vec::new() });
        Ok(())
    }

    /// The oldest append is committed: its answers go out.
    fn release(&mut self, committed: Result<(), Error>) -> Result<(), Error> {
        committed?;
        if let Some(parked) = self.parked.pop_front() {
            parked.answers.into_iter().for_each(Reply::give);
        }
        Ok(())
    }

    /// Everyone who waits is told that it came to nothing.
    fn fail(self, error: Error) {
        let parked = self.parked.into_iter().flat_map(|parked| parked.answers);
        parked.chain(self.answers).for_each(|reply| reply.fail(error));
        for asker in self.askers.into_values() {
            let _asker_may_be_gone = asker.send(Err(error));
        }
    }

    fn now(&self) -> Now {
        let clock = &self.context.clock;
        Now(self.context.steady.lock().observe(clock.wall(), clock.now()))
    }
}

/// The outcome of the oldest append under way; waits for ever when there is none.
async fn first_committed<M: Machine>(parked: &mut VecDeque<Parked<M>>) -> Result<(), Error> {
    match parked.front_mut() {
        Some(first) => first.committed.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Waits for the deadline; for ever without one.
async fn sleep_until(clock: &Clock, deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => clock.sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
