//! What a Streams application says of itself: subtopologies with the topics between them.

use crate::base::ErrorCode;
use crate::groups::streams::command::Refusal;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Subtopologies, topics and places in copartition groups that a topology may have together. Kafka has no such bound; all
/// of them are looked at for every heartbeat, and no application has a hundredth of it.
const ENTRIES_MAX: usize = 16_384;

/// A topology as the first member brought it (`StreamsGroupTopologyValue`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Grows when the application changes.
    pub epoch: i32,
    /// The parts that exchange records only by topics, by id.
    pub subtopologies: BTreeMap<Arc<str>, Subtopology>,
}

/// A part of a topology; each of its partitions is a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subtopology {
    /// The user's topics that it reads.
    pub source_topics: Vec<Arc<str>>,
    /// Patterns of topics that it reads; no client uses them yet.
    pub source_topic_regex: Vec<Arc<str>>,
    /// The topics that keep its state.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// The internal topics that it writes for others.
    pub repartition_sink_topics: Vec<Arc<str>>,
    /// The internal topics that it reads.
    pub repartition_source_topics: Vec<TopicInfo>,
    /// Which of its sources must have the same number of partitions.
    pub copartition_groups: Vec<Copartition>,
}

/// An internal topic as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its name.
    pub name: Arc<str>,
    /// How many partitions; 0 when the broker shall decide.
    pub partitions: i32,
    /// How many replicas; 0 for the broker's default.
    pub replication_factor: i16,
    /// Its settings, in the order of the application.
    pub configs: Vec<(Arc<str>, Arc<str>)>,
}

/// Sources with the same number of partitions, as places in the lists of their subtopology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copartition {
    /// Places in [`Subtopology::source_topics`].
    pub source_topics: Vec<i16>,
    /// Places in [`Subtopology::source_topic_regex`].
    pub source_topic_regex: Vec<i16>,
    /// Places in [`Subtopology::repartition_source_topics`].
    pub repartition_source_topics: Vec<i16>,
}

impl Subtopology {
    /// All topics that it reads, the user's first.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &Arc<str>> {
        self.source_topics.iter().chain(self.repartition_source_topics.iter().map(|topic| &topic.name))
    }

    /// The topics of a group that must have the same number of partitions; places that stand for nothing are refused
    /// by [`Topology::check`].
    pub(crate) fn copartitioned(&self, group: &Copartition) -> BTreeSet<Arc<str>> {
        let source = |place: &i16| self.source_topics.get(usize::try_from(*place).ok()?);
        let internal = |place: &i16| self.repartition_source_topics.get(usize::try_from(*place).ok()?);
        let sources = group.source_topics.iter().filter_map(source);
        let internals = group.repartition_source_topics.iter().filter_map(internal);
        sources.chain(internals.map(|topic| &topic.name)).cloned().collect()
    }
}

impl Topology {
    /// Whether the topology can be worked with. Kafka fails with an internal error where it cannot.
    ///
    /// # Errors
    /// STREAMS_INVALID_TOPOLOGY with what is wrong.
    pub fn check(&self) -> Result<(), Refusal> {
        let wrong = |what: String| Err(Refusal::new(ErrorCode::StreamsInvalidTopology, what));
        if self.epoch < 0 {
            return wrong(String::from("Topology epoch must be non-negative."));
        }
        let entries = self.subtopologies.values().map(Subtopology::entries).sum::<usize>();
        if entries > ENTRIES_MAX {
            return wrong(format!("The topology has {entries} parts and topics, more than {ENTRIES_MAX}."));
        }
        for (id, subtopology) in &self.subtopologies {
            if subtopology.sources().next().is_none() {
                return wrong(format!("Subtopology {id} does not contain any source topics."));
            }
            for topic in &subtopology.state_changelog_topics {
                if topic.partitions != 0 {
                    let name = &topic.name;
                    let count = topic.partitions;
                    return wrong(format!(
                        "Changelog topic {name} must have an undefined partition count, but it is set to {count}."
                    ));
                }
            }
            if let Some(topic) =
                subtopology.repartition_source_topics.iter().find(|topic| topic.partitions < 0)
            {
                return wrong(format!("Topic {} has a negative number of partitions.", topic.name));
            }
            if !subtopology.copartition_groups.iter().all(|group| subtopology.places(group)) {
                return wrong(format!(
                    "A copartition group of subtopology {id} names topics that are not there."
                ));
            }
        }
        Ok(())
    }

    /// The subtopology that reads a topic.
    pub(crate) fn reader_of(&self, topic: &str) -> Option<&Arc<str>> {
        let reads = |subtopology: &Subtopology| subtopology.sources().any(|source| &**source == topic);
        self.subtopologies.iter().rev().find(|(_, one)| reads(one)).map(|(id, _)| id)
    }

    /// All topics that must exist before tasks are given out.
    pub(crate) fn required_topics(&self) -> BTreeSet<&Arc<str>> {
        let mut topics = BTreeSet::new();
        for subtopology in self.subtopologies.values() {
            topics.extend(subtopology.sources());
            topics.extend(subtopology.state_changelog_topics.iter().map(|topic| &topic.name));
        }
        topics
    }

    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let topics = |topics: &[TopicInfo]| topics.iter().map(TopicInfo::bytes).sum::<usize>();
        let one = |subtopology: &Subtopology| {
            let names = subtopology.source_topics.iter().chain(&subtopology.repartition_sink_topics);
            let names = names.chain(&subtopology.source_topic_regex);
            let places = |group: &Copartition| 64 + 2 * group.places();
            256 + names.map(|name| 32 + name.len()).sum::<usize>()
                + topics(&subtopology.state_changelog_topics)
                + topics(&subtopology.repartition_source_topics)
                + subtopology.copartition_groups.iter().map(places).sum::<usize>()
        };
        self.subtopologies.iter().map(|(id, subtopology)| id.len() + one(subtopology)).sum()
    }
}

impl Copartition {
    fn places(&self) -> usize {
        self.source_topics.len() + self.source_topic_regex.len() + self.repartition_source_topics.len()
    }
}

impl Subtopology {
    /// How much there is to be looked at.
    fn entries(&self) -> usize {
        let topics =
            self.source_topics.len() + self.source_topic_regex.len() + self.repartition_sink_topics.len();
        let internal = self.state_changelog_topics.len() + self.repartition_source_topics.len();
        1 + topics + internal + self.copartition_groups.iter().map(|group| 1 + group.places()).sum::<usize>()
    }

    fn places(&self, group: &Copartition) -> bool {
        let within = |places: &[i16], count: usize| {
            places.iter().all(|place| usize::try_from(*place).is_ok_and(|place| place < count))
        };
        within(&group.source_topics, self.source_topics.len())
            && within(&group.source_topic_regex, self.source_topic_regex.len())
            && within(&group.repartition_source_topics, self.repartition_source_topics.len())
    }
}

impl TopicInfo {
    fn bytes(&self) -> usize {
        let configs = self.configs.iter().map(|(name, value)| 64 + name.len() + value.len());
        64 + self.name.len() + configs.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, partitions: i32) -> TopicInfo {
        TopicInfo { name: Arc::from(name), partitions, ..TopicInfo::default() }
    }

    fn topology(subtopology: Subtopology) -> Topology {
        Topology { epoch: 0, subtopologies: BTreeMap::from([(Arc::from("0"), subtopology)]) }
    }

    fn words(topology: &Topology) -> String {
        topology.check().unwrap_err().message.unwrap()
    }

    #[test]
    fn what_cannot_be_worked_with_is_refused() {
        let good = Subtopology { source_topics: vec![Arc::from("in")], ..Subtopology::default() };
        assert_eq!(topology(good.clone()).check(), Ok(()));
        assert!(words(&Topology { epoch: -1, ..topology(good.clone()) }).contains("non-negative"));
        assert!(words(&topology(Subtopology::default())).contains("any source topics"));
        let changelog = Subtopology { state_changelog_topics: vec![topic("log", 3)], ..good.clone() };
        assert_eq!(
            words(&topology(changelog)),
            "Changelog topic log must have an undefined partition count, but it is set to 3."
        );
        let negative = Subtopology { repartition_source_topics: vec![topic("re", -1)], ..good.clone() };
        assert!(words(&topology(negative)).contains("negative"));
        let names = |count: usize| (0..count).map(|number| Arc::from(format!("t{number}"))).collect();
        let large = |count: usize| Subtopology { source_topics: names(count), ..Subtopology::default() };
        assert_eq!(topology(large(ENTRIES_MAX - 1)).check(), Ok(()));
        assert!(words(&topology(large(ENTRIES_MAX))).contains("more than 16384"));
        for place in [1, -1] {
            let group = Copartition { source_topics: vec![place], ..Copartition::default() };
            let wild = Subtopology { copartition_groups: vec![group], ..good.clone() };
            assert!(words(&topology(wild)).contains("not there"));
        }
    }

    #[test]
    fn topics_are_found_by_their_reader() {
        let one = Subtopology {
            source_topics: vec![Arc::from("in")],
            repartition_source_topics: vec![topic("re", 0)],
            state_changelog_topics: vec![topic("log", 0)],
            copartition_groups: vec![Copartition {
                source_topics: vec![0],
                repartition_source_topics: vec![0],
                ..Copartition::default()
            }],
            ..Subtopology::default()
        };
        let group = one.copartitioned(&one.copartition_groups[0]);
        assert_eq!(group.iter().map(|name| &**name).collect::<Vec<_>>(), ["in", "re"]);
        let topology = topology(one);
        assert_eq!(topology.reader_of("re").map(|id| &**id), Some("0"));
        assert_eq!(topology.reader_of("log"), None);
        let required: Vec<&str> = topology.required_topics().into_iter().map(|name| &**name).collect();
        assert_eq!(required, ["in", "log", "re"]);
    }
}
