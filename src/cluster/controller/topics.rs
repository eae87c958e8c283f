//! Creates and deletes topics (`ControllerApis` and `ReplicationControlManager` of Kafka).

use super::Outcome;
use super::Records;
use super::Refusal;
use super::Situation;
use super::allowance;
use super::command::CreateTopics;
use super::command::CreatedTopic;
use super::command::NewTopic;
use super::command::TopicCreation;
use super::command::TopicDeletion;
use super::command::TopicToDelete;
use super::partitions;
use super::placement;
use super::topic_names;
use super::topic_names::CLUSTER_METADATA_TOPIC;
use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::cluster::controller::configs;
use crate::cluster::effective;
use crate::cluster::effective::ConfigEntry;
use crate::cluster::image::Image;
use crate::cluster::image::Partition;
use crate::cluster::image::ResourceType;
use crate::cluster::records::ConfigRecord;
use crate::cluster::records::Record;
use crate::cluster::records::RemoveTopicRecord;
use crate::cluster::records::TopicRecord;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// What became of each topic, in the order of the request; names given twice come last, once each.
pub fn create_topics(situation: &mut Situation<'_>, command: &CreateTopics) -> Outcome<Vec<TopicCreation>> {
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for topic in &command.topics {
        *named.entry(&topic.name).or_default() += 1;
    }
    if is_too_much(situation, command, &named) {
        let message = "Excessively large number of partitions per request.";
        let refused = |name: &&str| TopicCreation {
            name: (*name).to_owned(),
            result: Err(Refusal::new(ErrorCode::PolicyViolation, message)),
        };
        return Records::default().into_outcome(true, named.keys().map(refused).collect());
    }
    let mut records = Records::default();
    let mut results = Vec::with_capacity(named.len());
    for topic in command.topics.iter().filter(|topic| named.get(topic.name.as_str()) == Some(&1)) {
        let result = create(situation, topic).and_then(|(created, new)| records.add(new).map(|()| created));
        results.push(TopicCreation { name: topic.name.clone(), result });
    }
    for (name, _) in named.iter().filter(|(_, count)| **count > 1) {
        let refusal = Refusal::new(ErrorCode::InvalidRequest, "Duplicate topic name.");
        results.push(TopicCreation { name: (*name).to_owned(), result: Err(refusal) });
    }
    records.into_outcome(command.validate_only, results)
}

/// Whether all topics of the request together, whatever else is wrong with them, would have more partitions than one
/// request may make (`ReplicationControlManager.validateTotalNumberOfPartitions`).
fn is_too_much(situation: &Situation<'_>, command: &CreateTopics, named: &BTreeMap<&str, usize>) -> bool {
    let wanted = |topic: &NewTopic| match (topic.assignments.len(), topic.num_partitions) {
        (0, -1) => usize::try_from(situation.config.topics.num_partitions).unwrap_or(0),
        (0, count) => usize::try_from(count).unwrap_or(0),
        (assigned, _) => assigned,
    };
    let once = command
        .topics
        .iter()
        .filter(|topic| topic.name != CLUSTER_METADATA_TOPIC && named.get(topic.name.as_str()) == Some(&1));
    once.map(wanted).fold(0_usize, usize::saturating_add) > super::RECORDS_PER_COMMAND_MAX
}

fn create(situation: &mut Situation<'_>, topic: &NewTopic) -> Result<(CreatedTopic, Vec<Record>), Refusal> {
    if topic.name == CLUSTER_METADATA_TOPIC {
        return Err(Refusal::new(
            ErrorCode::InvalidRequest,
            format!("Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited."),
        ));
    }
    check_name(situation.image, &topic.name)?;
    let configs = check_configs(situation, topic)?;
    let partitions = place(situation, topic)?;
    allowance::pay(situation.permit, partitions.len())?;
    let id = TopicId::random_from(crate::io::random::uuid);
    let created = CreatedTopic {
        id,
        num_partitions: i32::try_from(partitions.len()).unwrap_or(i32::MAX),
        replication_factor: partitions
            .first()
            .map_or(-1, |partition| i16::try_from(partition.replicas.len()).unwrap_or(i16::MAX)),
        configs: as_said(effective::topic_entries(situation.config, situation.image, &configs), &configs),
    };
    let mut records: Vec<Record> = vec![TopicRecord { name: topic.name.clone(), topic_id: id }.into()];
    for (name, value) in configs {
        let config = ConfigRecord {
            resource_type: ResourceType::Topic.code(),
            resource_name: topic.name.clone(),
            name,
            value: Some(value),
        };
        records.push(config.into());
    }
    records.extend(partitions.into_iter().map(|partition| Record::from(partition.to_record(id))));
    Ok((created, records))
}

/// Values as the request has them: unlike DescribeConfigs this answer does not show what was read from them.
fn as_said(mut entries: Vec<ConfigEntry>, said: &BTreeMap<String, String>) -> Vec<ConfigEntry> {
    for entry in entries.iter_mut().filter(|entry| !entry.sensitive) {
        if let Some(value) = said.get(&entry.name) {
            entry.value = Some(value.clone());
        }
    }
    entries
}

fn check_name(image: &Image, name: &str) -> Result<(), Refusal> {
    let refuse = |message| Err(Refusal::new(ErrorCode::InvalidTopicException, message));
    if image.topic(name).is_some() {
        return Err(Refusal::new(ErrorCode::TopicAlreadyExists, format!("Topic '{name}' already exists.")));
    }
    if let Err(message) = topic_names::check(name) {
        return refuse(message);
    }
    match image.colliding_topic(name) {
        Some(existing) => refuse(format!("Topic '{name}' collides with existing topic: {}", existing.name)),
        None => Ok(()),
    }
}

fn check_configs(situation: &Situation<'_>, topic: &NewTopic) -> Result<BTreeMap<String, String>, Refusal> {
    let mut configs = BTreeMap::new();
    let mut nulls: Vec<&str> = Vec::new();
    for (name, value) in &topic.configs {
        match value {
            Some(value) => {
                configs.insert(name.clone(), value.clone());
            }
            None => nulls.push(name),
        }
    }
    if !nulls.is_empty() {
        let message = format!("Null value not supported for topic configs: {}", nulls.join(","));
        return Err(Refusal::new(ErrorCode::InvalidConfig, message));
    }
    configs::check_topic(situation, &configs)?;
    Ok(configs)
}

fn place(situation: &mut Situation<'_>, topic: &NewTopic) -> Result<Vec<Partition>, Refusal> {
    if !topic.assignments.is_empty() {
        return assigned(situation.image, topic);
    }
    if topic.replication_factor < -1 || topic.replication_factor == 0 {
        let message = "Replication factor must be larger than 0, or -1 to use the default value.";
        return Err(Refusal::new(ErrorCode::InvalidReplicationFactor, message));
    }
    if topic.num_partitions < -1 || topic.num_partitions == 0 {
        let message = "Number of partitions was set to an invalid non-positive value.";
        return Err(Refusal::new(ErrorCode::InvalidPartitions, message));
    }
    let defaults = &situation.config.topics;
    let count = if topic.num_partitions == -1 { defaults.num_partitions } else { topic.num_partitions };
    let factor = if topic.replication_factor == -1 {
        defaults.default_replication_factor
    } else {
        topic.replication_factor
    };
    let count = usize::try_from(count).unwrap_or(0);
    let placed = placement::place(situation.image, count, factor, situation.random).map_err(|message| {
        let message = format!("Unable to replicate the partition {factor} time(s): {message}");
        Refusal::new(ErrorCode::InvalidReplicationFactor, message)
    })?;
    let mut made = Vec::with_capacity(count);
    for (index, replicas) in (0..).zip(placed) {
        let wanted = replicas.len();
        let partition = partitions::new_partition(situation.image, PartitionIndex(index), replicas);
        made.push(partition.ok_or_else(|| partitions::none_active(wanted))?);
    }
    Ok(made)
}

/// Partitions where the user wants them.
fn assigned(image: &Image, topic: &NewTopic) -> Result<Vec<Partition>, Refusal> {
    let invalid = |message: &str| Refusal::new(ErrorCode::InvalidRequest, message);
    if topic.replication_factor != -1 {
        return Err(invalid(
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        ));
    }
    if topic.num_partitions != -1 {
        return Err(invalid(
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ));
    }
    let mut made: BTreeMap<PartitionIndex, Partition> = BTreeMap::new();
    let mut factor = None;
    for (index, replicas) in &topic.assignments {
        if made.contains_key(index) {
            let message = format!("Found multiple manual partition assignments for partition {index}");
            return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
        }
        partitions::check_assignment(image, replicas, factor)?;
        factor = Some(replicas.len());
        partitions::check_some_active(image, replicas, *index)?;
        let partition = partitions::new_partition(image, *index, replicas.clone());
        made.insert(*index, partition.ok_or_else(|| partitions::none_active(replicas.len()))?);
    }
    if made.keys().zip(0..).any(|(index, expected)| index.0 != expected) {
        let message = "partitions should be a consecutive 0-based integer sequence";
        return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
    }
    Ok(made.into_values().collect())
}

/// What became of each topic to delete. A topic named twice is refused once; so is one that is named and given by
/// its id.
///
/// # Errors
/// `TOPIC_DELETION_DISABLED` for all when `delete.topic.enable` is false.
pub fn delete_topics(
    situation: &Situation<'_>,
    topics: &[TopicToDelete],
) -> Result<Outcome<Vec<TopicDeletion>>, Refusal> {
    if !situation.config.topics.delete_enable {
        return Err(Refusal::new(ErrorCode::TopicDeletionDisabled, "Topic deletion is disabled."));
    }
    let mut results = Vec::with_capacity(topics.len());
    let (names, ids) = unique_topics(topics, &mut results);
    let image = situation.image;
    let mut found: BTreeMap<TopicId, Option<String>> = BTreeMap::new();
    for id in ids {
        match image.topic_by_id(id) {
            Some(topic) => {
                found.insert(id, Some(topic.name.to_string()));
            }
            None => results.push(TopicDeletion { name: None, id, result: Err(Refusal::unknown_topic_id()) }),
        }
    }
    for name in names {
        let refusal = match image.topic(name) {
            None => (TopicId::ZERO, Refusal::unknown_topic()),
            Some(topic) if found.contains_key(&topic.id) => {
                // The id was given as well: neither is deleted.
                found.insert(topic.id, None);
                let message = "The provided topic name maps to an ID that was already supplied.";
                (topic.id, Refusal::new(ErrorCode::InvalidRequest, message))
            }
            Some(topic) => {
                found.insert(topic.id, Some(name.to_owned()));
                continue;
            }
        };
        results.push(TopicDeletion { name: Some(name.to_owned()), id: refusal.0, result: Err(refusal.1) });
    }
    let mut records = Records::default();
    for (id, name) in found {
        if let Some(name) = name {
            let partitions = image.topic_by_id(id).map_or(0, |topic| topic.partitions.len());
            let result = allowance::pay(situation.permit, partitions)
                .and_then(|()| records.add(vec![RemoveTopicRecord { topic_id: id }.into()]));
            results.push(TopicDeletion { name: Some(name), id, result });
        }
    }
    Ok(records.into_outcome(false, results))
}

/// The names and ids that were given once and alone; all others are refused.
fn unique_topics<'a>(
    topics: &'a [TopicToDelete],
    results: &mut Vec<TopicDeletion>,
) -> (BTreeSet<&'a str>, BTreeSet<TopicId>) {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ids: BTreeMap<TopicId, usize> = BTreeMap::new();
    let mut refuse = |name: Option<&str>, id, message: &str| {
        let result = Err(Refusal::new(ErrorCode::InvalidRequest, message));
        results.push(TopicDeletion { name: name.map(str::to_owned), id, result });
    };
    for topic in topics {
        match (&topic.name, topic.id.is_zero()) {
            (None, true) => refuse(None, TopicId::ZERO, "Neither topic name nor id were specified."),
            (None, false) => *ids.entry(topic.id).or_default() += 1,
            (Some(name), true) => *names.entry(name).or_default() += 1,
            (Some(name), false) => {
                refuse(Some(name), topic.id, "You may not specify both topic name and topic id.");
            }
        }
    }
    for (name, _) in names.iter().filter(|(_, count)| **count > 1) {
        refuse(Some(name), TopicId::ZERO, "Duplicate topic name.");
    }
    for (id, _) in ids.iter().filter(|(_, count)| **count > 1) {
        refuse(None, *id, "Duplicate topic id.");
    }
    names.retain(|_, count| *count == 1);
    ids.retain(|_, count| *count == 1);
    (names.into_keys().collect(), ids.into_keys().collect())
}
