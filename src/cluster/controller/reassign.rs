//! Moves partitions to other brokers (KIP-455; `ReplicationControlManager.alterPartitionReassignments` of Kafka).

use super::Outcome;
use super::Records;
use super::Refusal;
use super::Situation;
use super::command::Reassignment;
use super::command::ReassignmentResult;
use super::command::Reassignments;
use super::partitions;
use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::cluster::controller::configs;
use crate::cluster::image::Partition;
use crate::cluster::image::Topic;
use crate::cluster::records::PartitionChangeRecord;

/// What became of each partition, in the order of the request.
pub fn reassign(situation: &Situation<'_>, command: &Reassignments) -> Outcome<Vec<ReassignmentResult>> {
    let mut records = Records::default();
    let mut results = Vec::with_capacity(command.reassignments.len());
    for asked in &command.reassignments {
        let result = decide(situation, asked, command.allow_factor_change)
            .and_then(|change| records.add(change.into_iter().map(Into::into).collect()));
        results.push((asked.topic.clone(), asked.partition, result));
    }
    records.into_outcome(false, results)
}

fn decide(
    situation: &Situation<'_>,
    asked: &Reassignment,
    allow_factor_change: bool,
) -> Result<Option<PartitionChangeRecord>, Refusal> {
    let unknown = |message: String| Refusal::new(ErrorCode::UnknownTopicOrPartition, message);
    let (name, index) = (&asked.topic, asked.partition);
    let topic = situation
        .image
        .topic(name)
        .ok_or_else(|| unknown(format!("Unable to find a topic named {name}.")))?;
    let partition =
        topic.partition(index).ok_or_else(|| unknown(format!("Unable to find partition {name}:{index}.")))?;
    match &asked.replicas {
        None => cancel(situation, topic, partition).map(Some),
        Some(replicas) => begin(situation, (topic, partition), replicas, allow_factor_change),
    }
}

/// Takes back what a reassignment was adding, and keeps what it was removing.
fn cancel(
    situation: &Situation<'_>,
    topic: &Topic,
    partition: &Partition,
) -> Result<PartitionChangeRecord, Refusal> {
    if !partition.is_reassigning() {
        return Err(Refusal { code: ErrorCode::NoReassignmentInProgress, message: None });
    }
    let adding = &partition.adding_replicas;
    let kept = |ids: &[BrokerId]| -> Vec<BrokerId> {
        ids.iter().copied().filter(|id| !adding.contains(id)).collect()
    };
    let (replicas, mut isr) = (kept(&partition.replicas), kept(&partition.isr));
    let Some(first) = replicas.first() else {
        let message = "Invalid replica assignment: addingReplicas contains all replicas.";
        return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
    };
    if isr.is_empty() {
        if !configs::unclean_election(situation, &topic.name) {
            let message = format!(
                "Unable to revert partition assignment for {}:{} because it would require an unclean leader election.",
                topic.name, partition.index
            );
            return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
        }
        isr.push(*first);
    }
    Ok(change(
        situation,
        (topic, partition),
        Target { replicas, isr, adding: Vec::new(), removing: Vec::new() },
    ))
}

/// What a partition shall be.
struct Target {
    replicas: Vec<BrokerId>,
    isr: Vec<BrokerId>,
    adding: Vec<BrokerId>,
    removing: Vec<BrokerId>,
}

fn begin(
    situation: &Situation<'_>,
    (topic, partition): (&Topic, &Partition),
    wanted: &[BrokerId],
    allow_factor_change: bool,
) -> Result<Option<PartitionChangeRecord>, Refusal> {
    partitions::check_assignment(situation.image, wanted, None)?;
    let current = partition.replicas.iter().filter(|id| !partition.adding_replicas.contains(id)).count();
    if !allow_factor_change && current != wanted.len() {
        let message = format!("The replication factor is changed from {current} to {}", wanted.len());
        return Err(Refusal::new(ErrorCode::InvalidReplicationFactor, message));
    }
    let mut removing: Vec<BrokerId> =
        partition.replicas.iter().copied().filter(|id| !wanted.contains(id)).collect();
    removing.sort_unstable();
    let mut adding: Vec<BrokerId> =
        wanted.iter().copied().filter(|id| !partition.replicas.contains(id)).collect();
    adding.sort_unstable();
    let staying: Vec<BrokerId> = partition.isr.iter().copied().filter(|id| !removing.contains(id)).collect();
    // Where all that shall stay is in sync already, there is nothing to wait for.
    let target = if !staying.is_empty() && wanted.iter().all(|id| staying.contains(id)) {
        Target { replicas: wanted.to_vec(), isr: staying, adding: Vec::new(), removing: Vec::new() }
    } else {
        let replicas = wanted.iter().chain(&removing).copied().collect();
        Target { replicas, isr: partition.isr.clone(), adding, removing }
    };
    let same = target.replicas == partition.replicas
        && target.adding == partition.adding_replicas
        && target.removing == partition.removing_replicas;
    Ok((!same).then(|| change(situation, (topic, partition), target)))
}

/// The record that makes a partition what it shall be, with another leader where its own leaves.
fn change(
    situation: &Situation<'_>,
    (topic, partition): (&Topic, &Partition),
    target: Target,
) -> PartitionChangeRecord {
    let mut change = PartitionChangeRecord::new(topic.id, partition.index);
    if !target.isr.contains(&partition.leader) {
        let able = |id: &&BrokerId| {
            target.isr.contains(id) && partitions::is_usable(situation.image, partition, **id)
        };
        change.leader = target.replicas.iter().find(able).copied().unwrap_or(BrokerId::NONE);
    }
    if target.replicas != partition.replicas {
        let directories =
            target.replicas.iter().map(|id| partitions::directory_of(situation.image, partition, *id));
        change.directories = Some(directories.collect());
        change.replicas = Some(target.replicas);
    }
    change.isr = (target.isr != partition.isr).then_some(target.isr);
    change.adding_replicas = (target.adding != partition.adding_replicas).then_some(target.adding);
    change.removing_replicas = (target.removing != partition.removing_replicas).then_some(target.removing);
    change
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::PartitionIndex;
    use crate::cluster::Image;
    use crate::cluster::controller::partitions::tests::image_of;
    use crate::cluster::controller::partitions::tests::register;
    use crate::config::ServerConfig;
    use crate::io::random::Random;

    /// The code, and the partition after the change.
    fn decide(image: &mut Image, replicas: Option<&[i32]>, factor: bool) -> (i16, Partition) {
        let config = ServerConfig::new(&Default::default(), "machine").unwrap();
        let mut random = Random::seeded(7);
        let outcome = {
            let situation = Situation { config: &config, image, random: &mut random, permit: None };
            let ids = |ids: &[i32]| ids.iter().map(|id| BrokerId(*id)).collect();
            let asked = Reassignment {
                topic: "t".to_owned(),
                partition: PartitionIndex(0),
                replicas: replicas.map(ids),
            };
            reassign(&situation, &Reassignments { reassignments: vec![asked], allow_factor_change: factor })
        };
        for record in &outcome.records {
            image.apply(record).unwrap();
        }
        let code = outcome.response[0].2.as_ref().map_or_else(|refusal| refusal.code.code(), |()| 0);
        (code, image.partition("t", PartitionIndex(0)).unwrap().clone())
    }

    #[test]
    fn a_partition_moves_in_two_steps_unless_all_that_stays_is_in_sync() {
        let mut image = image_of(|partition| {
            partition.leader = BrokerId(1);
            partition.isr = vec![BrokerId(1), BrokerId(2)];
            partition.directories = vec![uuid::Uuid::from_u128(5), uuid::Uuid::nil()];
        });
        assert_eq!(decide(&mut image, Some(&[1, 2]), true).0, 39, "broker 1 is not registered");
        for id in [1, 2, 3] {
            register(&mut image, BrokerId(id));
        }
        assert_eq!(decide(&mut image, None, true).0, 85);
        assert_eq!(decide(&mut image, Some(&[2, 1, 3]), false).0, 38);
        let (code, moving) = decide(&mut image, Some(&[3, 1]), true);
        assert_eq!(
            (code, moving.adding_replicas, moving.removing_replicas),
            (0, vec![BrokerId(3)], vec![BrokerId(2)])
        );
        assert_eq!(moving.replicas, [BrokerId(3), BrokerId(1), BrokerId(2)]);
        assert_eq!(moving.directories[1], uuid::Uuid::from_u128(5));
        let (code, back) = decide(&mut image, None, true);
        assert_eq!((code, back.is_reassigning(), back.replicas.len()), (0, false, 2));
        let (code, alone) = decide(&mut image, Some(&[2]), true);
        assert_eq!(
            (code, alone.replicas.as_slice(), alone.leader),
            (0, [BrokerId(2)].as_slice(), BrokerId(2))
        );
        assert_eq!(alone.isr, [BrokerId(2)]);
        assert!(!alone.is_reassigning());
    }
}
