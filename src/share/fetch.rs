//! Fetching records for a member: what may be delivered, read, acquired; and waiting for it (class `DelayedShareFetch`).

use crate::base::ErrorCode;
use crate::base::Instant;
use crate::base::Offset;
use crate::io::FileSlice;
use crate::replica;
use crate::replica::ReadAnswer;
use crate::replica::ReadRequest;
use crate::replica::Wait;
use crate::share::Acquired;
use crate::share::Failure;
use crate::share::GroupRules;
use crate::share::Key;
use crate::share::Service;
use crate::share::live;
use crate::share::live::Live;
use crate::share::partition::Acquire;
use crate::share::scan;
use crate::share::sessions::Member;
use crate::share::sessions::Place;
use crate::share::slots::Loading;
use crate::share::slots::Opened;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a member wants.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// Who.
    pub member: Member,
    /// The partitions, in the order in which they are served.
    pub places: Vec<Place>,
    /// Until when it waits.
    pub deadline: Instant,
    /// Bytes that are worth an answer.
    pub min_bytes: u64,
    /// Bytes of the whole answer; only its first batch may be larger.
    pub max_bytes: usize,
    /// How many records; whole batches may make it more, unless `exact`. A negative number has no records, but failures.
    pub max_records: i64,
    /// How many records one acquired range had best have.
    pub batch_size: i64,
    /// Never more than `max_records` (KIP-1206).
    pub exact: bool,
    /// Partitions that are told also without records: the session begins with them.
    pub news: BTreeSet<Place>,
}

/// Records of one partition.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// The batches that hold them, still on disk.
    pub slices: Vec<FileSlice>,
    /// Which of the records are the member's.
    pub acquired: Vec<Acquired>,
    /// Bytes of the batches.
    pub bytes: u64,
}

/// What became of each partition that there is something to say of.
pub type Outcomes = Vec<(Place, Result<Fetched, Failure>)>;

/// The share-partitions of a fetch, by where they are served.
struct Wanted {
    lives: BTreeMap<usize, Arc<Live>>,
    /// Those that are being loaded.
    loads: BTreeMap<usize, Arc<Loading<Live>>>,
    /// Those that cannot be loaded, and in the end the answer.
    outcomes: Outcomes,
    /// How many of those that are there may be worth an answer, and with how many it is tried.
    promising: usize,
    enough_for_a_look: usize,
}

impl Wanted {
    /// Takes in what is loaded, when its load has ended.
    fn take_ended(&mut self, fetch: &Fetch, at: usize) {
        let Some(ended) = self.loads.get(&at).and_then(|load| load.ended().cloned()) else { return };
        self.loads.remove(&at);
        match ended {
            Ok(live) => self.put(fetch, at, live),
            Err(failure) => {
                self.outcomes.extend(fetch.places.get(at).map(|place| (*place, Err(not_loaded(failure)))));
            }
        }
    }

    fn put(&mut self, fetch: &Fetch, at: usize, live: Arc<Live>) {
        self.promising = self.promising.saturating_add(usize::from(promises(fetch, &live)));
        self.lives.insert(at, live);
    }
}

/// A look at the partitions.
struct Look {
    outcomes: Outcomes,
    /// Whether it is worth an answer.
    enough: bool,
    /// Whether another member took what was there: there may be more behind it.
    overtaken: bool,
}

impl Service {
    /// Fetches. Waits until there is something to deliver or the deadline is over; nothing runs meanwhile. A
    /// share-partition that is not loaded yet is not waited for when there is enough without it, nor after the deadline;
    /// it goes on being loaded.
    pub async fn fetch(&self, fetch: &Fetch) -> Outcomes {
        if fetch.max_records == 0 || fetch.max_bytes == 0 {
            return Vec::new();
        }
        let mut wanted = self.want(fetch);
        if self.await_loads(fetch, &mut wanted).await {
            return wanted.outcomes;
        }
        let (mut outcomes, lives) = (wanted.outcomes, wanted.lives);
        let lives: Vec<Arc<Live>> = lives.into_values().collect();
        if lives.is_empty() {
            return outcomes;
        }
        if outcomes.is_empty() {
            return self.fetch_from(fetch, &lives).await;
        }
        // An error is told at once, with what is there.
        outcomes.extend(self.look(fetch, &lives, true).outcomes);
        outcomes
    }

    /// The share-partitions of a fetch; those that are missing are loaded from now on, all at once.
    fn want(&self, fetch: &Fetch) -> Wanted {
        let (lives, loads, outcomes) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut wanted = Wanted { lives, loads, outcomes, promising: 0, enough_for_a_look: 1 };
        let mut duties = Vec::new();
        for (at, place) in fetch.places.iter().enumerate() {
            let group = Arc::clone(&fetch.member.group);
            let key = Key { group, topic: place.0, partition: place.1 };
            match self.shared.slots.open(&key) {
                Opened::There(live) => wanted.put(fetch, at, live),
                Opened::Loading(load, duty) => {
                    wanted.loads.insert(at, load);
                    duties.extend(duty);
                }
            }
        }
        self.have_loaded(duties);
        wanted
    }

    /// Waits for what is being loaded, until the deadline or until there is enough without the rest. Whether the
    /// outcomes are the answer.
    async fn await_loads(&self, fetch: &Fetch, wanted: &mut Wanted) -> bool {
        if wanted.loads.is_empty() {
            return false;
        }
        let ats: Vec<usize> = wanted.loads.keys().copied().collect();
        let wait = Wait::on(wanted.loads.values().cloned());
        let mut ended: Vec<usize> = (0..ats.len()).collect();
        loop {
            for at in ended.iter().filter_map(|index| ats.get(*index)) {
                wanted.take_ended(fetch, *at);
                // The first that has enough is the answer, also when others behind it have just been loaded.
                if !wanted.loads.is_empty() && self.look_early(fetch, wanted) {
                    return true;
                }
            }
            if wanted.loads.is_empty() {
                return false;
            }
            let clock = &self.shared.clock;
            let left = fetch.deadline.since(clock.now());
            if clock.timeout(left, wait.progress(&mut ended)).await.is_none() {
                return false;
            }
        }
    }

    /// Whether what is loaded by now is enough; the outcomes are the answer then.
    fn look_early(&self, fetch: &Fetch, wanted: &mut Wanted) -> bool {
        if wanted.promising < wanted.enough_for_a_look {
            return false;
        }
        let there: Vec<Arc<Live>> = wanted.lives.values().cloned().collect();
        let look = self.look(fetch, &there, false);
        if look.enough {
            wanted.outcomes.extend(look.outcomes);
        }
        // A look goes through all of them: not after each one that is loaded.
        wanted.enough_for_a_look = wanted.promising.saturating_mul(2);
        look.enough
    }

    async fn fetch_from(&self, fetch: &Fetch, lives: &[Arc<Live>]) -> Outcomes {
        let clock = &self.shared.clock;
        let data = Wait::on(lives.iter().map(|live| Arc::clone(&live.log)));
        let news = Wait::on(lives.iter().cloned());
        let (mut of_data, mut of_news) = (Vec::new(), Vec::new());
        loop {
            let is_last = clock.now() >= fetch.deadline;
            let look = self.look(fetch, lives, is_last);
            if look.enough || is_last {
                return look.outcomes;
            }
            if look.overtaken {
                continue;
            }
            let left = fetch.deadline.since(clock.now());
            let progress = async {
                tokio::select! {
                    () = data.progress(&mut of_data) => {}
                    () = news.progress(&mut of_news) => {}
                }
            };
            let _in_time = clock.timeout(left, progress).await;
        }
    }

    /// Reads what can be delivered, and acquires it when it is worth an answer, or when `last`.
    fn look(&self, fetch: &Fetch, lives: &[Arc<Live>], last: bool) -> Look {
        let rules = self.rules(&fetch.member.group);
        let mut look = Look { outcomes: Vec::new(), enough: false, overtaken: false };
        let ready: Vec<(&Arc<Live>, i64)> =
            lives.iter().filter_map(|live| self.next_of(live, &rules, &mut look)).collect();
        let share = fetch.max_bytes / ready.len().max(1);
        let mut read = Vec::new();
        let mut all = Vec::with_capacity(ready.len());
        let mut bytes: u64 = 0;
        for (live, from) in ready {
            let request = ReadRequest {
                from: Offset(from),
                max_bytes: share.max(1),
                at_least_one: bytes == 0,
                reader: rules.reader(),
                leader_epoch: Some(live.leader_epoch),
                last_fetched_epoch: None,
            };
            match self.read(live, &request) {
                Ok(answer) => {
                    all.push(live);
                    if let Some(answer) = answer.filter(|answer| answer.bytes > 0) {
                        bytes = bytes.saturating_add(answer.bytes);
                        read.push((live, from, answer));
                    }
                }
                Err(failure) => look.fail(live, failure),
            }
        }
        if !(bytes > 0 && (bytes >= fetch.min_bytes || last || look.enough)) {
            look.enough |= fetch.min_bytes == 0 && !all.is_empty();
            look.tell_empty(fetch, last, all.into_iter());
            return look;
        }
        let mut left = fetch.max_records;
        for (live, from, answer) in read {
            if left <= 0 {
                look.enough = true;
                break;
            }
            match self.acquire(fetch, live, (from, left), (&answer, &rules)) {
                Ok(fetched) if fetched.acquired.is_empty() => {
                    look.overtaken |= live.with(|memory| memory.next_offset()) != from;
                }
                Ok(fetched) => {
                    let count = fetched.acquired.iter().map(|one| one.end.saturating_sub(one.first));
                    left = left.saturating_sub(count.sum());
                    look.enough = true;
                    look.outcomes.push((place_of(live), Ok(fetched)));
                }
                Err(failure) => look.fail(live, failure),
            }
        }
        look.tell_empty(fetch, last, all.into_iter());
        look
    }

    /// Where to read on in a share-partition; `None` when nothing may be delivered from it.
    fn next_of<'a>(
        &self,
        live: &'a Arc<Live>,
        rules: &GroupRules,
        look: &mut Look,
    ) -> Option<(&'a Arc<Live>, i64)> {
        if !live.is_led() {
            self.shared.forget(live);
            look.fail(live, ErrorCode::NotLeaderOrFollower.into());
            return None;
        }
        live.with(|memory| memory.has_room(&rules.rules).then(|| memory.next_offset()))
            .map(|next| (live, next))
    }

    /// Reads from a log; `None` when the offset is not in it, so that there is nothing before the log has grown or is read
    /// anew (`ShareFetchUtils.processFetchResponse`).
    fn read(&self, live: &Arc<Live>, request: &ReadRequest) -> Result<Option<ReadAnswer>, Failure> {
        let mut request = *request;
        let outcome = match live.log.read(&request) {
            // The log was cut at its front.
            Err(replica::Error::OffsetOutOfRange { start, .. }) if request.from < start => {
                tracing::info!(key = %live.key, from = %request.from, %start, "records of a share group are gone");
                request.from = live.with(|memory| {
                    memory.cut(start.0);
                    Offset(memory.next_offset())
                });
                live.log.read(&request)
            }
            outcome => outcome,
        };
        match outcome {
            Ok(answer) => Ok(Some(answer)),
            // The group begins behind the log's end, or the log was cut once more.
            Err(replica::Error::OffsetOutOfRange { .. }) => Ok(None),
            Err(error) => {
                let failure = live::of_replica(&error);
                if failure.fences() {
                    self.shared.forget(live);
                }
                Err(failure)
            }
        }
    }

    fn acquire(
        &self,
        fetch: &Fetch,
        live: &Live,
        (from, left): (i64, i64),
        (answer, rules): (&ReadAnswer, &GroupRules),
    ) -> Result<Fetched, Failure> {
        let aborted = answer.aborted.as_deref().unwrap_or_default();
        let batches = scan::batches(&answer.slices, aborted).map_err(|error| {
            tracing::error!(key = %live.key, %error, "records cannot be read");
            Failure::from(ErrorCode::KafkaStorageError)
        })?;
        let request = Acquire {
            member: Arc::clone(&fetch.member.id),
            records_max: left,
            batch_size: fetch.batch_size.max(1),
            exact: fetch.exact,
            from,
            lock: self.shared.clock.now().plus(rules.lock_duration),
        };
        let found: Vec<_> = batches.iter().map(|batch| batch.found).collect();
        let acquired = live.with_current(|memory| memory.acquire(&request, &found, &rules.rules));
        let acquired = acquired.ok_or_else(|| Failure::from(ErrorCode::NotLeaderOrFollower))?;
        let slices = scan::cut(&answer.slices, &batches, &acquired);
        let bytes = slices.iter().map(|slice| slice.length).sum();
        self.shared.note_locks(live);
        Ok(Fetched { slices, acquired, bytes })
    }
}

impl Look {
    fn fail(&mut self, live: &Live, failure: Failure) {
        self.enough = true;
        self.outcomes.push((place_of(live), Err(failure)));
    }

    /// When this is the answer, tells also those of which there is nothing to tell, if the fetch wants that.
    fn tell_empty<'a>(&mut self, fetch: &Fetch, last: bool, lives: impl Iterator<Item = &'a Arc<Live>>) {
        if fetch.news.is_empty() || !(last || self.enough) {
            return;
        }
        for place in lives.map(|live| place_of(live)).filter(|place| fetch.news.contains(place)) {
            if !self.outcomes.iter().any(|(told, _)| *told == place) {
                self.outcomes.push((place, Ok(Fetched::default())));
            }
        }
    }
}

/// What a member is told when a load has failed. On COORDINATOR_NOT_AVAILABLE Kafka's share consumer ends
/// (`ShareFetchCollector.handleInitializeErrors`); after this it fetches again.
fn not_loaded(failure: Failure) -> Failure {
    match failure.code {
        ErrorCode::CoordinatorNotAvailable => ErrorCode::NotLeaderOrFollower.into(),
        _ => failure,
    }
}

/// Whether an answer may be worth it for this one.
fn promises(fetch: &Fetch, live: &Live) -> bool {
    fetch.min_bytes == 0 || live.with(|memory| memory.next_offset()) < live.log.high_watermark().0
}

fn place_of(live: &Live) -> Place {
    (live.key.topic, live.key.partition)
}
