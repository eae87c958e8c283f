//! The node is compared with the model: what was promised is there, once, in order and unchanged, and nothing else is.

use crate::history::Promise;
use crate::node::machine::NoAnswer;
use crate::node::model::Batch;
use crate::node::model::Known;
use crate::node::model::Partition;
use crate::node::model::Presence;
use crate::node::requests as ask;
use crate::node::world::World;
use dohle::record::is_intact;
use dohle::record::records;
use dohle::record::walk;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// What a partition showed.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) batches: Vec<Batch>,
    /// Batches that clients refuse: their checksum does not fit. Where the first lies.
    pub(crate) refused: Vec<i64>,
}

/// Why a partition could not be read: a code, or no answer at all.
#[derive(Debug)]
pub(crate) enum Unread {
    Code(i16),
    None(#[allow(dead_code, reason = "shown when a test fails")] String),
}

impl World {
    /// Everything, after a start without faults: all must be there, and what is there is known from now on.
    pub(crate) fn check_all(&mut self) {
        self.check_topics();
        for (name, index) in self.partitions() {
            let seen = match self.read(&name, index) {
                Ok(seen) => seen,
                Err(unread) => panic!("{name}-{index} cannot be read: {unread:?}"),
            };
            self.compare(&name, index, &seen);
            let partition = self.partition(&name, index);
            let lost = partition.batches.len() > seen.batches.len();
            partition.batches = seen.batches;
            partition.maybe.clear();
            if lost {
                partition.producer.id = -1;
            }
        }
        self.check_settings();
        self.check_offsets();
    }

    /// One partition, at any time; errors are allowed after faults.
    pub(crate) fn look_at_one(&mut self) {
        let all = self.partitions();
        if all.is_empty() {
            return;
        }
        let pick = usize::try_from(self.random.below(u64::try_from(all.len()).unwrap())).unwrap();
        let (name, index) = all[pick].clone();
        self.look_at(&name, index);
    }

    /// All partitions, at any time.
    pub(crate) fn look_at_all(&mut self) {
        for (name, index) in self.partitions() {
            self.look_at(&name, index);
        }
    }

    fn look_at(&mut self, name: &str, index: i32) {
        match self.read(name, index) {
            Ok(seen) => self.compare(name, index, &seen),
            Err(unread) => {
                assert!(self.is_disturbed() || self.machine.is_dark(), "{name}-{index}: {unread:?}");
                if let Unread::Code(code) = unread {
                    // Known to clients, and tried again: storage, leadership, not (yet) there.
                    assert!([56, 6, 3].contains(&code), "fetch of {name}-{index}: {code}");
                }
            }
        }
    }

    pub(crate) fn partitions(&self) -> Vec<(String, i32)> {
        let sure = self.model.topics.iter().filter(|(_, topic)| topic.presence == Presence::Sure);
        sure.flat_map(|(name, topic)| {
            (0..topic.partitions.len()).map(|index| (name.clone(), i32::try_from(index).unwrap()))
        })
        .collect()
    }

    /// Everything between a partition's start and end.
    pub(crate) fn read(&mut self, name: &str, index: i32) -> Result<Seen, Unread> {
        let start = self.offset_at(name, index, -2)?;
        let end = self.offset_at(name, index, -1)?;
        let mut seen = Seen { start, end, ..Seen::default() };
        let mut from = start;
        while from < end {
            let bytes_max = 1 + i32::try_from(self.random.below(4000)).unwrap();
            let answer = self.machine.ask(&ask::fetch(name, index, from, bytes_max), ask::FETCH);
            let answer = answer.map_err(|NoAnswer(why)| Unread::None(why))?;
            if answer.error_code != 0 {
                return Err(Unread::Code(answer.error_code));
            }
            let answer = &answer.responses[0].partitions[0];
            if answer.error_code != 0 {
                return Err(Unread::Code(answer.error_code));
            }
            let bytes = answer.records.clone().unwrap_or_default();
            let before = from;
            from = seen.take(&bytes, from, &format!("{name}-{index}"));
            if from == before {
                return Err(Unread::None(format!("nothing to read at {from} of {end}")));
            }
        }
        Ok(seen)
    }

    fn offset_at(&mut self, name: &str, index: i32, time: i64) -> Result<i64, Unread> {
        let answer = self.machine.ask(&ask::list_offsets(name, index, time), ask::LIST_OFFSETS);
        let answer = answer.map_err(|NoAnswer(why)| Unread::None(why))?;
        let answer = &answer.topics[0].partitions[0];
        if answer.error_code == 0 { Ok(answer.offset) } else { Err(Unread::Code(answer.error_code)) }
    }

    /// What was seen is what the model allows.
    pub(crate) fn compare(&mut self, name: &str, index: i32, seen: &Seen) {
        let place = format!("{name}-{index}");
        let partition = &*self.partition(name, index);
        assert!(seen.refused.is_empty(), "{place}: torn batches at {:?}", seen.refused);
        assert!(seen.start <= partition.start_max, "{place} begins at {}, nobody asked for that", seen.start);
        known_and_once(&place, partition, seen);
        let mut next = seen.batches.first().map_or(seen.end, |first| first.base);
        assert!(
            next <= seen.start || seen.batches.is_empty(),
            "{place}: nothing at the start {}",
            seen.start
        );
        for batch in &seen.batches {
            assert_eq!(batch.base, next, "{place}: a hole");
            next = batch.end();
        }
        for promised in partition.batches.iter().filter(|batch| batch.promise > Promise::None) {
            let there = promised.end() <= seen.start
                || seen
                    .batches
                    .iter()
                    .any(|batch| (batch.base, batch.value) == (promised.base, promised.value));
            assert!(
                there,
                "{place}: {promised:?} was acknowledged and is not there; {}..{}",
                seen.start, seen.end
            );
        }
    }

    /// The topics are those that clients know of. What was unsure is sure now.
    fn check_topics(&mut self) {
        let answer = self.machine.ask(&ask::metadata(), ask::METADATA).expect("metadata");
        let there: BTreeMap<String, (uuid::Uuid, usize)> = answer
            .topics
            .iter()
            .filter(|topic| !topic.is_internal)
            .map(|topic| {
                for partition in &topic.partitions {
                    assert_eq!(partition.error_code, 0, "{:?}", topic.name);
                }
                let name = topic.name.as_ref().unwrap().to_string();
                (name, (topic.topic_id, topic.partitions.len()))
            })
            .collect();
        let names: BTreeSet<&String> = there.keys().collect();
        for name in &names {
            assert!(self.model.topics.contains_key(*name), "{name} is there, and was deleted or never made");
        }
        let known: Vec<String> = self.model.topics.keys().cloned().collect();
        for name in known {
            let topic = self.model.topics.get_mut(&name).unwrap();
            match there.get(&name) {
                Some((id, partitions)) => {
                    if topic.id.is_nil() {
                        topic.id = *id;
                    }
                    assert_eq!((topic.id, topic.partitions.len()), (*id, *partitions), "{name}");
                    topic.presence = Presence::Sure;
                }
                None => {
                    assert_eq!(topic.presence, Presence::Unsure, "{name} was made and is not there");
                    self.model.topic_is_gone(&name);
                }
            }
        }
    }

    fn check_settings(&mut self) {
        let names: Vec<String> = self.model.topics.keys().cloned().collect();
        for name in names {
            let request = ask::describe_config(&name, "retention.bytes");
            let answer = self.machine.ask(&request, ask::DESCRIBE_CONFIGS).expect("configs");
            let value = answer.results[0].configs[0].value.as_ref().unwrap().parse().unwrap();
            let known = &mut self.model.topics.get_mut(&name).unwrap().setting;
            assert!(known.may_be(&value), "{name}: retention.bytes is {value}, and should be {known:?}");
            *known = Known::sure(value);
        }
    }

    /// Committed offsets are the confirmed ones, or later ones whose answer went missing.
    pub(crate) fn check_offsets(&mut self) {
        let keys: Vec<_> = self.model.offsets.keys().cloned().collect();
        for key in keys {
            let Some(offset) = self.committed(&key) else { continue };
            let known = self.model.offsets.get_mut(&key).unwrap();
            assert!(known.may_be(&offset), "{key:?} is {offset}, and should be {known:?}");
        }
    }

    /// A group's committed offset; `None` when faults are in the way.
    pub(crate) fn committed(&mut self, key: &(&'static str, String, i32)) -> Option<i64> {
        let request = ask::committed(key.0, &key.1, key.2);
        for _ in 0..20 {
            let answer = self.machine.ask(&request, ask::OFFSET_FETCH);
            let (code, offset) = match answer {
                Ok(answer) if answer.error_code == 0 => {
                    let partition = &answer.topics[0].partitions[0];
                    (partition.error_code, partition.committed_offset)
                }
                Ok(answer) => (answer.error_code, -1),
                Err(NoAnswer(why)) => {
                    assert!(self.is_disturbed() || self.machine.is_dark(), "{key:?}: {why}");
                    return None;
                }
            };
            match code {
                0 => return Some(offset),
                // Still loading, or looking for its place.
                14..=16 if !self.machine.is_dark() => self.idle(1),
                code => {
                    assert!(self.is_disturbed() || self.machine.is_dark(), "{key:?}: error {code}");
                    return None;
                }
            }
        }
        assert!(self.is_disturbed() || self.machine.is_dark(), "{key:?}: the group never loads");
        None
    }
}

/// Every batch is one that somebody sent, at the place they were told, and none is there twice.
fn known_and_once(place: &str, partition: &Partition, seen: &Seen) {
    let mut values = BTreeSet::new();
    for batch in &seen.batches {
        let told = partition.batches.iter().find(|known| known.value == batch.value);
        match (told, partition.maybe.get(&batch.value)) {
            (Some(known), _) => {
                assert_eq!((known.base, known.count), (batch.base, batch.count), "{place}: moved");
            }
            (None, Some(count)) => assert_eq!(*count, batch.count, "{place}: another count"),
            (None, None) => panic!("{place}: {batch:?} was never sent, or was lost before"),
        }
        assert!(values.insert(batch.value), "{place}: {batch:?} is there twice");
    }
}

impl Seen {
    /// Takes the batches of an answer; where to read on.
    fn take(&mut self, bytes: &[u8], from: i64, place: &str) -> i64 {
        let mut next = from;
        for walked in walk(bytes) {
            // Half a batch at the end is not looked at by clients.
            let Ok((position, header)) = walked else { break };
            let whole = &bytes[position..position + header.total_size()];
            if !is_intact(whole) {
                self.refused.push(header.base_offset);
                return next;
            }
            let count = header.last_offset() + 1 - header.base_offset;
            let mut value = None;
            for record in records(whole, 1 << 20).unwrap() {
                let content = record.unwrap().value.unwrap();
                let number = u64::from_be_bytes(content[..8].try_into().unwrap());
                assert!(content[8..].iter().all(|byte| *byte == 0), "{place}: another content at {next}");
                assert_eq!(*value.get_or_insert(number), number, "{place}: records of two batches in one");
            }
            let value = value.expect("a batch has a record");
            let base = header.base_offset;
            self.batches.push(Batch { base, count, value, promise: Promise::Synced });
            next = header.last_offset() + 1;
        }
        next
    }
}
