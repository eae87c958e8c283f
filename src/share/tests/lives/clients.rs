//! The members: sessions, fetches, acknowledgements; answers get lost, and clients die.

use super::*;
use crate::base::ErrorCode;
use crate::share::partition::Acknowledgement;
use crate::share::partition::Acquire;
use crate::share::partition::Acquired;
use crate::share::partition::Kind;
use crate::share::sessions::Member;

/// What a client knows.
#[derive(Default)]
pub(super) struct Client {
    /// The next step of its session; `None` without one.
    session: Option<i32>,
    connection: u64,
    /// The records that it was given and has said nothing of.
    pub(super) has: BTreeSet<i64>,
}

fn member(client: usize) -> Member {
    Member { group: Arc::from("g"), id: Arc::from(client.to_string()) }
}

impl World {
    pub(super) fn forget_sessions(&mut self) {
        self.sessions = Sessions::new(CLIENTS);
    }

    /// A step of the client's session; whether it is taken.
    fn step_session(&mut self, client: usize) -> bool {
        let place = (key().topic, key().partition);
        let epoch = self.clients[client].session.unwrap_or(0);
        let named = if epoch == 0 { vec![place] } else { Vec::new() };
        if epoch == 0 {
            self.connections += 1;
            self.clients[client].connection = self.connections;
        }
        let connection = self.clients[client].connection;
        let step = self.sessions.fetch(&member(client), epoch, (&named, &[]), false, connection);
        self.clients[client].session = match &step {
            Ok(step) => {
                assert_eq!(step.places, [place]);
                Some(epoch + 1)
            }
            Err(failure) => {
                let known = [ErrorCode::ShareSessionNotFound, ErrorCode::InvalidShareSessionEpoch];
                assert!(epoch > 0 && known.contains(&failure.code), "{failure:?}");
                None
            }
        };
        if self.random.one_in(20) {
            // The answer is lost: the client says the same again and is refused.
            self.clients[client].session = self.clients[client].session.map(|epoch| epoch - 1);
        }
        step.is_ok()
    }

    pub(super) fn fetch(&mut self, client: usize) {
        if !self.step_session(client) {
            return;
        }
        self.load();
        let (most, size) = (1 + int(self.random.below(12)), 1 + int(self.random.below(9)));
        let (exact, take) = (self.random.one_in(3), 1 + self.pick(5));
        let lock = self.now + 100 + self.random.below(400);
        let acquired = self.acquire(client, (most, size, exact), (take, lock));
        if self.random.one_in(12) {
            self.say(|| format!("{client} does not hear of {acquired:?}"));
            return;
        }
        let has = &mut self.clients[client].has;
        acquired.iter().for_each(|one| has.extend(one.first..one.end));
    }

    fn acquire(
        &mut self,
        client: usize,
        (records_max, batch_size, exact): (i64, i64, bool),
        (take, lock): (usize, u64),
    ) -> Vec<Acquired> {
        let (log_start, mut rules, holder) = (self.log_start, self.rules, member(client).id);
        if self.is_planted(Plant::NoRoomEndless) {
            rules.locks_max = i64::MAX;
        }
        let partition = &mut self.leader().unwrap().partition;
        if !partition.has_room(&rules) {
            return Vec::new();
        }
        let mut from = partition.next_offset();
        if from < log_start {
            partition.cut(log_start);
            from = partition.next_offset();
            self.truths.range_mut(..log_start).for_each(|(_, truth)| truth.at = At::Done(State::Archived));
        }
        let found: Vec<Found> =
            self.log.iter().filter(|batch| batch.end > from).take(take).copied().collect();
        let request = Acquire { member: holder, records_max, batch_size, exact, from, lock: Instant(lock) };
        let partition = &mut self.leader().unwrap().partition;
        let (end, under_way) = (partition.end(), partition.end() - partition.start());
        let acquired = partition.acquire(&request, &found, &rules);
        let (start, after) = (partition.start(), partition.end());
        self.note_locks();
        self.say(|| format!("{client} gets {acquired:?} of {found:?} from {from}, start {start}"));
        let full = under_way >= self.rules.locks_max;
        assert!(
            !full || after <= end.max(start),
            "{under_way} records are under way, and now {end} to {after}"
        );
        let count: i64 = acquired.iter().map(|one| one.end - one.first).sum();
        assert!(!exact || count <= records_max, "{count} of {records_max}");
        for one in &acquired {
            (one.first..one.end).for_each(|offset| self.deliver(client, offset, one.count, lock));
        }
        self.forget_gone(&found, from);
        acquired
    }

    fn deliver(&mut self, client: usize, offset: i64, count: i16, lock: u64) {
        let limit = self.rules.delivery_limit;
        let aborted =
            self.log.iter().any(|batch| batch.aborted && (batch.first..batch.end).contains(&offset));
        assert!(!aborted, "{offset} is of an aborted transaction");
        let truth = self.truths.entry(offset).or_insert_with(Truth::new);
        assert!(!truth.ended, "{offset} is dealt with and delivered again");
        assert_eq!(truth.at, At::Free, "{offset} is delivered to {client}");
        truth.count += 1;
        assert_eq!(truth.count, count, "deliveries of {offset}");
        assert!(count <= limit, "{offset} was delivered {count} times of {limit}");
        truth.exhausted |= count == limit;
        truth.at = At::Held { member: client, lock };
        self.delivered += 1;
    }

    /// What was asked for and is not in the log any more is given up by the leader itself.
    fn forget_gone(&mut self, found: &[Found], from: i64) {
        let Some(first) = found.first().filter(|first| first.first > from) else { return };
        for (_, truth) in self.truths.range_mut(from..first.first) {
            if truth.at == At::Free {
                truth.at = At::Done(State::Archived);
            }
        }
    }

    /// The client says something of records that it has, or had; sometimes of such that it never had.
    pub(super) fn acknowledge(&mut self, client: usize) {
        if !self.led {
            // Who is asked does not lead the partition: nothing happens.
            return;
        }
        let has: Vec<i64> = if self.random.one_in(15) {
            self.truths.keys().copied().collect()
        } else {
            self.clients[client].has.iter().copied().collect()
        };
        if has.is_empty() {
            return;
        }
        let first = has[self.pick(has.len())];
        let most = 1 + int(self.random.below(8));
        let mut end = first + 1;
        while end < first + most && has.binary_search(&end).is_ok() {
            end += 1;
        }
        let length = if self.random.one_in(2) { usize::try_from(end - first).unwrap() } else { 1 };
        let kinds: Vec<Kind> = (0..length).map(|_| self.kind()).collect();
        let mut said = vec![Acknowledgement { first, end, kinds }];
        if self.random.one_in(20) {
            // Two words of one record are refused, and change nothing.
            said[0].kinds = vec![Kind::Accept];
            said.push(Acknowledgement { first, end, kinds: vec![Kind::Release] });
        }
        self.say_all(client, &said);
    }

    fn kind(&mut self) -> Kind {
        match self.random.below(12) {
            0..6 => Kind::Accept,
            6..9 => Kind::Release,
            9 => Kind::Reject,
            10 => Kind::Renew,
            _ => Kind::Gap,
        }
    }

    fn say_all(&mut self, client: usize, said: &[Acknowledgement]) {
        let (now, rules) = (self.now, self.rules);
        let renewed = now + 300;
        let start = self.leader().unwrap().partition.start();
        let offsets = said[0].first.max(start)..said[0].end;
        let mut who = member(client).id;
        if self.is_planted(Plant::AnyoneAcknowledges)
            && let Some(Truth { at: At::Held { member, .. }, .. }) = self.truths.get(&said[0].first)
        {
            who = Arc::from(member.to_string());
        }
        let times = (Instant(now), Instant(renewed));
        let result = self.leader().unwrap().partition.acknowledge(&who, said, times, &rules);
        self.note_locks();
        self.say(|| format!("{client} says {said:?}: {result:?}"));
        let owns =
            offsets.clone().all(|offset| self.truths.get(&offset).is_some_and(|one| one.is_held_by(client)));
        let twice = said.len() > 1 && !offsets.is_empty();
        assert_eq!(result.is_ok(), owns && !twice, "{said:?} by {client}: {result:?}");
        let Ok(change) = result else {
            self.clients[client].has.retain(|offset| !(said[0].first..said[0].end).contains(offset));
            return;
        };
        let mut ends = Vec::new();
        for offset in offsets {
            let place = usize::try_from(offset - said[0].first).unwrap();
            let kind = *said[0].kinds.get(place).unwrap_or(&said[0].kinds[0]);
            let truth = self.truths.get_mut(&offset).unwrap();
            let At::Held { lock, .. } = truth.at else { panic!("{offset} is held") };
            let Some(to) = truth::outcome(kind, truth.count, &rules) else {
                truth.at = At::Held { member: client, lock: renewed };
                continue;
            };
            truth.at = At::Moving { flight: self.flown + 1, to, member: client, lock };
            if to != State::Available {
                ends.push(offset);
            }
            self.clients[client].has.remove(&offset);
        }
        self.fly(change, Some(client), ends);
    }

    /// The client is gone, or its connection is: what it holds is released. Another one may come in its place.
    pub(super) fn leave(&mut self, client: usize) {
        let connection = self.clients[client].connection;
        let closed = if self.random.one_in(2) {
            self.sessions.close(&member(client))
        } else {
            self.sessions.close_of(&member(client), connection)
        };
        self.clients[client].session = None;
        if self.random.one_in(2) {
            self.clients[client].has.clear();
        }
        if closed.is_none() || !self.led {
            return;
        }
        let rules = self.rules;
        let others = if self.is_planted(Plant::OthersReleased) { 0..CLIENTS } else { client..client + 1 };
        for one in others {
            let id = member(one).id;
            let change = self.leader().unwrap().partition.release(&id, &rules);
            self.say(|| format!("{client} is gone: {:?}", change.batches));
            let flight = self.flown + 1;
            for truth in self.truths.values_mut().filter(|_| one == client) {
                if let At::Held { member, lock } = truth.at
                    && member == client
                {
                    let to = truth::outcome(Kind::Release, truth.count, &rules).unwrap();
                    truth.at = At::Moving { flight, to, member, lock };
                }
            }
            self.fly(change, None, Vec::new());
        }
    }

    pub(super) fn leave_all(&mut self) {
        (0..CLIENTS).for_each(|client| self.leave(client));
    }

    /// Takes all that can be delivered now, and accepts it.
    pub(super) fn take_all(&mut self, client: usize) {
        self.load();
        let lock = self.now + 500;
        let acquired = self.acquire(client, (1_000, 1_000, false), (1_000, lock));
        for one in acquired {
            let said = [Acknowledgement { first: one.first, end: one.end, kinds: vec![Kind::Accept] }];
            self.say_all(client, &said);
        }
    }
}
