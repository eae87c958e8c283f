//! Measurements of what each topic takes in and gives out, and of all topics together.

use crate::metrics::family::Family;
use crate::metrics::family::Page;
use crate::metrics::family::Row;
use crate::metrics::family::number;
use crate::metrics::registry::Collectors;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// How many measurements each topic has.
const COUNTS: usize = 7;

/// The counts of one topic. A partition keeps a handle, so that no request looks one up.
#[derive(Debug, Default)]
pub struct Traffic {
    counts: [AtomicU64; COUNTS],
}

/// Hands out the topics' counts. Clones share them.
#[derive(Clone, Debug)]
pub struct Topics {
    known: Arc<Mutex<Known>>,
    families: Arc<[Family; COUNTS]>,
}

#[derive(Debug, Default)]
struct Known {
    topics: BTreeMap<Arc<str>, Arc<Traffic>>,
    /// What topics counted that are gone: sums do not go back.
    gone: [u64; COUNTS],
    /// With so many topics it is time to look for those that are gone.
    crowded_at: usize,
}

impl Traffic {
    /// A batch came for a partition of the topic, whatever becomes of it.
    pub fn batch_came(&self) {
        self.add(0, 1);
    }

    /// A batch was appended.
    pub fn appended(&self, bytes: usize, records: i32) {
        self.add(1, u64::try_from(bytes).unwrap_or(0));
        self.add(2, u64::try_from(records).unwrap_or(0));
    }

    /// A batch was refused for a reason that Kafka calls unexpected.
    pub fn append_failed(&self) {
        self.add(3, 1);
    }

    /// A partition of the topic was answered in a Fetch, with so many bytes of batches.
    pub fn fetched(&self, bytes: u64) {
        self.add(4, 1);
        if bytes > 0 {
            self.add(5, bytes);
        }
    }

    /// A partition could not be read for a reason that Kafka calls unexpected.
    pub fn fetch_failed(&self) {
        self.add(4, 1);
        self.add(6, 1);
    }

    fn add(&self, place: usize, more: u64) {
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(more, Ordering::Relaxed);
        }
    }

    fn read(&self) -> [u64; COUNTS] {
        std::array::from_fn(|place| self.counts.get(place).map_or(0, |count| count.load(Ordering::Relaxed)))
    }
}

impl Topics {
    pub(super) fn new(collectors: &mut Collectors) -> Topics {
        let mut counter = |name: &str, help| {
            let name = format!("kafka_server_brokertopicmetrics_{name}_total");
            collectors.looked_up_counter(name, &["topic"], help)
        };
        let families = [
            counter(
                "totalproducerequests",
                "Batches that came, one for each partition of a Produce request.",
            ),
            counter("bytesin", "Bytes of batches appended."),
            counter("messagesin", "Records appended."),
            counter("failedproducerequests", "Batches refused for a reason that Kafka calls unexpected."),
            counter("totalfetchrequests", "Partitions answered in Fetch requests."),
            counter("bytesout", "Bytes of batches given out."),
            counter("failedfetchrequests", "Partitions of Fetch requests that could not be read."),
        ];
        Topics { known: Arc::default(), families: Arc::new(families) }
    }

    /// The counts of a topic.
    pub fn of(&self, topic: &Arc<str>) -> Arc<Traffic> {
        let mut known = self.known.lock();
        if known.topics.len() >= known.crowded_at {
            known.settle();
        }
        Arc::clone(known.topics.entry(Arc::clone(topic)).or_default())
    }

    /// Shows the sums, and the first `limit` topics by name.
    pub(super) fn show(&self, page: &mut Page, limit: usize) {
        let mut known = self.known.lock();
        known.settle();
        let topics: Vec<(Arc<str>, [u64; COUNTS])> =
            known.topics.iter().map(|(name, traffic)| (Arc::clone(name), traffic.read())).collect();
        let gone = known.gone;
        drop(known);
        for (place, family) in self.families.iter().enumerate() {
            let at = |counts: &[u64; COUNTS]| counts.get(place).copied().unwrap_or(0);
            let sum = at(&gone) + topics.iter().map(|(_, counts)| at(counts)).sum::<u64>();
            let labels: Vec<[&str; 1]> = topics.iter().take(limit).map(|(name, _)| [&**name]).collect();
            let each = labels.iter().zip(&topics);
            let rows = each.map(|(labels, (_, counts))| (labels.as_slice(), number(at(counts))));
            family.show(page, std::iter::once::<Row<'_>>((&[], number(sum))).chain(rows));
        }
    }
}

impl Known {
    /// Lets go of topics whose partitions are all gone. Nobody else holds such counts, so none is missed.
    fn settle(&mut self) {
        let gone = &mut self.gone;
        self.topics.retain(|_, traffic| {
            if Arc::strong_count(traffic) > 1 {
                return true;
            }
            for (sum, count) in gone.iter_mut().zip(traffic.read()) {
                *sum += count;
            }
            false
        });
        self.crowded_at = (2 * self.topics.len()).max(64);
    }
}

#[cfg(test)]
mod tests {
    use crate::metrics::Observed;
    use crate::metrics::Registry;
    use std::sync::Arc;

    fn shown(registry: &Registry, limit: usize) -> Vec<String> {
        let text = registry.text(&Observed { partitions_max: limit, ..Observed::default() });
        let lines = text.lines().filter(|line| line.starts_with("kafka_server_brokertopicmetrics_bytesin"));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn a_topic_counts_for_itself_and_in_the_sum_also_when_it_is_gone() {
        let registry = Registry::new();
        let topics = registry.topics();
        let (one, other) = (topics.of(&Arc::from("a")), topics.of(&Arc::from("b")));
        one.appended(100, 1);
        topics.of(&Arc::from("a")).appended(10, 1);
        other.appended(1, 1);
        let name = "kafka_server_brokertopicmetrics_bytesin_total";
        assert_eq!(
            shown(&registry, 9),
            [format!("{name} 111"), format!("{name}{{topic=\"a\"}} 110"), format!("{name}{{topic=\"b\"}} 1")]
        );
        drop(one);
        assert_eq!(shown(&registry, 9), [format!("{name} 111"), format!("{name}{{topic=\"b\"}} 1")]);
        topics.of(&Arc::from("a")).appended(1, 1);
        assert_eq!(shown(&registry, 0), [format!("{name} 112")], "the limit holds, the sum goes on");
    }
}
