//! Which share-partitions a group has with the share coordinator: being made, made, being deleted
//! (`GroupMetadataManager`'s share-group state partition metadata).

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::groups::assign::Partitions;
use crate::groups::consumer::command::Fault;
use crate::groups::share::command::Alter;
use crate::groups::share::command::Altered;
use crate::groups::share::command::AlteredTopic;
use crate::groups::share::command::Forget;
use crate::groups::share::command::Initialize;
use crate::groups::share::heartbeat::Turn;
use crate::groups::share::record::Fact;
use crate::groups::share::record::StatesValue;
use crate::groups::share::record::Topic;
use crate::groups::share::record::Topics;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Adds partitions to those of topics.
fn join(topics: &mut Topics, id: TopicId, name: &Arc<str>, partitions: &BTreeSet<i32>) {
    let topic = topics.entry(id).or_insert_with(|| Topic { name: name.clone(), partitions: BTreeSet::new() });
    topic.partitions.extend(partitions);
}

/// Takes partitions from those of topics.
fn part(topics: &mut Topics, partitions: &Partitions) {
    for (id, gone) in partitions {
        if let Some(topic) = topics.get_mut(id) {
            topic.partitions.retain(|partition| !gone.contains(partition));
            if topic.partitions.is_empty() {
                topics.remove(id);
            }
        }
    }
}

impl Turn<'_> {
    fn states(&self) -> StatesValue {
        self.group.states().map_or_else(StatesValue::default, |states| (**states).clone())
    }

    fn push_states(&mut self, states: StatesValue) {
        if self.group.states().is_none_or(|before| **before != states) {
            self.push(Fact::States(Some(Arc::new(states))));
        }
    }

    /// Marks those partitions of subscribed topics as being made that the share coordinator does not know, and was not
    /// asked for lately. In a topic that the group knows, a new partition is read from its beginning.
    pub(crate) fn initialize_subscribed(&mut self) -> Vec<Initialize> {
        let states = self.states();
        let now = self.world.now.0;
        let mut missing = Topics::new();
        for name in self.group.subscribed_topics() {
            let Some(topic) = self.world.image.topic(name) else { continue };
            let asked = self.group.asked.get(&topic.id);
            let waits = asked.is_some_and(|asked| {
                now.0.saturating_sub(asked.0) < self.world.settings.share.retry_interval_ms
            });
            let known = |partition: &i32| {
                let of = |topics: &Topics| {
                    topics.get(&topic.id).is_some_and(|topic| topic.partitions.contains(partition))
                };
                of(&states.initialized) || waits && of(&states.initializing)
            };
            let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
            let unknown: BTreeSet<i32> = (0..count).filter(|partition| !known(partition)).collect();
            if !unknown.is_empty() {
                missing.insert(topic.id, Topic { name: name.clone(), partitions: unknown });
            }
        }
        let starts: Vec<(TopicId, i64)> = missing
            .keys()
            .map(|id| {
                let known = states.initialized.contains_key(id) || states.initializing.contains_key(id);
                (*id, if known { 0 } else { -1 })
            })
            .collect();
        let state_epoch = self.group.epoch;
        let mut initialize = Vec::new();
        for (topic, start) in starts {
            let partitions = missing.get(&topic).map(|topic| topic.partitions.iter().copied());
            let partitions = partitions.into_iter().flatten();
            initialize.extend(partitions.map(|partition| Initialize {
                topic,
                partition,
                state_epoch,
                start,
            }));
        }
        self.begin(missing);
        initialize
    }

    /// Marks partitions as being made.
    fn begin(&mut self, topics: Topics) {
        if topics.is_empty() {
            return;
        }
        let mut states = self.states();
        let now = self.world.now.0;
        for (id, topic) in &topics {
            join(&mut states.initializing, *id, &topic.name, &topic.partitions);
            states.deleting.remove(id);
            self.note_asked(*id, Some(now));
        }
        self.push_states(states);
    }

    /// Marks partitions as made.
    pub(crate) fn initialized(&mut self, partitions: &Partitions) {
        let mut states = self.states();
        for (id, made) in partitions {
            let known = states.initializing.get(id).or_else(|| states.initialized.get(id));
            let name = known.map(|topic| topic.name.clone());
            let name = name.or_else(|| self.world.image.topic_by_id(*id).map(|topic| topic.name.clone()));
            // A topic that is gone needs no place here.
            let Some(name) = name else { continue };
            join(&mut states.initialized, *id, &name, made);
            self.note_asked(*id, None);
        }
        part(&mut states.initializing, partitions);
        self.push_states(states);
    }

    /// Partitions could not be made.
    pub(crate) fn uninitialized(&mut self, partitions: &Partitions) {
        if self.group.states().is_none() {
            return;
        }
        let mut states = self.states();
        part(&mut states.initializing, partitions);
        for id in partitions.keys() {
            self.note_asked(*id, None);
        }
        self.push_states(states);
    }

    /// Lets an empty group go on at other offsets.
    pub(crate) fn alter(&mut self, request: &Alter) -> Result<Altered, Fault> {
        self.check_empty()?;
        let state_epoch = self.group.epoch;
        let mut altered = Altered { topics: Vec::new(), initialize: Vec::new() };
        let mut starts: BTreeMap<(TopicId, i32), i64> = BTreeMap::new();
        let mut begun = Topics::new();
        for (name, partitions) in &request.topics {
            let topic = self.world.image.topic(name);
            let id = topic.map_or(TopicId::ZERO, |topic| topic.id);
            let count = topic.map_or(0, |topic| i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX));
            if topic.is_some() {
                // Kafka knows of the topic from now on, and with it of the group, whatever becomes of the partitions.
                join(&mut begun, id, name, &BTreeSet::new());
            }
            let mut codes = Vec::with_capacity(partitions.len());
            for (partition, start) in partitions {
                if !(0..count).contains(partition) {
                    codes.push((*partition, ErrorCode::UnknownTopicOrPartition));
                    continue;
                }
                codes.push((*partition, ErrorCode::None));
                join(&mut begun, id, name, &BTreeSet::from([*partition]));
                // Of two words for one partition the last counts.
                starts.insert((id, *partition), *start);
            }
            altered.topics.push(AlteredTopic { name: name.clone(), id, partitions: codes });
        }
        self.begin(begun);
        let one = |((topic, partition), start)| Initialize { topic, partition, state_epoch, start };
        altered.initialize = starts.into_iter().map(one).collect();
        Ok(altered)
    }

    fn check_empty(&self) -> Result<(), Fault> {
        match self.group.is_empty() {
            true => Ok(()),
            false => Err(Fault::new(ErrorCode::NonEmptyGroup, "The group is not empty.")),
        }
    }

    /// Marks the share-partitions of topics of an empty group as being deleted.
    pub(crate) fn forget(&mut self, topics: &[Arc<str>]) -> Result<Vec<Forget>, Fault> {
        self.check_empty()?;
        if self.group.states().is_none() {
            return Ok(Vec::new());
        }
        let mut states = self.states();
        let unknown = |message: &str| Err(Fault::new(ErrorCode::UnknownTopicOrPartition, message));
        let mut answers = Vec::with_capacity(topics.len());
        for name in topics {
            let what = match self.world.image.topic(name) {
                None => unknown("This server does not host this topic-partition."),
                Some(topic) => match states.initialized.remove(&topic.id) {
                    Some(known) => {
                        states.deleting.insert(topic.id, name.clone());
                        Ok((topic.id, known.partitions))
                    }
                    // It was begun before and did not end.
                    None if states.deleting.contains_key(&topic.id) => {
                        let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
                        Ok((topic.id, (0..count).collect()))
                    }
                    None => unknown("There is no offset information to delete."),
                },
            };
            answers.push(Forget { name: name.clone(), what });
        }
        self.push_states(states);
        Ok(answers)
    }

    /// The share coordinator has forgotten all of these topics.
    pub(crate) fn forgotten(&mut self, topics: &BTreeSet<TopicId>) {
        if self.group.states().is_none() {
            return;
        }
        let mut states = self.states();
        states.deleting.retain(|id, _| !topics.contains(id));
        self.push_states(states);
    }

    /// Marks all share-partitions of an empty group as being deleted.
    pub(crate) fn doom(&mut self) -> Result<Partitions, ErrorCode> {
        self.check_empty().map_err(|fault| fault.code)?;
        let mut doomed = Partitions::new();
        if self.group.states().is_none() {
            return Ok(doomed);
        }
        let states = self.states();
        let mut deleting = states.deleting.clone();
        for (id, topic) in states.initialized.iter().chain(&states.initializing) {
            doomed.entry(*id).or_default().extend(&topic.partitions);
            deleting.insert(*id, topic.name.clone());
        }
        for id in states.deleting.keys() {
            if let Some(topic) = self.world.image.topic_by_id(*id) {
                let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
                doomed.entry(*id).or_default().extend(0..count);
            }
        }
        deleting.retain(|id, _| doomed.contains_key(id));
        self.push_states(StatesValue { deleting, ..StatesValue::default() });
        Ok(doomed)
    }

    /// Topics are gone from the cluster.
    pub(crate) fn topics_deleted(&mut self, topics: &BTreeSet<TopicId>) {
        if self.group.states().is_none() {
            return;
        }
        let mut states = self.states();
        states.initializing.retain(|id, _| !topics.contains(id));
        states.initialized.retain(|id, _| !topics.contains(id));
        states.deleting.retain(|id, _| !topics.contains(id));
        for id in topics {
            self.note_asked(*id, None);
        }
        self.push_states(states);
    }
}
