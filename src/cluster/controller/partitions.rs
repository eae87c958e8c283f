//! Adds partitions to topics, and chooses leaders (`ReplicationControlManager` of Kafka).

use super::Outcome;
use super::Records;
use super::Refusal;
use super::Situation;
use super::command::CreatePartitions;
use super::command::MorePartitions;
use super::placement;
use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::cluster::image::Image;
use crate::cluster::image::Partition;
use crate::cluster::image::Topic;
use crate::cluster::records::PartitionChangeRecord;
use crate::cluster::records::Record;
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// The directory of a replica whose broker has not said where it put it (`DirectoryId.UNASSIGNED` of Kafka).
const UNASSIGNED: Uuid = Uuid::nil();

/// What became of each topic that should get more partitions, in the order of the request; a topic named twice
/// is refused once.
pub fn create_partitions(
    situation: &mut Situation<'_>,
    command: &CreatePartitions,
) -> Outcome<Vec<(String, Result<(), Refusal>)>> {
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for topic in &command.topics {
        *named.entry(&topic.name).or_default() += 1;
    }
    let mut records = Records::default();
    let mut results = Vec::with_capacity(named.len());
    for topic in &command.topics {
        match named.remove(topic.name.as_str()) {
            None => {}
            Some(1) => {
                let result = grow(situation, topic).and_then(|grown| records.add(grown));
                results.push((topic.name.clone(), result));
            }
            Some(_) => {
                let refusal = Refusal::new(ErrorCode::InvalidRequest, "Duplicate topic name.");
                results.push((topic.name.clone(), Err(refusal)));
            }
        }
    }
    records.into_outcome(command.validate_only, results)
}

fn grow(situation: &mut Situation<'_>, wanted: &MorePartitions) -> Result<Vec<Record>, Refusal> {
    let image = situation.image;
    let topic = image
        .topic(&wanted.name)
        .ok_or(Refusal { code: ErrorCode::UnknownTopicOrPartition, message: None })?;
    let existing = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    let additional = additional(wanted, existing)?;
    if additional > super::RECORDS_PER_COMMAND_MAX {
        let message = "Excessively large number of additional partitions per request.";
        return Err(Refusal::new(ErrorCode::PolicyViolation, message));
    }
    if let Some(assignments) = &wanted.assignments
        && assignments.len() != additional
    {
        return Err(Refusal::new(
            ErrorCode::InvalidReplicaAssignment,
            format!(
                "Attempted to add {additional} additional partition(s), but only {} assignment(s) were specified.",
                assignments.len()
            ),
        ));
    }
    let replicas = topic.partitions.first().map_or(1, |partition| partition.replicas.len());
    let placed = match &wanted.assignments {
        Some(assignments) => {
            for (index, assignment) in (existing..).zip(assignments) {
                check_assignment(image, assignment, Some(replicas))?;
                check_some_active(image, assignment, PartitionIndex(index))?;
            }
            assignments.clone()
        }
        None => {
            let factor = i16::try_from(replicas).unwrap_or(i16::MAX);
            placement::place(image, additional, factor, situation.random)
                .map_err(|message| Refusal::new(ErrorCode::InvalidReplicationFactor, message))?
        }
    };
    let mut records = Vec::with_capacity(additional);
    for (index, replicas) in (existing..).zip(placed) {
        let partition = new_partition(image, PartitionIndex(index), replicas)
            .ok_or_else(|| none_active(factor_of(topic)))?;
        records.push(partition.to_record(topic.id).into());
    }
    Ok(records)
}

fn additional(wanted: &MorePartitions, existing: i32) -> Result<usize, Refusal> {
    let message = match wanted.count.cmp(&existing) {
        std::cmp::Ordering::Equal => format!("Topic already has {existing} partition(s)."),
        std::cmp::Ordering::Less => format!(
            "The topic {} currently has {existing} partition(s); {} would not be an increase.",
            wanted.name, wanted.count
        ),
        std::cmp::Ordering::Greater => {
            return Ok(usize::try_from(wanted.count - existing).unwrap_or(usize::MAX));
        }
    };
    Err(Refusal::new(ErrorCode::InvalidPartitions, message))
}

fn factor_of(topic: &Topic) -> usize {
    topic.partitions.first().map_or(1, |partition| partition.replicas.len())
}

/// The refusal when a placement finds no broker that may lead.
pub(super) fn none_active(replicas: usize) -> Refusal {
    Refusal::new(
        ErrorCode::InvalidReplicationFactor,
        format!(
            "Unable to replicate the partition {replicas} time(s): All brokers are currently fenced or in controlled \
             shutdown."
        ),
    )
}

/// Checks one partition's replicas as a user gave them; `expected` is how many the partitions before have.
pub(super) fn check_assignment(
    image: &Image,
    replicas: &[BrokerId],
    expected: Option<usize>,
) -> Result<(), Refusal> {
    let refuse = |message: String| Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
    if replicas.is_empty() {
        return refuse("The manual partition assignment includes an empty replica list.".to_owned());
    }
    let mut sorted = replicas.to_vec();
    sorted.sort_unstable();
    let mut before = None;
    for id in sorted {
        if image.broker(id).is_none() {
            return refuse(format!(
                "The manual partition assignment includes broker {id}, but no such broker is registered."
            ));
        }
        if before == Some(id) {
            return refuse(format!(
                "The manual partition assignment includes the broker {id} more than once."
            ));
        }
        before = Some(id);
    }
    match expected {
        Some(expected) if expected != replicas.len() => refuse(format!(
            "The manual partition assignment includes a partition with {} replica(s), but this is not consistent with \
             previous partitions, which have {expected} replica(s).",
            replicas.len()
        )),
        _ => Ok(()),
    }
}

/// Checks that one of the replicas may lead.
pub(super) fn check_some_active(
    image: &Image,
    replicas: &[BrokerId],
    index: PartitionIndex,
) -> Result<(), Refusal> {
    if replicas.iter().any(|id| image.is_active(*id)) {
        return Ok(());
    }
    Err(Refusal::new(
        ErrorCode::InvalidReplicaAssignment,
        format!(
            "All brokers specified in the manual partition assignment for partition {index} are fenced or in controlled \
             shutdown."
        ),
    ))
}

/// A new partition on these brokers, led by the first that may lead; `None` when none may.
pub(super) fn new_partition(
    image: &Image,
    index: PartitionIndex,
    replicas: Vec<BrokerId>,
) -> Option<Partition> {
    let isr: Vec<BrokerId> = replicas.iter().copied().filter(|id| image.is_active(*id)).collect();
    let leader = *isr.first()?;
    Some(Partition {
        index,
        directories: replicas.iter().map(|id| directory(image, *id)).collect(),
        replicas,
        isr,
        removing_replicas: Vec::new(),
        adding_replicas: Vec::new(),
        elr: Vec::new(),
        last_known_elr: Vec::new(),
        leader,
        recovering: false,
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
    })
}

/// Where a broker will put a new replica: known at once when it has one directory.
fn directory(image: &Image, id: BrokerId) -> Uuid {
    match image.broker(id).map(|broker| broker.log_dirs.as_slice()) {
        Some([only]) => *only,
        _ => UNASSIGNED,
    }
}

/// Leaders that change when a broker may lead again.
pub(super) fn on_unfence(image: &Image, id: BrokerId, unclean: bool) -> Vec<Record> {
    let mut records = Vec::new();
    for topic in image.topics() {
        for partition in &topic.partitions {
            records.extend(lead_again(topic, partition, id, unclean).map(Record::from));
        }
    }
    records
}

fn lead_again(
    topic: &Arc<Topic>,
    partition: &Partition,
    id: BrokerId,
    unclean: bool,
) -> Option<PartitionChangeRecord> {
    let mut change = PartitionChangeRecord::new(topic.id, partition.index);
    if partition.leader == id {
        if !unclean {
            return None;
        }
        change.leader = id;
        return Some(change);
    }
    let waits = partition.leader == BrokerId::NONE;
    if waits && partition.isr.contains(&id) {
        change.leader = id;
    } else if waits && partition.isr.is_empty() && partition.elr.contains(&id) {
        change.leader = id;
        change.isr = Some(vec![id]);
        change.eligible_leader_replicas =
            Some(partition.elr.iter().copied().filter(|replica| *replica != id).collect());
    } else {
        return None;
    }
    Some(change)
}
