//! A topology against the topics that exist: how many tasks each subtopology has, which internal topics are missing
//! and what they must look like (Kafka's `InternalTopicManager`, `RepartitionTopics`, `CopartitionedTopicsEnforcer`,
//! `ChangelogTopics`).
//!
//! ```text
//! partitions of a repartition topic   what the application says, else the most of what its writers read
//!                                     and all of a copartition group alike
//! partitions of a changelog topic     the most of what its subtopology reads
//! ```

use crate::base::ErrorCode;
use crate::groups::streams::command::Refusal;
use crate::groups::streams::command::Status;
use crate::groups::streams::topology::Subtopology;
use crate::groups::streams::topology::TopicInfo;
use crate::groups::streams::topology::Topology;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

/// How many partitions a topic of the cluster has; `None` when it does not exist.
pub(crate) type Existing<'a> = dyn Fn(&str) -> Option<i32> + 'a;

/// A topology with the numbers that follow from the cluster's topics (`ConfiguredTopology`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    /// The topology's epoch.
    pub epoch: i32,
    /// Of which topics it was made.
    pub metadata_hash: i64,
    /// The subtopologies; `None` when sources are missing or do not fit together.
    pub subtopologies: Option<BTreeMap<Arc<str>, ConfiguredSubtopology>>,
    /// The internal topics that must be made, by name.
    pub missing: BTreeMap<Arc<str>, InternalTopic>,
    /// What keeps tasks from being given out.
    pub problem: Option<Status>,
}

/// A subtopology with its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredSubtopology {
    /// How many tasks: the most partitions of a source.
    pub tasks: i32,
    /// The user's topics that it reads.
    pub source_topics: BTreeSet<Arc<str>>,
    /// The internal topics that it writes for others.
    pub repartition_sink_topics: BTreeSet<Arc<str>>,
    /// The internal topics that it reads.
    pub repartition_source_topics: BTreeMap<Arc<str>, InternalTopic>,
    /// The topics that keep its state.
    pub state_changelog_topics: BTreeMap<Arc<str>, InternalTopic>,
}

/// An internal topic as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InternalTopic {
    /// Its name.
    pub name: Arc<str>,
    /// How many partitions.
    pub partitions: i32,
    /// How many replicas; 0 for the broker's default.
    pub replication_factor: i16,
    /// Its settings.
    pub configs: Vec<(Arc<str>, Arc<str>)>,
}

impl Configured {
    /// Whether tasks can be given out.
    pub fn is_ready(&self) -> bool {
        self.problem.is_none()
    }

    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let topics = |topics: &BTreeMap<Arc<str>, InternalTopic>| topics.len() * 192;
        let subtopologies = self.subtopologies.iter().flat_map(BTreeMap::values);
        let bytes = subtopologies
            .map(|one| 256 + topics(&one.repartition_source_topics) + topics(&one.state_changelog_topics));
        256 + bytes.sum::<usize>() + topics(&self.missing)
    }
}

impl ConfiguredSubtopology {
    /// Whether its tasks have state to keep.
    pub(crate) fn is_stateful(&self) -> bool {
        !self.state_changelog_topics.is_empty()
    }
}

type Counts = BTreeMap<Arc<str>, i32>;

/// How many topics may be looked at to work out the numbers of repartition topics: others wait meanwhile.
const WORK_MAX: usize = 1_000_000;

enum Stop {
    /// The application can repair it, or wait: a status, no error.
    Problem(Status),
    Refused(Refusal),
}

/// Works out all numbers.
///
/// # Errors
/// STREAMS_INVALID_TOPOLOGY when no topic that is made can help.
pub(crate) fn configure(
    topology: &Topology,
    metadata_hash: i64,
    existing: &Existing<'_>,
) -> Result<Configured, Refusal> {
    let nothing = Configured {
        epoch: topology.epoch,
        metadata_hash,
        subtopologies: None,
        missing: BTreeMap::new(),
        problem: None,
    };
    match subtopologies(topology, existing) {
        Ok((subtopologies, missing)) => {
            let names: Vec<&str> = missing.keys().map(|name| &**name).collect();
            let detail = || format!("Internal topics are missing: {}", summary(&names));
            let problem = (!missing.is_empty()).then(|| Status::MissingInternalTopics(detail()));
            Ok(Configured { subtopologies: Some(subtopologies), missing, problem, ..nothing })
        }
        Err(Stop::Problem(problem)) => Ok(Configured { problem: Some(problem), ..nothing }),
        Err(Stop::Refused(refusal)) => Err(refusal),
    }
}

type Subtopologies = BTreeMap<Arc<str>, ConfiguredSubtopology>;
type Missing = BTreeMap<Arc<str>, InternalTopic>;

fn subtopologies(topology: &Topology, existing: &Existing<'_>) -> Result<(Subtopologies, Missing), Stop> {
    sources_exist(topology, existing)?;
    let mut decided = repartition_counts(topology, existing)?;
    let repartition = repartition_topics(topology);
    for subtopology in topology.subtopologies.values() {
        for group in &subtopology.copartition_groups {
            copartition(&repartition, &subtopology.copartitioned(group), &mut decided, existing)?;
        }
    }
    let mut tasks = BTreeMap::new();
    for (id, subtopology) in &topology.subtopologies {
        let most = subtopology.sources().filter_map(|topic| count(topic, &decided, existing)).max();
        let most = most.ok_or_else(|| invalid(&format!("No source topics found for subtopology {id}")))?;
        for changelog in &subtopology.state_changelog_topics {
            decided.insert(changelog.name.clone(), most);
        }
        tasks.insert(id, most);
    }
    let configured: Subtopologies = topology
        .subtopologies
        .iter()
        .map(|(id, one)| (id.clone(), shape(one, tasks.get(id).copied().unwrap_or(0), &decided)))
        .collect();
    let missing = missing(topology, &configured, existing)?;
    Ok((configured, missing))
}

fn sources_exist(topology: &Topology, existing: &Existing<'_>) -> Result<(), Stop> {
    let sources = topology.subtopologies.values().flat_map(|one| &one.source_topics);
    let missing: BTreeSet<&str> =
        sources.filter(|name| existing(name).is_none()).map(|name| &**name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.into_iter().collect();
    Err(Stop::Problem(Status::MissingSourceTopics(format!("Source topics {} are missing.", summary(&names)))))
}

/// The partitions of all repartition topics; those without a number of their own get one from what is read by the
/// subtopologies that write them, in as many rounds as there are such topics in a row.
fn repartition_counts(topology: &Topology, existing: &Existing<'_>) -> Result<Counts, Stop> {
    let sources = || topology.subtopologies.values().flat_map(|one| &one.repartition_source_topics);
    let given = sources().filter(|topic| topic.partitions != 0);
    let mut decided: Counts = given.map(|topic| (topic.name.clone(), topic.partitions)).collect();
    let mut work = 0_usize;
    loop {
        let (mut open, mut progress) = (false, false);
        for subtopology in topology.subtopologies.values() {
            for sink in &subtopology.repartition_sink_topics {
                if decided.contains_key(sink) {
                    continue;
                }
                work += 1 + subtopology.source_topics.len() + subtopology.repartition_source_topics.len();
                if work > WORK_MAX {
                    return Err(invalid("The topology has too many repartition topics in a row."));
                }
                match most_read(subtopology, &decided, existing) {
                    Some(count) => {
                        decided.insert(sink.clone(), count);
                        progress = true;
                    }
                    None => open = true,
                }
            }
        }
        match (open, progress) {
            (false, _) => break,
            (true, true) => {}
            (true, false) => {
                return Err(invalid(
                    "Failed to compute number of partitions for all repartition topics. \
                     There may be loops in the topology that cannot be resolved.",
                ));
            }
        }
    }
    if sources().any(|topic| !decided.contains_key(&topic.name)) {
        return Err(invalid(
            "Failed to compute number of partitions for all repartition topics, because a repartition source \
             topic is never used as a sink topic.",
        ));
    }
    Ok(decided)
}

fn most_read(subtopology: &Subtopology, decided: &Counts, existing: &Existing<'_>) -> Option<i32> {
    let internal = subtopology.repartition_source_topics.iter();
    let internal = internal.filter_map(|topic| decided.get(&topic.name).copied());
    internal.chain(subtopology.source_topics.iter().filter_map(|topic| existing(topic))).max()
}

/// What exists counts more than what was worked out.
fn count(topic: &str, decided: &Counts, existing: &Existing<'_>) -> Option<i32> {
    existing(topic).or_else(|| decided.get(topic).copied())
}

/// The repartition topics, and whether the application says their number of partitions.
fn repartition_topics(topology: &Topology) -> BTreeMap<&Arc<str>, bool> {
    let mut topics = BTreeMap::new();
    for topic in topology.subtopologies.values().flat_map(|one| &one.repartition_source_topics) {
        *topics.entry(&topic.name).or_insert(false) |= topic.partitions != 0;
    }
    topics
}

/// Gives all repartition topics of the group the number of partitions that the group's topics have.
fn copartition(
    repartition: &BTreeMap<&Arc<str>, bool>,
    group: &BTreeSet<Arc<str>>,
    decided: &mut Counts,
    existing: &Existing<'_>,
) -> Result<(), Stop> {
    let is_internal = |name: &Arc<str>| repartition.contains_key(name);
    let is_fixed = |name: &Arc<str>| repartition.get(name).copied().unwrap_or(false);
    let counted = |wanted: &dyn Fn(&Arc<str>) -> bool, decided: &Counts| -> Counts {
        let names = group.iter().filter(|name| wanted(name));
        names.filter_map(|name| Some((name.clone(), count(name, decided, existing)?))).collect()
    };
    let (internal, external) = (counted(&is_internal, decided), counted(&|name| !is_internal(name), decided));
    let fixed = counted(&is_fixed, decided);
    let partitions = match (external.is_empty(), fixed.is_empty()) {
        (false, _) => same(&external)?,
        (true, false) => same(&fixed)?,
        (true, true) => internal.values().copied().max(),
    };
    let Some(partitions) = partitions else { return Ok(()) };
    for (name, before) in internal {
        if is_fixed(&name) && before != partitions {
            return Err(incorrect(format!(
                "Number of partitions [{before}] of repartition topic [{name}] doesn't match number of \
                 partitions [{partitions}] of the source topic."
            )));
        }
        decided.insert(name, partitions);
    }
    Ok(())
}

fn same(counts: &Counts) -> Result<Option<i32>, Stop> {
    let first = counts.values().next().copied();
    if counts.values().all(|count| Some(*count) == first) {
        return Ok(first);
    }
    let shown: Vec<String> = counts.iter().map(|(name, count)| format!("{name}={count}")).collect();
    let shown = shown.join(", ");
    Err(incorrect(format!("Following topics do not have the same number of partitions: [{{{shown}}}]")))
}

fn shape(subtopology: &Subtopology, tasks: i32, decided: &Counts) -> ConfiguredSubtopology {
    let internal = |topics: &[TopicInfo]| {
        let shaped = topics.iter().map(|topic| {
            let counted = decided.get(&topic.name).copied().unwrap_or(0);
            let topic = InternalTopic {
                name: topic.name.clone(),
                partitions: if topic.partitions == 0 { counted } else { topic.partitions },
                replication_factor: topic.replication_factor,
                configs: topic.configs.clone(),
            };
            (topic.name.clone(), topic)
        });
        shaped.collect()
    };
    ConfiguredSubtopology {
        tasks,
        source_topics: subtopology.source_topics.iter().cloned().collect(),
        repartition_sink_topics: subtopology.repartition_sink_topics.iter().cloned().collect(),
        repartition_source_topics: internal(&subtopology.repartition_source_topics),
        state_changelog_topics: internal(&subtopology.state_changelog_topics),
    }
}

fn missing(
    topology: &Topology,
    configured: &Subtopologies,
    existing: &Existing<'_>,
) -> Result<Missing, Stop> {
    let mut missing = Missing::new();
    for subtopology in configured.values() {
        let topics = subtopology.repartition_source_topics.iter().chain(&subtopology.state_changelog_topics);
        missing.extend(topics.map(|(name, topic)| (name.clone(), topic.clone())));
    }
    for name in topology.required_topics() {
        let Some(found) = existing(name) else { continue };
        if let Some(expected) = missing.remove(name)
            && expected.partitions != found
        {
            let expected = expected.partitions;
            return Err(incorrect(format!(
                "Existing topic {name} has different number of partitions: expected {expected}, found {found}"
            )));
        }
    }
    Ok(missing)
}

fn invalid(what: &str) -> Stop {
    Stop::Refused(Refusal::new(ErrorCode::StreamsInvalidTopology, what.to_owned()))
}

fn incorrect(what: String) -> Stop {
    Stop::Problem(Status::IncorrectlyPartitionedTopics(what))
}

/// The first three names, and how many more there are.
fn summary(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    let mut text = names.get(..SHOWN.min(names.len())).unwrap_or_default().join(", ");
    if let Some(more) = names.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _always_fits = write!(text, " and {more} additional topics");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::streams::topology::Copartition;

    fn names(names: &[&str]) -> Vec<Arc<str>> {
        names.iter().map(|name| Arc::from(*name)).collect()
    }

    fn internal(topics: &[(&str, i32)]) -> Vec<TopicInfo> {
        let topic = |(name, partitions): &(&str, i32)| TopicInfo {
            name: Arc::from(*name),
            partitions: *partitions,
            ..TopicInfo::default()
        };
        topics.iter().map(topic).collect()
    }

    /// Sources, repartition sources, repartition sinks, changelogs.
    fn part(sources: &[&str], repartition: &[(&str, i32)], sinks: &[&str], logs: &[&str]) -> Subtopology {
        Subtopology {
            source_topics: names(sources),
            repartition_source_topics: internal(repartition),
            repartition_sink_topics: names(sinks),
            state_changelog_topics: internal(&logs.iter().map(|log| (*log, 0)).collect::<Vec<_>>()),
            ..Subtopology::default()
        }
    }

    fn together(mut subtopology: Subtopology) -> Subtopology {
        let places = |count: usize| (0..i16::try_from(count).unwrap()).collect();
        subtopology.copartition_groups = vec![Copartition {
            source_topics: places(subtopology.source_topics.len()),
            source_topic_regex: Vec::new(),
            repartition_source_topics: places(subtopology.repartition_source_topics.len()),
        }];
        subtopology
    }

    fn topology(parts: Vec<Subtopology>) -> Topology {
        let parts = parts.into_iter().enumerate().map(|(id, part)| (Arc::from(id.to_string()), part));
        Topology { epoch: 3, subtopologies: parts.collect() }
    }

    fn run(parts: Vec<Subtopology>, topics: &[(&str, i32)]) -> Result<Configured, Refusal> {
        let existing = |name: &str| topics.iter().find(|topic| topic.0 == name).map(|topic| topic.1);
        let topology = topology(parts);
        topology.check().unwrap();
        configure(&topology, 7, &existing)
    }

    fn shown(configured: &Configured) -> (Vec<i32>, Vec<(String, i32)>) {
        let tasks = configured.subtopologies.as_ref().unwrap().values().map(|part| part.tasks);
        let missing = configured.missing.values().map(|topic| (topic.name.to_string(), topic.partitions));
        (tasks.collect(), missing.collect())
    }

    #[test]
    fn counts_flow_from_the_sources_to_changelogs_and_through_repartition_topics() {
        let word_count = || {
            vec![
                part(&["in"], &[], &["re"], &[]),
                part(&[], &[("re", 0)], &["re2"], &["log"]),
                part(&["other"], &[("re2", 0)], &[], &["log2"]),
            ]
        };
        let configured = run(word_count(), &[("in", 3), ("other", 2)]).unwrap();
        let missing = [("log", 3), ("log2", 3), ("re", 3), ("re2", 3)];
        let missing: Vec<_> = missing.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        assert_eq!(shown(&configured), (vec![3, 3, 3], missing));
        assert_eq!(
            configured.problem,
            Some(Status::MissingInternalTopics(
                "Internal topics are missing: log, log2, re and 1 additional topics".to_owned()
            ))
        );
        let all = [("in", 3), ("other", 2), ("re", 3), ("re2", 3), ("log", 3), ("log2", 3)];
        let configured = run(word_count(), &all).unwrap();
        assert!(configured.is_ready() && configured.missing.is_empty());
    }

    #[test]
    fn missing_sources_are_told_before_anything_else() {
        let parts = vec![part(&["b", "a", "c", "d"], &[("re", 0)], &[], &[])];
        let configured = run(parts, &[("d", 1)]).unwrap();
        assert_eq!(
            configured.problem,
            Some(Status::MissingSourceTopics("Source topics a, b, c are missing.".to_owned()))
        );
        assert!(configured.subtopologies.is_none());
    }

    #[test]
    fn what_the_application_fixes_holds() {
        let parts = vec![part(&["in"], &[], &["re"], &[]), part(&[], &[("re", 5)], &[], &["log"])];
        let configured = run(parts, &[("in", 3)]).unwrap();
        assert_eq!(shown(&configured), (vec![3, 5], vec![("log".to_owned(), 5), ("re".to_owned(), 5)]));
    }

    #[test]
    fn topics_that_exist_with_other_counts_are_told() {
        let parts = vec![part(&["in"], &[], &["re"], &[]), part(&[], &[("re", 0)], &[], &["log"])];
        let problem = run(parts, &[("in", 3), ("log", 4)]).unwrap().problem;
        let words = "Existing topic log has different number of partitions: expected 3, found 4";
        assert_eq!(problem, Some(Status::IncorrectlyPartitionedTopics(words.to_owned())));
    }

    #[test]
    fn copartitioned_topics_get_the_count_of_the_users_topics_or_are_told() {
        let join = |fixed| {
            vec![
                part(&["in"], &[], &["re"], &[]),
                together(part(&["table"], &[("re", fixed)], &[], &["log"])),
            ]
        };
        let configured = run(join(0), &[("in", 3), ("table", 6)]).unwrap();
        assert_eq!(shown(&configured).1, [("log".to_owned(), 6), ("re".to_owned(), 6)]);
        let problem = run(join(4), &[("in", 3), ("table", 6)]).unwrap().problem;
        let words = "Number of partitions [4] of repartition topic [re] doesn't match number of partitions [6] of \
                     the source topic.";
        assert_eq!(problem, Some(Status::IncorrectlyPartitionedTopics(words.to_owned())));
        let problem =
            run(vec![together(part(&["a", "b"], &[], &[], &[]))], &[("a", 1), ("b", 2)]).unwrap().problem;
        let words = "Following topics do not have the same number of partitions: [{a=1, b=2}]";
        assert_eq!(problem, Some(Status::IncorrectlyPartitionedTopics(words.to_owned())));
        let both = vec![
            part(&["in"], &[], &["x"], &[]),
            part(&["big"], &[], &["y"], &[]),
            together(part(&[], &[("x", 0), ("y", 0)], &[], &[])),
        ];
        let configured = run(both, &[("in", 2), ("big", 5)]).unwrap();
        assert_eq!(shown(&configured).1, [("x".to_owned(), 5), ("y".to_owned(), 5)]);
    }

    #[test]
    fn long_rows_and_wide_joins_do_not_take_long() {
        let name = |number: usize| format!("t{number:05}");
        // Each reads what the one behind it writes: one is worked out in each round.
        let row = |length: usize| {
            let mut parts: Vec<Subtopology> = (0..length)
                .map(|number| part(&[], &[(&name(number + 1), 0)], &[&name(number)], &[]))
                .collect();
            parts.push(part(&["in"], &[(&name(0), 0)], &[&name(length)], &[]));
            let parts = parts.into_iter().enumerate();
            let parts = parts.map(|(id, part)| (Arc::from(format!("{id:05}")), part)).collect();
            let topology = Topology { epoch: 0, subtopologies: parts };
            topology.check().unwrap();
            configure(&topology, 7, &|name: &str| (name == "in").then_some(3))
        };
        assert_eq!(row(500).unwrap().missing.len(), 501);
        assert!(row(5000).unwrap_err().message.unwrap().contains("in a row"));
        let names: Vec<String> = (0..500).map(name).collect();
        let sources: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut wide = together(part(&sources, &[], &[], &["log"]));
        let group = wide.copartition_groups[0].clone();
        wide.copartition_groups = vec![group; 30];
        let topics: Vec<(&str, i32)> = sources.iter().map(|name| (*name, 4)).collect();
        assert_eq!(shown(&run(vec![wide], &topics).unwrap()).0, [4]);
    }

    #[test]
    fn circles_and_topics_that_nobody_writes_are_refused() {
        let circle = vec![part(&[], &[("a", 0)], &["b"], &[]), part(&[], &[("b", 0)], &["a"], &[])];
        assert!(run(circle, &[]).unwrap_err().message.unwrap().contains("loops"));
        let orphan = vec![part(&["in"], &[("a", 0)], &[], &[])];
        let refusal = run(orphan, &[("in", 1)]).unwrap_err();
        assert_eq!(refusal.error, ErrorCode::StreamsInvalidTopology);
        assert!(refusal.message.unwrap().contains("never used as a sink"));
    }
}
