//! Gives partitions another leader where somebody asks for it (`ReplicationControlManager.electLeaders` of Kafka).

use super::Outcome;
use super::Records;
use super::Refusal;
use super::command::ElectLeaders;
use super::command::Election;
use super::command::ElectionResult;
use super::partitions::is_usable;
use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::cluster::image::Image;
use crate::cluster::image::Partition;
use crate::cluster::image::Topic;
use crate::cluster::records::PartitionChangeRecord;

/// What became of each partition that was asked for; of all partitions, only of those that something was done or
/// could not be done for.
pub fn elect_leaders(image: &Image, command: &ElectLeaders) -> Outcome<Vec<ElectionResult>> {
    let mut records = Records::default();
    let mut results = Vec::new();
    match &command.partitions {
        None => {
            for topic in image.topics() {
                for partition in &topic.partitions {
                    let result = elect(image, topic, partition, command.election);
                    if !matches!(&result, Err(refusal) if refusal.code == ErrorCode::ElectionNotNeeded) {
                        let result = result.and_then(|change| records.add(vec![change.into()]));
                        results.push((topic.name.to_string(), partition.index, result));
                    }
                }
            }
        }
        Some(asked) => {
            for (name, index) in asked {
                let result = named(image, name, *index)
                    .and_then(|(topic, partition)| elect(image, topic, partition, command.election))
                    .and_then(|change| records.add(vec![change.into()]));
                results.push((name.clone(), *index, result));
            }
        }
    }
    records.into_outcome(false, results)
}

fn named<'a>(
    image: &'a Image,
    name: &str,
    index: PartitionIndex,
) -> Result<(&'a Topic, &'a Partition), Refusal> {
    let unknown = |message: String| Refusal::new(ErrorCode::UnknownTopicOrPartition, message);
    let topic = image.topic(name).ok_or_else(|| unknown(format!("No such topic as {name}")))?;
    let partition =
        topic.partition(index).ok_or_else(|| unknown(format!("No such partition as {name}-{index}")))?;
    Ok((topic, partition))
}

fn elect(
    image: &Image,
    topic: &Topic,
    partition: &Partition,
    election: Election,
) -> Result<PartitionChangeRecord, Refusal> {
    let done = match election {
        Election::Preferred => partition.replicas.first() == Some(&partition.leader),
        Election::Unclean => partition.leader != BrokerId::NONE,
    };
    if done {
        let message = "Leader election not needed for topic partition.";
        return Err(Refusal::new(ErrorCode::ElectionNotNeeded, message));
    }
    let able = |id: &&BrokerId| is_usable(image, partition, **id);
    let in_sync = |id: &&BrokerId| partition.isr.contains(id) || partition.elr.contains(id);
    let mut change = PartitionChangeRecord::new(topic.id, partition.index);
    let leader = match election {
        Election::Preferred => partition.replicas.first().filter(able).filter(in_sync),
        Election::Unclean => {
            let clean = partition.replicas.iter().filter(able).find(in_sync);
            clean.or_else(|| {
                let any = partition.replicas.iter().find(able);
                if let Some(any) = any {
                    // It may lack records that the others had.
                    change.isr = Some(vec![*any]);
                    change.leader_recovery_state = 1;
                }
                any
            })
        }
    };
    let Some(leader) = leader else {
        return Err(match election {
            Election::Preferred => {
                let message = "The preferred leader was not available.";
                Refusal::new(ErrorCode::PreferredLeaderNotAvailable, message)
            }
            Election::Unclean => {
                let message = "Eligible topic partition leaders are not available.";
                Refusal::new(ErrorCode::EligibleLeadersNotAvailable, message)
            }
        });
    };
    if change.isr.is_none() && !partition.isr.contains(leader) {
        let mut isr = partition.isr.clone();
        isr.push(*leader);
        change.isr = Some(isr);
        let others = partition.elr.iter().copied().filter(|id| id != leader);
        change.eligible_leader_replicas = Some(others.collect());
    }
    change.leader = *leader;
    Ok(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::controller::partitions::tests::image_of;

    fn decide(image: &Image, election: Election, partitions: Option<Vec<(&str, i32)>>) -> Vec<i16> {
        let owned = |(name, index): (&str, i32)| (name.to_owned(), PartitionIndex(index));
        let partitions = partitions.map(|asked| asked.into_iter().map(owned).collect());
        let outcome = elect_leaders(image, &ElectLeaders { election, partitions });
        outcome
            .response
            .iter()
            .map(|(_, _, result)| result.as_ref().map_or_else(|no| no.code.code(), |()| 0))
            .collect()
    }

    #[test]
    fn a_leader_is_elected_only_where_there_is_need_and_somebody_able() {
        let led = image_of(|partition| partition.leader = BrokerId(1));
        let asked = || Some(vec![("t", 0), ("t", 9), ("x", 0)]);
        assert_eq!(decide(&led, Election::Preferred, asked()), [84, 3, 3]);
        assert_eq!(decide(&led, Election::Unclean, asked()), [84, 3, 3]);
        assert!(decide(&led, Election::Preferred, None).is_empty());
        // Nobody is registered, so nobody is able.
        let lost = image_of(|partition| partition.leader = BrokerId::NONE);
        assert_eq!(decide(&lost, Election::Preferred, None), [80]);
        assert_eq!(decide(&lost, Election::Unclean, None), [83]);
    }

    #[test]
    fn an_unclean_leader_begins_with_itself_in_sync_and_recovers() {
        let mut image = image_of(|partition| {
            partition.leader = BrokerId::NONE;
            partition.isr = vec![BrokerId(2)];
        });
        crate::cluster::controller::partitions::tests::register(&mut image, BrokerId(1));
        assert_eq!(decide(&image, Election::Preferred, None), [80], "broker 1 is not in sync");
        let command = ElectLeaders { election: Election::Unclean, partitions: None };
        for record in elect_leaders(&image, &command).records {
            image.apply(&record).unwrap();
        }
        let partition = image.partition("t", PartitionIndex(0)).unwrap();
        assert_eq!((partition.leader, partition.isr.as_slice()), (BrokerId(1), [BrokerId(1)].as_slice()));
        assert!(partition.recovering);
        assert!(decide(&image, Election::Unclean, None).is_empty());
    }
}
