//! Which brokers a new partition goes to: striped over racks and brokers, as Kafka's `StripedReplicaPlacer`.
//!
//! Racks take turns, and within a rack its brokers take turns; each partition begins one further than the one
//! before. Fenced brokers are used only when a rack has no other left, and never for the leader.

use crate::base::BrokerId;
use crate::cluster::image::Broker;
use crate::cluster::image::Image;
use crate::io::random::Random;
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

const ALL_FENCED: &str = "All brokers are currently fenced, or have all their log directories cordoned.";

/// Why partitions cannot be placed: Kafka's sentence.
pub type Unplaceable = String;

/// Brokers that are handed out in turn, from a random start; again one further for each partition.
#[derive(Default)]
struct Round {
    brokers: Vec<BrokerId>,
    index: usize,
    start: usize,
    epoch: usize,
}

impl Round {
    fn begin(&mut self, random: &mut Random) {
        self.brokers.sort_unstable();
        self.start = below(random, self.brokers.len());
    }

    fn next(&mut self, epoch: usize) -> Option<BrokerId> {
        let count = self.brokers.len();
        if self.epoch != epoch && count > 0 {
            self.epoch = epoch;
            self.index = 0;
            self.start = (self.start + 1) % count;
        }
        if self.index >= count {
            return None;
        }
        let broker = self.brokers.get((self.index + self.start) % count).copied();
        self.index += 1;
        broker
    }
}

#[derive(Default)]
struct Rack {
    active: Round,
    fenced: Round,
}

/// The state of one placement over all of a topic's partitions.
struct Racks {
    racks: Vec<Rack>,
    total: usize,
    active: usize,
    epoch: usize,
    offset: usize,
}

/// Places `count` partitions with `replication_factor` replicas each; the first replica is the preferred leader.
///
/// # Errors
/// Fewer brokers than replicas, or none that may lead.
pub fn place(
    image: &Image,
    count: usize,
    replication_factor: i16,
    random: &mut Random,
) -> Result<Vec<Vec<BrokerId>>, Unplaceable> {
    let mut racks = Racks::new(image, random);
    let replicas = usize::try_from(replication_factor).unwrap_or(0);
    if replicas == 0 {
        return Err(format!(
            "Invalid replication factor {replication_factor}: the replication factor must be positive."
        ));
    }
    if racks.active == 0 {
        return Err(ALL_FENCED.to_owned());
    }
    if replicas > racks.total {
        return Err(format!(
            "The target replication factor of {replicas} cannot be reached because only {} broker(s) are registered \
             or some brokers have all their log directories cordoned.",
            racks.total
        ));
    }
    let mut placed = Vec::with_capacity(count);
    for _ in 0..count {
        placed.push(racks.place(replicas, random));
    }
    Ok(placed)
}

/// Whether some of a broker's log directories gets new partitions (KIP-1066).
pub(super) fn has_room(broker: &Broker) -> bool {
    let open = |directory: &Uuid| !broker.cordoned_log_dirs.contains(directory);
    broker.log_dirs.is_empty() || broker.log_dirs.iter().any(open)
}

impl Racks {
    fn new(image: &Image, random: &mut Random) -> Racks {
        let mut by_name: BTreeMap<Option<&str>, Rack> = BTreeMap::new();
        let mut active = 0;
        let usable = |broker: &&Arc<Broker>| !broker.in_controlled_shutdown && has_room(broker);
        for broker in image.brokers().filter(usable) {
            let rack = by_name.entry(broker.rack.as_deref()).or_default();
            if broker.fenced {
                rack.fenced.brokers.push(broker.id);
            } else {
                active += 1;
                rack.active.brokers.push(broker.id);
            }
        }
        let mut racks: Vec<Rack> = by_name.into_values().collect();
        for rack in &mut racks {
            rack.active.begin(random);
            rack.fenced.begin(random);
        }
        let total = racks.iter().map(|rack| rack.active.brokers.len() + rack.fenced.brokers.len()).sum();
        let offset = below(random, racks.len());
        Racks { racks, total, active, epoch: 0, offset }
    }

    fn place(&mut self, replicas: usize, random: &mut Random) -> Vec<BrokerId> {
        if self.epoch == self.active && self.active > 1 {
            self.shuffle(random);
            self.epoch = 0;
        }
        let count = self.racks.len();
        self.offset %= count;
        let mut chosen = Vec::with_capacity(replicas);
        let mut first_rack = self.offset;
        // Some rack has an active broker, so this ends.
        loop {
            if let Some(leader) = self.racks.get_mut(first_rack).and_then(|rack| rack.active.next(self.epoch))
            {
                chosen.push(leader);
                break;
            }
            first_rack = (first_rack + 1) % count;
        }
        let mut skip = Some(first_rack);
        let mut place = self.offset;
        // There are at least as many brokers as replicas, so this ends.
        while chosen.len() < replicas {
            if skip == Some(place) {
                skip = None;
            } else if let Some(rack) = self.racks.get_mut(place)
                && let Some(broker) = rack.active.next(self.epoch).or_else(|| rack.fenced.next(self.epoch))
            {
                chosen.push(broker);
            }
            place = (place + 1) % count;
        }
        self.epoch += 1;
        self.offset += 1;
        chosen
    }

    fn shuffle(&mut self, random: &mut Random) {
        shuffle(&mut self.racks, random);
        for rack in &mut self.racks {
            shuffle(&mut rack.active.brokers, random);
            shuffle(&mut rack.fenced.brokers, random);
        }
    }
}

fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(random, last + 1));
    }
}

fn below(random: &mut Random, end: usize) -> usize {
    let end = u64::try_from(end).expect("counts of brokers fit 64 bits");
    usize::try_from(random.below(end)).expect("less than a usize")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::records::RegisterBrokerRecord;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn image(brokers: &[(i32, u8, bool)]) -> Image {
        let mut image = Image::empty("c");
        for (id, rack, fenced) in brokers {
            let record = RegisterBrokerRecord {
                broker_id: BrokerId(*id),
                is_migrating_zk_broker: false,
                incarnation_id: Uuid::nil(),
                broker_epoch: 0,
                end_points: Vec::new(),
                features: Vec::new(),
                rack: (*rack > 0).then(|| rack.to_string()),
                fenced: *fenced,
                in_controlled_shutdown: false,
                log_dirs: Vec::new(),
                cordoned_log_dirs: None,
            };
            image.apply(&record.into()).unwrap();
        }
        image
    }

    #[test]
    fn too_few_brokers_are_refused_with_kafkas_sentences() {
        let one = image(&[(1, 0, false)]);
        let mut random = Random::seeded(1);
        let refused =
            |image: &Image, factor, random: &mut Random| place(image, 1, factor, random).unwrap_err();
        assert_eq!(
            refused(&one, 3, &mut random),
            "The target replication factor of 3 cannot be reached because only 1 broker(s) are registered \
             or some brokers have all their log directories cordoned."
        );
        assert_eq!(refused(&image(&[(1, 0, true)]), 1, &mut random), ALL_FENCED);
        assert_eq!(place(&one, 2, 1, &mut random).unwrap(), [[BrokerId(1)], [BrokerId(1)]]);
    }

    #[test]
    fn a_broker_whose_directories_are_all_cordoned_gets_nothing() {
        let ids = [Uuid::from_u128(1), Uuid::from_u128(2)];
        let cordoned = |count: usize| {
            let mut image = image(&[(1, 0, false)]);
            let mut record = image.broker(BrokerId(1)).unwrap().to_record();
            record.log_dirs = ids.to_vec();
            record.cordoned_log_dirs = Some(ids[..count].to_vec());
            image.apply(&record.into()).unwrap();
            image
        };
        let mut random = Random::seeded(1);
        assert!(place(&cordoned(1), 1, 1, &mut random).is_ok());
        assert_eq!(place(&cordoned(2), 1, 1, &mut random).unwrap_err(), ALL_FENCED);
    }

    proptest! {
        #[test]
        fn replicas_are_distinct_leaders_are_active_and_leadership_is_even(
            brokers in prop::collection::btree_map(0..20i32, (0..4u8, prop::bool::weighted(0.2)), 1..9),
            factor in 1..5i16, seed: u64,
        ) {
            let brokers: Vec<(i32, u8, bool)> = brokers.into_iter().map(|(id, (rack, fenced))| (id, rack, fenced)).collect();
            let image = image(&brokers);
            let active: BTreeSet<BrokerId> =
                brokers.iter().filter(|broker| !broker.2).map(|broker| BrokerId(broker.0)).collect();
            let placed = place(&image, 24, factor, &mut Random::seeded(seed));
            if active.is_empty() || usize::from(factor.unsigned_abs()) > brokers.len() {
                prop_assert!(placed.is_err());
                return Ok(());
            }
            for replicas in placed.unwrap() {
                let distinct: BTreeSet<BrokerId> = replicas.iter().copied().collect();
                prop_assert_eq!(distinct.len(), usize::from(factor.unsigned_abs()));
                prop_assert!(active.contains(&replicas[0]));
            }
        }

        #[test]
        fn with_one_rack_each_broker_leads_as_often(count in 1..6i32, seed: u64) {
            let brokers: Vec<(i32, u8, bool)> = (0..count).map(|id| (id, 0, false)).collect();
            let rounds = 4;
            let partitions = usize::try_from(count * rounds).unwrap();
            let placed = place(&image(&brokers), partitions, 1, &mut Random::seeded(seed)).unwrap();
            for id in 0..count {
                let led = placed.iter().filter(|replicas| replicas[0] == BrokerId(id)).count();
                prop_assert_eq!(led, usize::try_from(rounds).unwrap());
            }
        }
    }
}
