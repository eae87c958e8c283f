//! Adds partitions to topics, and chooses leaders (`ReplicationControlManager` of Kafka).

use super::Outcome;
use super::Records;
use super::Refusal;
use super::Situation;
use super::allowance;
use super::command::AssignDirectory;
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
    if is_too_much(situation.image, command, &named) {
        let message = "Excessively large number of additional partitions per request.";
        let refused =
            |name: &&str| ((*name).to_owned(), Err(Refusal::new(ErrorCode::PolicyViolation, message)));
        return Records::default().into_outcome(true, named.keys().map(refused).collect());
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

/// Whether all topics of the request together would get more partitions than one request may make
/// (`ReplicationControlManager.validateTotalNumberOfPartitions`).
fn is_too_much(image: &Image, command: &CreatePartitions, named: &BTreeMap<&str, usize>) -> bool {
    let more = |topic: &MorePartitions| {
        let existing = image.topic(&topic.name).map_or(usize::MAX, |found| found.partitions.len());
        usize::try_from(topic.count).unwrap_or(0).saturating_sub(existing)
    };
    let once = command.topics.iter().filter(|topic| named.get(topic.name.as_str()) == Some(&1));
    once.map(more).fold(0_usize, usize::saturating_add) > super::RECORDS_PER_COMMAND_MAX
}

fn grow(situation: &mut Situation<'_>, wanted: &MorePartitions) -> Result<Vec<Record>, Refusal> {
    let image = situation.image;
    let topic = image
        .topic(&wanted.name)
        .ok_or(Refusal { code: ErrorCode::UnknownTopicOrPartition, message: None })?;
    let existing = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    let additional = additional(wanted, existing)?;
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
    allowance::pay(situation.permit, additional)?;
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
        if image.broker(id).is_some_and(|broker| !placement::has_room(broker)) {
            return refuse(format!(
                "The manual partition assignment includes broker {id}, but all its log directories are cordoned."
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

/// Where a broker has, or will have, its replica of a partition.
pub(super) fn directory_of(image: &Image, partition: &Partition, id: BrokerId) -> Uuid {
    let place = partition.replicas.iter().position(|replica| *replica == id);
    let known = place.and_then(|place| partition.directories.get(place)).copied();
    known.unwrap_or_else(|| directory(image, id))
}

/// Notes in which directory a broker's replica of a partition lies (KIP-858). Where the broker leads, a new leader epoch
/// begins: the log was opened anew.
///
/// # Errors
/// `UNKNOWN_TOPIC_ID` or `UNKNOWN_TOPIC_OR_PARTITION`.
pub fn assign_directory(
    image: &Image,
    broker: BrokerId,
    assignment: AssignDirectory,
) -> Result<Outcome<()>, Refusal> {
    let topic = image.topic_by_id(assignment.topic).ok_or_else(Refusal::unknown_topic_id)?;
    let partition = topic.partition(assignment.partition).ok_or_else(Refusal::unknown_topic)?;
    let mut change = PartitionChangeRecord::new(topic.id, partition.index);
    let directory = |id: &BrokerId| {
        if *id == broker { assignment.directory } else { directory_of(image, partition, *id) }
    };
    change.directories = Some(partition.replicas.iter().map(directory).collect());
    if partition.leader == broker {
        change.leader = broker;
    }
    Ok(Outcome { records: vec![change.into()], response: () })
}

/// Whether a replica may lead: its broker is active, and so is the directory it lies in.
pub(super) fn is_usable(image: &Image, partition: &Partition, id: BrokerId) -> bool {
    let directory = directory_of(image, partition, id);
    let online = |broker: &Arc<crate::cluster::image::Broker>| {
        directory == UNASSIGNED || broker.log_dirs.is_empty() || broker.log_dirs.contains(&directory)
    };
    image.is_active(id) && image.broker(id).is_some_and(online)
}

/// What becomes of partitions when a broker is taken out of the cluster: others lead, as far as they are in sync.
pub(super) fn on_unregister(image: &Image, id: BrokerId) -> Vec<Record> {
    let mut records = Vec::new();
    for topic in image.topics() {
        for partition in topic.partitions.iter().filter(|partition| partition.isr.contains(&id)) {
            let mut change = PartitionChangeRecord::new(topic.id, partition.index);
            let isr: Vec<BrokerId> = partition.isr.iter().copied().filter(|other| *other != id).collect();
            if partition.leader == id {
                let able = |other: &&BrokerId| isr.contains(other) && is_usable(image, partition, **other);
                change.leader = partition.replicas.iter().find(able).copied().unwrap_or(BrokerId::NONE);
            }
            // The last one in sync is remembered: only it has all records.
            change.isr = (!isr.is_empty()).then_some(isr);
            if change.isr.is_some() || partition.leader == id {
                records.push(change.into());
            }
        }
    }
    records
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
    if partition.leader != BrokerId::NONE {
        return None;
    }
    if !partition.isr.contains(&id) {
        let eligible = partition.elr.contains(&id);
        let last_known = partition.elr.is_empty() && partition.last_known_elr == [id];
        if !partition.isr.is_empty() || !(eligible || last_known) {
            return None;
        }
        change.isr = Some(vec![id]);
        let others = partition.elr.iter().copied().filter(|replica| *replica != id);
        change.eligible_leader_replicas = eligible.then(|| others.collect());
        // The last known leader may lack records that a lost one had.
        change.leader_recovery_state = if eligible { -1 } else { 1 };
    }
    change.leader = id;
    change.last_known_elr = (!partition.last_known_elr.is_empty()).then(Vec::new);
    Some(change)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::cluster::records::RegisterBrokerRecord;
    use crate::cluster::records::TopicRecord;

    const ME: BrokerId = BrokerId(1);

    /// Makes a broker active.
    pub(in crate::cluster::controller) fn register(image: &mut Image, id: BrokerId) {
        let record = RegisterBrokerRecord {
            broker_id: id,
            is_migrating_zk_broker: false,
            incarnation_id: Uuid::from_u128(1),
            broker_epoch: 1,
            end_points: Vec::new(),
            features: Vec::new(),
            rack: None,
            fenced: false,
            in_controlled_shutdown: false,
            log_dirs: Vec::new(),
            cordoned_log_dirs: None,
        };
        image.apply(&record.into()).unwrap();
    }

    /// Topic `t` with one partition on brokers 1 and 2.
    pub(in crate::cluster::controller) fn image_of(change: impl Fn(&mut Partition)) -> Image {
        let mut image = Image::empty("c");
        let topic_id = crate::base::TopicId::METADATA;
        image.apply(&TopicRecord { name: "t".to_owned(), topic_id }.into()).unwrap();
        let mut partition = Partition {
            index: PartitionIndex(0),
            replicas: vec![ME, BrokerId(2)],
            isr: vec![ME],
            removing_replicas: Vec::new(),
            adding_replicas: Vec::new(),
            elr: Vec::new(),
            last_known_elr: Vec::new(),
            leader: BrokerId::NONE,
            recovering: false,
            leader_epoch: LeaderEpoch(5),
            partition_epoch: 5,
            directories: Vec::new(),
        };
        change(&mut partition);
        image.apply(&partition.to_record(topic_id).into()).unwrap();
        image
    }

    /// The partition after the broker was unfenced: leader, epoch, ISR, eligible, last known.
    fn after(
        unclean: bool,
        change: impl Fn(&mut Partition),
    ) -> (i32, i32, Vec<BrokerId>, usize, usize, bool) {
        let mut image = image_of(change);
        for record in on_unfence(&image, ME, unclean) {
            image.apply(&record).unwrap();
        }
        let one = image.partition("t", PartitionIndex(0)).unwrap();
        let sizes = (one.elr.len(), one.last_known_elr.len());
        (one.leader.0, one.leader_epoch.0, one.isr.clone(), sizes.0, sizes.1, one.recovering)
    }

    #[test]
    fn a_partition_without_leader_gets_one_that_may_lead() {
        let waiting = |partition: &mut Partition| partition.last_known_elr = vec![ME];
        assert_eq!(after(false, waiting), (1, 6, vec![ME], 0, 0, false));
        let elsewhere = |partition: &mut Partition| partition.isr = vec![BrokerId(2)];
        assert_eq!(after(false, elsewhere), (-1, 5, vec![BrokerId(2)], 0, 0, false));
        let eligible = |partition: &mut Partition| {
            partition.isr.clear();
            partition.elr = vec![BrokerId(2), ME];
        };
        assert_eq!(after(false, eligible), (1, 6, vec![ME], 1, 0, false));
        let last_known = |partition: &mut Partition| {
            partition.isr.clear();
            partition.last_known_elr = vec![ME];
        };
        assert_eq!(after(false, last_known), (1, 6, vec![ME], 0, 0, true));
        let nobody = |partition: &mut Partition| partition.isr.clear();
        assert_eq!(after(false, nobody), (-1, 5, Vec::new(), 0, 0, false));
    }

    #[test]
    fn a_leader_begins_a_new_epoch_only_after_an_unclean_stop() {
        let led = |partition: &mut Partition| partition.leader = ME;
        assert_eq!(after(false, led).1, 5);
        assert_eq!(after(true, led).1, 6);
    }
}
