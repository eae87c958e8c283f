//! Random acts on a share-partition, and a map from each record to what it must be at.

use super::*;
use crate::base::seeds;
use crate::io::random::Random;
use crate::share::partition::Acknowledgement;
use crate::share::partition::Change;
use crate::share::partition::Kind;
use crate::share::state::batches;
use crate::share::state::batches::Batch;
use crate::share::state::batches::State;
use std::collections::BTreeMap;

/// What a record is at.
#[derive(Clone, Debug, PartialEq)]
enum At {
    Available,
    Held { member: usize, lock: u64 },
    Moving { token: u64, to: State, member: usize, lock: u64 },
    Kept(State),
}

#[derive(Clone, Debug)]
struct Truth {
    at: At,
    count: i16,
}

struct World {
    random: Random,
    rules: Rules,
    now: u64,
    log: Vec<Found>,
    partition: Partition,
    records: BTreeMap<i64, Truth>,
    /// What the share coordinator has: the start, and batches.
    kept: (i64, Vec<Batch>),
    open: Vec<(u64, Change)>,
    tokens: u64,
    delivered: u64,
}

fn number(value: i64) -> u64 {
    u64::try_from(value).unwrap()
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = Random::seeded(seed);
        let mut log = Vec::new();
        let mut at = 0i64;
        for _ in 0..60 {
            let size = 1 + i64::try_from(random.below(7)).unwrap();
            // Compaction leaves holes; some batches belong to aborted transactions.
            at += i64::try_from(random.below(5).saturating_sub(3)).unwrap();
            log.push(Found { first: at, end: at + size, aborted: random.one_in(9) });
            at += size;
        }
        let rules = Rules {
            delivery_limit: i16::try_from(2 + random.below(5)).unwrap(),
            locks_max: 10 + i64::try_from(random.below(60)).unwrap(),
            renews: true,
            dead_letters: random.one_in(2),
        };
        World {
            random,
            rules,
            now: 1,
            log,
            partition: empty(),
            records: BTreeMap::new(),
            kept: (0, Vec::new()),
            open: Vec::new(),
            tokens: 0,
            delivered: 0,
        }
    }

    fn step(&mut self) {
        match self.random.below(16) {
            0..=5 => self.acquire(),
            6..=9 => self.acknowledge(),
            10..=12 => self.settle(),
            13 => {
                self.now += self.random.below(400);
                self.expire();
            }
            14 => self.release(),
            _ => match self.random.below(6) {
                0 => self.reload(),
                1 => self.cut(),
                _ => self.bury(),
            },
        }
        self.check();
    }

    fn acquire(&mut self) {
        if !self.partition.has_room(&self.rules) {
            return;
        }
        let from = self.partition.next_offset();
        let found: Vec<Found> = self.log.iter().filter(|batch| batch.end > from).copied().collect();
        let take = 1 + usize::try_from(self.random.below(6)).unwrap();
        let found = &found[..take.min(found.len())];
        let member = usize::try_from(self.random.below(4)).unwrap();
        let records_max = 1 + i64::try_from(self.random.below(12)).unwrap();
        let lock = self.now + 200 + self.random.below(300);
        let request = Acquire {
            member: super::member(&member.to_string()),
            records_max,
            batch_size: 1 + i64::try_from(self.random.below(9)).unwrap(),
            exact: self.random.one_in(3),
            from,
            lock: Instant(lock),
        };
        let acquired = self.partition.acquire(&request, found, &self.rules);
        let count: i64 = acquired.iter().map(|one| one.end - one.first).sum();
        assert!(!request.exact || count <= records_max, "{count} of {records_max}");
        for one in &acquired {
            for offset in one.first..one.end {
                assert!(found.iter().any(|b| b.end > offset), "{offset} was not read");
                let aborted = found.iter().any(|b| b.aborted && (b.first..b.end).contains(&offset));
                assert!(!aborted, "{offset} is of an aborted transaction");
                let truth = self.records.entry(offset).or_insert(Truth { at: At::Available, count: 0 });
                assert_eq!(truth.at, At::Available, "{offset} is delivered");
                truth.count += 1;
                assert_eq!(truth.count, one.count, "{offset}");
                assert!(truth.count <= self.rules.delivery_limit, "{offset}");
                truth.at = At::Held { member, lock };
                self.delivered += 1;
            }
        }
        // Whatever was passed over is dealt with: holes and aborted records.
        self.adopt_dropped(found, from);
        let deliverable = found.iter().any(|b| !b.aborted);
        let progressed = !acquired.is_empty() || self.partition.next_offset() > from || !deliverable;
        assert!(progressed, "nothing of {found:?} from {from}");
    }

    /// Records that the partition has given up itself, because they are no records for anybody.
    fn adopt_dropped(&mut self, found: &[Found], from: i64) {
        let (Some(first), Some(last)) = (found.first(), found.last()) else { return };
        for offset in from.min(first.first)..last.end {
            let aborted = found.iter().any(|b| b.aborted && (b.first..b.end).contains(&offset));
            let hole = !self.log.iter().any(|b| (b.first..b.end).contains(&offset));
            let known = self.records.get(&offset);
            let free = known.is_none_or(|truth| truth.at == At::Available);
            if (aborted || hole) && free && self.is_given_up(offset) {
                self.records.insert(offset, Truth { at: At::Kept(State::Archived), count: 0 });
            }
        }
    }

    fn is_given_up(&self, offset: i64) -> bool {
        let piece = self.partition.pieces.range(..=offset).next_back().map(|(_, piece)| piece);
        let piece = piece.filter(|piece| piece.end > offset);
        offset < self.partition.start() || piece.is_some_and(|piece| piece.is_settled())
    }

    fn acknowledge(&mut self) {
        let member = usize::try_from(self.random.below(4)).unwrap();
        let mine = |truth: &Truth| matches!(truth.at, At::Held { member: holder, .. } if holder == member);
        let own: Vec<i64> = self.records.iter().filter(|(_, t)| mine(t)).map(|(offset, _)| *offset).collect();
        if own.is_empty() {
            return;
        }
        let start = own[usize::try_from(self.random.below(own.len() as u64)).unwrap()];
        let length = 1 + i64::try_from(self.random.below(8)).unwrap();
        let end = start + length;
        let each = self.random.one_in(2);
        let count = if each { length } else { 1 };
        let kinds: Vec<Kind> = (0..count)
            .map(|_| match self.random.below(10) {
                0..=4 => Kind::Accept,
                5..=6 => Kind::Release,
                7 => Kind::Reject,
                8 => Kind::Renew,
                _ => Kind::Gap,
            })
            .collect();
        let lock = self.now + 300;
        let said = [Acknowledgement { first: start, end, kinds: kinds.clone() }];
        let who = super::member(&member.to_string());
        let times = (Instant(self.now), Instant(lock));
        let result = self.partition.acknowledge(&who, &said, times, &self.rules);
        let whole = (start..end).all(|offset| self.records.get(&offset).is_some_and(mine));
        assert_eq!(result.is_ok(), whole, "{start}..{end} by {member}: {result:?}");
        let Ok(change) = result else { return };
        self.tokens += 1;
        for (place, offset) in (start..end).enumerate() {
            let kind = if each { kinds[place] } else { kinds[0] };
            self.say(offset, kind, (member, lock));
        }
        self.open.push((self.tokens, change));
    }

    fn say(&mut self, offset: i64, kind: Kind, (member, renewed): (usize, u64)) {
        let rules = self.rules;
        let token = self.tokens;
        let truth = self.records.get_mut(&offset).unwrap();
        let At::Held { lock, .. } = truth.at else { panic!("held") };
        let given_up = if rules.dead_letters { State::Archiving } else { State::Archived };
        let to = match kind {
            Kind::Renew => {
                truth.at = At::Held { member, lock: renewed };
                return;
            }
            Kind::Accept => State::Acknowledged,
            Kind::Gap => State::Archived,
            Kind::Reject => given_up,
            Kind::Release if truth.count >= rules.delivery_limit => given_up,
            Kind::Release => State::Available,
        };
        truth.at = At::Moving { token, to, member, lock };
    }

    fn settle(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let place = usize::try_from(self.random.below(self.open.len() as u64)).unwrap();
        let (token, change) = self.open.remove(place);
        let kept = !self.random.one_in(5);
        if kept {
            self.write(&change);
        }
        self.partition.settle(&change, kept, Instant(self.now), &self.rules);
        let (now, limit) = (self.now, self.rules.delivery_limit);
        for truth in self.records.values_mut() {
            let At::Moving { token: of, to, member, lock } = truth.at else { continue };
            if of != token {
                continue;
            }
            truth.at = match (kept, to) {
                (true, State::Available) => At::Available,
                (true, to) => At::Kept(to),
                (false, _) if lock > now => At::Held { member, lock },
                (false, _) if truth.count >= limit => At::Kept(State::Archived),
                (false, _) => At::Available,
            };
        }
    }

    /// The share coordinator takes a change.
    fn write(&mut self, change: &Change) {
        let start = self.partition.start().max(self.kept.0);
        self.kept = (start, batches::combine(&self.kept.1, &change.batches, start));
    }

    fn expire(&mut self) {
        let change = self.partition.expire(Instant(self.now), &self.rules);
        self.write(&change);
        let (rules, now) = (self.rules, self.now);
        for truth in self.records.values_mut() {
            let At::Held { lock, .. } = truth.at else { continue };
            if lock <= now {
                truth.at = given_back(truth.count, &rules);
            }
        }
    }

    fn release(&mut self) {
        let member = usize::try_from(self.random.below(4)).unwrap();
        let change = self.partition.release(&member.to_string(), &self.rules);
        self.tokens += 1;
        let held: Vec<i64> = self
            .records
            .iter()
            .filter(|(_, truth)| matches!(truth.at, At::Held { member: holder, .. } if holder == member))
            .map(|(offset, _)| *offset)
            .collect();
        for offset in held {
            self.say(offset, Kind::Release, (member, 0));
        }
        self.open.push((self.tokens, change));
    }

    fn bury(&mut self) {
        let dead = |truth: &Truth| truth.at == At::Kept(State::Archiving);
        let Some(first) = self.records.iter().find(|(_, t)| dead(t)).map(|(offset, _)| *offset) else {
            return;
        };
        let end = (first..).find(|offset| !self.records.get(offset).is_some_and(dead)).unwrap();
        let change = self.partition.bury(first, end);
        self.write(&change);
        for offset in first..end {
            self.records.get_mut(&offset).unwrap().at = At::Kept(State::Archived);
        }
    }

    /// The leader is another one now: it has what the share coordinator has.
    fn reload(&mut self) {
        let (start, kept) = self.kept.clone();
        let (partition, dead) = Partition::load(start, &kept).unwrap();
        self.partition = partition;
        self.open.clear();
        self.records.clear();
        for batch in &kept {
            for offset in batch.first..batch.end {
                let at = match batch.state {
                    State::Available => At::Available,
                    other => At::Kept(other),
                };
                self.records.insert(offset, Truth { at, count: batch.count });
            }
        }
        let archiving = self.records.values().filter(|truth| truth.at == At::Kept(State::Archiving)).count();
        assert_eq!(number(dead.iter().map(|dead| dead.end - dead.first).sum()), archiving as u64);
    }

    fn cut(&mut self) {
        let log_start = self.partition.start() + i64::try_from(self.random.below(6)).unwrap();
        let log_start = log_start.min(self.partition.end());
        self.partition.cut(log_start);
        self.log.retain(|batch| batch.end > log_start);
        self.records = self.records.split_off(&log_start);
    }

    fn check(&mut self) {
        let (start, end) = (self.partition.start(), self.partition.end());
        // The start is the first record that is not dealt with.
        let settled = |truth: &Truth| matches!(truth.at, At::Kept(state) if state.is_final());
        let records = &self.records;
        assert!(records.range(..start).all(|(_, truth)| settled(truth)), "{start} in {records:?}");
        if start < end {
            assert!(!records.get(&start).is_some_and(settled), "{start} is dealt with");
        }
        let complete = records.range(start..).filter(|(_, truth)| match truth.at {
            At::Kept(state) | At::Moving { to: state, .. } => state.is_final(),
            At::Available | At::Held { .. } => false,
        });
        assert_eq!(i64::from(self.partition.complete_count()), i64::try_from(complete.count()).unwrap());
        // What can be delivered first is the first that is available or was never delivered.
        let free = |offset: &i64| records.get(offset).is_none_or(|truth| truth.at == At::Available);
        let next = (start..end).find(free).unwrap_or(end);
        assert_eq!(self.partition.next_offset(), next, "{records:?}");
        let held = records.values().filter_map(|truth| match truth.at {
            At::Held { lock, .. } => Some(lock),
            _ => None,
        });
        if let Some(first) = held.min() {
            assert!(self.partition.next_lock().is_some_and(|next| next <= Instant(first)));
        }
    }
}

fn given_back(count: i16, rules: &Rules) -> At {
    match (count >= rules.delivery_limit, rules.dead_letters) {
        (false, _) => At::Available,
        (true, true) => At::Kept(State::Archiving),
        (true, false) => At::Kept(State::Archived),
    }
}

#[test]
fn agrees_with_a_map_of_records() {
    let delivered = seeds::run("the memory of a share-partition", 500, |seed| {
        let mut world = World::new(seed);
        for _ in 0..150 {
            world.step();
        }
        world.delivered
    });
    let all = u64::try_from(delivered.len()).unwrap();
    let delivered: u64 = delivered.into_iter().sum();
    assert!(delivered > 20 * all, "{delivered} records were delivered by {all} seeds");
}
